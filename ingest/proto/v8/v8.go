// Package v8 reads the code that V8 generates while it runs: of JavaScript, WebAssembly and regular expressions, and V8's own.
package v8

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Modules read the packets of the family.
var Modules = proto.Family{codeEvents}

type (
	isolateID    = table.ID[schema.V8Isolate]
	scriptID     = table.ID[schema.V8JSScript]
	wasmScriptID = table.ID[schema.V8WasmScript]
	functionID   = table.ID[schema.V8JSFunction]
	codeID       = table.ID[schema.JITCode]
)

// reader reads the events of V8's code.
type reader struct {
	*proto.Reader
	generated   *stacks.Generated
	memories    map[model.UPID]*memory
	isolates    map[isolateKey]*isolate
	scripts     map[scriptKey]*script
	wasmScripts map[scriptKey]wasmScriptID
	functions   map[functionKey]functionID
}

type isolateKey struct {
	upid model.UPID
	id   int64
}

// isolate is an instance of V8.
type isolate struct {
	id     isolateID
	pid    int64
	memory *memory
}

type scriptKey struct {
	isolate isolateID
	id      int32
}

// functionKey is a function as its row shows it.
type functionKey struct {
	name, kind model.StringID
	script     scriptID
	toplevel   bool
	line, col  int64 // None if unknown
}

// script is a JavaScript source.
type script struct {
	id    scriptID
	name  model.StringID
	lines []int // where each line begins, in UTF-16 units, if the source is known
}

func codeEvents(r *proto.Reader) *proto.Module {
	v := &reader{Reader: r, generated: stacks.GeneratedOf(r), memories: map[model.UPID]*memory{}, isolates: map[isolateKey]*isolate{},
		scripts: map[scriptKey]*script{}, wasmScripts: map[scriptKey]wasmScriptID{}, functions: map[functionKey]functionID{}}
	v.generated.Find = v.find
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_V8JsCode, pb.TracePacket_V8InternalCode, pb.TracePacket_V8WasmCode, pb.TracePacket_V8RegExpCode,
			pb.TracePacket_V8CodeMove},
		Parse: v.parse,
	}
}

// code is an event of code, with what all kinds have.
type code struct {
	*proto.Event
	in          *isolate
	utid        model.UTID
	start, size uint64
	machine     []byte
}

// codeFields are the fields that all kinds have.
type codeFields struct{ isolate, tid, start, size, machine uint32 }

var fieldsOf = map[uint32]codeFields{
	pb.TracePacket_V8JsCode: {pb.V8JsCode_V8IsolateIID, pb.V8JsCode_TID, pb.V8JsCode_InstructionStart, pb.V8JsCode_InstructionSizeBytes,
		pb.V8JsCode_MachineCode},
	pb.TracePacket_V8InternalCode: {pb.V8InternalCode_V8IsolateIID, pb.V8InternalCode_TID, pb.V8InternalCode_InstructionStart,
		pb.V8InternalCode_InstructionSizeBytes, pb.V8InternalCode_MachineCode},
	pb.TracePacket_V8WasmCode: {pb.V8WasmCode_V8IsolateIID, pb.V8WasmCode_TID, pb.V8WasmCode_InstructionStart,
		pb.V8WasmCode_InstructionSizeBytes, pb.V8WasmCode_MachineCode},
	pb.TracePacket_V8RegExpCode: {pb.V8RegExpCode_V8IsolateIID, pb.V8RegExpCode_TID, pb.V8RegExpCode_InstructionStart,
		pb.V8RegExpCode_InstructionSizeBytes, pb.V8RegExpCode_MachineCode},
	pb.TracePacket_V8CodeMove: {pb.V8CodeMove_IsolateIID, pb.V8CodeMove_TID, pb.V8CodeMove_FromInstructionStartAddress,
		pb.V8CodeMove_InstructionSizeBytes, pb.V8CodeMove_ToMachineCode},
}

