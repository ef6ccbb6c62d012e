package schema

import "github.com/tpconvert/tpconvert/model/table"

// StackProfileMapping holds the binaries of stack frames. Rows are held because symbols and deobfuscation maps look them up at the end.
type StackProfileMapping struct {
	table.Table `tp:"stack_profile_mapping,held" doc:"A file mapped into a process's memory, from which code ran."`
	BuildID     table.String `tp:"2,build_id" doc:"Build id in hexadecimal."`
	ExactOffset table.Int64  `tp:"3,exact_offset" doc:"File offset of the mapped range, bytes."`
	StartOffset table.Int64  `tp:"4,start_offset" doc:"File offset at which the loaded segment begins, bytes."`
	Start       table.Int64  `tp:"5,start" doc:"First address in the process."`
	End         table.Int64  `tp:"6,end" doc:"First address after the mapping."`
	LoadBias    table.Int64  `tp:"7,load_bias" doc:"Difference between the code's virtual address and its file offset."`
	Name        table.String `tp:"8,name" doc:"Path of the file."`
}

// StackProfileFrame holds the frames of call stacks. Rows are held because symbols and deobfuscated names come after the samples.
type StackProfileFrame struct {
	table.Table      `tp:"stack_profile_frame,held" doc:"A place in a program: a function, or an address in a binary."`
	Name             table.String                     `tp:"2,name" doc:"Function name."`
	Mapping          table.Ref[StackProfileMapping]   `tp:"3,mapping" doc:"Binary that contains it."`
	RelPC            table.Int64                      `tp:"4,rel_pc" doc:"Address relative to the binary."`
	SymbolSetID      table.SetRef[StackProfileSymbol] `tp:"5,symbol_set_id,null" doc:"Functions inlined at this address: the rows of stack_profile_symbol with this symbol_set_id."`
	DeobfuscatedName table.String                     `tp:"6,deobfuscated_name" doc:"Function name before obfuscation."`
	Type             table.String                     `tp:"7,type" doc:"Kind of code, such as native, kernel, interpreted or jit, if the producer records it."`
}

// StackProfileCallsite holds call stacks as a tree. Rows are held because the nodes of V8 CPU profiles may come before their parents.
type StackProfileCallsite struct {
	table.Table `tp:"stack_profile_callsite,held" doc:"A frame and its callers: one call stack."`
	Depth       table.Int32                     `tp:"2,depth" doc:"Number of frames that called it, 0 for the outermost."`
	ParentID    table.Ref[StackProfileCallsite] `tp:"3,parent_id,null" doc:"The stack without its innermost frame, NULL for the outermost."`
	FrameID     table.Ref[StackProfileFrame]    `tp:"4,frame_id" doc:"Innermost frame."`
}

// StackProfileSymbol is filled from symbols that come with the trace. Rows are held because deobfuscated
// names are found by line.
type StackProfileSymbol struct {
	table.Table `tp:"stack_profile_symbol,held" doc:"A function at an address. If there are several, each is inlined into the next, innermost first."`
	SymbolSetID table.SetRef[StackProfileSymbol] `tp:"2,symbol_set_id,asc" doc:"Address of the function: rows with the same number have the same address."`
	Name        table.String                     `tp:"3,name" doc:"Function name."`
	SourceFile  table.String                     `tp:"4,source_file" doc:"Source file."`
	LineNumber  table.Int64                      `tp:"5,line_number,null" doc:"Line of the address in the source file."`
	Inlined     table.Bool                       `tp:"6,inlined,null" doc:"Whether it is inlined into the next one, if known."`
}

