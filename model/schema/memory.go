package schema

import "github.com/tpconvert/tpconvert/model/table"

// HeapProfile holds the dumps of heapprofd and of Java heap sampling.
type HeapProfile struct {
	table.Table `tp:"heap_profile" doc:"A dump of an allocation profiler and the time that it covers."`
	TS          table.Int64        `tp:"2,ts,asc" doc:"When the profile began, ns of the trace clock."`
	TSEnd       table.Int64        `tp:"3,ts_end" doc:"When it was dumped, ns of the trace clock: the ts of its rows in heap_profile_allocation."`
	Dur         table.Int64        `tp:"4,dur" doc:"Time from the begin to the dump, ns."`
	UPID        table.Ref[Process] `tp:"5,upid" doc:"Process that was profiled."`
	HeapName    table.String       `tp:"6,heap_name" doc:"Heap that was profiled, such as libc.malloc, if the producer names it."`
}

// HeapProfileAllocation holds the counts of HeapProfile, as differences from the previous dump.
type HeapProfileAllocation struct {
	table.Table `tp:"heap_profile_allocation,bounds=ts" doc:"What was allocated or freed at a call stack between two dumps."`
	TS          table.Int64                     `tp:"2,ts" doc:"When the profile was dumped, ns of the trace clock."`
	UPID        table.Ref[Process]              `tp:"3,upid" doc:"Process that allocated."`
	HeapName    table.String                    `tp:"4,heap_name" doc:"Heap that it allocated from."`
	CallsiteID  table.Ref[StackProfileCallsite] `tp:"5,callsite_id" doc:"Call stack of the allocation."`
	Count       table.Int64                     `tp:"6,count" doc:"Allocations, or minus the allocations of this stack that were freed."`
	Size        table.Int64                     `tp:"7,size" doc:"Bytes allocated, or minus the bytes freed."`
}

// HeapGraph holds dumps of managed heaps. Rows are held because size and truncation are known at the end of a dump.
type HeapGraph struct {
	table.Table `tp:"heap_graph,bounds=ts,held" doc:"A dump of the heap of Java or JavaScript."`
	TS          table.Time         `tp:"2,ts,asc" doc:"When it was taken, ns of the trace clock."`
	UPID        table.Ref[Process] `tp:"3,upid" doc:"Process whose heap it is."`
	DumpReason  table.String       `tp:"4,dump_reason" doc:"What caused it, such as OOME."`
	HeapSize    table.Int64        `tp:"5,heap_size,null" doc:"Bytes allocated on the heap, as reported by the runtime."`
	Truncated   table.Bool         `tp:"6,truncated" doc:"Whether parts of it are missing."`
}

// HeapGraphClass holds the classes of dumps. Rows are held because superclasses and deobfuscated names are resolved last.
type HeapGraphClass struct {
	table.Table      `tp:"heap_graph_class,held" doc:"A class of a Java heap."`
	Name             table.String               `tp:"2,name" doc:"Name, possibly obfuscated."`
	DeobfuscatedName table.String               `tp:"3,deobfuscated_name" doc:"Name before obfuscation."`
	Location         table.String               `tp:"4,location" doc:"APK, DEX or JAR file that contains it."`
	SuperclassID     table.Ref[HeapGraphClass]  `tp:"5,superclass_id,null" doc:"Class that it extends."`
	ClassloaderID    table.Ref[HeapGraphObject] `tp:"6,classloader_id,null" doc:"Object that loaded it."`
	Kind             table.String               `tp:"7,kind" doc:"Kind of class, such as KIND_NORMAL or KIND_ARRAY; in a heap snapshot of V8, the type of its objects, such as closure."`
}

// HeapGraphObject holds the objects of dumps. The rows of a dump are added once it is complete, because only
// then are roots and reachability known.
type HeapGraphObject struct {
	table.Table    `tp:"heap_graph_object,bounds=graph_sample_ts" doc:"An object on a Java heap."`
	UPID           table.Ref[Process]             `tp:"2,upid" doc:"Process whose heap it is on."`
	GraphSampleTS  table.Time                     `tp:"3,graph_sample_ts" doc:"When the dump was taken, ns of the trace clock."`
	SelfSize       table.Int64                    `tp:"4,self_size" doc:"Size without the objects that it refers to, bytes."`
	NativeSize     table.Int64                    `tp:"5,native_size" doc:"Native memory registered for it with the garbage collector, bytes."`
	ReferenceSetID table.Int64                    `tp:"6,reference_set_id,null" doc:"What it refers to: the rows of heap_graph_reference with this reference_set_id."`
	Reachable      table.Bool                     `tp:"7,reachable" doc:"Whether it is reachable from a root; if not, it is garbage."`
	HeapType       table.String                   `tp:"8,heap_type" doc:"Part of the heap, such as HEAP_TYPE_APP or HEAP_TYPE_ZYGOTE."`
	TypeID         table.Ref[HeapGraphClass]      `tp:"9,type_id" doc:"Its class."`
	RootType       table.String                   `tp:"10,root_type" doc:"What makes it a root, NULL if it is not a root."`
	RootDistance   table.Int64                    `tp:"11,root_distance" doc:"Number of references from the nearest root, -1 if it is unreachable."`
	ObjectDataID   table.Ref[HeapGraphObjectData] `tp:"12,object_data_id,null" doc:"Its contents, if the dump is in HPROF format or of V8."`
}