// The names of tiers, types and kinds, by their numbers.
var (
	jsTiers       = []string{"UNKNOWN", "IGNITION", "SPARKPLUG", "MAGLEV", "TURBOSHAFT", "TURBOFAN"}
	wasmTiers     = []string{"UNKNOWN", "LIFTOFF", "TURBOFAN"}
	internalTypes = []string{"UNKNOWN", "BYTECODE_HANDLER", "FOR_TESTING", "BUILTIN", "WASM_FUNCTION", "WASM_TO_CAPI_FUNCTION", "WASM_TO_JS_FUNCTION",
		"JS_TO_WASM_FUNCTION", "JS_TO_JS_FUNCTION", "C_WASM_ENTRY"}
	scriptTypes   = []string{"UNKNOWN", "NORMAL", "EVAL", "MODULE", "NATIVE", "EXTENSION", "INSPECTOR"}
	functionKinds = []string{"UNKNOWN", "NORMAL_FUNCTION", "MODULE", "ASYNC_MODULE", "BASE_CONSTRUCTOR", "DEFAULT_BASE_CONSTRUCTOR",
		"DEFAULT_DERIVED_CONSTRUCTOR", "DERIVED_CONSTRUCTOR", "GETTER_FUNCTION", "STATIC_GETTER_FUNCTION", "SETTER_FUNCTION", "STATIC_SETTER_FUNCTION",
		"ARROW_FUNCTION", "ASYNC_ARROW_FUNCTION", "ASYNC_FUNCTION", "ASYNC_CONCISE_METHOD", "STATIC_ASYNC_CONCISE_METHOD",
		"ASYNC_CONCISE_GENERATOR_METHOD", "STATIC_ASYNC_CONCISE_GENERATOR_METHOD", "ASYNC_GENERATOR_FUNCTION", "GENERATOR_FUNCTION",
		"CONCISE_GENERATOR_METHOD", "STATIC_CONCISE_GENERATOR_METHOD", "CONCISE_METHOD", "STATIC_CONCISE_METHOD",
		"CLASS_MEMBERS_INITIALIZER_FUNCTION", "CLASS_STATIC_INITIALIZER_FUNCTION", "INVALID"}
)

const (
	tierUnknown  = 0
	tierIgnition = 1
)

func (v *reader) parse(e *proto.Event) {
	fields := fieldsOf[e.Field]
	c := code{Event: e, in: v.isolate(e.State, message.Uint64(e.Data, fields.isolate))}
	if c.in == nil {
		return
	}
	var ok bool
	if c.utid, ok = v.thread(e, fields.tid, c.in.pid); !ok {
		return
	}
	c.start, c.size, c.machine = message.Uint64(e.Data, fields.start), message.Uint64(e.Data, fields.size), message.Bytes(e.Data, fields.machine)
	switch e.Field {
	case pb.TracePacket_V8JsCode:
		v.jsCode(&c)
	case pb.TracePacket_V8InternalCode:
		v.internalCode(&c)
	case pb.TracePacket_V8WasmCode:
		v.wasmCode(&c)
	case pb.TracePacket_V8RegExpCode:
		v.regExpCode(&c)
	case pb.TracePacket_V8CodeMove:
		v.move(e.TS, c.in.memory, c.start, message.Uint64(e.Data, pb.V8CodeMove_ToInstructionStartAddress), c.size)
	}
}

// jitCode adds a row for code at an address. Frames of stacks in it have the symbols.
func (v *reader) jitCode(c *code, name model.StringID, symbols ...profile.Symbol) (id codeID, ok bool) {
	if c.size == 0 || c.start+c.size < c.start {
		v.File.Count(model.StatV8CodeLoadMissingCodeRange)
		return 0, false
	}
	t := &v.Store.JITCode
	row := t.Append()
	t.CreateTS.Set(row, c.TS)
	t.UTID.Set(row, c.utid)
	t.StartAddress.Set(row, int64(c.start))
	t.Size.Set(row, int64(c.size))
	t.FunctionName.Set(row, name)
	t.NativeCodeBase64.Set(row, v.base64(c.machine))
	v.load(c.TS, c.in.memory, c.start, c.size, &stacks.Code{ID: codeID(row), Name: name, Symbols: symbols})
	return codeID(row), true
}