// StackSample holds the samples of all profilers.
type StackSample struct {
	table.Table    `tp:"stack_sample,bounds=ts" doc:"A profiler's sample of what was running, or of counter values."`
	TS             table.Time                       `tp:"2,ts,asc" doc:"Time of the sample, ns of the trace clock."`
	Source         table.String                     `tp:"3,source" doc:"Profiler, such as linux.perf, chrome or instruments."`
	UTID           table.Ref[Thread]                `tp:"4,utid,null" doc:"Thread that was sampled."`
	UPID           table.Ref[Process]               `tp:"5,upid,null" doc:"Process that was sampled."`
	CPU            table.Int32                      `tp:"6,cpu,null" doc:"CPU number on its machine."`
	CPUMode        table.String                     `tp:"7,cpu_mode" doc:"Privilege level of the CPU, such as user or kernel."`
	CallsiteID     table.Ref[StackProfileCallsite]  `tp:"8,callsite_id,null" doc:"Call stack, NULL for a sample of counters only."`
	UnwindError    table.String                     `tp:"9,unwind_error" doc:"Why the stack is cut short, NULL if it is not."`
	SessionID      table.Ref[ProfilerSession]       `tp:"10,session_id,null" doc:"Session in which it was taken."`
	CounterSetID   table.SetRef[ProfilerCounterSet] `tp:"11,counter_set_id,null" doc:"Counters at that moment: the rows of profiler_counter_set with this counter_set_id."`
	AsyncContextID table.Ref[ProfilerAsyncContext]  `tp:"12,async_context_id,null" doc:"Coroutine that was sampled."`
	UCPU           table.Ref[CPU]                   `tp:"13,ucpu,null" doc:"CPU, unique across machines."`
	Weight         table.Int64                      `tp:"14,weight,null" doc:"How many samples it stands for, as Firefox profiles and samples of the Trace Event Format say; NULL for one."`
}

// StackSampleEvent holds the events of samples whose format does not have counters, unlike those of Linux perf.
type StackSampleEvent struct {
	table.Table   `tp:"stack_sample_event" doc:"The event that a sample is of, for samples of perf script, simpleperf, JFR, V8, Instruments and OpenTelemetry profiles, and those of .NET traces with labels: those of Linux perf have counters. V8 and Instruments have the event time."`
	StackSampleID table.Ref[StackSample] `tp:"2,stack_sample_id" doc:"The sample."`
	Event         table.String           `tp:"3,event" doc:"What was sampled, such as cycles or sched:sched_switch."`
	Period        table.Int64            `tp:"4,period,null" doc:"How many events the sample stands for, ns for cpu-clock, task-clock, time and jdk.CPUTimeSample; NULL if the file does not say."`
	ThreadState   table.String           `tp:"5,thread_state" doc:"What the thread did, as JFR or Instruments says it, such as STATE_RUNNABLE, STATE_SLEEPING or Running; NULL if the file does not say."`
	ArgSetID      table.SetRef[Args]     `tp:"6,arg_set_id,null" doc:"What else the profiler recorded, such as labels, or attributes and the span of OpenTelemetry profiles: the rows of args with this arg_set_id."`
}

// ChromeStackSampleExtras adds non-default values to Chrome's rows of StackSample.
type ChromeStackSampleExtras struct {
	table.Table      `tp:"chrome_stack_sample_extras" doc:"What Chrome records about a sample in addition to its stack."`
	ProfilerSampleID table.Ref[StackSample] `tp:"2,profiler_sample_id" doc:"The sample."`
	ProcessPriority  table.Int32            `tp:"3,process_priority" doc:"Priority of the process at that moment."`
}

// ProfilerSession holds the sessions of StackSample. Rows are held because the unit and the command line come after the first samples.
type ProfilerSession struct {
	table.Table  `tp:"profiler_session,held" doc:"A run of a profiler, from its start to its end."`
	Source       table.String `tp:"2,source" doc:"Profiler, as in stack_sample."`
	TimebaseUnit table.String `tp:"3,timebase_unit" doc:"Unit of what the profiler counts between samples, such as ns or cycles."`
	Cmdline      table.String `tp:"4,cmdline" doc:"Command that it was started with."`
}

// ProfilerCounterSet holds which counters belong to a row of StackSample.
type ProfilerCounterSet struct {
	table.Table  `tp:"profiler_counter_set" doc:"A counter value that was read with a sample."`
	CounterSetID table.SetRef[ProfilerCounterSet] `tp:"2,counter_set_id,asc" doc:"Sample that it belongs to: rows with the same number were read together."`
	CounterID    table.Ref[Counter]               `tp:"3,counter_id" doc:"The value."`
}

// ProfilerAsyncContext holds the coroutines of StackSample.
type ProfilerAsyncContext struct {
	table.Table `tp:"profiler_async_context" doc:"A flow of control that can move between threads: a goroutine, a fiber, a coroutine."`
	Name        table.String                    `tp:"2,name" doc:"Name to show."`
	Kind        table.String                    `tp:"3,kind" doc:"What it is, such as goroutine or fiber."`
	ParentID    table.Ref[ProfilerAsyncContext] `tp:"4,parent_id,null" doc:"Context that encloses it."`
}

