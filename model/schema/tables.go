package schema

// Tables are all tables of a dataset, parents before their children, by area.
type Tables struct {
	Slice                      Slice
	GPUSlice                   GPUSlice
	FrameSlice                 FrameSlice
	ExpectedFrameTimelineSlice ExpectedFrameTimelineSlice
	ActualFrameTimelineSlice   ActualFrameTimelineSlice
	AndroidNetworkPackets      AndroidNetworkPackets
	Track                      Track
	ThreadTrack                ThreadTrack
	ProcessTrack               ProcessTrack
	CPUTrack                   CPUTrack
	GPUTrack                   GPUTrack
	StateTrack                 StateTrack
	ThreadStateTrack           ThreadStateTrack
	ProcessStateTrack          ProcessStateTrack
	CounterTrack               CounterTrack
	ThreadCounterTrack         ThreadCounterTrack
	ProcessCounterTrack        ProcessCounterTrack
	CPUCounterTrack            CPUCounterTrack
	GPUCounterTrack            GPUCounterTrack
	PerfCounterTrack           PerfCounterTrack
	Counter                    Counter
	State                      State
	Flow                       Flow
	SchedSlice                 SchedSlice
	ThreadState                ThreadState
	SpuriousSchedWakeup        SpuriousSchedWakeup
	Raw                        Raw
	FtraceEvent                FtraceEvent
	ChromeRaw                  ChromeRaw
	Args                       Args
	TrackEventCallstacks       TrackEventCallstacks

	Machine               Machine
	Process               Process
	Thread                Thread
	CPU                   CPU
	CPUFreq               CPUFreq
	GPU                   GPU
	GPUContext            GPUContext
	GPUCounterGroup       GPUCounterGroup
	LinuxInterruptMapping LinuxInterruptMapping
	Filedescriptor        Filedescriptor
	AndroidLogs           AndroidLogs

	TraceBounds      TraceBounds
	TraceFile        TraceFile
	Metadata         Metadata
	Stats            Stats
	ImportLog        ImportLog
	TraceDiagnostics TraceDiagnostics
	ClockSnapshot    ClockSnapshot
	BuildFlags       BuildFlags
	File             File
	ELFFile          ELFFile

	StackProfileMapping     StackProfileMapping
	StackProfileFrame       StackProfileFrame
	StackProfileCallsite    StackProfileCallsite
	StackProfileSymbol      StackProfileSymbol
	StackSample             StackSample
	ChromeStackSampleExtras ChromeStackSampleExtras
	ProfilerSession         ProfilerSession
	ProfilerCounterSet      ProfilerCounterSet
	ProfilerAsyncContext    ProfilerAsyncContext
	AggregateProfile        AggregateProfile
	AggregateSample         AggregateSample
	MmapRecord              MmapRecord
	SPERecord               SPERecord
	ETMV4Configuration      ETMV4Configuration
	ETMV4Session            ETMV4Session
	ETMV4Chunk              ETMV4Chunk
	JITCode                 JITCode
	JITFrame                JITFrame
}
