// Package pprof reads where time or memory goes in a dataset, as a profile for pprof. Compare returns the difference of two
// profiles, and WriteFolded writes one as folded stacks. It asks DuckDB.
package pprof

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Input is a dataset to read.
type Input struct {
	Name    string            // for messages
	Conn    *sql.Conn         // a database in which the dataset is registered and current
	Catalog *sqlfuncs.Catalog // of a dataset that was registered lazily, or nil
	Warn    func(msg string)  // called with notes for the user about the shown profile
}

// Selection selects the samples of an input to read.
type Selection struct {
	Trace     string // id or name of a trace in a dataset of many; empty for the sum of all
	Scope     string // the profile's file, profiler or heap, or a pattern for several; empty for the default
	Metric    string // one of the profile's metrics; empty for all of them
	Process   string // pid, name or pattern
	Thread    string // tid, name or pattern
	From, To  string // ns of the trace clock, or with a unit since the start of the trace; To is exclusive
	Slices    bool   // read slices even if there is a profile
	OneMetric bool   // the profile must have a single metric
}

// SelectionError is an error in a Selection.
type SelectionError struct{ error }

// Read reads the selected profile of an input. Without a scope it reads the most useful profile or, if there is none,
// the slices by their self time. It returns a SelectionError if the selection is contradictory or names something
// missing.
func Read(ctx context.Context, in Input, s Selection) (*profile.Profile, error) {
	r := &reader{Input: in, Selection: s}
	return r.read(ctx)
}

// reader reads a profile with the macros of a registered dataset.
type reader struct {
	Input
	Selection
	many   bool  // the dataset has many traces
	bounds []any // From and To, ns; nil for none
}