// AggregateProfile holds the sample types of pprof and collapsed stacks.
type AggregateProfile struct {
	table.Table    `tp:"aggregate_profile" doc:"A measure of a profile that contains sums without times."`
	Scope          table.String `tp:"2,scope" doc:"File that it comes from."`
	Name           table.String `tp:"3,name" doc:"Name to show."`
	SampleTypeType table.String `tp:"4,sample_type_type" doc:"What is measured, such as cpu or alloc_space."`
	SampleTypeUnit table.String `tp:"5,sample_type_unit" doc:"Unit of the values, such as nanoseconds or bytes."`
	IsDefault      table.Bool   `tp:"6,is_default,null" doc:"Whether it is the measure that the tool of the format shows first."`
}

// AggregateSample holds the values of AggregateProfile.
type AggregateSample struct {
	table.Table        `tp:"aggregate_sample" doc:"The sum of a measure at a call stack."`
	AggregateProfileID table.Ref[AggregateProfile]     `tp:"2,aggregate_profile_id" doc:"Measure."`
	CallsiteID         table.Ref[StackProfileCallsite] `tp:"3,callsite_id,null" doc:"Call stack, NULL for values measured without one."`
	Value              table.Float64                   `tp:"4,value" doc:"Sum, in the unit of the measure."`
}

// AggregateSampleLabel holds the labels of pprof's samples. AggregateSample ignores them when adding up.
type AggregateSampleLabel struct {
	table.Table        `tp:"aggregate_sample_label" doc:"A label of a sample, with a row for each measure of the sample. A sample repeats its value for each of its labels, so add up values of only one key and one measure."`
	SampleID           table.Int64                     `tp:"2,sample_id,asc" doc:"Sample: rows with the same number belong to one sample. Other samples may have the same call stack."`
	AggregateProfileID table.Ref[AggregateProfile]     `tp:"3,aggregate_profile_id" doc:"Measure."`
	CallsiteID         table.Ref[StackProfileCallsite] `tp:"4,callsite_id,null" doc:"Call stack, NULL for values measured without one."`
	Value              table.Float64                   `tp:"5,value" doc:"Value of the sample, in the unit of the measure. It is part of the sum in aggregate_sample."`
	Key                table.String                    `tp:"6,key" doc:"Key of the label, such as endpoint or bytes."`
	StringValue        table.String                    `tp:"7,string_value" doc:"Value of the label, if it is text."`
	IntValue           table.Int64                     `tp:"8,int_value,null" doc:"Value of the label, if it is a number."`
	Unit               table.String                    `tp:"9,unit" doc:"Unit of int_value, NULL if the profile names none."`
}

// MmapRecord is filled from the mmap records of perf.
type MmapRecord struct {
	table.Table `tp:"mmap_record" doc:"A memory mapping made while a profile was recorded."`
	TS          table.Int64                    `tp:"2,ts,asc" doc:"When it was made, ns of the trace clock."`
	UPID        table.Ref[Process]             `tp:"3,upid,null" doc:"Process that made it, NULL for mappings of the kernel."`
	MappingID   table.Ref[StackProfileMapping] `tp:"4,mapping_id" doc:"The mapping."`
	FileID      table.Ref[File]                `tp:"5,file_id,null" doc:"Contents of the mapped file, if they came with the trace."`
}

// SPERecord is filled from Arm's Statistical Profiling Extension in perf.
type SPERecord struct {
	table.Table         `tp:"spe_record" doc:"A sampled operation of an Arm CPU."`
	TS                  table.Time                   `tp:"2,ts,asc" doc:"Time of the sample, ns of the trace clock."`
	UTID                table.Ref[Thread]            `tp:"3,utid,null" doc:"Thread that ran it."`
	ExceptionLevel      table.String                 `tp:"4,exception_level" doc:"Exception level that it ran at."`
	InstructionFrameID  table.Ref[StackProfileFrame] `tp:"5,instruction_frame_id,null" doc:"Address of the instruction."`
	Operation           table.String                 `tp:"6,operation" doc:"Kind of operation."`
	DataVirtualAddress  table.Int64                  `tp:"7,data_virtual_address" doc:"Virtual address of the data, 0 if there is none."`
	DataPhysicalAddress table.Int64                  `tp:"8,data_physical_address" doc:"Physical address of the data, 0 if there is none."`
	TotalLatency        table.Int64                  `tp:"9,total_latency" doc:"From dispatch to completion, cycles."`
	IssueLatency        table.Int64                  `tp:"10,issue_latency" doc:"From dispatch to issue, cycles."`
	TranslationLatency  table.Int64                  `tp:"11,translation_latency" doc:"Time to translate the address, cycles."`
	EventsBitmask       table.Int64                  `tp:"12,events_bitmask" doc:"Events that it caused, one bit each."`
	DataSource          table.String                 `tp:"13,data_source" doc:"Where the data of a load came from."`
}

