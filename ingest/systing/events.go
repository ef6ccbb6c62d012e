package systing

import (
	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/ingest/internal/parquetfile"
	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// events are the tables whose rows are events.
var events = []struct {
	name  string
	event func(p *parser, ts int64, row *row)
	end   func(p *parser, ts int64, row *row) // nil unless the end is an event of its own
}{
	{"sched_slice", (*parser).run, (*parser).stop},
	{"thread_state", (*parser).wake, nil},
	{"wakeup_new", (*parser).start, nil},
	{"process_exit", (*parser).exit, nil},
	{"sched_migrate", slice(onThread, named("sched"), named("sched_migrate_task")), nil},
	{"irq_slice", (*parser).interrupt, nil},
	{"softirq_slice", (*parser).softInterrupt, nil},
	{"slice", slice(onTrack, by("category"), by("name")), nil},
	{"instant", slice(onTrack, by("category"), by("name")), nil},
	{"stack_sample", (*parser).sample, nil},
	{"network_syscall", slice(onThread, named("network"), by("event_type")), nil},
	{"network_poll", slice(onThread, named("network"), named("poll")), nil},
	{"network_packet", slice(onSocket, named("network"), by("event_type")), nil},
	{"memory_map", slice(onThread, named("memory"), by("event_type")), nil},
	{"memory_fault", slice(onThread, named("memory"), named("page_fault")), nil},
	{"memory_alloc", slice(onThread, named("memory"), by("op")), nil},
	{"memory_rss", (*parser).memory, nil},
	{"counter", (*parser).count, nil},
	{"tpu_op", slice(onDevice, by("category"), by("op_name")), nil},
	{"tpu_metric", (*parser).metric, nil},
}

// unreadColumns are the columns that make no rows, by table.
var unreadColumns = map[string][]string{"thread_state": {"cpu"}, "wakeup_new": {"cpu", "target_cpu"}, "process_exit": {"cpu"}}

// text returns a name or a category for a row.
type text func(p *parser, row *row) model.StringID

// by takes a text from a column.
func by(column string) text {
	return func(_ *parser, row *row) model.StringID { return row.text(column) }
}

// named returns a constant text.
func named(text string) text {
	return func(p *parser, _ *row) model.StringID { return p.Store.Strings.Intern(text) }
}

// place returns where the slices of a table are. Those that overlap get tracks of their own.
type place func(p *parser, row *row) (b *model.Blueprint, o *model.TrackOptions, dims []model.Dim)

var (
	threadTracks = model.AsyncBlueprint(model.Blueprint{Classification: "systing_thread", Dims: []string{"utid"}})
	ownTracks    = model.AsyncBlueprint(model.Blueprint{Classification: "systing_track", Dims: []string{"systing_track_id"}})
	theirTracks  = model.AsyncBlueprint(model.Blueprint{Classification: "systing_thread_track", Dims: []string{"utid", "systing_track_id"}})
	groups       = &model.Blueprint{Classification: "systing_track_group", Dims: []string{"systing_track_id"}}
	socketTracks = model.AsyncBlueprint(model.Blueprint{Classification: "systing_socket", Dims: []string{"socket_id"}})
	tpuStreams   = model.AsyncBlueprint(model.Blueprint{Classification: "gpu_stream", Dims: []string{"ugpu", "stream"}})

	counterTracks = &model.Blueprint{Classification: "systing_counter", Event: model.CounterTrack, Dims: []string{"systing_track_id"}}
	threadMemory  = &model.Blueprint{Classification: "systing_thread_memory", Event: model.CounterTrack, Dims: []string{"utid", "name"},
		NameOf: model.NameOf("%[2]s")}
	tpuMetrics = &model.Blueprint{Classification: "systing_tpu_metric", Event: model.CounterTrack, Dims: []string{"ugpu", "name"},
		NameOf: model.NameOf("%[2]s")}
)

func onThread(p *parser, row *row) (*model.Blueprint, *model.TrackOptions, []model.Dim) {
	if utid := p.utid(row); utid != model.None {
		return threadTracks, nil, []model.Dim{model.IntDim(utid)}
	}
	return ownTracks, nil, []model.Dim{model.IntDim(model.None)}
}

func onTrack(p *parser, row *row) (*model.Blueprint, *model.TrackOptions, []model.Dim) {
	id := row.int("track_id")
	o := &model.TrackOptions{Name: p.tracks[id].name}
	if parent := p.tracks[id].parent; parent != model.None && p.tracks[id].name != 0 {
		o.Parent, o.HasParent = p.group(parent, 0), true
	}
	if row.value("utid").Kind != parquetfile.Null {
		if utid := p.utid(row); utid != model.None {
			return theirTracks, o, []model.Dim{model.IntDim(utid), model.IntDim(id)}
		}
	}
	return ownTracks, o, []model.Dim{model.IntDim(id)}
}

// maxGroups limits how many tracks are inside of each other.
const maxGroups = 16

// group returns the track above others.
func (p *parser) group(id int64, depth int) model.TrackID {
	o := &model.TrackOptions{Name: p.tracks[id].name}
	if parent := p.tracks[id].parent; parent != model.None && o.Name != 0 && depth < maxGroups {
		o.Parent, o.HasParent = p.group(parent, depth+1), true
	}
	return p.Tracks.Intern(groups, o, model.IntDim(id))
}

func onSocket(p *parser, row *row) (*model.Blueprint, *model.TrackOptions, []model.Dim) {
	id := row.int("socket_id")
	s := p.sockets[id]
	return socketTracks, &model.TrackOptions{Name: s.name, Args: s}, []model.Dim{model.IntDim(id)}
}

func onDevice(p *parser, row *row) (*model.Blueprint, *model.TrackOptions, []model.Dim) {
	stream := row.text("stream")
	return tpuStreams, &model.TrackOptions{Name: stream}, []model.Dim{model.IntDim(p.Machine.GPU(p.devices[row.int("tpu_device_id")])), model.StringDim(stream)}
}

// slice returns what adds a slice for each row. The columns that say nothing else become its args.
func slice(at place, category, name text) func(p *parser, ts int64, row *row) {
	return func(p *parser, ts int64, row *row) {
		b, o, dims := at(p, row)
		dur := max(0, row.int("dur"))
		track := p.Async.Overlapping(b, o, ts, dur, dims...)
		id := p.Slices.Scoped(ts, dur, track, category(p, row), name(p, row), row)
		if stack := row.value("stack_id"); stack.Kind != parquetfile.Null {
			p.Store.Stacks.AddToSlice(id, track, p.callsite(stack.Int), false)
		}
	}
}

// utid returns the thread of a row, or None. One that is not there is counted.
func (p *parser) utid(row *row) model.UTID {
	utid, ok := p.utids[row.int("utid")]
	if !ok {
		p.File.Count(statParseErrors)
		return model.None
	}
	return utid
}

// cpu returns the CPU of a row, or None. One that cannot be is counted.
func (p *parser) cpu(row *row) int64 {
	cpu := row.value("cpu")
	if cpu.Kind != parquetfile.Int || cpu.Int < 0 || cpu.Int >= model.MaxCPUs {
		p.File.Count(statParseErrors)
		return model.None
	}
	return cpu.Int
}

// callsite returns a stack, or None. One that is not there is counted.
func (p *parser) callsite(stack int64) profile.CallsiteID {
	callsite, ok := p.stacks[stack]
	if !ok {
		p.File.Count(statParseErrors)
		return model.None
	}
	return callsite
}

const running = "Running"

func (p *parser) run(ts int64, row *row) {
	utid := p.utid(row)
	if utid == model.None {
		return
	}
	cpu := p.cpu(row)
	if cpu == model.None {
		return
	}
	p.Sched.Begin(ts, cpu, utid, int32(row.int("priority")))
	p.Threads.Enter(ts, cpu, utid, p.Store.Strings.Intern(running), model.None)
}

// stop ends what run began.
func (p *parser) stop(ts int64, row *row) {
	utid, ok := p.utids[row.int("utid")]
	cpu := row.int("cpu")
	if !ok || cpu < 0 || p.Sched.Running(cpu) != utid {
		return
	}
	state := p.ftrace.TaskState(ts, row.int("end_state"))
	p.Sched.End(ts, cpu, state)
	p.Threads.Enter(ts, model.None, utid, state, model.None)
}

// wake makes a thread runnable. That it sleeps, the slice on its CPU says, too.
func (p *parser) wake(ts int64, row *row) {
	if row.int("state") == 0 {
		p.start(ts, row)
	}
}

// start makes a thread runnable, unless it is so already: the kernel may wake a thread before it sleeps.
func (p *parser) start(ts int64, row *row) {
	utid := p.utid(row)
	if utid == model.None {
		return
	}
	runnable := p.Store.Strings.Intern("R")
	if state := p.Threads.State(utid); state != runnable && state != p.Store.Strings.Intern(running) {
		p.Threads.Enter(ts, model.None, utid, runnable, model.None)
	}
}

// exit ends a thread. The states after its last switch stay.
func (p *parser) exit(ts int64, row *row) {
	utid := p.utid(row)
	if utid == model.None {
		return
	}
	p.Store.Thread.EndTS.Set(int64(utid), ts)
	if upid := p.Machine.ProcessOf(utid); upid != model.None && p.Machine.PID(upid) == p.Machine.TID(utid) {
		p.Store.Process.EndTS.Set(int64(upid), ts)
	}
}

func (p *parser) interrupt(ts int64, row *row) {
	word := p.Store.Strings.Intern
	p.onCPU(ts, row, tracks.IRQs, word("IRQ ("+p.Store.Strings.Get(row.text("name"))+")"), model.ArgFunc(func(set *model.ArgSet) {
		set.Add(word("irq"), model.IntArg(row.int("irq")))
		if ret := row.value("ret"); ret.Kind != parquetfile.Null {
			set.Add(word("ret"), model.StringArg(word(linux.IRQResult(ret.Int))))
		}
	}))
}

func (p *parser) softInterrupt(ts int64, row *row) {
	p.onCPU(ts, row, tracks.SoftIRQs, p.Store.Strings.Intern(linux.SoftIRQ(row.int("vec"))), row)
}

func (p *parser) onCPU(ts int64, row *row, b *model.Blueprint, name model.StringID, args model.ArgSource) {
	cpu := p.cpu(row)
	if cpu == model.None {
		return
	}
	track := p.Tracks.Intern(b, nil, model.IntDim(cpu))
	p.Slices.Scoped(ts, max(0, row.int("dur")), track, p.Store.Strings.Intern("irq"), name, args)
}

// The kinds of samples: of a thread that ran, and the stacks with which threads went to sleep.
const (
	uninterruptible = iota
	onCPU
	interruptible
)

// sample adds a sample of the profiler. The stack of a thread that goes to sleep is not one: it is that of an event.
func (p *parser) sample(ts int64, row *row) {
	utid := p.utid(row)
	if utid == model.None {
		return
	}
	kind := row.int("stack_event_type")
	if kind != onCPU {
		track := p.Async.Overlapping(threadTracks, nil, ts, 0, model.IntDim(utid))
		name := "sleep"
		if kind == uninterruptible {
			name = "uninterruptible sleep"
		}
		id := p.Slices.Scoped(ts, 0, track, p.Store.Strings.Intern("sched"), p.Store.Strings.Intern(name), nil)
		p.Store.Stacks.AddToSlice(id, track, p.callsite(row.int("stack_id")), false)
		return
	}
	v := profile.NewSample(ts, "systing")
	v.UTID, v.UPID = utid, p.Machine.ProcessOf(utid)
	if row.value("cpu").Kind != parquetfile.Null {
		if v.CPU = p.cpu(row); v.CPU != model.None {
			v.UCPU = p.Machine.CPU(v.CPU)
		}
	}
	v.Callsite = p.callsite(row.int("stack_id"))
	id := p.Store.Stacks.AddSample(v)
	if p.sampled != 0 {
		p.Store.Stacks.AddSampleEvent(id, p.sampled, p.period)
	}
}

// memoryKinds are the members of a process's memory: as the kernel counts them, and from -1 down those that systing adds.
var (
	memoryKinds = []string{"rss.file", "rss.anon", "swap", "rss.shmem"}
	addedKinds  = []string{"rss.watermark", "virt", "maj_flt", "thrashing_count", "thrashing_delay_ns"}
)

const ofProcess = 2 // of addedKinds; the others are of a thread

func (p *parser) memory(ts int64, row *row) {
	utid := p.utid(row)
	if utid == model.None {
		return
	}
	kind, b, owner := "unknown", tracks.ProcessMemory.Process, model.IntDim(p.Machine.ProcessOf(utid))
	switch member := row.int("member"); {
	case member >= 0 && member < int64(len(memoryKinds)):
		kind = memoryKinds[member]
	case member < 0 && -member <= int64(len(addedKinds)):
		kind = addedKinds[-member-1]
		if -member > ofProcess {
			b, owner = threadMemory, model.IntDim(utid)
		}
	}
	if owner.Int() == model.None {
		b, owner = tracks.ProcessMemory.Thread, model.IntDim(utid)
	}
	track := p.Tracks.Intern(b, nil, owner, model.StringDim(p.Store.Strings.Intern(kind)))
	p.Counters.PushWithArgs(ts, float64(row.int("size")), track, row)
}

func (p *parser) count(ts int64, row *row) {
	id := row.int("track_id")
	c, ok := p.counters[id]
	if !ok {
		p.File.Count(statParseErrors)
	}
	track := p.Tracks.Intern(counterTracks, &model.TrackOptions{Name: c.name, Unit: c.unit}, model.IntDim(id))
	p.Counters.Push(ts, row.value("value").number(), track)
}

func (p *parser) metric(ts int64, row *row) {
	track := p.Tracks.Intern(tpuMetrics, nil, model.IntDim(p.Machine.GPU(row.int("device_id"))), model.StringDim(row.text("metric_name")))
	p.Counters.Push(ts, row.value("value").number(), track)
}