// HeapGraphReference holds the references of dumps. Rows are held because deobfuscated names come at the end of the trace.
type HeapGraphReference struct {
	table.Table           `tp:"heap_graph_reference,held" doc:"A reference from a field of an object to another object."`
	ReferenceSetID        table.Int64                `tp:"2,reference_set_id,asc" doc:"The fields of one object: rows with the same number belong together."`
	OwnerID               table.Ref[HeapGraphObject] `tp:"3,owner_id" doc:"Object with the field."`
	OwnedID               table.Ref[HeapGraphObject] `tp:"4,owned_id,null" doc:"Object that it refers to."`
	FieldName             table.String               `tp:"5,field_name" doc:"Class and field, such as Foo.name."`
	FieldTypeName         table.String               `tp:"6,field_type_name" doc:"Declared class of the field; in a heap snapshot of V8, the type of the reference, such as property or weak."`
	DeobfuscatedFieldName table.String               `tp:"7,deobfuscated_field_name" doc:"Class and field before obfuscation."`
}

// HeapGraphObjectData extends the objects of HPROF dumps.
type HeapGraphObjectData struct {
	table.Table       `tp:"heap_graph_object_data" doc:"What an object on a Java heap contains."`
	FieldSetID        table.Int64               `tp:"2,field_set_id,null" doc:"Its primitive fields: the rows of heap_graph_primitive with this field_set_id."`
	ValueString       table.String              `tp:"3,value_string" doc:"Text of a java.lang.String; in a heap snapshot of V8, the name of an object whose class has another."`
	ArrayElementType  table.String              `tp:"4,array_element_type" doc:"Type of the elements of a primitive array."`
	ArrayElementCount table.Int64               `tp:"5,array_element_count,null" doc:"Number of elements of a primitive array."`
	ArrayDataID       table.Ref[HeapGraphArray] `tp:"6,array_data_id,null" doc:"Bytes of the elements."`
	ArrayDataHash     table.Int64               `tp:"7,array_data_hash,null" doc:"Hash of the elements' bytes, equal for equal contents."`
}

// HeapGraphArray holds what Trace Processor's __intrinsic_heap_graph_array returns.
type HeapGraphArray struct {
	table.Table `tp:"heap_graph_array" doc:"The elements of a primitive array on a Java heap."`
	Data        table.Bytes `tp:"2,data" doc:"Elements, little-endian. A boolean is a byte, a char two. Missing, and counted in stats, if there are more than 128 MiB."`
}

// HeapGraphPrimitive extends the objects of HPROF dumps.
type HeapGraphPrimitive struct {
	table.Table `tp:"heap_graph_primitive" doc:"A field of an object that holds a primitive value, not a reference."`
	FieldSetID  table.Int64   `tp:"2,field_set_id,asc" doc:"The fields of one object: rows with the same number belong together."`
	FieldName   table.String  `tp:"3,field_name" doc:"Class and field, such as Foo.count."`
	FieldType   table.String  `tp:"4,field_type" doc:"Type: boolean, byte, char, short, int, long, float or double."`
	BoolValue   table.Bool    `tp:"5,bool_value,null" doc:"Value of a boolean."`
	ByteValue   table.Int64   `tp:"6,byte_value,null" doc:"Value of a byte."`
	CharValue   table.Int64   `tp:"7,char_value,null" doc:"Value of a char, as a UTF-16 code unit."`
	ShortValue  table.Int64   `tp:"8,short_value,null" doc:"Value of a short."`
	IntValue    table.Int64   `tp:"9,int_value,null" doc:"Value of an int."`
	LongValue   table.Int64   `tp:"10,long_value,null" doc:"Value of a long."`
	FloatValue  table.Float64 `tp:"11,float_value,null" doc:"Value of a float."`
	DoubleValue table.Float64 `tp:"12,double_value,null" doc:"Value of a double."`
}