// ETMV4Configuration is filled from the AUXTRACE info of perf.
type ETMV4Configuration struct {
	table.Table         `tp:"etm_v4_configuration" doc:"The configuration of Arm's instruction trace on a CPU."`
	SetID               table.Int64  `tp:"2,set_id,asc" doc:"Trace that it belongs to: rows with the same number are its CPUs."`
	CPU                 table.Int32  `tp:"3,cpu" doc:"CPU number."`
	CSTraceStreamID     table.Int64  `tp:"4,cs_trace_stream_id" doc:"Id of the CPU's stream in the formatted trace."`
	CoreProfile         table.String `tp:"5,core_profile" doc:"Profile of the core, such as Cortex-A."`
	ArchVersion         table.String `tp:"6,arch_version" doc:"Version of the architecture, such as AA64."`
	MajorVersion        table.Int64  `tp:"7,major_version" doc:"Major version of the trace architecture."`
	MinorVersion        table.Int64  `tp:"8,minor_version" doc:"Minor version of the trace architecture."`
	MaxSpeculationDepth table.Int64  `tp:"9,max_speculation_depth" doc:"How many branches the core may speculate past."`
	BoolFlags           table.Int64  `tp:"10,bool_flags" doc:"Features, one bit each."`
}

// ETMV4Session is filled from the AUXTRACE records of perf.
type ETMV4Session struct {
	table.Table     `tp:"etm_v4_session" doc:"A stretch of Arm's instruction trace on one CPU, from start to stop."`
	ConfigurationID table.Ref[ETMV4Configuration] `tp:"2,configuration_id" doc:"Configuration of the CPU."`
	StartTS         table.Int64                   `tp:"3,start_ts,null" doc:"When it began, ns of CLOCK_MONOTONIC."`
}

// ETMV4Chunk is filled from the AUXTRACE records of perf.
type ETMV4Chunk struct {
	table.Table `tp:"etm_v4_chunk" doc:"A piece of an instruction trace without losses."`
	SessionID   table.Ref[ETMV4Session] `tp:"2,session_id" doc:"Session that it belongs to."`
	ChunkSetID  table.Int64             `tp:"3,chunk_set_id,asc" doc:"The session's chunks: rows with the same number belong together."`
	Size        table.Int64             `tp:"4,size" doc:"Size in bytes."`
}

// JITCode holds code made by JIT compilers. Rows are held because a row ends when other code overwrites it.
type JITCode struct {
	table.Table       `tp:"jit_code,held" doc:"A piece of code generated by a JIT compiler."`
	CreateTS          table.Int64       `tp:"2,create_ts,asc" doc:"When it was made, ns of the trace clock."`
	EstimatedDeleteTS table.Int64       `tp:"3,estimated_delete_ts,null" doc:"Latest time at which it existed: when its memory was reused, ns of the trace clock."`
	UTID              table.Ref[Thread] `tp:"4,utid" doc:"Thread that made it."`
	StartAddress      table.Int64       `tp:"5,start_address" doc:"First address."`
	Size              table.Int64       `tp:"6,size" doc:"Size in bytes."`
	FunctionName      table.String      `tp:"7,function_name" doc:"Function name."`
	NativeCodeBase64  table.String      `tp:"8,native_code_base64" doc:"The machine code in base64."`
	JITCodeID         table.RowID       `tp:"9,jit_code_id" doc:"The same as id."`
}

// JITFrame links the frames of call stacks to JITCode.
type JITFrame struct {
	table.Table `tp:"jit_frame" doc:"A frame in code generated by a JIT compiler."`
	JITCodeID   table.Ref[JITCode]           `tp:"2,jit_code_id" doc:"The code."`
	FrameID     table.Ref[StackProfileFrame] `tp:"3,frame_id" doc:"The frame."`
}
