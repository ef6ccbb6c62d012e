package nsys

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// kind says how the rows of a table are read.
type kind uint8

const (
	call     kind = iota // a call of a thread
	work                 // what a GPU did in a stream
	wait                 // a thread that waited for a GPU
	overhead             // time that the profiler took in a thread
	nvtx
	switches // between threads, on a CPU
	sample
	metric
	memory // that was allocated or freed on a GPU
	message
)

// table is a table whose rows are events.
type table struct {
	*gpuwork.Table
	kind             kind
	category         model.StringID
	start, end, name int // columns
}

// enums are the tables with the names of a column's values.
var enums = map[string]string{
	"copyKind": "ENUM_CUDA_MEMCPY_OPER", "srcKind": "ENUM_CUDA_MEM_KIND", "dstKind": "ENUM_CUDA_MEM_KIND", "memKind": "ENUM_CUDA_MEM_KIND",
	"launchType": "ENUM_CUDA_KERNEL_LAUNCH_TYPE", "cacheConfig": "ENUM_CUDA_FUNC_CACHE_CONFIG", "migrationCause": "ENUM_CUDA_UNIF_MEM_MIGRATION",
	"syncType": "ENUM_CUPTI_SYNC_TYPE", "overheadType": "ENUM_CUPTI_OVERHEAD_TYPE", "memoryOperationType": "ENUM_CUDA_DEV_MEM_EVENT_OPER",
	"severity": "ENUM_DIAGNOSTIC_SEVERITY_LEVEL", "threadState": "ENUM_SAMPLING_THREAD_STATE",
}

// known are the names of values, by their number, for exports without tables of enums, as those of version 2 of the schema.
var known = map[string][]string{
	"ENUM_CUDA_MEMCPY_OPER": {"Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array", "Array-to-Host", "Array-to-Array", "Array-to-Device",
		"Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer", "Unified Host-to-Device", "Unified Device-to-Host", "Unified Device-to-Device"},
	"ENUM_CUDA_MEM_KIND": {"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown"},
}

// names are the columns with the id of a text.
var names = []string{"demangledName", "shortName", "mangledName", "nameId", "textId", "jsonTextId"}

// categories of the work and calls in tables that are not called like them.
var categories = map[string]string{
	"CUPTI_ACTIVITY_KIND_KERNEL": gpuwork.Kernel, "CUPTI_ACTIVITY_KIND_MEMCPY": gpuwork.Copy, "CUPTI_ACTIVITY_KIND_MEMSET": gpuwork.Set,
	"CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "graph", "CUPTI_ACTIVITY_KIND_RUNTIME": "cuda_runtime", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "cuda_sync",
	"CUPTI_ACTIVITY_KIND_OVERHEAD": "overhead", "PROFILER_OVERHEAD": "overhead", "NVTX_EVENTS": "nvtx", "OSRT_API": "osrt",
}

// driverCalls is the class of calls of CUDA's driver, which are in the table of the runtime's calls.
const driverCalls = 1

// Kinds of rows in NVTX_EVENTS.
const (
	nvtxCategory = 33
	nvtxMark     = 34
	nvtxThread   = 39
	nvtxPushPop  = 59
	nvtxStartEnd = 60
	nvtxDomain   = 75
	nvtxtMark    = 65
)

// parser turns rows, in order of time, into rows of the dataset.
type parser struct {
	*gpuwork.Tracker
	tables   []*table
	strings  gpuwork.Labels
	labels   map[string]gpuwork.Labels // of the values in each table of an enum
	devices  map[device]int64          // GPUs, by a process's number for them
	metrics  map[metricKey]metricName
	hardware map[int64]int64           // GPUs by the number that metrics use
	used     map[memoryKey]float64     // bytes
	domains  map[domain]model.StringID // of NVTX
	groups   map[group]model.StringID  // categories of NVTX
	event    gpuwork.Event
	driver   model.StringID
}

type device struct{ pid, number int64 }

type metricKey struct{ typ, id int64 }

type metricName struct{ name, source model.StringID }

// A process numbers its domains of NVTX, and a domain its categories.
type (
	domain struct{ pid, number int64 }
	group  struct {
		domain
		number int64
	}
)

