// Package v8 reads the code that V8 generates while it runs: of JavaScript, WebAssembly and regular expressions, and V8's own.
package v8

import (
	"encoding/base64"
	"encoding/binary"
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
	isolates    map[isolateKey]*isolate
	ranges      map[model.UPID][]*codeRange
	shared      map[model.UPID]*codeRange // of all isolates of a process
	scripts     map[scriptKey]scriptID
	wasmScripts map[scriptKey]wasmScriptID
	functions   map[functionKey]functionID
}

type isolateKey struct {
	upid model.UPID
	id   int64
}

// isolate is an instance of V8.
type isolate struct {
	id   isolateID
	pid  int64
	code *codeRange // nil if it has no range of addresses
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

func codeEvents(r *proto.Reader) *proto.Module {
	v := &reader{Reader: r, generated: stacks.GeneratedOf(r), isolates: map[isolateKey]*isolate{}, ranges: map[model.UPID][]*codeRange{}, shared: map[model.UPID]*codeRange{},
		scripts: map[scriptKey]scriptID{}, wasmScripts: map[scriptKey]wasmScriptID{}, functions: map[functionKey]functionID{}}
	v.generated.Find = v.find
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_V8JsCode, pb.TracePacket_V8InternalCode, pb.TracePacket_V8WasmCode, pb.TracePacket_V8RegExpCode,
			pb.TracePacket_V8CodeMove},
		Parse: v.parse,
	}
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
	switch e.Field {
	case pb.TracePacket_V8JsCode:
		v.jsCode(e)
	case pb.TracePacket_V8InternalCode:
		v.internalCode(e)
	case pb.TracePacket_V8WasmCode:
		v.wasmCode(e)
	case pb.TracePacket_V8RegExpCode:
		v.regExpCode(e)
	case pb.TracePacket_V8CodeMove:
		v.move(e)
	}
}

func (v *reader) jsCode(e *proto.Event) {
	in := v.isolate(e.State, message.Uint64(e.Data, pb.V8JsCode_V8IsolateIID))
	utid, ok := v.thread(e, in, pb.V8JsCode_TID)
	if !ok {
		return
	}
	function, ok := v.function(e.State, message.Uint64(e.Data, pb.V8JsCode_V8JsFunctionIID), in)
	if !ok {
		return
	}
	tier := message.Int64(e.Data, pb.V8JsCode_Tier)
	start, size := message.Uint64(e.Data, pb.V8JsCode_InstructionStart), message.Uint64(e.Data, pb.V8JsCode_InstructionSizeBytes)
	row := codeID(model.None)
	switch {
	case tier == tierUnknown || tier >= int64(len(jsTiers)):
		v.File.Count(model.StatV8UnknownCodeType)
		return
	case tier == tierIgnition && (size == 0 || !in.code.contains(start, size)): // else V8 gives each function machine code that runs its bytecode
	default:
		symbol := v.symbol(function)
		if row, ok = v.load(e.TS, in, utid, start, size, symbol.Name, message.Bytes(e.Data, pb.V8JsCode_MachineCode), symbol); !ok {
			return
		}
	}
	t := &v.Store.V8JSCode
	code := t.Append()
	if row != model.None {
		t.JITCodeID.Set(code, row)
	} else {
		t.BytecodeBase64.Set(code, v.base64(message.Bytes(e.Data, pb.V8JsCode_Bytecode)))
	}
	t.V8JSFunctionID.Set(code, function)
	t.Tier.Set(code, v.NameOf(jsTiers, tier))
	for _, field := range []uint32{pb.V8JsCode_SourcePositions, pb.V8JsCode_BytecodePositions, pb.V8JsCode_InlinedBytecodePositions} {
		if message.Has(e.Data, field) {
			v.File.Unread(model.StatUnreadFact, model.None, "table of positions in V8's code").Add(model.LogEntry{TS: e.TS, HasTS: true})
		}
	}
}

