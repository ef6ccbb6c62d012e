// Package rocpd reads profiles of AMD's rocprofv3 and rocprof-sys, which are SQLite files (rocpd,
// schema version 3).
//
// Each profiled process has tables of its own, whose names end with its id: rocpd_region_<id>. A merged file
// has those of several.
package rocpd

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the format of rocpd.
var Format = &format.Format{Name: "rocpd", Sniff: sniff, Read: read}

// sniff looks for the name of a table, which are all made at the start of the file.
func sniff(head []byte) bool {
	return sqlitefile.Is(head) && bytes.Contains(head, []byte("rocpd_info_"))
}

func read(in *format.Input) error {
	r := &reader{}
	var err error
	if r.Reader, err = gpuwork.Open(in); err != nil {
		return err
	}
	defer r.Close()
	in.UseClock(model.ClockBoottime)
	r.parser = newParser(in.Context)
	r.Sort(r.parser)
	found := false
	for _, t := range r.DB.Tables {
		if process, ok := strings.CutPrefix(t.Name, "rocpd_string"); ok {
			found = true
			if err := r.process(process); err != nil {
				return err
			}
		}
	}
	if !found {
		return format.Errorf(format.ErrCorrupt, -1, "no table rocpd_string")
	}
	return nil
}

// reader passes the rows of all tables to the sorter.
type reader struct {
	*gpuwork.Reader
	parser *parser

	id      string // of the process whose tables are read
	events  *sqlitefile.Lookup
	columns struct{ category, stack, parent, correlation, more int } // of events
	unread  []column                                                 // of events, that make no rows
	values  values
	args    *args
}

type column struct {
	number int
	what   string
}

func (r *reader) table(name string) *sqlitefile.Table { return r.DB.Table(name + r.id) }

// The tables with events, in the order in which they are read, and those that others refer to.
var (
	eventTables = map[string]kind{"rocpd_region": region, "rocpd_kernel_dispatch": dispatch, "rocpd_memory_copy": transfer,
		"rocpd_memory_allocate": allocation, "rocpd_sample": sample}
	factTables = []string{"rocpd_string", "rocpd_metadata", "rocpd_info_node", "rocpd_info_process", "rocpd_info_thread", "rocpd_info_agent",
		"rocpd_info_queue", "rocpd_info_stream", "rocpd_info_pmc", "rocpd_info_kernel_symbol", "rocpd_track", "rocpd_event",
		"rocpd_arg", "rocpd_pmc_event"}
)

// process reads the tables of a process.
func (r *reader) process(id string) error {
	r.id = id
	names, err := r.facts()
	if err != nil {
		return err
	}
	events := r.table("rocpd_event")
	r.events = events.Lookup()
	r.columns.category, r.columns.stack = events.Column("category_id"), events.Column("stack_id")
	r.columns.parent, r.columns.correlation = events.Column("parent_stack_id"), events.Column("correlation_id")
	r.columns.more = events.Column("extdata")
	r.unread = []column{{events.Column("call_stack"), "call stack"}, {events.Column("line_info"), "source line"}}
	if err := r.values.read(r.table("rocpd_pmc_event")); err != nil {
		return err
	}
	r.args = newArgs(r.table("rocpd_arg"))
	for _, t := range r.DB.Tables {
		name, ok := strings.CutSuffix(t.Name, id)
		kind, isEvent := eventTables[name]
		switch {
		case !ok || slices.Contains(factTables, name):
		case isEvent:
			if err := r.rows(names, t, kind); err != nil {
				return err
			}
		case strings.HasPrefix(name, "rocpd_"):
			r.Unread(t, name)
		}
	}
	r.unused(r.args.rest(), "rows of rocpd_arg belong to no region, or are out of order")
	r.unused(len(r.values.all)-r.values.used, "rows of rocpd_pmc_event belong to no other row")
	return r.args.rows.Err
}

// unused counts rows that say something of no other row.
func (r *reader) unused(n int, what string) {
	if n > 0 {
		r.LostRows(n, fmt.Sprintf("%d %s", n, what))
	}
}

