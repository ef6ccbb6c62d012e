package schema

import "github.com/tpconvert/tpconvert/model/table"

// Trace has one row, which the export writes once all input is read.
type Trace struct {
	table.Table               `tp:"trace,core" doc:"A trace of the dataset: its input, time span and machine, and what was lost."`
	TraceID                   table.String `tp:"2,trace_id" doc:"Id of the trace in the dataset. In a dataset of many traces it is the partition key, as in every table."`
	Name                      table.String `tp:"3,name" doc:"Name of the input's file."`
	Path                      table.String `tp:"4,path" doc:"Absolute path of the input when it was read, NULL for the standard input."`
	OtherPaths                table.String `tp:"5,other_paths" doc:"Paths of other inputs with the same content, one per line."`
	Bytes                     table.Int64  `tp:"6,bytes" doc:"Size of the input, bytes, before any decompression."`
	SHA256                    table.String `tp:"7,sha256" doc:"SHA-256 of the input, hexadecimal."`
	Format                    table.String `tp:"8,format" doc:"Formats of the input and of the files in it, outermost first, separated by slashes."`
	StartTS                   table.Int64  `tp:"9,start_ts,null" doc:"Earliest timestamp of any event, or the start of the part that was cut out, ns of the trace clock, NULL if there are no events."`
	EndTS                     table.Int64  `tp:"10,end_ts,null" doc:"Latest timestamp of any event, or the end of the part, ns of the trace clock."`
	StartUnixNs               table.Int64  `tp:"11,start_unix_ns,null" doc:"Wall clock at start_ts, or when a profile without times began, ns since 1970-01-01 UTC, if the trace contains it."`
	MachineName               table.String `tp:"12,machine_name" doc:"Name that the machine reports."`
	Sysname                   table.String `tp:"13,sysname" doc:"Name of the operating system, as uname gives it."`
	Release                   table.String `tp:"14,release" doc:"Release of the operating system."`
	Arch                      table.String `tp:"15,arch" doc:"Architecture, such as x86_64."`
	NumCpus                   table.Int64  `tp:"16,num_cpus,null" doc:"Number of CPUs."`
	SystemRAMBytes            table.Int64  `tp:"17,system_ram_bytes,null" doc:"Memory of the machine, bytes."`
	AndroidBuildFingerprint   table.String `tp:"18,android_build_fingerprint" doc:"Build of Android."`
	AndroidDeviceManufacturer table.String `tp:"19,android_device_manufacturer" doc:"Manufacturer of the Android device."`
	AndroidSDKVersion         table.Int64  `tp:"20,android_sdk_version,null" doc:"Android's SDK version."`
	ConverterVersion          table.String `tp:"21,converter_version" doc:"Version of tpconvert that converted the trace."`
	SchemaVersion             table.Int64  `tp:"22,schema_version" doc:"Version of the dataset's schema."`
	Lost                      table.Int64  `tp:"23,lost" doc:"Sum of the counts of events in stats with effect lost."`
	LostReasons               table.String `tp:"24,lost_reasons" doc:"The counts in stats with effect lost or damaged and their names, separated by commas."`
	Rank                      table.Int64  `tp:"25,rank,null" doc:"Rank of the traced process in its job, if the trace names it."`
	WorldSize                 table.Int64  `tp:"26,world_size,null" doc:"Number of ranks in the job."`
}

// TraceBounds has one row, which is written at the end.
type TraceBounds struct {
	table.Table `tp:"trace_bounds,core,held" doc:"The first and the last moment of the trace, or of the part of it that was cut out."`
	StartTS     table.Int64 `tp:"2,start_ts" doc:"Earliest timestamp of any event, or the start of the part, ns of the trace clock."`
	EndTS       table.Int64 `tp:"3,end_ts" doc:"Latest timestamp of any event, including ends of spans, or the end of the part, ns of the trace clock."`
}

// TraceFile holds the input and the files found in it. Rows are held because size and type are known only
// once a file is read.
type TraceFile struct {
	table.Table     `tp:"trace_file,held" doc:"A file that was read, or a member of one."`
	ParentID        table.Ref[TraceFile] `tp:"2,parent_id,null" doc:"Archive or compressed file in which it was found."`
	Name            table.String         `tp:"3,name" doc:"Name, or path in the archive."`
	Size            table.Int64          `tp:"4,size" doc:"Size in bytes, uncompressed."`
	TraceType       table.String         `tp:"5,trace_type" doc:"Format that was detected."`
	ProcessingOrder table.Int64          `tp:"6,processing_order,null" doc:"Position in the order in which traces were read, from 0."`
	IsContainer     table.Bool           `tp:"7,is_container" doc:"Whether it holds other files."`
}