// HeapGraphThreadCallsite is filled from dumps with the stacks of threads.
type HeapGraphThreadCallsite struct {
	table.Table `tp:"heap_graph_thread_callsite" doc:"The call stack of a thread when its heap was dumped."`
	HeapGraphID table.Ref[HeapGraph]            `tp:"2,heap_graph_id" doc:"Dump."`
	UTID        table.Ref[Thread]               `tp:"3,utid" doc:"Thread."`
	CallsiteID  table.Ref[StackProfileCallsite] `tp:"4,callsite_id,null" doc:"Call stack."`
}

// HeapGraphJavaOOMEDetails is filled from dumps caused by running out of memory.
type HeapGraphJavaOOMEDetails struct {
	table.Table         `tp:"heap_graph_java_oome_details" doc:"The allocation that failed and made Android dump a Java heap."`
	HeapGraphID         table.Ref[HeapGraph] `tp:"2,heap_graph_id" doc:"Dump."`
	AllocationSizeBytes table.Int64          `tp:"3,allocation_size_bytes" doc:"Bytes requested."`
	TotalBytesFree      table.Int64          `tp:"4,total_bytes_free" doc:"Bytes that were free."`
	FreeBytesUntilOOM   table.Int64          `tp:"5,free_bytes_until_oom" doc:"Bytes by which the heap could still grow."`
	ErrorMsg            table.String         `tp:"6,error_msg" doc:"Message of the OutOfMemoryError."`
}

// ProfilerSmaps is filled from /proc/PID/smaps, as dumped with heaps.
type ProfilerSmaps struct {
	table.Table            `tp:"profiler_smaps,bounds=ts" doc:"A memory mapping of a process, or several with the same path, and the memory taken."`
	UPID                   table.Ref[Process] `tp:"2,upid" doc:"Process."`
	TS                     table.Time         `tp:"3,ts,asc" doc:"When it was read, ns of the trace clock, the same for all mappings of a process."`
	Path                   table.String       `tp:"4,path" doc:"Mapped file or name of the mapping."`
	PathTrimmed            table.String       `tp:"5,path_trimmed" doc:"path without the mark for a deleted file."`
	AggregateCount         table.Int64        `tp:"6,aggregate_count" doc:"How many mappings the row adds up."`
	IsDeleted              table.Bool         `tp:"7,is_deleted" doc:"Whether the mapped file was deleted."`
	SizeKB                 table.Int64        `tp:"8,size_kb" doc:"Size, KiB."`
	PrivateDirtyKB         table.Int64        `tp:"9,private_dirty_kb" doc:"Resident, changed and not shared, KiB."`
	SwapKB                 table.Int64        `tp:"10,swap_kb" doc:"Swapped out, KiB."`
	FileName               table.String       `tp:"11,file_name" doc:"Name of the mapped module, from Chrome."`
	StartAddress           table.Int64        `tp:"12,start_address" doc:"First address, from Chrome."`
	ModuleTimestamp        table.Int64        `tp:"13,module_timestamp" doc:"Build time of the module in seconds since 1970, from Chrome."`
	ModuleDebugID          table.String       `tp:"14,module_debugid" doc:"Debug id of the module, from Chrome."`
	ModuleDebugPath        table.String       `tp:"15,module_debug_path" doc:"Path of the module's symbols, from Chrome."`
	ProtectionFlags        table.Int64        `tp:"16,protection_flags" doc:"Protection bits, from Chrome."`
	PrivateCleanResidentKB table.Int64        `tp:"17,private_clean_resident_kb" doc:"Resident, unchanged and not shared, KiB."`
	SharedDirtyResidentKB  table.Int64        `tp:"18,shared_dirty_resident_kb" doc:"Resident, changed and shared, KiB."`
	SharedCleanResidentKB  table.Int64        `tp:"19,shared_clean_resident_kb" doc:"Resident, unchanged and shared, KiB."`
	LockedKB               table.Int64        `tp:"20,locked_kb" doc:"Locked in memory, KiB."`
	ProportionalResidentKB table.Int64        `tp:"21,proportional_resident_kb" doc:"Resident, each page divided by the processes that share it (PSS), KiB."`
	RSSKB                  table.Int64        `tp:"22,rss_kb" doc:"Resident, KiB."`
	AnonymousKB            table.Int64        `tp:"23,anonymous_kb" doc:"Resident without a file behind it, KiB."`
	PSSDirtyKB             table.Int64        `tp:"24,pss_dirty_kb" doc:"Changed part of the PSS, KiB."`
	SwapPSSKB              table.Int64        `tp:"25,swap_pss_kb" doc:"Swapped out, each page divided by the processes that share it, KiB."`
}

