package traceinfo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// videoSeen is true if the trace has frames of a display's video.
type videoSeen bool

var seenVideo = proto.Shared[videoSeen]{New: func(*proto.Reader) *videoSeen { return new(videoSeen) }}

// videoFrames notes that there are frames of a video. They are not read.
func videoFrames(r *proto.Reader) *proto.Module {
	seen := seenVideo.Of(r)
	return &proto.Module{
		Fields: []uint32{androidpb.FrameworksBaseTracePacket_VideoFrame, androidpb.FrameworksBaseTracePacket_VideoFrameError},
		Read: func(*proto.Packet, *wire.Field) bool {
			*seen = true
			return false
		},
	}
}

// diagnosis is a problem of a configuration, and what to do about it.
type diagnosis struct {
	key, title, remediation string
}

var (
	preserveLate = diagnosis{"preserve_ftrace_buffer_late_start", "Old ftrace events",
		"Set preserve_ftrace_buffer only when tracing starts right after boot."}
	tinyBuffer = diagnosis{"tiny_ftrace_buffer", "Small ftrace buffer",
		"Do not set buffer_size_kb: the default fits most workloads."}
	lowBandwidth = diagnosis{"low_ftrace_drain_bandwidth", "Slow reading of ftrace",
		"Do not set buffer_size_kb and drain_period_ms, or choose them so that buffer_size_kb / drain_period_ms is above 5 MB/s."}
	extremePeriod = diagnosis{"extreme_ftrace_drain_period", "Unusual period of reading ftrace",
		"Do not set drain_period_ms, or set it to a value from 100 to 60000."}
	allSyscalls = diagnosis{"syscalls_without_filter", "All system calls are recorded",
		"List the system calls that matter in syscall_events, such as sys_read."}
	graphSymbols = diagnosis{"function_graph_requires_symbolize_ksyms", "Function graph without names",
		"Set symbolize_ksyms: true beside enable_function_graph."}
	eventSymbols = diagnosis{"events_require_symbolize_ksyms", "Events without names of functions",
		"Set symbolize_ksyms: true beside these events."}
	discardWhileStreaming = diagnosis{"discard_buffer_for_streaming", "Buffer that stops when it is full",
		"Do not set fill_policy: DISCARD for buffers of ftrace or track_event."}
	heapInterval = diagnosis{"heapprofd_sampling_interval_too_low", "Short sampling interval of the heap profiler",
		"Set sampling_interval_bytes to 102400 or more."}
	videoDisabled = diagnosis{"display_video_not_enabled", "No video of the display",
		"Before recording, and again after each reboot: adb shell setprop debug.tracing_video_allowed true"}
)

// report adds a row of trace_diagnostics.
func (t *info) report(d diagnosis, confidence float64, format string, args ...any) {
	rows, strs := &t.Store.TraceDiagnostics, t.Store.Strings
	row := rows.Append()
	rows.Key.Set(row, strs.Intern(d.key))
	rows.Title.Set(row, strs.Intern(d.title))
	rows.Description.Set(row, strs.Intern(fmt.Sprintf(format, args...)))
	rows.Remediation.Set(row, strs.Intern(d.remediation))
	rows.Confidence.Set(row, confidence)
	rows.LocalTraceID.Set(row, t.File.ID)
}

// diagnose adds the problems of the trace that its configuration explains, as Trace Processor finds them: rule by
// rule, each for all data sources.
func (t *info) diagnose() {
	var sources [][]byte
	for source := range message.Messages(t.diagnosed, pb.TraceConfig_DataSources) {
		if config, ok := wire.Find(source, pb.TraceConfig_DataSource_Config); ok {
			sources = append(sources, config.Bytes())
		}
	}
	lost := t.HasStat(func(s model.Stat) bool {
		return s == model.StatFtraceCPUHasDataLoss || s == model.StatFtraceCPUOverrunDelta || s == model.StatFtraceCPUCommitOverrunDelta
	})
	for _, rule := range []func(ftrace []byte, lost bool){t.preserved, t.bufferSize, t.bandwidth, t.period, t.syscalls, t.symbols} {
		for _, source := range sources {
			if config, ok := wire.Find(source, pb.DataSourceConfig_FtraceConfig); ok {
				rule(config.Bytes(), lost)
			}
		}
	}
	t.discarding(sources)
	t.heapProfiler(sources)
	t.video(sources)
}

// preserved finds an ftrace buffer whose events may be much older than the recording.
func (t *info) preserved(ftrace []byte, _ bool) {
	const late = 5 * 60_000_000_000 // ns since boot
	started := t.MetadataInt("tracing_started_ns")
	if boot, err := t.Clocks.FromTrace(started, model.Clock{ID: model.ClockBoottime}); err == nil {
		started = boot
	}
	if message.Uint32(ftrace, pb.FtraceConfig_PreserveFtraceBuffer) != 0 && started > late {
		t.report(preserveLate, 0.7, "preserve_ftrace_buffer is set, but tracing started minutes after boot. Events from before may mislead.")
	}
}

func (t *info) bufferSize(ftrace []byte, lost bool) {
	const enough, tiny = 1024, 64 // KB
	kb := message.Uint32(ftrace, pb.FtraceConfig_BufferSizeKB)
	if kb == 0 || kb >= enough {
		return
	}
	confidence := 0.9
	if kb > tiny && !lost {
		confidence -= 0.7 * float64(kb-tiny) / (enough - tiny)
	}
	t.report(tinyBuffer, confidence, "buffer_size_kb of ftrace is %d, below 1024: under load the kernel may drop events.", kb)
}