func (v *reader) jsCode(c *code) {
	function, symbol, ok := v.function(c.State, message.Uint64(c.Data, pb.V8JsCode_V8JsFunctionIID), c.in)
	if !ok {
		return
	}
	tier := message.Int64(c.Data, pb.V8JsCode_Tier)
	if tier == tierUnknown || tier >= int64(len(jsTiers)) {
		v.File.Count(model.StatV8UnknownCodeType)
		return
	}
	id := codeID(model.None)
	// Bytecode is in the heap, but V8 can also give each function machine code that runs its bytecode.
	if _, runs := c.in.memory.Find(c.start); tier != tierIgnition || runs && c.size > 0 {
		if id, ok = v.jitCode(c, symbol.Name, symbol); !ok {
			return
		}
	}
	t := &v.Store.V8JSCode
	row := t.Append()
	if id != model.None {
		t.JITCodeID.Set(row, id)
	}
	if bytecode, ok := wire.Find(c.Data, pb.V8JsCode_Bytecode); ok || id == model.None {
		t.BytecodeBase64.Set(row, v.base64(bytecode.Bytes()))
	}
	t.V8JSFunctionID.Set(row, function)
	t.Tier.Set(row, v.NameOf(jsTiers, tier))
	for _, field := range []uint32{pb.V8JsCode_SourcePositions, pb.V8JsCode_BytecodePositions, pb.V8JsCode_InlinedBytecodePositions} {
		if message.Has(c.Data, field) {
			v.File.Unread(model.StatUnreadFact, model.None, "table of positions in V8's code").Add(model.LogEntry{TS: c.TS, HasTS: true})
		}
	}
}

func (v *reader) internalCode(c *code) {
	name := v.TextField(c.Data, pb.V8InternalCode_Name)
	if id, ok := v.jitCode(c, name); ok {
		t := &v.Store.V8InternalCode
		row := t.Append()
		t.JITCodeID.Set(row, id)
		t.V8IsolateID.Set(row, c.in.id)
		t.FunctionName.Set(row, name)
		t.CodeType.Set(row, v.NameOf(internalTypes, message.Int64(c.Data, pb.V8InternalCode_Type)))
	}
}

func (v *reader) wasmCode(c *code) {
	script, ok := v.wasmScript(c.State, message.Uint64(c.Data, pb.V8WasmCode_V8WasmScriptIID), c.in)
	if !ok {
		return
	}
	name := v.TextField(c.Data, pb.V8WasmCode_FunctionName)
	if id, ok := v.jitCode(c, name); ok {
		t := &v.Store.V8WasmCode
		row := t.Append()
		t.JITCodeID.Set(row, id)
		t.V8IsolateID.Set(row, c.in.id)
		t.V8WasmScriptID.Set(row, script)
		t.FunctionName.Set(row, name)
		t.Tier.Set(row, v.NameOf(wasmTiers, message.Int64(c.Data, pb.V8WasmCode_Tier)))
		t.CodeOffsetInModule.Set(row, int64(message.Int32(c.Data, pb.V8WasmCode_CodeOffsetInModule)))
	}
}

func (v *reader) regExpCode(c *code) {
	if id, ok := v.jitCode(c, v.Store.Strings.Intern("[RegExp]")); ok {
		t := &v.Store.V8RegexpCode
		row := t.Append()
		t.JITCodeID.Set(row, id)
		t.V8IsolateID.Set(row, c.in.id)
		t.Pattern.Set(row, v.text(message.Bytes(c.Data, pb.V8RegExpCode_Pattern), inMessage))
	}
}

// thread returns the thread of an event, which its sequence's defaults name if it does not.
func (v *reader) thread(e *proto.Event, field uint32, pid int64) (model.UTID, bool) {
	tid, ok := wire.Find(e.Data, field)
	if !ok {
		if defaults := codeDefaults.Of(e.State); defaults != nil {
			tid, ok = wire.Find(*defaults, pb.V8CodeDefaults_TID)
		}
	}
	if !ok {
		v.File.Count(model.StatV8NoDefaults)
		return 0, false
	}
	return v.Machine.ThreadOf(int64(tid.Uint32()), pid), true
}

var codeDefaults = proto.NewDefault(pb.TracePacketDefaults_V8CodeDefaults, func(data []byte) []byte { return data })

// interned returns an interned message.
func (v *reader) interned(s *proto.State, field uint32, iid uint64) ([]byte, bool) {
	data, ok := s.Interned(field, iid)
	if !ok {
		v.File.Count(model.StatV8InternErrors)
	}
	return data, ok
}

