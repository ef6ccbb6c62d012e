package families

// Fields of TracePacket and TrackEvent.
const (
	fieldFtraceEvents      = 1
	fieldProcessTree       = 2
	fieldSysStats          = 7
	fieldProcessStats      = 9
	fieldInternedData      = 12
	fieldFtraceStats       = 34
	fieldBattery           = 38
	fieldAndroidLog        = 39
	fieldPowerRails        = 40
	fieldSystemInfo        = 45
	fieldTrigger           = 46
	fieldPackagesList      = 47
	fieldCompressed        = 50
	fieldGPUCounters       = 52
	fieldRenderStage       = 53
	fieldGraphicsFrame     = 57
	fieldModuleSymbols     = 61
	fieldVulkanMemory      = 62
	fieldGPULog            = 63
	fieldVulkanAPI         = 65
	fieldCPUInfo           = 67
	fieldServiceEvent      = 69
	fieldGPUMemoryTotal    = 71
	fieldFrameTimeline     = 76
	fieldEnergyBreakdown   = 77
	fieldGameInterventions = 83
	fieldStatsdAtom        = 84
	fieldSystemProperty    = 86
	fieldRangeOfInterest   = 90
	fieldEntityResidency   = 91
	fieldV8JSCode          = 99
	fieldV8InternalCode    = 100
	fieldV8WasmCode        = 101
	fieldV8RegExpCode      = 102
	fieldV8CodeMove        = 103
	fieldModemEvents       = 110
	fieldModemTokens       = 111
	fieldBluetooth         = 114
	fieldTaskState         = 117
	fieldKernelCPUFreq     = 118
	fieldCPUPerUID         = 119
	fieldTaskRename        = 120
	fieldKernelProcesses   = 122
	fieldUserList          = 123
	fieldAflags            = 127
	fieldGPUInfo           = 128
	fieldInterruptInfo     = 130
	fieldJournald          = 132
	fieldZstdCompressed    = 133
	fieldConcurrentSession = 134
	fieldEventGeneric      = 327
)

// firstGenericEvent is the first field of FtraceEvent that the trace itself describes.
const firstGenericEvent = 65536

// Fields of InternedData.
const (
	internedCategories      = 1
	internedEventNames      = 2
	internedAnnotationNames = 3
	internedSourceLocations = 4
	internedFunctionNames   = 5
	internedFrames          = 6
	internedCallstacks      = 7
	internedBuildIDs        = 16
	internedMappingPaths    = 17
	internedMappings        = 19
	internedLogBodies       = 20
	internedKernelSymbols   = 26
	internedUnsymbolized    = 28
	internedStrings         = 29
)

// Fields of DebugAnnotation.
const (
	annotationNested = 8
	annotationItems  = 12
)

// Values of NestedValue.nested_type.
const (
	nestedArray = 2
)