type memoryKey struct {
	upid model.UPID
	ugpu model.UGPU
	kind model.StringID
}

func newParser(c *model.Context) *parser {
	labels := map[string]gpuwork.Labels{}
	for enum, names := range known {
		labels[enum] = gpuwork.Labels{}
		for i, name := range names {
			labels[enum][int64(i)] = c.Store.Strings.Intern(name)
		}
	}
	return &parser{Tracker: gpuwork.New(c), strings: gpuwork.Labels{}, labels: labels,
		devices: map[device]int64{}, metrics: map[metricKey]metricName{},
		hardware: map[int64]int64{}, used: map[memoryKey]float64{}, domains: map[domain]model.StringID{}, groups: map[group]model.StringID{},
		driver: c.Store.Strings.Intern("cuda_driver")}
}

// add adds a table of events.
func (p *parser) add(rows *sqlitefile.Table, k kind) *table {
	word := p.Store.Strings.Intern
	category := categories[rows.Name]
	if category == "" {
		category = strings.ToLower(rows.Name)
	}
	t := &table{kind: k, category: word(category), start: rows.Column("start"), end: rows.Column("end"), name: nameOf(rows)}
	if t.start < 0 {
		t.start = rows.Column("timestamp")
	}
	except := slices.Clone(elsewhere)
	if k == work {
		except = append(except, "correlationId")
	}
	for _, i := range []int{t.start, t.end, t.name} {
		if i >= 0 {
			except = append(except, rows.Columns[i])
		}
	}
	t.Table = gpuwork.NewTable(p.Store, rows, func(column string) gpuwork.Labels {
		if slices.Contains(names, column) {
			return p.strings
		}
		return p.labels[enums[column]]
	}, except...)
	t.Number = len(p.tables)
	p.tables = append(p.tables, t)
	return t
}

// elsewhere are columns whose values the tables of the dataset have in columns of their own.
var elsewhere = []string{"globalTid", "globalPid", "deviceId", "streamId", "contextId"}

// Event parses a row.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	t := p.tables[r.Uint()]
	dur, number := r.Int(), r.Int()
	args := &p.event
	args.Unpack(t.Table, r)
	switch t.kind {
	case call:
		category := t.category
		if class, ok := p.event.Int("eventClass"); ok && class == driverCalls && t.Name == "CUPTI_ACTIVITY_KIND_RUNTIME" {
			category = p.driver
		}
		p.Call(ts, dur, p.thread(), category, p.name(t), p.event.IntOr("correlationId", model.None), args)
	case work:
		p.work(t, ts, dur, args)
	case wait:
		pid, stream := p.pid(), p.event.IntOr("streamId", model.None)
		track := p.Async.Overlapping(waits, nil, ts, max(dur, 0), model.IntDim(p.gpu(pid)), model.IntDim(p.Machine.Process(pid)), model.IntDim(stream))
		p.Slices.Scoped(ts, dur, track, t.category, p.labelOr("syncType", "Synchronization"), args)
	case overhead:
		track := p.Async.Overlapping(overheads, nil, ts, max(dur, 0), model.IntDim(p.thread()))
		p.Slices.Scoped(ts, dur, track, t.category, p.name(t), args)
	case nvtx:
		p.nvtx(t, ts, dur, args)
	case switches:
		cpu, utid := p.event.IntOr("cpu", 0), p.thread()
		if cpu < 0 || cpu >= model.MaxCPUs {
			p.File.Unread(model.StatUnreadEvent, model.None, "SCHED_EVENTS row").Add(model.LogEntry{TS: ts, HasTS: true})
			return nil
		}
		if in, _ := p.event.Int("isSchedIn"); in != 0 {
			p.Sched.Begin(ts, cpu, utid, 0)
		} else if p.Sched.Running(cpu) == utid {
			p.Sched.End(ts, cpu, p.labelOr("threadState", ""))
		}
	case sample:
		s := profile.NewSample(ts, "nsys")
		s.UTID, s.Callsite = p.thread(), profile.CallsiteID(number)
		s.UPID = p.Machine.ProcessOf(s.UTID)
		if cpu, ok := p.event.Int("cpu"); ok && cpu >= 0 && cpu < model.MaxCPUs {
			s.CPU, s.UCPU = cpu, p.Machine.CPU(cpu)
		}
		p.Store.Stacks.AddSample(s)
	case metric:
		p.metric(t, ts)
	case memory:
		p.memory(ts)
	case message:
		p.Slices.Scoped(ts, 0, p.Tracks.Intern(messages, nil), p.labelOr("severity", ""), p.text("text"), args)
	}
	return nil
}

