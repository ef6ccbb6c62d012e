package perfdata

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// The fields of a sample, from perf_event_attr.sample_type.
const (
	sampleIP         = 1 << 0
	sampleTID        = 1 << 1
	sampleTime       = 1 << 2
	sampleAddr       = 1 << 3
	sampleRead       = 1 << 4
	sampleCallchain  = 1 << 5
	sampleID         = 1 << 6
	sampleCPU        = 1 << 7
	samplePeriod     = 1 << 8
	sampleStreamID   = 1 << 9
	sampleRaw        = 1 << 10
	sampleBranches   = 1 << 11
	sampleRegisters  = 1 << 12
	sampleStack      = 1 << 13
	sampleIdentifier = 1 << 16
)

// unreadFields are the fields of samples that make no rows, by their bits. Ids of streams say no more than those of counters.
var unreadFields = []struct {
	bit  uint64
	name string
}{
	{sampleAddr, "PERF_SAMPLE_ADDR"}, {sampleRaw, "PERF_SAMPLE_RAW"}, {sampleBranches, "PERF_SAMPLE_BRANCH_STACK"},
	{1 << 14, "PERF_SAMPLE_WEIGHT"}, {1 << 15, "PERF_SAMPLE_DATA_SRC"}, {1 << 17, "PERF_SAMPLE_TRANSACTION"},
	{1 << 18, "PERF_SAMPLE_REGS_INTR"}, {1 << 19, "PERF_SAMPLE_PHYS_ADDR"}, {1 << 20, "PERF_SAMPLE_AUX"},
	{1 << 21, "PERF_SAMPLE_CGROUP"}, {1 << 22, "PERF_SAMPLE_DATA_PAGE_SIZE"}, {1 << 23, "PERF_SAMPLE_CODE_PAGE_SIZE"},
	{1 << 24, "PERF_SAMPLE_WEIGHT_STRUCT"},
}

// The branches that accompany a sample, from perf_event_attr.branch_sample_type.
const (
	branchIndex    = 1 << 17 // with the index of the hardware
	branchCounters = 1 << 19
	branchSize     = 24 // bytes
)

// The fields that accompany a counter's value, from perf_event_attr.read_format.
const (
	readTotalTimeEnabled = 1 << 0
	readTotalTimeRunning = 1 << 1
	readID               = 1 << 2
	readGroup            = 1 << 3
	readLost             = 1 << 4
)

// The perf_event_attr flags that matter here.
const (
	attrFreq        = 1 << 10
	attrSampleIDAll = 1 << 18
	attrUseClockID  = 1 << 25
)

// minAttr is the size of the first perf_event_attr, in bytes.
const minAttr = 64

// notSampling is the lowest period that simpleperf writes for an event that does
// not sample.
const notSampling = 1 << 62

// event is a kind of event that was counted or sampled: a perf_event_attr.
type event struct {
	kind        uint32 // perf_event_attr.type
	config      uint64
	period      uint64 // or a frequency
	freq        bool   // the period is a frequency
	sampleType  uint64
	readFormat  uint64
	sampleIDAll bool // records other than samples end with a sample id
	branches    uint64
	registers   uint64 // of user code, that samples have: bits
	clock       model.Clock

	name     string
	session  profile.SessionID
	counters map[int64]*counter // by CPU, None for all CPUs
	unread   []*model.Unread    // of its samples
	offsets
}

// offsets are the positions of a record's time and event id in bytes, from the
// start in samples and from the end in other records; -1 if absent.
type offsets struct {
	time, timeFromEnd, id, idFromEnd int
}

// counter is the sum of an event.
type counter struct {
	track model.TrackID
	value float64
	last  map[uint64]uint64 // what was read last, by event id: each CPU or thread counts on its own
}

// readEvent reads a perf_event_attr of any size.
func readEvent(attr []byte, swapped bool) *event {
	w := words{data: attr, swapped: swapped}
	e := &event{counters: map[int64]*counter{}}
	e.kind = w.uint32()
	w.uint32() // its size
	e.config = w.uint64()
	e.period = w.uint64()
	e.sampleType = w.uint64()
	e.readFormat = w.uint64()
	flags := e.flags(w.take(8), swapped)
	e.freq = flags&attrFreq != 0
	e.sampleIDAll = flags&attrSampleIDAll != 0
	w.take(4 + 4 + 8 + 8) // wakeup, breakpoint or configuration
	e.branches, e.registers = w.uint64(), w.uint64()
	w.take(4) // size of the stack
	e.clock.ID = model.ClockPerf
	if clock := w.uint32(); flags&attrUseClockID != 0 {
		e.clock.ID = clocks[clock]
	}
	e.offsets = e.layout()
	return e
}

// flags returns the bit field of perf_event_attr. Big-endian machines fill bytes
// starting at the highest bit.
func (*event) flags(field []byte, swapped bool) (v uint64) {
	for i, b := range field {
		if swapped {
			b = bits.Reverse8(b)
		}
		v |= uint64(b) << (8 * i)
	}
	return v
}