func (v *reader) internalCode(e *proto.Event) {
	in := v.isolate(e.State, message.Uint64(e.Data, pb.V8InternalCode_V8IsolateIID))
	utid, ok := v.thread(e, in, pb.V8InternalCode_TID)
	if !ok {
		return
	}
	name := v.TextField(e.Data, pb.V8InternalCode_Name)
	row, ok := v.load(e.TS, in, utid, message.Uint64(e.Data, pb.V8InternalCode_InstructionStart),
		message.Uint64(e.Data, pb.V8InternalCode_InstructionSizeBytes), name, message.Bytes(e.Data, pb.V8InternalCode_MachineCode))
	if !ok {
		return
	}
	t := &v.Store.V8InternalCode
	code := t.Append()
	t.JITCodeID.Set(code, row)
	t.V8IsolateID.Set(code, in.id)
	t.FunctionName.Set(code, name)
	t.CodeType.Set(code, v.NameOf(internalTypes, message.Int64(e.Data, pb.V8InternalCode_Type)))
}

func (v *reader) wasmCode(e *proto.Event) {
	in := v.isolate(e.State, message.Uint64(e.Data, pb.V8WasmCode_V8IsolateIID))
	if in == nil {
		return
	}
	script, ok := v.wasmScript(e.State, message.Uint64(e.Data, pb.V8WasmCode_V8WasmScriptIID), in)
	if !ok {
		return
	}
	utid, ok := v.thread(e, in, pb.V8WasmCode_TID)
	if !ok {
		return
	}
	name := v.TextField(e.Data, pb.V8WasmCode_FunctionName)
	row, ok := v.load(e.TS, in, utid, message.Uint64(e.Data, pb.V8WasmCode_InstructionStart),
		message.Uint64(e.Data, pb.V8WasmCode_InstructionSizeBytes), name, message.Bytes(e.Data, pb.V8WasmCode_MachineCode))
	if !ok {
		return
	}
	t := &v.Store.V8WasmCode
	code := t.Append()
	t.JITCodeID.Set(code, row)
	t.V8IsolateID.Set(code, in.id)
	t.V8WasmScriptID.Set(code, script)
	t.FunctionName.Set(code, name)
	t.Tier.Set(code, v.NameOf(wasmTiers, message.Int64(e.Data, pb.V8WasmCode_Tier)))
	t.CodeOffsetInModule.Set(code, int64(message.Int32(e.Data, pb.V8WasmCode_CodeOffsetInModule)))
}

func (v *reader) regExpCode(e *proto.Event) {
	in := v.isolate(e.State, message.Uint64(e.Data, pb.V8RegExpCode_V8IsolateIID))
	utid, ok := v.thread(e, in, pb.V8RegExpCode_TID)
	if !ok {
		return
	}
	row, ok := v.load(e.TS, in, utid, message.Uint64(e.Data, pb.V8RegExpCode_InstructionStart),
		message.Uint64(e.Data, pb.V8RegExpCode_InstructionSizeBytes), v.Store.Strings.Intern("[RegExp]"), message.Bytes(e.Data, pb.V8RegExpCode_MachineCode))
	if !ok {
		return
	}
	t := &v.Store.V8RegexpCode
	code := t.Append()
	t.JITCodeID.Set(code, row)
	t.V8IsolateID.Set(code, in.id)
	t.Pattern.Set(code, v.text(message.Bytes(e.Data, pb.V8RegExpCode_Pattern), inMessage))
}

// move reads that the garbage collector moved code.
func (v *reader) move(e *proto.Event) {
	in := v.isolate(e.State, message.Uint64(e.Data, pb.V8CodeMove_IsolateIID))
	if _, ok := v.thread(e, in, pb.V8CodeMove_TID); !ok || !message.Has(e.Data, pb.V8CodeMove_FromInstructionStartAddress) {
		return
	}
	from := message.Uint64(e.Data, pb.V8CodeMove_FromInstructionStartAddress)
	if !v.inRange(in, from, message.Uint64(e.Data, pb.V8CodeMove_InstructionSizeBytes)) {
		return
	}
	in.code.move(e.TS, v.Store, from, message.Uint64(e.Data, pb.V8CodeMove_ToInstructionStartAddress))
}

