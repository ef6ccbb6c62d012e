package systing

import (
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/parquetfile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// parser turns the rows of events into those of the dataset. Its maps have what the other tables say, by systing's ids.
type parser struct {
	*model.Context
	ftrace *ftrace.Parser
	tables []*eventTable
	row    row

	upids                  map[int64]model.UPID
	pids, parents, devices map[int64]int64
	utids                  map[int64]model.UTID
	tracks                 map[int64]track
	counters               map[int64]counterTrack
	sockets                map[int64]socket
	hosts                  map[string]model.StringID // by address
	sliceArgs, instantArgs map[int64][]model.Arg

	frames     map[int64]profile.FrameID
	frameNames map[string]profile.FrameID
	modules    map[string]profile.MappingID
	stacks     map[int64]profile.CallsiteID
	sampled    model.StringID // event whose count the samples are of, 0 if unknown
	period     int64
}

type track struct {
	name   model.StringID
	parent int64 // or None
}

type counterTrack struct{ name, unit model.StringID }

type socket struct {
	name     model.StringID
	args     []model.Arg
	complete bool // both ports are known
}

// AddArgs adds what is known of the socket.
func (s socket) AddArgs(set *model.ArgSet) {
	for _, a := range s.args {
		set.Add(a.Key, a.Value)
	}
}

func newParser(c *model.Context) *parser {
	return &parser{Context: c, ftrace: ftrace.NewParser(c), tables: make([]*eventTable, len(events)), upids: map[int64]model.UPID{},
		pids: map[int64]int64{}, parents: map[int64]int64{}, devices: map[int64]int64{}, utids: map[int64]model.UTID{},
		tracks: map[int64]track{}, counters: map[int64]counterTrack{}, sockets: map[int64]socket{}, hosts: map[string]model.StringID{},
		sliceArgs: map[int64][]model.Arg{}, instantArgs: map[int64][]model.Arg{}, frames: map[int64]profile.FrameID{},
		frameNames: map[string]profile.FrameID{}, modules: map[string]profile.MappingID{}, stacks: map[int64]profile.CallsiteID{}}
}

// Event parses an event.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	code := r.Uint()
	row := &p.row
	row.eventTable, row.values = p.tables[code/2], row.values[:0]
	for range row.keys {
		v := value{Kind: parquetfile.Kind(r.Uint())}
		switch v.Kind {
		case parquetfile.Int, parquetfile.Bool:
			v.Int = r.Int()
		case parquetfile.Real:
			v.Real = math.Float64frombits(r.Uint())
		case parquetfile.Text:
			v.Text = r.Text()
		}
		row.values = append(row.values, v)
	}
	if e := events[code/2]; code&1 == 0 {
		e.event(p, ts, row)
	} else {
		e.end(p, ts, row)
	}
	return nil
}

// eventTable is a table of events.
type eventTable struct {
	columns map[string]int
	keys    []model.StringID // of args, by column; 0 for columns that are none
	more    map[int64][]model.Arg
}

// placed are columns that say when and where an event was, and what it is called.
var placed = []string{"trace_id", "id", "ts", "dur", "utid", "track_id", "depth", "stack_id", "name", "category", "op_name", "op", "event_type", "cpu",
	"tpu_device_id", "stream", "member", "size"}

func (r *reader) newEventTable(name string, t *tableFile) *eventTable {
	e := &eventTable{columns: t.columns, keys: make([]model.StringID, len(t.Columns))}
	for i, column := range t.Columns {
		if !slices.Contains(placed, column) || column == "size" && name != "memory_rss" {
			e.keys[i] = r.Store.Strings.Intern(column)
		}
	}
	e.more = map[string]map[int64][]model.Arg{"slice": r.sliceArgs, "instant": r.instantArgs}[name]
	return e
}

// row is a row of a table of events. It is a source of args.
type row struct {
	*eventTable
	values []value
}

// value is a value in a row.
type value struct {
	parquetfile.Kind
	Int  int64
	Real float64
	Text model.StringID
}

// number returns a number of any type.
func (v value) number() float64 {
	if v.Kind == parquetfile.Int {
		return float64(v.Int)
	}
	return v.Real
}

func (r *row) value(column string) value {
	if i, ok := r.columns[column]; ok {
		return r.values[i]
	}
	return value{}
}

func (r *row) int(column string) int64           { return r.value(column).Int }
func (r *row) text(column string) model.StringID { return r.value(column).Text }

// AddArgs adds the values that say nothing of the event's time, place and name. A truth value is added if it is true.
func (r *row) AddArgs(set *model.ArgSet) {
	for i, v := range r.values {
		if r.keys[i] == 0 {
			continue
		}
		switch v.Kind {
		case parquetfile.Int:
			set.Add(r.keys[i], model.IntArg(v.Int))
		case parquetfile.Bool:
			if v.Int != 0 {
				set.Add(r.keys[i], model.BoolArg(true))
			}
		case parquetfile.Real:
			set.Add(r.keys[i], model.RealArg(v.Real))
		case parquetfile.Text:
			set.Add(r.keys[i], model.StringArg(v.Text))
		}
	}
	if id := r.int("id"); r.more != nil {
		for _, a := range r.more[id] {
			set.Add(a.Key, a.Value)
		}
	}
}
