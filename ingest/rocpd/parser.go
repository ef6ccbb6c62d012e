package rocpd

import (
	"encoding/json"
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// kind says how the rows of a table are read.
type kind uint8

const (
	region     kind = iota // a call of a thread, or a range that it marks
	dispatch               // a kernel
	transfer               // a copy
	allocation             // of memory, or its release
	sample                 // a moment, usually with values of counters
)

// table is a table of a process whose rows are events.
type table struct {
	*gpuwork.Table
	kind  kind
	names *names
}

// parser turns rows, in order of time, into rows of the dataset.
type parser struct {
	*gpuwork.Tracker
	tables                    []*table
	used                      map[model.UGPU]float64 // bytes by GPU
	sizes                     map[address]holding    // what is held on GPUs
	event                     gpuwork.Event
	values                    []value
	kernel, transfers, memory model.StringID
}

// address is a place in the memory of a process.
type address struct {
	process *names
	at      int64
}

type holding struct {
	ugpu  model.UGPU
	bytes float64
}

var (
	counters  = &model.Blueprint{Classification: "gpu_counter", Event: model.CounterTrack, Dims: []string{"ugpu", "gpu", "name"}}
	others    = &model.Blueprint{Classification: "rocpd_counter", Event: model.CounterTrack, Dims: []string{"name"}}
	allocated = &model.Blueprint{Classification: "gpu_memory_allocated", Event: model.CounterTrack, Dims: []string{"ugpu"}, Name: "Allocated", Unit: "bytes"}
	moments   = &model.Blueprint{Classification: "rocpd_track", Dims: []string{"name"}}
)

func newParser(c *model.Context) *parser {
	word := c.Store.Strings.Intern
	return &parser{Tracker: gpuwork.New(c), used: map[model.UGPU]float64{}, sizes: map[address]holding{},
		kernel: word(gpuwork.Kernel), transfers: word(gpuwork.Copy), memory: word("memory_allocate")}
}

// elsewhere are columns whose values the tables of the dataset have in columns of their own.
var elsewhere = []string{"id", "guid", "nid", "pid", "start", "end", "timestamp", "event_id", "track_id", "stream_id", "kernel_id"}

func (p *parser) add(n *names, rows *sqlitefile.Table, k kind) *table {
	except := elsewhere
	switch k {
	case region:
		except = append([]string{"name_id", "tid"}, elsewhere...)
	case transfer:
		except = append([]string{"name_id"}, elsewhere...)
	}
	t := &table{gpuwork.NewTable(p.Store, rows, n.labelsOf, except...), k, n}
	t.Number = len(p.tables)
	p.tables = append(p.tables, t)
	return t
}

// row is a row and what other tables say of it. It is a source of args.
type row struct {
	*parser
	table                      *table
	stack, parent, correlation int64
	more                       []byte       // what the event says in JSON, or nil
	args                       token.Reader // pairs of name and value, up to an empty name
}

// Event parses a row.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	t := p.tables[r.Uint()]
	dur, category := r.Int(), r.Text()
	row := &row{parser: p, table: t, stack: r.Int(), parent: r.Int(), correlation: r.Int(), more: r.Raw()}
	p.values = p.values[:0]
	for range r.Uint() {
		counter := r.Int()
		p.values = append(p.values, value{counter: counter, value: math.Float64frombits(r.Uint())})
	}
	if t.kind == region {
		for row.args = r; len(r.Raw()) > 0; {
			r.Raw()
		}
	}
	e := &p.event
	e.Unpack(t.Table, r)
	switch n := t.names; t.kind {
	case region:
		name := n.strings[e.IntOr("name_id", 0)]
		if text := message(row.more); text != "" {
			name = p.Store.Strings.Intern(text)
		}
		p.Call(ts, dur, p.thread(n), category, name, row.stack, row)
	case dispatch:
		gpu := n.agents[e.IntOr("agent_id", model.None)]
		p.work(ts, dur, n, gpu, p.kernel, n.kernels[e.IntOr("kernel_id", model.None)], row)
	case transfer:
		gpu := n.agents[e.IntOr("dst_agent_id", model.None)]
		if !gpu.gpu {
			gpu = n.agents[e.IntOr("src_agent_id", model.None)]
		}
		p.work(ts, dur, n, gpu, p.transfers, n.strings[e.IntOr("name_id", 0)], row)
	case allocation:
		p.Call(ts, dur, p.thread(n), p.memory, p.Store.Strings.InternBytes(e.Text("type")), model.None, row)
		p.allocate(ts, n)
	case sample:
		p.sample(ts, n, category, row)
	}
	return nil
}