// Metadata holds facts that the traces state about themselves, and facts added by the conversion.
type Metadata struct {
	table.Table  `tp:"metadata,core,held" doc:"A fact about the trace or the system on which it was recorded."`
	Name         table.String         `tp:"2,name" doc:"What the fact is about."`
	KeyType      table.String         `tp:"3,key_type" doc:"single if only one value is possible, multi if several are."`
	IntValue     table.Int64          `tp:"4,int_value,null" doc:"Value of a number."`
	StrValue     table.String         `tp:"5,str_value" doc:"Value of a text."`
	MachineID    table.Ref[Machine]   `tp:"6,machine_id,null" doc:"Machine that the fact is about, 0 for the one that recorded the trace, NULL if none."`
	LocalTraceID table.Ref[TraceFile] `tp:"7,local_trace_id,null" doc:"Trace that the fact is about, NULL if it is about all traces."`
}

// Stats holds the counts. Rows are held because counts change until the end.
type Stats struct {
	table.Table  `tp:"stats,core,held" doc:"A count of something that happened in recording or conversion, including losses."`
	Name         table.String         `tp:"2,name" doc:"Name of the count."`
	Key          table.Int64          `tp:"3,key" doc:"Number of the name."`
	Idx          table.Int64          `tp:"4,idx,null" doc:"What the count is for, such as a CPU or a buffer."`
	Severity     table.String         `tp:"5,severity" doc:"info, notice, data_loss or error, as in Trace Processor."`
	Source       table.String         `tp:"6,source" doc:"trace if it was recorded, analysis if the conversion counted it."`
	Value        table.Int64          `tp:"7,value" doc:"The count."`
	Description  table.String         `tp:"8,description" doc:"What it means."`
	MachineID    table.Ref[Machine]   `tp:"9,machine_id,null" doc:"Machine that it was counted on, 0 for the one that recorded the trace, NULL if none."`
	LocalTraceID table.Ref[TraceFile] `tp:"10,local_trace_id,null" doc:"Trace that it was counted in."`
	Effect       table.String         `tp:"11,effect" doc:"What it means for the dataset: lost, damaged, not_read, notice or none."`
}

// ImportLog holds the single problems behind the counts of stats.
type ImportLog struct {
	table.Table  `tp:"import_log" doc:"A place in the input that could not be imported, or only in part. A trace has the first 10,000 places for each count in stats."`
	LocalTraceID table.Ref[TraceFile] `tp:"2,local_trace_id" doc:"Trace that it is in."`
	TS           table.Int64          `tp:"3,ts,null" doc:"Time of the event, ns of the trace clock, if it has one."`
	ByteOffset   table.Int64          `tp:"4,byte_offset,null" doc:"Offset of the event in the trace, bytes."`
	StatKey      table.Int64          `tp:"5,stat_key" doc:"key in stats."`
	ArgSetID     table.SetRef[Args]   `tp:"6,arg_set_id,null" doc:"Details: the rows of args with this arg_set_id."`
	Name         table.String         `tp:"7,name" doc:"name in stats: the reason."`
	Severity     table.String         `tp:"8,severity" doc:"severity in stats."`
}

// TraceDiagnostics is filled at the end, by checks of how the trace was configured.
type TraceDiagnostics struct {
	table.Table  `tp:"trace_diagnostics" doc:"A problem of the trace that its configuration explains."`
	Key          table.String         `tp:"2,key" doc:"Name of the problem, the same in every version."`
	Title        table.String         `tp:"3,title" doc:"The problem in a few words."`
	Description  table.String         `tp:"4,description" doc:"The problem in full."`
	Remediation  table.String         `tp:"5,remediation" doc:"What to do about it."`
	Confidence   table.Float64        `tp:"6,confidence" doc:"How sure the diagnosis is, 0 to 1."`
	LocalTraceID table.Ref[TraceFile] `tp:"7,local_trace_id,null" doc:"Trace that it is about."`
}