// isolate returns an interned isolate, or nil.
func (v *reader) isolate(s *proto.State, iid uint64) *isolate {
	data, ok := v.interned(s, pb.InternedData_V8Isolate, iid)
	if !ok {
		return nil
	}
	pid := int64(message.Uint32(data, pb.InternedV8Isolate_PID))
	key := isolateKey{v.Machine.Process(pid), int64(message.Int32(data, pb.InternedV8Isolate_IsolateID))}
	in := v.isolates[key]
	if in == nil {
		in = &isolate{v.addIsolate(key, data), pid, v.memory(key.upid)}
		v.isolates[key] = in
	}
	return in
}

// addIsolate adds an isolate, and says where its code may be.
func (v *reader) addIsolate(key isolateKey, data []byte) isolateID {
	t := &v.Store.V8Isolate
	row := t.Append()
	t.UPID.Set(row, key.upid)
	t.InternalIsolateID.Set(row, key.id)
	builtins, size := message.Uint64(data, pb.InternedV8Isolate_EmbeddedBlobCodeStartAddress), message.Uint64(data, pb.InternedV8Isolate_EmbeddedBlobCodeSize)
	t.EmbeddedBlobCodeStartAddress.Set(row, int64(builtins))
	t.EmbeddedBlobCodeSize.Set(row, int64(size))
	if builtins != 0 {
		v.reserve(v.memory(key.upid), builtins, size)
	}
	if within, ok := wire.Find(data, pb.InternedV8Isolate_CodeRange); ok {
		start, size := message.Uint64(within.Bytes(), pb.InternedV8Isolate_CodeRange_BaseAddress), message.Uint64(within.Bytes(), pb.InternedV8Isolate_CodeRange_Size)
		t.CodeRangeBaseAddress.Set(row, int64(start))
		t.CodeRangeSize.Set(row, int64(size))
		t.SharedCodeRange.Set(row, message.Uint64(within.Bytes(), pb.InternedV8Isolate_CodeRange_IsProcessWide) != 0)
		if copied, ok := wire.Find(within.Bytes(), pb.InternedV8Isolate_CodeRange_EmbeddedBlobCodeCopyStartAddress); ok {
			t.EmbeddedBlobCodeCopyStartAddress.Set(row, copied.Int64())
		}
		v.reserve(v.memory(key.upid), start, size)
	}
	return isolateID(row)
}

// script returns an interned script.
func (v *reader) script(s *proto.State, iid uint64, in *isolate) *script {
	data, ok := v.interned(s, pb.InternedData_V8JsScript, iid)
	if !ok {
		return nil
	}
	key := scriptKey{in.id, message.Int32(data, pb.InternedV8JsScript_ScriptID)}
	if known := v.scripts[key]; known != nil {
		return known
	}
	source := message.Bytes(data, pb.InternedV8JsScript_Source)
	t := &v.Store.V8JSScript
	row := t.Append()
	added := &script{scriptID(row), v.text(message.Bytes(data, pb.InternedV8JsScript_Name), inMessage), lines(units(source, inMessage))}
	v.scripts[key] = added
	t.V8IsolateID.Set(row, in.id)
	t.InternalScriptID.Set(row, int64(key.id))
	t.ScriptType.Set(row, v.NameOf(scriptTypes, message.Int64(data, pb.InternedV8JsScript_Type)))
	t.Name.Set(row, added.name)
	t.Source.Set(row, v.text(source, inMessage))
	return added
}

// wasmScript returns an interned module.
func (v *reader) wasmScript(s *proto.State, iid uint64, in *isolate) (wasmScriptID, bool) {
	data, ok := v.interned(s, pb.InternedData_V8WasmScript, iid)
	if !ok {
		return 0, false
	}
	key := scriptKey{in.id, message.Int32(data, pb.InternedV8WasmScript_ScriptID)}
	id, known := v.wasmScripts[key]
	if !known {
		t := &v.Store.V8WasmScript
		row := t.Append()
		id = wasmScriptID(row)
		v.wasmScripts[key] = id
		t.V8IsolateID.Set(row, in.id)
		t.InternalScriptID.Set(row, int64(key.id))
		t.URL.Set(row, v.TextField(data, pb.InternedV8WasmScript_URL))
		t.WireBytesBase64.Set(row, v.base64(message.Bytes(data, pb.InternedV8WasmScript_WireBytes)))
	}
	return id, true
}