// MemorySnapshot holds the dumps of Chrome's memory-infra.
type MemorySnapshot struct {
	table.Table `tp:"memory_snapshot" doc:"A dump of the memory of all processes of Chrome."`
	Timestamp   table.Time       `tp:"2,timestamp,asc" doc:"When it was taken, ns of the trace clock."`
	TrackID     table.Ref[Track] `tp:"3,track_id" doc:"Track of the dumps."`
	DetailLevel table.String     `tp:"4,detail_level" doc:"How much was dumped: background, light or detailed."`
}

// ProcessMemorySnapshot holds the part of MemorySnapshot about each process.
type ProcessMemorySnapshot struct {
	table.Table `tp:"process_memory_snapshot" doc:"One process's part of a memory dump."`
	SnapshotID  table.Ref[MemorySnapshot] `tp:"2,snapshot_id" doc:"Dump."`
	UPID        table.Ref[Process]        `tp:"3,upid" doc:"Process."`
}

// MemorySnapshotNode holds the part of ProcessMemorySnapshot about each allocator.
type MemorySnapshotNode struct {
	table.Table       `tp:"memory_snapshot_node" doc:"An allocator, or a part of one, in a memory dump."`
	ProcessSnapshotID table.Ref[ProcessMemorySnapshot] `tp:"2,process_snapshot_id" doc:"Process and dump."`
	ParentNodeID      table.Ref[MemorySnapshotNode]    `tp:"3,parent_node_id,null" doc:"Allocator that contains it."`
	Path              table.String                     `tp:"4,path" doc:"Place in the tree of allocators, such as malloc/allocated_objects."`
	Size              table.Int64                      `tp:"5,size" doc:"Size, bytes."`
	EffectiveSize     table.Int64                      `tp:"6,effective_size" doc:"Size without memory attributed to other allocators, bytes."`
	ArgSetID          table.SetRef[Args]               `tp:"7,arg_set_id,null" doc:"Other measures: the rows of args with this arg_set_id."`
}

// MemorySnapshotEdge holds the ownership among rows of MemorySnapshotNode.
type MemorySnapshotEdge struct {
	table.Table  `tp:"memory_snapshot_edge" doc:"Ownership of one allocator's memory by another allocator."`
	SourceNodeID table.Ref[MemorySnapshotNode] `tp:"2,source_node_id" doc:"Allocator that owns the memory."`
	TargetNodeID table.Ref[MemorySnapshotNode] `tp:"3,target_node_id" doc:"Allocator that holds the memory."`
	Importance   table.Int64                   `tp:"4,importance" doc:"Priority of the owner: the memory is attributed to the owners of highest importance first."`
}

// VulkanMemoryAllocations is filled from the memory events of Vulkan drivers.
type VulkanMemoryAllocations struct {
	table.Table   `tp:"vulkan_memory_allocations" doc:"Memory that a Vulkan driver allocated, bound or freed."`
	ArgSetID      table.SetRef[Args] `tp:"2,arg_set_id,null" doc:"Annotations: the rows of args with this arg_set_id."`
	Source        table.String       `tp:"3,source" doc:"What the memory is for, such as DRIVER or GPU_BUFFER."`
	Operation     table.String       `tp:"4,operation" doc:"What happened, such as CREATE or BIND."`
	Timestamp     table.Time         `tp:"5,timestamp,asc" doc:"Time of the event, ns of the trace clock."`
	UPID          table.Ref[Process] `tp:"6,upid,null" doc:"Process."`
	Device        table.Int64        `tp:"7,device,null" doc:"Handle of the VkDevice."`
	DeviceMemory  table.Int64        `tp:"8,device_memory,null" doc:"Handle of the VkDeviceMemory."`
	MemoryType    table.Int64        `tp:"9,memory_type,null" doc:"Index of the memory type."`
	Heap          table.Int64        `tp:"10,heap,null" doc:"Index of the memory heap."`
	FunctionName  table.String       `tp:"11,function_name" doc:"Vulkan function that was called."`
	ObjectHandle  table.Int64        `tp:"12,object_handle,null" doc:"Handle of the buffer or image."`
	MemoryAddress table.Int64        `tp:"13,memory_address,null" doc:"Address of the memory."`
	MemorySize    table.Int64        `tp:"14,memory_size,null" doc:"Size of the memory, bytes."`
	Scope         table.String       `tp:"15,scope" doc:"Lifetime of driver memory, such as OBJECT."`
}