// ClockSnapshot holds the readings used to convert between clocks.
type ClockSnapshot struct {
	table.Table `tp:"clock_snapshot" doc:"A reading of a clock at a time of the trace clock."`
	TS          table.Int64        `tp:"2,ts,asc" doc:"Time of the reading, ns of the trace clock."`
	ClockID     table.Int64        `tp:"3,clock_id" doc:"Number of the clock in the trace."`
	ClockName   table.String       `tp:"4,clock_name" doc:"Name of a well-known clock."`
	ClockValue  table.Int64        `tp:"5,clock_value" doc:"Reading in ns, or in the clock's own unit."`
	SnapshotID  table.Int64        `tp:"6,snapshot_id" doc:"Readings with the same number were taken together."`
	MachineID   table.Ref[Machine] `tp:"7,machine_id" doc:"Machine that was read."`
}

// BuildFlags is for compatibility: a build has the same flags everywhere.
type BuildFlags struct {
	table.Table `tp:"build_flags,planned" doc:"A feature that the converter was built with or without."`
	Name        table.String `tp:"2,name" doc:"Name of the feature."`
	Enabled     table.Bool   `tp:"3,enabled" doc:"Whether it was built with the feature."`
}

// File holds the files that a perf trace refers to.
type File struct {
	table.Table `tp:"file" doc:"A file whose contents came with the trace."`
	Name        table.String `tp:"2,name" doc:"Path."`
	Size        table.Int64  `tp:"3,size" doc:"Size in bytes."`
	TraceType   table.String `tp:"4,trace_type" doc:"Format that was detected, as in trace_file."`
}

// ELFFile describes the binaries among the rows of File.
type ELFFile struct {
	table.Table `tp:"elf_file" doc:"A binary whose contents came with the trace."`
	FileID      table.Ref[File] `tp:"2,file_id" doc:"File of the binary."`
	LoadBias    table.Int64     `tp:"3,load_bias" doc:"Difference between the virtual address and the file offset of the first executable segment."`
	BuildID     table.String    `tp:"4,build_id" doc:"Build id in hexadecimal."`
}

// ExperimentalMissingChromeProcesses is filled at the end, from the lists of live processes that Chrome writes.
type ExperimentalMissingChromeProcesses struct {
	table.Table  `tp:"experimental_missing_chrome_processes" doc:"A Chrome process for which the trace lacks data."`
	UPID         table.Ref[Process] `tp:"2,upid" doc:"Process."`
	ReliableFrom table.Int64        `tp:"3,reliable_from,null" doc:"Time from which its data is complete, ns of the trace clock, NULL if never."`
}

// ExperimentalProtoPath is filled at the end, with --analyze-trace-proto-content.
type ExperimentalProtoPath struct {
	table.Table `tp:"experimental_proto_path" doc:"A path of fields in the packets of a Perfetto trace, if its content is analyzed. Packets of events with another name or category have paths of their own."`
	ParentID    table.Ref[ExperimentalProtoPath] `tp:"2,parent_id,null" doc:"Path that leads to the field, NULL for a packet."`
	FieldType   table.String                     `tp:"3,field_type" doc:"Type of the field: a message type or a type of numbers, text or bytes; empty for unknown fields."`
	FieldName   table.String                     `tp:"4,field_name" doc:"Name of the field after a #, #unknown for all unknown fields of a message, NULL for a packet."`
	ArgSetID    table.SetRef[Args]               `tp:"5,arg_set_id,null" doc:"What the packets have in common: the rows of args with this arg_set_id, event.category and event.name of track events and skipped_packet if earlier packets were lost."`
}

// ExperimentalProtoContent is filled at the end, with --analyze-trace-proto-content.
type ExperimentalProtoContent struct {
	table.Table `tp:"experimental_proto_content" doc:"What the fields at a path take in the packets of a Perfetto trace, if its content is analyzed."`
	Path        table.String                     `tp:"2,path" doc:"Types and fields of the path, from the packet on, separated by dots."`
	PathID      table.Ref[ExperimentalProtoPath] `tp:"3,path_id" doc:"Path."`
	TotalSize   table.Int64                      `tp:"4,total_size" doc:"The same as size."`
	Size        table.Int64                      `tp:"5,size" doc:"Size of all values, bytes; of messages, only the tags and lengths in them."`
	Count       table.Int64                      `tp:"6,count" doc:"Number of fields."`
}