// thread returns the thread of an event, which its sequence's defaults name if it does not. It returns false without an isolate.
func (v *reader) thread(e *proto.Event, in *isolate, field uint32) (model.UTID, bool) {
	if in == nil {
		return 0, false
	}
	if tid, ok := wire.Find(e.Data, field); ok {
		return v.Machine.ThreadOf(int64(tid.Uint32()), in.pid), true
	}
	if tid := defaultTID.Of(e.State); tid != nil && *tid != model.None {
		return v.Machine.ThreadOf(*tid, in.pid), true
	}
	v.File.Count(model.StatV8NoDefaults)
	return 0, false
}

var defaultTID = proto.NewDefault(pb.TracePacketDefaults_V8CodeDefaults, func(data []byte) int64 {
	if tid, ok := wire.Find(data, pb.V8CodeDefaults_TID); ok {
		return int64(tid.Uint32())
	}
	return model.None
})

// interned returns an interned message.
func (v *reader) interned(s *proto.State, field uint32, iid uint64) ([]byte, bool) {
	data, ok := s.Interned(field, iid)
	if !ok {
		v.File.Count(model.StatV8InternErrors)
	}
	return data, ok
}

// isolate returns an interned isolate, or nil. Where one without a range has its code is not known.
func (v *reader) isolate(s *proto.State, iid uint64) *isolate {
	data, ok := v.interned(s, pb.InternedData_V8Isolate, iid)
	if !ok {
		return nil
	}
	pid := int64(message.Uint32(data, pb.InternedV8Isolate_PID))
	key := isolateKey{v.Machine.Process(pid), int64(message.Int32(data, pb.InternedV8Isolate_IsolateID))}
	in := v.isolates[key]
	if in == nil {
		in = &isolate{pid: pid}
		v.isolates[key] = in
		if message.Has(data, pb.InternedV8Isolate_CodeRange) {
			v.addIsolate(in, key, data)
		} else {
			v.File.Count(model.StatV8IsolateHasNoCodeRange)
		}
	}
	if in.code == nil {
		return nil
	}
	return in
}

func (v *reader) addIsolate(in *isolate, key isolateKey, data []byte) {
	inRange := message.Bytes(data, pb.InternedV8Isolate_CodeRange)
	start, size := message.Uint64(inRange, pb.InternedV8Isolate_CodeRange_BaseAddress), message.Uint64(inRange, pb.InternedV8Isolate_CodeRange_Size)
	blob, blobSize := message.Uint64(data, pb.InternedV8Isolate_EmbeddedBlobCodeStartAddress), message.Uint64(data, pb.InternedV8Isolate_EmbeddedBlobCodeSize)
	shared := message.Uint64(inRange, pb.InternedV8Isolate_CodeRange_IsProcessWide) != 0
	t := &v.Store.V8Isolate
	row := t.Append()
	in.id = isolateID(row)
	t.UPID.Set(row, key.upid)
	t.InternalIsolateID.Set(row, key.id)
	t.EmbeddedBlobCodeStartAddress.Set(row, int64(blob))
	t.EmbeddedBlobCodeSize.Set(row, int64(blobSize))
	t.CodeRangeBaseAddress.Set(row, int64(start))
	t.CodeRangeSize.Set(row, int64(size))
	t.SharedCodeRange.Set(row, shared)
	if copied, ok := wire.Find(inRange, pb.InternedV8Isolate_CodeRange_EmbeddedBlobCodeCopyStartAddress); ok {
		t.EmbeddedBlobCodeCopyStartAddress.Set(row, copied.Int64())
	}
	if shared && v.shared[key.upid] != nil {
		in.code = v.shared[key.upid]
		return
	}
	in.code = newCodeRange(start, size, blob, blobSize)
	v.ranges[key.upid] = append(v.ranges[key.upid], in.code)
	v.generated.Ranges++
	if shared {
		v.shared[key.upid] = in.code
	}
}