// clocks maps Linux's clockid_t to clocks.
var clocks = map[uint32]uint32{
	0: model.ClockRealtime,
	1: model.ClockMonotonic,
	4: model.ClockMonotonicRaw,
	5: model.ClockRealtimeCoarse,
	6: model.ClockMonotonicCoarse,
	7: model.ClockBoottime,
}

// countUnread counts the fields of its samples that make no rows.
func (e *event) countUnread(f *model.File) {
	unwound := e.unwinds()
	add := func(name string) {
		e.unread = append(e.unread, f.Unread(model.StatUnreadFact, model.None, name+" field"))
	}
	for _, field := range unreadFields {
		if e.sampleType&field.bit != 0 && !(field.bit == sampleRaw && e.isTracepoint()) {
			add(field.name)
		}
	}
	if e.sampleType&sampleRegisters != 0 && !unwound {
		add("PERF_SAMPLE_REGS_USER")
	}
	if e.sampleType&sampleStack != 0 && !unwound {
		add("PERF_SAMPLE_STACK_USER")
	}
	if unknown := bits.Len64(e.sampleType >> 25); unknown > 0 {
		add(fmt.Sprintf("sample_type bit %d", 24+unknown))
	}
}

// unwinds reports whether samples have what the callers of user code are found from.
func (e *event) unwinds() bool {
	return e.sampleType&sampleRegisters != 0 && e.sampleType&sampleStack != 0 && e.registers != 0
}

func (e *event) layout() offsets {
	o := offsets{-1, -1, -1, -1}
	size := func(fields uint64) int { return 8 * bits.OnesCount64(e.sampleType&fields) }
	if e.sampleType&sampleTime != 0 {
		o.time = size(sampleIdentifier | sampleIP | sampleTID)
		if e.sampleIDAll {
			o.timeFromEnd = size(sampleTime | sampleID | sampleStreamID | sampleCPU | sampleIdentifier)
		}
	}
	switch {
	case e.sampleType&sampleIdentifier != 0:
		o.id, o.idFromEnd = 0, 8
	case e.sampleType&sampleID != 0:
		o.id = size(sampleIP | sampleTID | sampleTime | sampleAddr)
		o.idFromEnd = size(sampleID | sampleStreamID | sampleCPU)
	}
	return o
}

// sampleIDSize returns the size in bytes of the sample id at the end of records.
func (e *event) sampleIDSize() int {
	return 8 * bits.OnesCount64(e.sampleType&(sampleTID|sampleTime|sampleID|sampleStreamID|sampleCPU|sampleIdentifier))
}

// The types of events, perf_event_attr.type.
const (
	kindHardware   = 0
	kindSoftware   = 1
	kindTracepoint = 2
	kindCache      = 3
	kindBreakpoint = 5
)

// hardwareEvent are the bits of a hardware event's config that are its number. The others say on which kind of core it counts.
const hardwareEvent = math.MaxUint32

// Hardware events with a unit other than a count, from perf_hw_id.
const (
	hardwareCPUCycles       = 0
	hardwareInstructions    = 1
	hardwareBusCycles       = 6
	hardwareReferenceCycles = 9
)

// unit returns the unit of the event, or "" if unknown.
func (e *event) unit() string {
	switch e.kind {
	case kindHardware:
		switch e.config & hardwareEvent {
		case hardwareCPUCycles, hardwareBusCycles, hardwareReferenceCycles:
			return "cycles"
		case hardwareInstructions:
			return "instructions"
		}
		return "count"
	case kindSoftware:
		if e.config <= 1 { // the CPU clock and the task clock
			return "ns"
		}
		return "count"
	case kindTracepoint, kindCache, kindBreakpoint:
		return "count"
	}
	return ""
}

// kindNames are the names of perf for the events of a type, by perf_event_attr.config.
var kindNames = map[uint32][]string{
	kindHardware: {"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
		"stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"},
	kindSoftware: {"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
		"alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches"},
}

// ownName returns the event's name in the recording or, if that has none, what perf calls it.
func (e *event) ownName() string {
	names := kindNames[e.kind]
	switch {
	case e.name != "":
		return e.name
	case e.config < uint64(len(names)):
		return names[e.config]
	}
	return fmt.Sprintf("type %d config %#x", e.kind, e.config)
}

var globalCounters = &model.Blueprint{Classification: "perf_global_counter", Event: model.CounterTrack,
	Dims: []string{"perf_session_id", "name"}}

// counter returns the event's counter for a CPU, or for all CPUs if cpu is None.
func (e *event) counter(c *model.Context, cpu int64) *counter {
	if known := e.counters[cpu]; known != nil {
		return known
	}
	strings := c.Store.Strings
	name := strings.Intern(e.ownName())
	options := &model.TrackOptions{Name: name, Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strings.Intern("is_timebase"), model.BoolArg(e.period < notSampling))
	})}
	added := &counter{last: map[uint64]uint64{}}
	if cpu == model.None {
		added.track = c.Tracks.Intern(globalCounters, options, model.IntDim(e.session), model.StringDim(name))
	} else {
		added.track = c.Tracks.Intern(model.PerfCounter, options, model.IntDim(cpu), model.IntDim(e.session), model.StringDim(name))
	}
	e.counters[cpu] = added
	return added
}