func (r *reader) read(ctx context.Context) (*profile.Profile, error) {
	layout, err := sqlfuncs.Registered(ctx, r.Conn)
	if err != nil {
		return nil, err
	}
	r.many = layout == sqlfuncs.ManyTraces
	if err := r.chooseTrace(ctx); err != nil {
		return nil, err
	}
	if r.bounds, err = r.times(ctx); err != nil {
		return nil, err
	}
	chosen, scopes, err := r.choose(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.admit(ctx, chosen.kind); err != nil {
		return nil, err
	}
	b := newBuilder(chosen.metrics, chosen.fractions)
	note := ""
	switch chosen.kind {
	case kindSlices:
		note, err = r.readSlices(ctx, b)
	case kindGraph:
		err = r.readHeapGraph(ctx, b, chosen.metrics)
	default:
		err = r.readStacks(ctx, b, chosen, scopes)
	}
	if err != nil {
		return nil, err
	}
	p := b.finish()
	if len(p.Sample) == 0 {
		return nil, fmt.Errorf("%s: there is nothing to show for %s%s%s", r.Name, chosen.scope, r.filters(), note)
	}
	p.DefaultSampleType = r.Metric
	p.Comments = []string{fmt.Sprintf("%s of %s%s%s", strings.Join(scopes, ", "), r.Name, r.filters(), note)}
	if chosen.kind == profiles.KindProfile && len(scopes) == 1 {
		err = r.readFacts(ctx, p, scopes[0])
	}
	return p, err
}

// readFacts adds to a profile what the file that it comes from says of it.
func (r *reader) readFacts(ctx context.Context, p *profile.Profile, scope string) error {
	var name, text string
	var number int64
	return r.each(ctx, "SELECT name, coalesce(int_value, 0), coalesce(str_value, '') FROM _profile_fact AS f WHERE scope = "+sqltext.QuoteText(scope)+
		" AND "+r.inTrace("f")+" ORDER BY id", nil, []any{&name, &number, &text}, func() error {
		switch name {
		case "pprof_time_nanos":
			p.TimeNanos = number
		case "pprof_duration_nanos":
			p.DurationNanos = number
		case "pprof_period":
			p.Period = number
		case "pprof_period_type":
			p.PeriodType.Type = text
		case "pprof_period_unit":
			p.PeriodType.Unit = text
		case "pprof_comment":
			p.Comments = append(p.Comments, text)
		case "pprof_drop_frames":
			p.DropFrames = text
		case "pprof_keep_frames":
			p.KeepFrames = text
		}
		return nil
	})
}

// filters lists the flags that exclude samples, for messages.
func (r *reader) filters() string {
	var all []string
	for _, f := range []struct{ name, value string }{
		{"--trace-id", r.Trace}, {"--process", r.Process}, {"--thread", r.Thread}, {"--from", r.From}, {"--to", r.To},
	} {
		if f.value != "" {
			all = append(all, f.name+" "+f.value)
		}
	}
	if all == nil {
		return ""
	}
	return " with " + strings.Join(all, ", ")
}

// each runs a query, scans each row into the targets and calls visit.
func (r *reader) each(ctx context.Context, query string, args, targets []any, visit func() error) error {
	if err := r.Catalog.Create(ctx, query); err != nil {
		return err
	}
	rows, err := r.Conn.QueryContext(ctx, query, args...)
	if err != nil {
		if text := err.Error(); strings.Contains(text, "_stack_value does not exist") || strings.Contains(text, "process_title does not exist") {
			return fmt.Errorf("%s was made by an older tpconvert: register the dataset again", r.Name)
		}
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := visit(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts returns the rows of a query with one text column.
func (r *reader) texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	var text string
	err = r.each(ctx, query, args, []any{&text}, func() error {
		all = append(all, text)
		return nil
	})
	return all, err
}

// traceOf returns the SQL for the trace of a table's row.
func (r *reader) traceOf(table string) string {
	if !r.many {
		return "''"
	}
	return table + ".trace_id"
}

// inTrace returns the SQL condition that a table's row belongs to a selected trace.
func (r *reader) inTrace(table string) string {
	if !r.many || r.Trace == "" {
		return "true"
	}
	return table + ".trace_id = " + sqltext.QuoteText(r.Trace)
}

// sameTrace returns the SQL condition that the rows of two tables belong to the same trace.
func (r *reader) sameTrace(a, b string) string {
	return r.traceOf(a) + " = " + r.traceOf(b)
}

// chooseTrace finds the trace of --trace-id, by its id or name.
func (r *reader) chooseTrace(ctx context.Context) error {
	if r.Trace == "" && (!r.many || r.From == "" && r.To == "") {
		return nil
	}
	var ids []string
	names := map[string]string{}
	var id, name string
	err := r.each(ctx, "SELECT trace_id, coalesce(name, '') FROM trace ORDER BY ALL", nil, []any{&id, &name}, func() error {
		ids, names[id] = append(ids, id), name
		return nil
	})
	switch {
	case err != nil:
		return err
	case r.Trace != "":
		if r.Trace, err = session.FindTrace(r.Name, r.Trace, ids, names); err != nil {
			return SelectionError{err}
		}
	case len(ids) > 1:
		return SelectionError{fmt.Errorf("--from and --to are times of one trace: name it with --trace-id, one of %s", session.ListTraces(ids, names))}
	}
	return nil
}

// times returns From and To in ns of the trace clock.
func (r *reader) times(ctx context.Context) ([]any, error) {
	bounds := []any{nil, nil}
	for i, f := range []struct{ name, value string }{{"--from", r.From}, {"--to", r.To}} {
		if f.value == "" {
			continue
		}
		if ns, err := strconv.ParseInt(f.value, 10, 64); err == nil {
			bounds[i] = ns
			continue
		}
		after, err := time.ParseDuration(f.value)
		if err != nil {
			return nil, SelectionError{fmt.Errorf("%s %s: want nanoseconds, or a time since the beginning such as 1.5s", f.name, f.value)}
		}
		var start int64
		err = r.each(ctx, "SELECT start_ts FROM trace_bounds AS b WHERE "+r.inTrace("b"), nil, []any{&start}, func() error { return nil })
		if err != nil {
			return nil, err
		}
		bounds[i] = start + after.Nanoseconds()
	}
	return bounds, nil
}

// list names the first few of all, and says how many more there are.
func list(all []string) string {
	const most = 10
	if n := len(all); n > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	} else if n == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// admit checks that the selected threads, processes and times apply to a kind of profile, and that the named ones
// exist.
func (r *reader) admit(ctx context.Context, kind string) error {
	timed := r.From != "" || r.To != ""
	switch {
	case kind == profiles.KindProfile && (timed || r.Process != "" || r.Thread != ""):
		return SelectionError{errors.New("the profile contains only sums: --process, --thread, --from and --to do not apply")}
	case (kind == profiles.KindHeap || kind == kindGraph) && r.Thread != "":
		return SelectionError{errors.New("memory belongs to processes: --thread does not apply")}
	}
	for _, filter := range []struct{ wanted, what, table, name, number, matching string }{
		{r.Process, "process", "process_title", "title", "pid", matchesProcess("t", r.Process)},
		{r.Thread, "thread", "thread", "name", "tid", matches("t", "tid", r.Thread, "name")},
	} {
		if filter.wanted == "" {
			continue
		}
		names := fmt.Sprintf("SELECT DISTINCT coalesce(%[1]s || ' (' || %[2]s || ')', CAST(%[2]s AS VARCHAR)) FROM %[3]s AS t WHERE %[4]s",
			filter.name, filter.number, filter.table, r.inTrace("t"))
		found, err := r.texts(ctx, names+" AND "+filter.matching+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			all, err := r.texts(ctx, names+" ORDER BY ALL")
			if err != nil {
				return err
			}
			return SelectionError{fmt.Errorf("%s has no %s %s, only %s", r.Name, filter.what, filter.wanted, list(all))}
		}
	}
	return nil
}

// matches returns the SQL condition that a process or thread matches wanted, by its number or one of its names.
func matches(table, number, wanted string, names ...string) string {
	w := sqltext.QuoteText(wanted)
	condition := fmt.Sprintf("CAST(%s.%s AS VARCHAR) = %s", table, number, w)
	for _, name := range names {
		condition += fmt.Sprintf(" OR %[1]s.%[2]s = %[3]s OR %[1]s.%[2]s GLOB %[3]s", table, name, w)
	}
	return "(" + condition + ")"
}

// matchesProcess returns the SQL condition that a process of process_title matches wanted.
func matchesProcess(table, wanted string) string {
	return matches(table, "pid", wanted, "name", "label", "title")
}

// wanted returns the SQL condition that the process p and the thread t are selected.
func (r *reader) wanted() string {
	condition := "true"
	if r.Process != "" {
		condition += " AND " + matchesProcess("p", r.Process)
	}
	if r.Thread != "" {
		condition += " AND " + matches("t", "tid", r.Thread, "name")
	}
	return condition
}

// owner is the thread and process of a sample; unknown fields are empty.
type owner struct{ process, pid, thread, tid string }

// ownerColumns are the columns of an owner, from the thread t and the process p.
const ownerColumns = `coalesce(p.title, ''), coalesce(CAST(p.pid AS VARCHAR), ''), coalesce(t.name, ''), coalesce(CAST(t.tid AS VARCHAR), '')`

// targets returns pointers for the values of ownerColumns.
func (o *owner) targets() []any { return []any{&o.process, &o.pid, &o.thread, &o.tid} }

// errCycle reports a damaged dataset.
var errCycle = errors.New("a call stack contains itself")