func (t *info) bandwidth(ftrace []byte, lost bool) {
	const enough, slow = 5.0, 1.0 // MB/s
	kb, ms := message.Uint32(ftrace, pb.FtraceConfig_BufferSizeKB), message.Uint32(ftrace, pb.FtraceConfig_DrainPeriodMS)
	if kb == 0 || ms == 0 {
		return
	}
	rate := (float64(kb) / 1024) / (float64(ms) / 1000)
	if rate >= enough {
		return
	}
	confidence := 0.9
	if rate > slow && !lost {
		confidence *= (enough - rate) / (enough - slow)
	}
	t.report(lowBandwidth, confidence, "ftrace's buffer of %d KB is read every %d ms, at most %.1f MB/s: a burst of events may not fit.", kb, ms, rate)
}

func (t *info) period(ftrace []byte, _ bool) {
	if ms, ok := wire.Find(ftrace, pb.FtraceConfig_DrainPeriodMS); ok && (ms.Uint32() < 100 || ms.Uint32() > 60_000) {
		t.report(extremePeriod, 0.6, "drain_period_ms of ftrace is %d, not from 100 to 60000: the CPU wakes up often, or the buffer overflows.", ms.Uint32())
	}
}

func (t *info) syscalls(ftrace []byte, lost bool) {
	if enabledEvent(ftrace, "raw_syscalls/sys_enter", "raw_syscalls/sys_exit") == "" || message.Has(ftrace, pb.FtraceConfig_SyscallEvents) {
		return
	}
	confidence := 0.3
	if lost {
		confidence = 0.9
	}
	t.report(allSyscalls, confidence, "raw_syscalls events are enabled without syscall_events: every system call is recorded, which is expensive.")
}

// symbols finds events that hold addresses of the kernel, which cannot be named later.
func (t *info) symbols(ftrace []byte, _ bool) {
	if message.Uint32(ftrace, pb.FtraceConfig_SymbolizeKsyms) != 0 {
		return
	}
	if message.Uint32(ftrace, pb.FtraceConfig_EnableFunctionGraph) != 0 {
		t.report(graphSymbols, 1, "enable_function_graph is set without symbolize_ksyms: the functions are addresses that cannot be named later.")
	}
	if event := enabledEvent(ftrace, "workqueue/workqueue_execute_start", "sched/sched_blocked_reason"); event != "" {
		t.report(eventSymbols, 0.6, "%s is enabled without symbolize_ksyms: its functions are addresses that cannot be named later.", event)
	}
}

// enabledEvent returns the first enabled ftrace event that is one of those named, or "".
func enabledEvent(ftrace []byte, names ...string) string {
	for event := range message.Messages(ftrace, pb.FtraceConfig_FtraceEvents) {
		if slices.Contains(names, string(event)) {
			return string(event)
		}
	}
	return ""
}

// discarding finds buffers that fill up once while the trace is written to a file again and again.
func (t *info) discarding(sources [][]byte) {
	const once = 604_800_000 // ms; Android's recorder app means a single write by this period
	if !t.streams || t.writePeriodMS >= once {
		return
	}
	var discards []bool
	for buffer := range message.Messages(t.diagnosed, pb.TraceConfig_Buffers) {
		discards = append(discards, message.Int64(buffer, pb.TraceConfig_BufferConfig_FillPolicy) == fillPolicyDiscard)
	}
	for _, source := range sources {
		name, buffer := string(message.Bytes(source, pb.DataSourceConfig_Name)), message.Uint32(source, pb.DataSourceConfig_TargetBuffer)
		if (name == "linux.ftrace" || name == "track_event") && int(buffer) < len(discards) && discards[buffer] {
			t.report(discardWhileStreaming, 0.8, "Events of %s go to a DISCARD buffer, which takes no more once it is full, while the trace is written to a file.", name)
		}
	}
}

func (t *info) heapProfiler(sources [][]byte) {
	const enough = 100 << 10 // bytes
	for _, source := range sources {
		interval := message.Uint64(message.Bytes(source, pb.DataSourceConfig_HeapprofdConfig), pb.HeapprofdConfig_SamplingIntervalBytes)
		if interval == 0 || interval >= enough {
			continue
		}
		confidence := 0.3
		if t.HasStat(func(s model.Stat) bool {
			return s.Severity() == model.Error && strings.HasPrefix(s.String(), "heapprofd")
		}) {
			confidence = 0.9
		}
		t.report(heapInterval, confidence, "sampling_interval_bytes of heapprofd is %d, below 102400: profiling costs more and is hardly more accurate.", interval)
	}
}

// video finds a video that Android did not record because nobody allowed it.
func (t *info) video(sources [][]byte) {
	wanted := slices.ContainsFunc(sources, func(source []byte) bool {
		return string(message.Bytes(source, pb.DataSourceConfig_Name)) == "android.display.video"
	})
	if wanted && t.userBuild() && !bool(*seenVideo.Of(t.Reader)) {
		t.report(videoDisabled, 0.7, "android.display.video is configured, but the trace has no frame. Production builds of Android record none until debug.tracing_video_allowed is set.")
	}
}

// userBuild is true if the trace was recorded by a production build of Android. Its fingerprint is
// brand/product/device:release/id/incremental:type/tags.
func (t *info) userBuild() bool {
	fingerprint := t.Machine.MetadataText("android_build_fingerprint")
	kind, _, _ := strings.Cut(fingerprint[strings.LastIndexByte(fingerprint, ':')+1:], "/")
	return kind == "user" && strings.Contains(fingerprint, ":")
}
