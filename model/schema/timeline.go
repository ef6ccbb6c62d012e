package schema

import "github.com/tpconvert/tpconvert/model/table"

// Slice holds the events that have a duration or are instants. A tracker pins a row while its slice is open.
type Slice struct {
	table.Table            `tp:"slice,bounds=ts,core" doc:"A span of time on a track, or an instant."`
	TS                     table.Time         `tp:"2,ts,asc" doc:"Start, ns of the trace clock."`
	Dur                    table.Dur          `tp:"3,dur" doc:"Duration in ns: 0 for an instant, -1 if the slice did not end in the trace."`
	TrackID                table.Ref[Track]   `tp:"4,track_id" doc:"Track that the slice lies on."`
	Category               table.String       `tp:"5,category" doc:"Category that the producer gave it."`
	Name                   table.String       `tp:"6,name" doc:"What happened."`
	Depth                  table.Int32        `tp:"7,depth" doc:"How many slices of the track enclose it, 0 for the outermost."`
	ParentID               table.Ref[Slice]   `tp:"8,parent_id,null" doc:"Slice that directly encloses it, NULL for the outermost."`
	ArgSetID               table.SetRef[Args] `tp:"9,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
	ThreadTS               table.Int64        `tp:"10,thread_ts,null" doc:"CPU time of the thread at the start, ns, if the producer recorded it."`
	ThreadDur              table.Int64        `tp:"11,thread_dur,null" doc:"CPU time that the thread spent in the slice, ns."`
	ThreadInstructionCount table.Int64        `tp:"12,thread_instruction_count,null" doc:"Instructions that the thread had retired at the start."`
	ThreadInstructionDelta table.Int64        `tp:"13,thread_instruction_delta,null" doc:"Instructions that the thread retired in the slice."`
	StackID                table.Int64        `tp:"14,stack_id" doc:"Hash of the categories and names from the outermost slice to this one, equal for equal stacks."`
	ParentStackID          table.Int64        `tp:"15,parent_stack_id" doc:"stack_id of the parent, 0 for the outermost."`
	Type                   table.String       `tp:"16,type" doc:"Most specific table with this row: slice or one of its children."`
}

// GPUSlice holds the slices of GPU render stages, Vulkan calls and GPU logs.
type GPUSlice struct {
	Slice               `tp:"gpu_slice" doc:"Work on a GPU, or a call into its driver."`
	ContextID           table.Int64        `tp:"101,context_id,null" doc:"Handle of the graphics context, see gpu_context."`
	RenderTarget        table.Int64        `tp:"102,render_target,null" doc:"Handle of the render target."`
	RenderTargetName    table.String       `tp:"103,render_target_name" doc:"Name of the render target."`
	RenderPass          table.Int64        `tp:"104,render_pass,null" doc:"Handle of the render pass."`
	RenderPassName      table.String       `tp:"105,render_pass_name" doc:"Name of the render pass."`
	CommandBuffer       table.Int64        `tp:"106,command_buffer,null" doc:"Handle of the command buffer."`
	CommandBufferName   table.String       `tp:"107,command_buffer_name" doc:"Name of the command buffer."`
	FrameID             table.Int64        `tp:"108,frame_id,null" doc:"Number of the frame that the work is for."`
	SubmissionID        table.Int64        `tp:"109,submission_id,null" doc:"Number of the submission, shared by the stages that were submitted together."`
	HWQueueID           table.Int64        `tp:"110,hw_queue_id,null" doc:"Hardware queue that the work ran in."`
	UPID                table.Ref[Process] `tp:"111,upid,null" doc:"Process that submitted the work."`
	RenderSubpasses     table.String       `tp:"112,render_subpasses" doc:"Indexes of the subpasses within the render pass, separated by commas."`
	RenderStageCategory table.Int64        `tp:"113,render_stage_category,null" doc:"Kind of stage: 0 other, 1 graphics, 2 compute."`
}

// FrameSlice holds the slices of Android's graphics frame events.
type FrameSlice struct {
	Slice              `tp:"frame_slice" doc:"A phase in a buffer's path to the display, on the track of its layer."`
	LayerName          table.String `tp:"101,layer_name" doc:"Layer that the buffer belongs to."`
	FrameNumber        table.Int64  `tp:"102,frame_number,null" doc:"Number of the frame within the layer."`
	QueueToAcquireTime table.Int64  `tp:"103,queue_to_acquire_time,null" doc:"From queueing the buffer to the signal of its acquire fence, ns."`
	AcquireToLatchTime table.Int64  `tp:"104,acquire_to_latch_time,null" doc:"From the acquire fence to latching, ns."`
	LatchToPresentTime table.Int64  `tp:"105,latch_to_present_time,null" doc:"From latching to presentation, ns."`
}

// ExpectedFrameTimelineSlice holds the predictions of Android's FrameTimeline.
type ExpectedFrameTimelineSlice struct {
	Slice             `tp:"expected_frame_timeline_slice" doc:"The time that the scheduler allotted to a display frame or a surface frame."`
	DisplayFrameToken table.Int64        `tp:"101,display_frame_token,null" doc:"Vsync id of the display frame."`
	SurfaceFrameToken table.Int64        `tp:"102,surface_frame_token,null" doc:"Vsync id of the surface frame, NULL for a display frame."`
	UPID              table.Ref[Process] `tp:"103,upid,null" doc:"Process that produces the frame."`
	LayerName         table.String       `tp:"104,layer_name" doc:"Layer of a surface frame."`
}

// ActualFrameTimelineSlice holds the outcomes of Android's FrameTimeline.
type ActualFrameTimelineSlice struct {
	Slice                           `tp:"actual_frame_timeline_slice" doc:"The time that a display frame or a surface frame actually took, and what made it janky."`
	DisplayFrameToken               table.Int64        `tp:"101,display_frame_token,null" doc:"Vsync id of the display frame, as in expected_frame_timeline_slice."`
	SurfaceFrameToken               table.Int64        `tp:"102,surface_frame_token,null" doc:"Vsync id of the surface frame, NULL for a display frame."`
	UPID                            table.Ref[Process] `tp:"103,upid,null" doc:"Process that produced the frame."`
	LayerName                       table.String       `tp:"104,layer_name" doc:"Layer of a surface frame."`
	PresentType                     table.String       `tp:"105,present_type" doc:"Whether it was presented on time, early, late or not at all."`
	OnTimeFinish                    table.Bool         `tp:"106,on_time_finish,null" doc:"Whether it was finished before its deadline."`
	GPUComposition                  table.Bool         `tp:"107,gpu_composition,null" doc:"Whether the GPU, not the display hardware, composed it."`
	JankType                        table.String       `tp:"108,jank_type" doc:"Causes of jank, separated by commas, or None."`
	JankSeverityType                table.String       `tp:"109,jank_severity_type" doc:"How bad the jank is: None, Partial, Full or Unknown."`
	PredictionType                  table.String       `tp:"110,prediction_type" doc:"Whether the prediction was valid, expired or unknown."`
	JankTag                         table.String       `tp:"111,jank_tag" doc:"Who caused the jank, for colouring slices."`
	JankTagExperimental             table.String       `tp:"112,jank_tag_experimental" doc:"jank_tag according to the newer rules."`
	JankScore                       table.Float64      `tp:"113,jank_score,null" doc:"Severity of the jank as a number."`
	LatchedUnsignaledCount          table.Int64        `tp:"114,latched_unsignaled_count,null" doc:"Number of surface frames that were latched before their fence signaled, yet shown without jank."`
	AddressableUnsignaledLatchCount table.Int64        `tp:"115,addressable_unsignaled_latch_count,null" doc:"Number of surface frames whose fence signaled after latching, but in time for the vsync."`
	LatchedFenceState               table.String       `tp:"116,latched_fence_state" doc:"State of the fence when the buffer was first due to be latched."`
}

// AndroidNetworkPackets holds the slices of Android's network packet tracing.
type AndroidNetworkPackets struct {
	Slice             `tp:"android_network_packets" doc:"A network packet, or a bundle of packets with the same properties."`
	Iface             table.String `tp:"101,iface" doc:"Network interface."`
	Direction         table.String `tp:"102,direction" doc:"Received, Transmitted or DIR_UNKNOWN."`
	PacketTransport   table.String `tp:"103,packet_transport" doc:"Transport protocol."`
	PacketLength      table.Int64  `tp:"104,packet_length" doc:"Size of all packets in the bundle, bytes."`
	PacketCount       table.Int64  `tp:"105,packet_count" doc:"Number of packets in the bundle."`
	SocketTag         table.Int64  `tp:"106,socket_tag" doc:"Traffic stats tag of the socket."`
	SocketTagStr      table.String `tp:"107,socket_tag_str" doc:"The tag in hexadecimal."`
	SocketUID         table.Int64  `tp:"108,socket_uid" doc:"User id that the socket's traffic is attributed to."`
	LocalPort         table.Int64  `tp:"109,local_port,null" doc:"Port on this side, for TCP and UDP."`
	RemotePort        table.Int64  `tp:"110,remote_port,null" doc:"Port on the other side, for TCP and UDP."`
	PacketICMPType    table.Int64  `tp:"111,packet_icmp_type,null" doc:"ICMP type."`
	PacketICMPCode    table.Int64  `tp:"112,packet_icmp_code,null" doc:"ICMP code."`
	PacketTCPFlags    table.Int64  `tp:"113,packet_tcp_flags,null" doc:"TCP flags as bits."`
	PacketTCPFlagsStr table.String `tp:"114,packet_tcp_flags_str" doc:"TCP flags as names."`
}

// Track holds every track. Rows are held because names, parents and args come after the first event.
type Track struct {
	table.Table       `tp:"track,core,held" doc:"A timeline of events of one kind and context."`
	Name              table.String       `tp:"2,name" doc:"Name to show."`
	ParentID          table.Ref[Track]   `tp:"3,parent_id,null" doc:"Track that it is shown under."`
	SourceArgSetID    table.SetRef[Args] `tp:"4,source_arg_set_id,null" doc:"Where the track comes from: the rows of args with this arg_set_id."`
	MachineID         table.Ref[Machine] `tp:"5,machine_id" doc:"Machine that the track belongs to."`
	Type              table.String       `tp:"6,type" doc:"Most specific table with this row: track or one of its children."`
	Classification    table.String       `tp:"7,classification" doc:"Kind of events, such as thread_execution or cpu_frequency: what Trace Processor calls the track's type."`
	DimensionArgSetID table.SetRef[Args] `tp:"8,dimension_arg_set_id,null" doc:"What distinguishes it from other tracks of the same classification: the rows of args with this arg_set_id."`
	TrackGroupID      table.Int64        `tp:"9,track_group_id,null" doc:"Tracks with the same number are shown as one track. They are separate because their events overlap."`
	EventType         table.String       `tp:"10,event_type" doc:"Table that contains its events: slice, counter or state."`
	CounterUnit       table.String       `tp:"11,counter_unit" doc:"Unit of the values of a counter track."`
	UTID              table.Ref[Thread]  `tp:"12,utid,null" doc:"Thread, if the track belongs to one."`
	UPID              table.Ref[Process] `tp:"13,upid,null" doc:"Process, if the track belongs to one and not to a thread."`
	CPU               table.Int32        `tp:"14,cpu,null" doc:"CPU, if the track belongs to one."`
	UGPU              table.Ref[GPU]     `tp:"15,ugpu,null" doc:"GPU, if the track belongs to one."`
}

// CPUTrack is the part of Track with the slices of CPUs.
type CPUTrack struct {
	Track `tp:"cpu_track,derived" where:"event_type=slice,cpu" doc:"A track of slices of one CPU."`
}

// GPUTrack is the part of Track with the slices of GPUs.
type GPUTrack struct {
	Track `tp:"gpu_track,derived" where:"event_type=slice,classification=drm_vblank|drm_sched_ring|drm_fence|mali_mcu_state|gpu_render_stage|vulkan_events|gpu_log|graphics_frame_event|gpu_stream|gpu_synchronization" doc:"A track of slices of a GPU, its driver or the frames it draws."`
}

// ProcessTrack is the part of Track with the slices of processes.
type ProcessTrack struct {
	Track `tp:"process_track,core,derived" where:"event_type=slice,upid" doc:"A track of slices of one process."`
}

// ThreadTrack is the part of Track with the slices of threads.
type ThreadTrack struct {
	Track `tp:"thread_track,core,derived" where:"event_type=slice,utid" doc:"A track of slices of one thread."`
}

// StateTrack is the part of Track with states.
type StateTrack struct {
	Track `tp:"state_track,derived" where:"event_type=state" doc:"A track of states, each of which lasts for a while."`
}

// ProcessStateTrack is the part of StateTrack of processes.
type ProcessStateTrack struct {
	StateTrack `tp:"process_state_track,derived" where:"event_type=state,upid" doc:"A track of states of one process."`
}

// ThreadStateTrack is the part of StateTrack of threads.
type ThreadStateTrack struct {
	StateTrack `tp:"thread_state_track,derived" where:"event_type=state,utid" doc:"A track of states of one thread."`
}

// CounterTrack is the part of Track with counters.
type CounterTrack struct {
	Track `tp:"counter_track,core,derived" where:"event_type=counter" doc:"A track of values of a counter."`
	Unit  table.String `tp:"101,unit,from=counter_unit" doc:"Unit of the values, the same as counter_unit."`
}

// CPUCounterTrack is the part of CounterTrack of CPUs.
type CPUCounterTrack struct {
	CounterTrack `tp:"cpu_counter_track,derived" where:"event_type=counter,cpu" doc:"A counter of one CPU."`
}

// GPUCounterTrack is the part of CounterTrack of GPUs.
type GPUCounterTrack struct {
	CounterTrack `tp:"gpu_counter_track,derived" where:"event_type=counter,ugpu" doc:"A counter of one GPU."`
}

// ProcessCounterTrack is the part of CounterTrack of processes.
type ProcessCounterTrack struct {
	CounterTrack `tp:"process_counter_track,derived" where:"event_type=counter,upid" doc:"A counter of one process."`
}

// ThreadCounterTrack is the part of CounterTrack of threads.
type ThreadCounterTrack struct {
	CounterTrack `tp:"thread_counter_track,derived" where:"event_type=counter,utid" doc:"A counter of one thread."`
}

// PerfCounterTrack is the part of CounterTrack of Linux perf.
type PerfCounterTrack struct {
	CounterTrack `tp:"perf_counter_track,derived" where:"event_type=counter,classification=perf_cpu_counter|perf_global_counter" doc:"A counter of a Linux perf session, for one CPU or for all."`
}

// Counter holds the values of all counters.
type Counter struct {
	table.Table `tp:"counter,bounds=ts,core,until=track_id" doc:"A value of a counter from this moment on."`
	TS          table.Time         `tp:"2,ts,asc" doc:"Time of the value, ns of the trace clock."`
	TrackID     table.Ref[Track]   `tp:"3,track_id" doc:"Track of the counter."`
	Value       table.Float64      `tp:"4,value" doc:"Value in the unit of the track."`
	ArgSetID    table.SetRef[Args] `tp:"5,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// State holds the states of track events. A tracker pins a row while its state lasts.
type State struct {
	table.Table `tp:"state,bounds=ts" doc:"A state that something was in for a span of time."`
	TS          table.Time         `tp:"2,ts,asc" doc:"Start, ns of the trace clock."`
	Dur         table.Dur          `tp:"3,dur" doc:"Duration in ns, -1 if the state lasts to the end of the trace."`
	TrackID     table.Ref[Track]   `tp:"4,track_id" doc:"Track that the state lies on."`
	Category    table.String       `tp:"5,category" doc:"Category that the producer gave it."`
	Value       table.String       `tp:"6,value" doc:"Name of the state."`
	ArgSetID    table.SetRef[Args] `tp:"7,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// Flow holds the arrows between slices.
type Flow struct {
	table.Table  `tp:"flow,core" doc:"A causal link from one slice to another."`
	SliceOut     table.Ref[Slice]   `tp:"2,slice_out" doc:"Slice that the link starts at."`
	SliceIn      table.Ref[Slice]   `tp:"3,slice_in" doc:"Slice that the link ends at."`
	LocalTraceID table.Int64        `tp:"4,local_trace_id,null" doc:"Flow id in the trace, NULL for a link that was inferred."`
	ArgSetID     table.SetRef[Args] `tp:"5,arg_set_id,null" doc:"Arguments: the rows of args with this arg_set_id."`
}

// SchedSlice holds the threads that ran on the CPUs. A tracker pins the last row of each CPU.
type SchedSlice struct {
	table.Table `tp:"sched_slice,bounds=ts,core" doc:"A span of time in which a thread ran on a CPU."`
	TS          table.Time        `tp:"2,ts,asc" doc:"When the thread was switched in, ns of the trace clock."`
	Dur         table.Dur         `tp:"3,dur" doc:"Duration in ns, -1 if it still ran at the end of the trace."`
	CPU         table.Int32       `tp:"4,cpu" doc:"CPU number on its machine."`
	UTID        table.Ref[Thread] `tp:"5,utid" doc:"Thread that ran."`
	EndState    table.String      `tp:"6,end_state" doc:"State of the thread when it was switched out: R runnable, S sleeping, D uninterruptible, T stopped, t traced, X dead, Z zombie, P parked, I idle, K killable, W waking, N not counted as load; + if preempted."`
	Priority    table.Int32       `tp:"7,priority" doc:"Kernel priority, lower is more urgent."`
	UCPU        table.Ref[CPU]    `tp:"8,ucpu" doc:"CPU that it ran on, unique across machines."`
}

// ThreadState holds the states of threads: running, runnable or waiting. A tracker pins the last row of each
// thread.
type ThreadState struct {
	table.Table     `tp:"thread_state,bounds=ts,core" doc:"A span of time in which a thread was in one scheduling state."`
	TS              table.Time             `tp:"2,ts,asc" doc:"Start, ns of the trace clock."`
	Dur             table.Dur              `tp:"3,dur" doc:"Duration in ns, -1 if the state lasts to the end of the trace."`
	CPU             table.Int32            `tp:"4,cpu,null" doc:"CPU number on its machine, for a running thread."`
	UTID            table.Ref[Thread]      `tp:"5,utid" doc:"Thread that was in the state."`
	State           table.String           `tp:"6,state" doc:"Running, or a state as in sched_slice.end_state."`
	IOWait          table.Bool             `tp:"7,io_wait,null" doc:"Whether it was blocked on I/O, if known."`
	BlockedFunction table.String           `tp:"8,blocked_function" doc:"Kernel function in which it was blocked."`
	WakerUTID       table.Ref[Thread]      `tp:"9,waker_utid,null" doc:"Thread that woke it into this runnable state."`
	WakerID         table.Ref[ThreadState] `tp:"10,waker_id,null" doc:"State of the waker at that moment."`
	IRQContext      table.Bool             `tp:"11,irq_context,null" doc:"Whether an interrupt, not the waker itself, woke it."`
	UCPU            table.Ref[CPU]         `tp:"12,ucpu,null" doc:"CPU that it ran on, unique across machines."`
}

// SpuriousSchedWakeup holds the wakeups that did not change a state.
type SpuriousSchedWakeup struct {
	table.Table   `tp:"spurious_sched_wakeup" doc:"A wakeup of a thread that was already running or runnable."`
	TS            table.Time             `tp:"2,ts,asc" doc:"Time of the wakeup, ns of the trace clock."`
	ThreadStateID table.Ref[ThreadState] `tp:"3,thread_state_id" doc:"State of the thread at that moment."`
	IRQContext    table.Bool             `tp:"4,irq_context,null" doc:"Whether the wakeup came from an interrupt."`
	UTID          table.Ref[Thread]      `tp:"5,utid" doc:"Thread that was woken."`
	WakerUTID     table.Ref[Thread]      `tp:"6,waker_utid" doc:"Thread that was running where the wakeup came from."`
}

// Raw has the columns that FtraceEvent and ChromeRaw share.
type Raw struct {
	table.Table `tp:"raw,abstract" doc:"An event of ftrace or Chrome, as it was recorded."`
	TS          table.Time         `tp:"2,ts,asc" doc:"Time of the event, ns of the trace clock."`
	Name        table.String       `tp:"3,name" doc:"Name of the event."`
	CPU         table.Int32        `tp:"4,cpu,null" doc:"CPU number on its machine."`
	UTID        table.Ref[Thread]  `tp:"5,utid" doc:"Thread that was running."`
	ArgSetID    table.SetRef[Args] `tp:"6,arg_set_id,null" doc:"Fields: the rows of args with this arg_set_id."`
	CommonFlags table.Int64        `tp:"7,common_flags" doc:"Flags of the ftrace record, 0 if they are not kept."`
	UCPU        table.Ref[CPU]     `tp:"8,ucpu,null" doc:"CPU of the event, unique across machines."`
	Type        table.String       `tp:"9,type" doc:"Most specific table with this row: ftrace_event or chrome_raw."`
}

// FtraceEvent holds ftrace events as recorded, including those that also fill other tables.
type FtraceEvent struct {
	Raw `tp:"ftrace_event,bounds=ts" doc:"An event of the Linux kernel's ftrace."`
}

// ChromeRaw holds events of Chrome's JSON that fit no other table.
type ChromeRaw struct {
	Raw `tp:"chrome_raw" doc:"An event or metadata record of Chrome, kept unchanged."`
}

// Args holds the args of all tables, as sets that are each stored once.
type Args struct {
	table.Table `tp:"args,core" doc:"One value of a set of arguments."`
	ArgSetID    table.SetRef[Args] `tp:"2,arg_set_id,asc" doc:"Set that the value belongs to."`
	FlatKey     table.String       `tp:"3,flat_key" doc:"Key without the indexes of arrays."`
	Key         table.String       `tp:"4,key" doc:"Key with its path and indexes, such as debug.list[0].x."`
	IntValue    table.Int64        `tp:"5,int_value,null" doc:"Value of an int, uint, bool or pointer."`
	StringValue table.String       `tp:"6,string_value" doc:"Value of a string or json."`
	RealValue   table.Float64      `tp:"7,real_value,null" doc:"Value of a real."`
	ValueType   table.String       `tp:"8,value_type" doc:"Type of the value: int, uint, string, real, pointer, bool, json or null."`
}

// TrackEventCallstacks holds the call stacks of track events. A tracker pins a row while its slice is open.
type TrackEventCallstacks struct {
	table.Table   `tp:"track_event_callstacks" doc:"The call stacks at the start and the end of a slice."`
	SliceID       table.Ref[Slice]                `tp:"2,slice_id" doc:"Slice that the stacks belong to."`
	TrackID       table.Ref[Track]                `tp:"3,track_id" doc:"Track of the slice."`
	CallsiteID    table.Ref[StackProfileCallsite] `tp:"4,callsite_id,null" doc:"Stack at the start."`
	EndCallsiteID table.Ref[StackProfileCallsite] `tp:"5,end_callsite_id,null" doc:"Stack at the end."`
	Weight        table.Float64                   `tp:"6,weight,null" doc:"Weight of the stack for flame graphs."`
}
