package schema

import "github.com/tpconvert/tpconvert/model/table"

// V8Isolate is filled from V8's code events.
type V8Isolate struct {
	table.Table                      `tp:"v8_isolate" doc:"An instance of V8."`
	UPID                             table.Ref[Process] `tp:"2,upid" doc:"Process that it is in."`
	InternalIsolateID                table.Int64        `tp:"3,internal_isolate_id" doc:"V8's id for it, unique in the process."`
	EmbeddedBlobCodeStartAddress     table.Int64        `tp:"4,embedded_blob_code_start_address" doc:"First address of the builtins' code."`
	EmbeddedBlobCodeSize             table.Int64        `tp:"5,embedded_blob_code_size" doc:"Size of the builtins' code, bytes."`
	CodeRangeBaseAddress             table.Int64        `tp:"6,code_range_base_address,null" doc:"First address of the code range, if there is one."`
	CodeRangeSize                    table.Int64        `tp:"7,code_range_size,null" doc:"Size of the code range, bytes."`
	SharedCodeRange                  table.Bool         `tp:"8,shared_code_range,null" doc:"Whether the isolates of the process share the range."`
	EmbeddedBlobCodeCopyStartAddress table.Int64        `tp:"9,embedded_blob_code_copy_start_address,null" doc:"First address of a copy of the builtins within the range."`
}

// V8JSScript belongs to V8Isolate.
type V8JSScript struct {
	table.Table      `tp:"v8_js_script" doc:"A JavaScript source."`
	V8IsolateID      table.Ref[V8Isolate] `tp:"2,v8_isolate_id" doc:"Isolate."`
	InternalScriptID table.Int64          `tp:"3,internal_script_id" doc:"V8's id for it."`
	ScriptType       table.String         `tp:"4,script_type" doc:"Kind of script."`
	Name             table.String         `tp:"5,name" doc:"Name or URL."`
	Source           table.String         `tp:"6,source" doc:"Text."`
}

// V8WasmScript belongs to V8Isolate.
type V8WasmScript struct {
	table.Table      `tp:"v8_wasm_script" doc:"A WebAssembly module."`
	V8IsolateID      table.Ref[V8Isolate] `tp:"2,v8_isolate_id" doc:"Isolate."`
	InternalScriptID table.Int64          `tp:"3,internal_script_id" doc:"V8's id for it."`
	URL              table.String         `tp:"4,url" doc:"Where it came from."`
	WireBytesBase64  table.String         `tp:"5,wire_bytes_base64" doc:"The module in base64."`
	Source           table.String         `tp:"6,source" doc:"Text."`
}

// V8JSFunction belongs to V8JSScript.
type V8JSFunction struct {
	table.Table  `tp:"v8_js_function" doc:"A JavaScript function."`
	Name         table.String          `tp:"2,name" doc:"Name."`
	V8JSScriptID table.Ref[V8JSScript] `tp:"3,v8_js_script_id" doc:"Script that contains it."`
	IsToplevel   table.Bool            `tp:"4,is_toplevel" doc:"Whether it is the script's top level."`
	Kind         table.String          `tp:"5,kind" doc:"Kind of function, such as an arrow function or a constructor."`
	Line         table.Int64           `tp:"6,line,null" doc:"Line that it begins at, from 1."`
	Col          table.Int64           `tp:"7,col,null" doc:"Column that it begins at, from 1."`
}

// V8JSCode links JITCode to V8JSFunction.
type V8JSCode struct {
	table.Table    `tp:"v8_js_code" doc:"Code of a JavaScript function. A function may have several."`
	JITCodeID      table.Ref[JITCode]      `tp:"2,jit_code_id,null" doc:"Machine code, NULL for bytecode."`
	V8JSFunctionID table.Ref[V8JSFunction] `tp:"3,v8_js_function_id" doc:"Function."`
	Tier           table.String            `tp:"4,tier" doc:"Compiler that made it."`
	BytecodeBase64 table.String            `tp:"5,bytecode_base64" doc:"Bytecode in base64, for the tier IGNITION."`
}

// V8InternalCode links JITCode to V8Isolate.
type V8InternalCode struct {
	table.Table  `tp:"v8_internal_code" doc:"Code of V8 itself, such as a builtin."`
	JITCodeID    table.Ref[JITCode]   `tp:"2,jit_code_id" doc:"Machine code."`
	V8IsolateID  table.Ref[V8Isolate] `tp:"3,v8_isolate_id" doc:"Isolate."`
	FunctionName table.String         `tp:"4,function_name" doc:"Name."`
	CodeType     table.String         `tp:"5,code_type" doc:"Kind of code, such as BYTECODE_HANDLER."`
}

// V8WasmCode links JITCode to V8WasmScript.
type V8WasmCode struct {
	table.Table        `tp:"v8_wasm_code" doc:"Code of a WebAssembly function."`
	JITCodeID          table.Ref[JITCode]      `tp:"2,jit_code_id" doc:"Machine code."`
	V8IsolateID        table.Ref[V8Isolate]    `tp:"3,v8_isolate_id" doc:"Isolate."`
	V8WasmScriptID     table.Ref[V8WasmScript] `tp:"4,v8_wasm_script_id" doc:"Module that contains it."`
	FunctionName       table.String            `tp:"5,function_name" doc:"Name."`
	Tier               table.String            `tp:"6,tier" doc:"Compiler that made it."`
	CodeOffsetInModule table.Int64             `tp:"7,code_offset_in_module" doc:"Offset of the function in the module, bytes."`
}

// V8RegexpCode links JITCode to V8Isolate.
type V8RegexpCode struct {
	table.Table `tp:"v8_regexp_code" doc:"Code of a regular expression."`
	JITCodeID   table.Ref[JITCode]   `tp:"2,jit_code_id" doc:"Machine code."`
	V8IsolateID table.Ref[V8Isolate] `tp:"3,v8_isolate_id" doc:"Isolate."`
	Pattern     table.String         `tp:"4,pattern" doc:"The regular expression."`
}