// function returns an interned function, and its place in the source as far as it is known.
func (v *reader) function(s *proto.State, iid uint64, in *isolate) (id functionID, symbol profile.Symbol, ok bool) {
	data, ok := v.interned(s, pb.InternedData_V8JsFunction, iid)
	if !ok {
		return 0, symbol, false
	}
	script := v.script(s, message.Uint64(data, pb.InternedV8JsFunction_V8JsScriptIID), in)
	if script == nil {
		return 0, symbol, false
	}
	name, ok := v.interned(s, pb.InternedData_V8JsFunctionName, message.Uint64(data, pb.InternedV8JsFunction_V8JsFunctionNameIID))
	if !ok {
		return 0, symbol, false
	}
	key := functionKey{v.text(name, inInterned), v.NameOf(functionKinds, message.Int64(data, pb.InternedV8JsFunction_Kind)), script.id,
		message.Uint64(data, pb.InternedV8JsFunction_IsToplevel) != 0, model.None, model.None}
	symbol = profile.Symbol{Name: key.name, File: script.name}
	offset, hasOffset := wire.Find(data, pb.InternedV8JsFunction_ByteOffset)
	switch {
	case message.Has(data, pb.InternedV8JsFunction_Line) && message.Has(data, pb.InternedV8JsFunction_Column):
		key.line, key.col = int64(message.Uint32(data, pb.InternedV8JsFunction_Line)), int64(message.Uint32(data, pb.InternedV8JsFunction_Column))
		symbol.Line = key.line
	case hasOffset && script.lines != nil:
		line, found := slices.BinarySearch(script.lines, int(offset.Uint32()))
		if found {
			line++
		}
		key.line, key.col = int64(line), int64(offset.Uint32())-int64(script.lines[line-1])+1
		symbol.Line = key.line
	case hasOffset: // as if the script were one line
		key.line, key.col = 1, int64(offset.Uint32())
	}
	id, known := v.functions[key]
	if !known {
		t := &v.Store.V8JSFunction
		row := t.Append()
		id = functionID(row)
		v.functions[key] = id
		t.Name.Set(row, key.name)
		t.V8JSScriptID.Set(row, script.id)
		t.IsToplevel.Set(row, key.toplevel)
		t.Kind.Set(row, key.kind)
		if key.line != model.None {
			t.Line.Set(row, key.line)
			t.Col.Set(row, key.col)
		}
	}
	return id, symbol, true
}

// encodings are the fields of a text, of which one is set.
type encodings struct{ latin1, utf16LE, utf16BE uint32 }

var (
	inMessage  = encodings{pb.V8String_Latin1, pb.V8String_Utf16Le, pb.V8String_Utf16Be}
	inInterned = encodings{pb.InternedV8String_Latin1, pb.InternedV8String_Utf16Le, pb.InternedV8String_Utf16Be}
)

func (v *reader) text(data []byte, in encodings) model.StringID {
	text := units(data, in)
	if len(text) == 0 {
		return 0
	}
	return v.Store.Strings.Intern(string(utf16.Decode(text)))
}

// units returns a text in UTF-16, nil if there is none.
func units(data []byte, in encodings) (text []uint16) {
	for f := wire.Read(data); f.Next(); {
		switch b := f.Bytes(); f.Number {
		case in.latin1:
			text = make([]uint16, len(b))
			for i, c := range b {
				text[i] = uint16(c)
			}
		case in.utf16LE:
			text = decode(b, binary.LittleEndian)
		case in.utf16BE:
			text = decode(b, binary.BigEndian)
		}
	}
	return text
}

func decode(b []byte, order binary.ByteOrder) []uint16 {
	text := make([]uint16, len(b)/2)
	for i := range text {
		text[i] = order.Uint16(b[2*i:])
	}
	return text
}

// lines returns where the lines of a source begin. They end as ECMAScript says.
func lines(source []uint16) (begins []int) {
	if source == nil {
		return nil
	}
	begins = []int{0}
	for i, c := range source {
		if c == '\n' || c == '\u2028' || c == '\u2029' || c == '\r' && (i+1 == len(source) || source[i+1] != '\n') {
			begins = append(begins, i+1)
		}
	}
	return begins
}

func (v *reader) base64(b []byte) model.StringID {
	return v.Store.Strings.Intern(base64.StdEncoding.EncodeToString(b))
}