var (
	waits     = model.AsyncBlueprint(model.Blueprint{Classification: "gpu_synchronization", Dims: []string{"ugpu", "upid", "stream_id"}, Name: "Synchronization"})
	overheads = model.AsyncBlueprint(model.Blueprint{Classification: "profiler_overhead", Dims: []string{"utid"}, Name: "Profiler overhead"})
	ranges    = model.AsyncBlueprint(model.Blueprint{Classification: "nvtx_range", Dims: []string{"upid", "domain"}, Name: "NVTX ranges"})
	messages  = &model.Blueprint{Classification: "nsys_diagnostics", Name: "Diagnostics of Nsight Systems"}
	counters  = &model.Blueprint{Classification: "gpu_counter", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu", "name"}}
	system    = &model.Blueprint{Classification: "soc_counter", Event: model.CounterTrack, Dims: []string{"name"}}
	allocated = &model.Blueprint{Classification: "gpu_memory_allocated", Event: model.CounterTrack, Dims: []string{"ugpu", "upid", "kind"}, Unit: "bytes"}
)

// text returns the text in a column, or with the id in it.
func (p *parser) text(name string) model.StringID {
	if text := p.event.Text(name); text != nil {
		return p.Store.Strings.InternBytes(text)
	}
	return p.strings[p.event.IntOr(name, model.None)]
}

// labelOr returns the name of the value of an enum.
func (p *parser) labelOr(name, missing string) model.StringID {
	if n, ok := p.event.Int(name); ok {
		if label := p.labels[enums[name]][n]; label != 0 {
			return label
		}
	}
	return p.Store.Strings.Intern(missing)
}

// name returns the row's name.
func (p *parser) name(t *table) model.StringID {
	if t.name < 0 {
		return 0
	}
	return p.text(t.Columns[t.name])
}

// A global id has the number of the process above 24 bits for the thread.
func pidOf(id int64) int64 { return id >> 24 & 0xffffff }
func tidOf(id int64) int64 { return id & 0xffffff }

func (p *parser) thread() model.UTID {
	id := p.event.IntOr("globalTid", 0)
	return p.Machine.ThreadOf(tidOf(id), pidOf(id))
}

func (p *parser) pid() int64 {
	if id, ok := p.event.Int("globalPid"); ok {
		return pidOf(id)
	}
	return pidOf(p.event.IntOr("globalTid", 0))
}

// gpu returns the GPU that a process calls by the row's device id.
func (p *parser) gpu(pid int64) model.UGPU {
	number := p.event.IntOr("deviceId", 0)
	if id, ok := p.devices[device{pid, number}]; ok {
		number = id
	}
	return p.Machine.GPU(number)
}

func (p *parser) work(t *table, ts, dur int64, args model.ArgSource) {
	pid := p.pid()
	name := p.name(t)
	if name == 0 {
		title := t.category
		if t.Name == "CUPTI_ACTIVITY_KIND_MEMCPY" { // as Nsight Systems calls them
			title = p.Store.Strings.Intern("[CUDA memcpy " + p.Store.Strings.Get(p.labelOr("copyKind", "Unknown")) + "]")
		} else if t.Name == "CUPTI_ACTIVITY_KIND_MEMSET" {
			title = p.Store.Strings.Intern("[CUDA memset]")
		}
		name = title
	}
	p.Add(gpuwork.Work{TS: ts, Dur: dur, UGPU: p.gpu(pid), UPID: p.Machine.Process(pid), Stream: p.event.IntOr("streamId", 0),
		Context: p.event.IntOr("contextId", model.None), Category: t.category, Name: name,
		Correlation: p.event.IntOr("correlationId", model.None), Args: args})
}

// nvtx adds a range or mark.
func (p *parser) nvtx(t *table, ts, dur int64, args model.ArgSource) {
	domain := domain{p.pid(), p.event.IntOr("domainId", 0)}
	group := group{domain, p.event.IntOr("category", model.None)}
	name := p.text("text")
	if name == 0 {
		name = p.text("textId")
	}
	more := model.ArgFunc(func(set *model.ArgSet) {
		args.AddArgs(set)
		if name := p.domains[domain]; name != 0 {
			set.Add(p.Store.Strings.Intern("domain"), model.StringArg(name))
		}
		if name := p.groups[group]; name != 0 {
			set.Add(p.Store.Strings.Intern("category"), model.StringArg(name))
		}
	})
	switch event, _ := p.event.Int("eventType"); event {
	case nvtxMark, nvtxtMark:
		p.Call(ts, 0, p.thread(), t.category, name, model.None, more)
	case nvtxPushPop:
		p.Call(ts, dur, p.thread(), t.category, name, model.None, more)
	case nvtxStartEnd:
		dims := []model.Dim{model.IntDim(p.Machine.Process(domain.pid)), model.IntDim(domain.number)}
		if dur < 0 {
			p.Slices.Begin(ts, p.Async.Begin(ranges, nil, p.event.ID, dims...), t.category, name, more)
			return
		}
		p.Slices.Scoped(ts, dur, p.Async.Overlapping(ranges, nil, ts, dur, dims...), t.category, name, more)
	default:
		label := p.Store.Strings.Get(p.labels["ENUM_NSYS_EVENT_TYPE"][event])
		p.File.Unread(model.StatUnreadEvent, model.None, cmp.Or(label, strconv.FormatInt(event, 10))+" NVTX event").Add(model.LogEntry{TS: ts, HasTS: true})
	}
}

// nvtxName notes a row that names a domain, a category or a thread, and reports whether it is one.
func (p *parser) nvtxName(t *table, row *sqlitefile.Row) bool {
	p.event.Of(t.Table, row)
	event, _ := p.event.Int("eventType")
	if event != nvtxCategory && event != nvtxDomain && event != nvtxThread {
		return false
	}
	name := p.text("text")
	if name == 0 {
		name = p.text("textId")
	}
	switch domain := (domain{p.pid(), p.event.IntOr("domainId", 0)}); event {
	case nvtxDomain:
		p.domains[domain] = name
	case nvtxCategory:
		p.groups[group{domain, p.event.IntOr("category", 0)}] = name
	default:
		p.Machine.SetThreadName(p.thread(), name, model.ThreadNameOther)
	}
	return true
}

// metric adds a value of a GPU's or the chip's own counter.
func (p *parser) metric(t *table, ts int64) {
	typ, id := p.event.IntOr("typeId", 0), p.event.IntOr("metricId", 0)
	m, ok := p.metrics[metricKey{typ, id}]
	if !ok {
		m.name = p.Store.Strings.Intern("Metric " + strconv.FormatInt(id, 10))
	}
	value := p.event.Number("value")
	if t.Name == "SOC_METRICS" {
		p.Counters.Push(ts, value, p.Tracks.Intern(system, &model.TrackOptions{Name: m.name}, model.StringDim(m.name)))
		return
	}
	gpu := typ & 0xff // the GPU's number in the profiler
	if id, ok := p.hardware[gpu]; ok {
		gpu = id
	}
	p.Counters.Push(ts, value, p.Tracks.Intern(counters, &model.TrackOptions{Name: m.name}, model.IntDim(p.Machine.GPU(gpu)), model.IntDim(gpu), model.StringDim(m.name)))
}

// memory adds up what a process has allocated on a GPU.
func (p *parser) memory(ts int64) {
	pid := p.pid()
	key := memoryKey{p.Machine.Process(pid), p.gpu(pid), p.labelOr("memKind", "Unknown")}
	bytes := float64(p.event.IntOr("bytes", 0))
	if operation, _ := p.event.Int("memoryOperationType"); operation != 0 {
		bytes = -bytes
	}
	p.used[key] += bytes
	name := p.Store.Strings.Intern("Allocated: " + p.Store.Strings.Get(key.kind))
	p.Counters.PushWithArgs(ts, p.used[key], p.Tracks.Intern(allocated, &model.TrackOptions{Name: name}, model.IntDim(key.ugpu), model.IntDim(key.upid), model.StringDim(key.kind)),
		&p.event)
}
