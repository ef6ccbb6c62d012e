package traceinfo

import (
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// The names, by number, of the events and counters in Perfetto's own code.
var (
	metatraceEventNames = [...]string{
		"EVENT_ZERO_UNUSED", "FTRACE_CPU_READER_READ", "FTRACE_DRAIN_CPUS", "FTRACE_UNBLOCK_READERS",
		"FTRACE_CPU_READ_NONBLOCK", "FTRACE_CPU_READ_BLOCK", "FTRACE_CPU_SPLICE_NONBLOCK", "FTRACE_CPU_SPLICE_BLOCK",
		"FTRACE_CPU_WAIT_CMD", "FTRACE_CPU_RUN_CYCLE", "FTRACE_CPU_FLUSH", "FTRACE_CPU_BUFFER_WATERMARK", "READ_SYS_STATS",
		"PS_WRITE_ALL_PROCESSES", "PS_ON_PIDS", "PS_ON_RENAME_PIDS", "PS_WRITE_ALL_PROCESS_STATS",
		"TRACE_WRITER_COMMIT_STARTUP_WRITER_BATCH", "FTRACE_READ_TICK", "FTRACE_CPU_READ_CYCLE", "FTRACE_CPU_READ_BATCH",
		"KALLSYMS_PARSE", "PROFILER_READ_TICK", "PROFILER_READ_CPU", "PROFILER_UNWIND_TICK", "PROFILER_UNWIND_SAMPLE",
		"PROFILER_UNWIND_INITIAL_ATTEMPT", "PROFILER_UNWIND_ATTEMPT", "PROFILER_MAPS_PARSE", "PROFILER_MAPS_REPARSE",
		"PROFILER_UNWIND_CACHE_CLEAR", "ANDROID_CPU_PER_UID_TICK", "ANDROID_KERNEL_WAKELOCKS_TICK", "ANDROID_POWER_TICK",
		"ANDROID_POWER_WRITE_BATTERY_COUNTERS", "ANDROID_POWER_WRITE_ENERGY_ESTIMATION_BREAKDOWN",
		"ANDROID_POWER_WRITE_ENTITY_STATE_RESIDENCY", "ANDROID_POWER_WRITE_POWER_RAILS_DATA", "LINUX_POWER_SYSFS_TICK",
	}
	metatraceCounterNames = [...]string{
		"COUNTER_ZERO_UNUSED", "FTRACE_PAGES_DRAINED", "PS_PIDS_SCANNED", "TRACE_SERVICE_COMMIT_DATA",
		"PROFILER_UNWIND_QUEUE_SZ", "PROFILER_UNWIND_CURRENT_PID",
	}
)

var metatraceTracks = model.Blueprint{Classification: "metatrace_counter", Event: model.CounterTrack, Dims: []string{"utid", "counter_name"}}

// metatrace reads Perfetto's trace of itself.
type metatrace struct {
	*proto.Reader
	interned map[uint64]model.StringID
}

func metatraceEvents(r *proto.Reader) *proto.Module {
	m := metatrace{r, map[uint64]model.StringID{}}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_PerfettoMetatrace},
		Parse:  m.event,
	}
}

func (m metatrace) event(e *proto.Event) {
	strs := m.Store.Strings
	lookup := func(iid uint64) model.StringID {
		if id, ok := m.interned[iid]; ok {
			return id
		}
		return strs.Intern("MISSING STRING")
	}
	numbered := func(names []string, kind string, n uint32) model.StringID {
		if n < uint32(len(names)) {
			return strs.Intern(names[n])
		}
		return strs.Intern(fmt.Sprintf("%s %d", kind, n))
	}
	for f := wire.Read(e.Data); f.Next(); {
		if f.Number == pb.PerfettoMetatrace_InternedStrings {
			value, _ := wire.Find(f.Bytes(), pb.PerfettoMetatrace_InternedString_Value)
			iid := message.Uint64(f.Bytes(), pb.PerfettoMetatrace_InternedString_IID)
			if _, known := m.interned[iid]; !known {
				m.interned[iid] = strs.InternBytes(value.Bytes())
			}
		}
	}
	var event, counter model.StringID
	var dur, value, tid int64
	var args []metatraceArg
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.PerfettoMetatrace_EventID:
			event = numbered(metatraceEventNames[:], "Event", f.Uint32())
		case pb.PerfettoMetatrace_CounterID:
			counter = numbered(metatraceCounterNames[:], "Counter", f.Uint32())
		case pb.PerfettoMetatrace_EventDurationNS:
			dur = f.Int64()
		case pb.PerfettoMetatrace_CounterValue:
			value = int64(f.Int32())
		case pb.PerfettoMetatrace_ThreadID:
			tid = int64(f.Uint32())
		case pb.PerfettoMetatrace_HasOverruns:
			m.File.Count(model.StatMetatraceOverruns)
		case pb.PerfettoMetatrace_Args:
			args = append(args, m.arg(f.Bytes(), lookup))
		case pb.PerfettoMetatrace_EventName:
			event = strs.InternBytes(f.Bytes())
		case pb.PerfettoMetatrace_CounterName:
			counter = strs.InternBytes(f.Bytes())
		case pb.PerfettoMetatrace_EventNameIID:
			event = lookup(f.Uint64())
		}
	}
	utid := m.Machine.Thread(tid)
	set := m.args(args)
	switch {
	case event != 0:
		m.Slices.Scoped(e.TS, dur, m.Tracks.Thread(utid), strs.Intern("metatrace"), event, set)
	case counter != 0:
		o := model.TrackOptions{Name: counter}
		track := m.Tracks.Intern(&metatraceTracks, &o, model.IntDim(utid), model.StringDim(counter))
		m.Counters.PushWithArgs(e.TS, float64(value), track, set)
	}
}

type metatraceArg struct{ key, value model.StringID }

func (m metatrace) arg(data []byte, lookup func(uint64) model.StringID) (a metatraceArg) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.PerfettoMetatrace_Arg_Key:
			a.key = m.Store.Strings.InternBytes(f.Bytes())
		case pb.PerfettoMetatrace_Arg_Value:
			a.value = m.Store.Strings.InternBytes(f.Bytes())
		case pb.PerfettoMetatrace_Arg_KeyIID:
			a.key = lookup(f.Uint64())
		case pb.PerfettoMetatrace_Arg_ValueIID:
			a.value = lookup(f.Uint64())
		}
	}
	return a
}

// args returns the args. The values of a repeated key become an array.
func (m metatrace) args(args []metatraceArg) *model.ArgSet {
	set, strs := new(model.ArgSet), m.Store.Strings
	for i, a := range args {
		same := func(b metatraceArg) bool { return a.key == b.key }
		key := a.key
		if slices.ContainsFunc(args[:i], same) || slices.ContainsFunc(args[i+1:], same) {
			key = strs.Intern(model.ArrayKey(strs.Get(a.key), set.NextIndex(a.key)))
		}
		set.AddFlat(a.key, key, model.StringArg(a.value))
	}
	return set
}