// rows passes the rows of a table to the sorter, with what other tables say of them.
func (r *reader) rows(names *names, rows *sqlitefile.Table, k kind) error {
	t := r.parser.add(names, rows, k)
	start, end, event := rows.Column("start"), rows.Column("end"), rows.Column("event_id")
	if k == sample {
		start = rows.Column("timestamp")
	}
	all := rows.Rows()
	for all.Next() {
		row := &all.Row
		ts, dur, ok := r.Span(row, rows, start, end)
		if !ok {
			continue
		}
		r.Token.Reset()
		r.Token.Uint(uint64(t.Number))
		r.Token.Int(max(dur, 0))
		eventID, _ := row.Int(event)
		if err := r.event(names, eventID); err != nil {
			return err
		}
		r.values.write(r.Token, eventID)
		if k == region {
			r.args.write(r.Token, eventID)
		}
		row.Pack(r.Token)
		stream := r.Others
		if k == region || k == allocation {
			stream = r.Threads
		}
		if err := stream.Push(ts, r.Token.Bytes()); err != nil {
			return err
		}
	}
	return all.Err
}

// event adds the columns of an event to the token: its category, the ids that correlate it, and what it says in JSON.
func (r *reader) event(names *names, id int64) error {
	event, err := r.events.Find(id)
	if err != nil {
		return err
	}
	category, stack, parent, correlation := model.StringID(0), int64(model.None), int64(model.None), int64(model.None)
	more := []byte(nil)
	if event != nil {
		if more = event.Text(r.columns.more); string(more) == "{}" {
			more = nil
		}
		for _, c := range r.unread {
			if text := string(event.Text(c.number)); text != "" && text != "{}" && text != "[]" {
				r.In.File.Unread(model.StatUnreadFact, model.None, c.what).Add(model.LogEntry{})
			}
		}
		n, _ := event.Int(r.columns.category)
		category = names.strings[n]
		number := func(column int) int64 {
			if n, ok := event.Int(column); ok {
				return n
			}
			return model.None
		}
		stack, parent, correlation = number(r.columns.stack), number(r.columns.parent), number(r.columns.correlation)
	}
	r.Token.Uint(uint64(category))
	r.Token.Int(stack)
	r.Token.Int(parent)
	r.Token.Int(correlation)
	r.Token.Raw(more)
	return nil
}

// values are the counters' values of all events, in the order of the events: 24 bytes for each.
type values struct {
	all  []value
	used int
}

type value struct {
	event, counter int64
	value          float64
}

func (v *values) read(t *sqlitefile.Table) error {
	event, counter, number := t.Column("event_id"), t.Column("pmc_id"), t.Column("value")
	*v = values{}
	rows := t.Rows()
	for rows.Next() {
		e, _ := rows.Int(event)
		c, _ := rows.Int(counter)
		n := rows.Number(number)
		v.all = append(v.all, value{e, c, n})
	}
	slices.SortStableFunc(v.all, func(a, b value) int { return cmp.Compare(a.event, b.event) })
	return rows.Err
}

// write adds the values of an event to the token.
func (v *values) write(w *token.Writer, event int64) {
	from, _ := slices.BinarySearchFunc(v.all, event, func(v value, e int64) int { return cmp.Compare(v.event, e) })
	to := from
	for to < len(v.all) && v.all[to].event == event {
		to++
	}
	w.Uint(uint64(to - from))
	for _, v := range v.all[from:to] {
		w.Int(v.counter)
		w.Uint(math.Float64bits(v.value))
	}
	v.used += to - from
}

// args goes through the arguments of regions, which are in the order of their events.
type args struct {
	rows                *sqlitefile.Rows
	event, name, number int
	more                bool
	skipped             int
}

func newArgs(t *sqlitefile.Table) *args {
	a := &args{rows: t.Rows(), event: t.Column("event_id"), name: t.Column("name"), number: t.Column("value")}
	a.more = a.rows.Next()
	return a
}

// write adds the arguments of an event to the token.
func (a *args) write(w *token.Writer, event int64) {
	for ; a.more; a.more = a.rows.Next() {
		owner, _ := a.rows.Int(a.event)
		if owner > event {
			break
		}
		if owner < event {
			a.skipped++
			continue
		}
		w.Raw(a.rows.Text(a.name))
		w.Raw(a.rows.Text(a.number))
	}
	w.Raw(nil)
}

// rest returns how many arguments were not used.
func (a *args) rest() int {
	for ; a.more; a.more = a.rows.Next() {
		a.skipped++
	}
	return a.skipped
}