// script returns an interned script.
func (v *reader) script(s *proto.State, iid uint64, in *isolate) (scriptID, bool) {
	data, ok := v.interned(s, pb.InternedData_V8JsScript, iid)
	if !ok {
		return 0, false
	}
	key := scriptKey{in.id, message.Int32(data, pb.InternedV8JsScript_ScriptID)}
	id, known := v.scripts[key]
	if !known {
		t := &v.Store.V8JSScript
		row := t.Append()
		id = scriptID(row)
		v.scripts[key] = id
		t.V8IsolateID.Set(row, in.id)
		t.InternalScriptID.Set(row, int64(key.id))
		t.ScriptType.Set(row, v.NameOf(scriptTypes, message.Int64(data, pb.InternedV8JsScript_Type)))
		t.Name.Set(row, v.text(message.Bytes(data, pb.InternedV8JsScript_Name), inMessage))
		t.Source.Set(row, v.text(message.Bytes(data, pb.InternedV8JsScript_Source), inMessage))
	}
	return id, true
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

// function returns an interned function.
func (v *reader) function(s *proto.State, iid uint64, in *isolate) (functionID, bool) {
	data, ok := v.interned(s, pb.InternedData_V8JsFunction, iid)
	if !ok {
		return 0, false
	}
	script, ok := v.script(s, message.Uint64(data, pb.InternedV8JsFunction_V8JsScriptIID), in)
	if !ok {
		return 0, false
	}
	name, ok := v.interned(s, pb.InternedData_V8JsFunctionName, message.Uint64(data, pb.InternedV8JsFunction_V8JsFunctionNameIID))
	if !ok {
		return 0, false
	}
	key := functionKey{v.text(name, inInterned), v.NameOf(functionKinds, message.Int64(data, pb.InternedV8JsFunction_Kind)), script,
		message.Uint64(data, pb.InternedV8JsFunction_IsToplevel) != 0, model.None, model.None}
	switch line, offset := message.Has(data, pb.InternedV8JsFunction_Line), message.Has(data, pb.InternedV8JsFunction_ByteOffset); {
	case line && message.Has(data, pb.InternedV8JsFunction_Column):
		key.line, key.col = int64(message.Uint32(data, pb.InternedV8JsFunction_Line)), int64(message.Uint32(data, pb.InternedV8JsFunction_Column))
	case offset: // as if the script were one line
		key.line, key.col = 1, int64(message.Uint32(data, pb.InternedV8JsFunction_ByteOffset))
	}
	id, known := v.functions[key]
	if !known {
		t := &v.Store.V8JSFunction
		row := t.Append()
		id = functionID(row)
		v.functions[key] = id
		t.Name.Set(row, key.name)
		t.V8JSScriptID.Set(row, script)
		t.IsToplevel.Set(row, key.toplevel)
		t.Kind.Set(row, key.kind)
		if key.line != model.None {
			t.Line.Set(row, key.line)
			t.Col.Set(row, key.col)
		}
	}
	return id, true
}

// symbol returns a function with its place in the source.
func (v *reader) symbol(id functionID) profile.Symbol {
	t := &v.Store.V8JSFunction
	name, _ := t.Name.Get(int64(id))
	script, _ := t.V8JSScriptID.Get(int64(id))
	file, _ := v.Store.V8JSScript.Name.Get(int64(script))
	line, _ := t.Line.Get(int64(id))
	return profile.Symbol{Name: name, File: file, Line: line}
}

// encodings are the fields of a text, of which one is set.
type encodings struct{ latin1, utf16LE, utf16BE uint32 }

var (
	inMessage  = encodings{pb.V8String_Latin1, pb.V8String_Utf16Le, pb.V8String_Utf16Be}
	inInterned = encodings{pb.InternedV8String_Latin1, pb.InternedV8String_Utf16Le, pb.InternedV8String_Utf16Be}
)

func (v *reader) text(data []byte, in encodings) model.StringID {
	for f := wire.Read(data); f.Next(); {
		switch b := f.Bytes(); f.Number {
		case in.latin1:
			runes := make([]rune, len(b))
			for i, c := range b {
				runes[i] = rune(c)
			}
			return v.Store.Strings.Intern(string(runes))
		case in.utf16LE:
			return v.utf16(b, binary.LittleEndian)
		case in.utf16BE:
			return v.utf16(b, binary.BigEndian)
		}
	}
	return 0
}

func (v *reader) utf16(b []byte, order binary.ByteOrder) model.StringID {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return v.Store.Strings.Intern(string(utf16.Decode(units)))
}

func (v *reader) base64(b []byte) model.StringID {
	return v.Store.Strings.Intern(base64.StdEncoding.EncodeToString(b))
}