func (p *parser) thread(n *names) model.UTID {
	if utid, ok := n.threads[p.event.IntOr("tid", model.None)]; ok {
		return utid
	}
	pid := p.pid(n)
	return p.Machine.ThreadOf(pid, pid)
}

func (p *parser) pid(n *names) int64 { return n.processes[p.event.IntOr("pid", 0)] }

func (p *parser) work(ts, dur int64, n *names, gpu agent, category, name model.StringID, row *row) {
	ugpu := gpu.id
	if !gpu.gpu {
		ugpu = p.Machine.GPU(0)
	}
	stream := p.event.IntOr("stream_id", 0)
	p.Add(gpuwork.Work{TS: ts, Dur: dur, UGPU: ugpu, UPID: p.Machine.Process(p.pid(n)), Stream: stream, StreamName: n.streams[stream],
		Context: model.None, Category: category, Name: name, Correlation: row.stack, Args: row})
}

// message returns the text that a program gave a range or mark of ROCTX, whose row names only the function, or "".
func message(more []byte) string {
	var extra struct{ Message string }
	if json.Unmarshal(more, &extra) != nil {
		return ""
	}
	return extra.Message
}

// AddArgs adds the columns, arguments and counters of the row, and what its event says in JSON.
func (r *row) AddArgs(set *model.ArgSet) {
	word := r.Store.Strings.Intern
	r.event.AddArgs(set)
	if len(r.more) > 0 {
		set.AddText(word("event.extdata"), word("event.extdata"), r.more)
		if r.table.kind == region {
			set.Add(word("function"), model.StringArg(r.table.names.strings[r.event.IntOr("name_id", 0)]))
		}
	}
	for _, id := range []struct {
		name string
		n    int64
	}{{"stack_id", r.stack}, {"parent_stack_id", r.parent}, {"correlation_id", r.correlation}} {
		if id.n != model.None && !(id.name == "stack_id" && r.table.kind == dispatch) {
			set.Add(word(id.name), model.IntArg(id.n))
		}
	}
	if r.table.kind == region {
		for args := r.args; ; {
			name := args.Raw()
			if len(name) == 0 {
				break
			}
			key := r.Store.Strings.InternBytes(append([]byte("arg."), name...))
			set.AddText(key, key, args.Raw())
		}
	}
	if r.table.kind == sample {
		return
	}
	sums := map[model.StringID]float64{} // of the instances of a counter, such as those of each shader engine
	for _, v := range r.values {
		name := r.table.names.counters[v.counter].name
		sums[name] += v.value
		set.Add(word("pmc."+r.Store.Strings.Get(name)), model.RealArg(sums[name]))
	}
}

// allocate adds up what is allocated on a GPU. A release names neither agent nor size, but the address, which no two agents of a process
// have in common.
func (p *parser) allocate(ts int64, n *names) {
	at := address{n, p.event.IntOr("address", 0)}
	held := p.sizes[at]
	switch string(p.event.Text("type")) {
	case "ALLOC":
		gpu := n.agents[p.event.IntOr("agent_id", model.None)]
		if !gpu.gpu {
			return
		}
		held = holding{gpu.id, p.event.Number("size")}
		p.sizes[at] = held
	case "FREE":
		delete(p.sizes, at)
		held.bytes = -held.bytes
	default:
		return
	}
	if held.bytes != 0 {
		p.used[held.ugpu] += held.bytes
		p.Counters.Push(ts, p.used[held.ugpu], p.Tracks.Intern(allocated, nil, model.IntDim(held.ugpu)))
	}
}

// sample adds the values of counters at a moment, or the moment itself if there are none.
func (p *parser) sample(ts int64, n *names, category model.StringID, row *row) {
	t := n.tracks[p.event.IntOr("track_id", model.None)]
	for _, v := range p.values {
		c := n.counters[v.counter]
		name := model.TrackOptions{Name: c.name, Unit: c.unit}
		track := model.TrackID(0)
		if gpu := n.agents[c.agent]; gpu.gpu {
			number, _ := p.Store.Tables.GPU.GPU.Get(int64(gpu.id))
			track = p.Tracks.Intern(counters, &name, model.IntDim(gpu.id), model.IntDim(number), model.StringDim(c.name))
		} else {
			track = p.Tracks.Intern(others, &name, model.StringDim(c.name))
		}
		p.Counters.PushWithArgs(ts, v.value, track, row)
	}
	if len(p.values) > 0 {
		return
	}
	if text := message(row.more); text != "" {
		t.name = p.Store.Strings.Intern(text)
	}
	if t.utid != model.None {
		p.Call(ts, 0, t.utid, category, t.name, model.None, row)
		return
	}
	p.Slices.Scoped(ts, 0, p.Tracks.Intern(moments, &model.TrackOptions{Name: t.name}, model.StringDim(t.name)), category, t.name, row)
}
