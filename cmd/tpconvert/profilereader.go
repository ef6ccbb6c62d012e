package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// selection are the flags that say which samples of an input are wanted.
type selection struct {
	trace, scope, metric, process, thread, from, to string
	slices                                          bool
}

func (s *selection) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.trace, "trace-id", "", "trace of a dataset of many; all are added up without it")
	flags.StringVar(&s.scope, "scope", "", "profile to show: its file, profiler or heap; a pattern such as *.pb.gz adds up several")
	flags.StringVar(&s.metric, "metric", "", "what to show of it, such as cpu or alloc_space")
	flags.StringVar(&s.process, "process", "", "process to show, by pid, name or pattern")
	flags.StringVar(&s.thread, "thread", "", "thread to show, by tid, name or pattern")
	flags.StringVar(&s.from, "from", "", "show what came at or after a time: ns of the trace clock or, with a unit as in 1.5s, since the trace began")
	flags.StringVar(&s.to, "to", "", "show what came before a time")
	flags.BoolVar(&s.slices, "slices", false, "show the slices, by their self time")
}

// profileReader reads a profile from a dataset with its macros, of which conn is the database.
type profileReader struct {
	ui        printer
	input     string // its name
	conn      *sql.Conn
	oneMetric bool // the profile may have only one
	selection

	many   bool  // the dataset is of many traces
	bounds []any // from and to, ns, nil where there is none
}

// The kinds of profiles, the first of which an input has is shown. They are those of the view _stack_value, and slices.
const (
	kindProfile = "profile" // of a file that has sums and no times
	kindSamples = "samples" // of a profiler, with times and threads
	kindHeap    = "heap"    // allocations, with times and processes
	kindGraph   = "graph"   // the objects of a heap, which has a table of its own
	kindSlices  = "slices"
)

// stackSource is a profile of an input.
type stackSource struct {
	kind, scope string
	metrics     []profile.ValueType
}

func (r *profileReader) read(ctx context.Context) (*profile.Profile, error) {
	layout, err := sqlfuncs.Registered(ctx, r.conn)
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
	b := newProfileBuilder(chosen.metrics)
	switch chosen.kind {
	case kindSlices:
		err = r.readSlices(ctx, b)
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
		return nil, fmt.Errorf("%s: there is nothing to show of %s%s", r.input, chosen.scope, r.filters())
	}
	p.DefaultSampleType = r.metric
	p.Comments = []string{fmt.Sprintf("%s of %s%s", strings.Join(scopes, ", "), r.input, r.filters())}
	return p, nil
}

// filters are the flags that leave samples out, for messages.
func (r *profileReader) filters() string {
	var all []string
	for _, f := range []struct{ name, value string }{
		{"--trace-id", r.trace}, {"--process", r.process}, {"--thread", r.thread}, {"--from", r.from}, {"--to", r.to},
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

// each runs a query and calls visit for each row, whose values are in the targets then.
func (r *profileReader) each(ctx context.Context, query string, args, targets []any, visit func() error) error {
	rows, err := r.conn.QueryContext(ctx, query, args...)
	if err != nil {
		if strings.Contains(err.Error(), "_stack_value does not exist") {
			return fmt.Errorf("%s was made by an older tpconvert: register the dataset again", r.input)
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

// texts returns the rows of a query with one column.
func (r *profileReader) texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	var text string
	err = r.each(ctx, query, args, []any{&text}, func() error {
		all = append(all, text)
		return nil
	})
	return all, err
}

// traceOf is the trace of a row of a table in SQL.
func (r *profileReader) traceOf(table string) string {
	if !r.many {
		return "''"
	}
	return table + ".trace_id"
}

// inTrace is the condition in SQL that a row of a table is of the traces that are wanted, and sameTrace that two are of one.
func (r *profileReader) inTrace(table string) string {
	if !r.many || r.trace == "" {
		return "true"
	}
	return table + ".trace_id = " + sqlText(r.trace)
}

func (r *profileReader) sameTrace(a, b string) string {
	return r.traceOf(a) + " = " + r.traceOf(b)
}

// chooseTrace checks --trace-id.
func (r *profileReader) chooseTrace(ctx context.Context) error {
	if r.trace == "" && (!r.many || r.from == "" && r.to == "") {
		return nil
	}
	all, err := r.texts(ctx, "SELECT trace_id FROM trace ORDER BY ALL")
	switch {
	case err != nil:
		return err
	case r.trace == "" && len(all) > 1:
		return usageError{fmt.Errorf("--from and --to are times of one trace: name it by --trace-id, one of %s", list(all))}
	case r.trace != "" && !slices.Contains(all, r.trace):
		return usageError{fmt.Errorf("%s has no trace %s, only %s", r.input, r.trace, list(all))}
	}
	return nil
}

// times returns --from and --to in ns of the trace clock.
func (r *profileReader) times(ctx context.Context) ([]any, error) {
	bounds := []any{nil, nil}
	for i, f := range []struct{ name, value string }{{"--from", r.from}, {"--to", r.to}} {
		if f.value == "" {
			continue
		}
		if ns, err := strconv.ParseInt(f.value, 10, 64); err == nil {
			bounds[i] = ns
			continue
		}
		after, err := time.ParseDuration(f.value)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s %s: want nanoseconds, or a time since the beginning such as 1.5s", f.name, f.value)}
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

// choose returns the profile to show, and the scopes that it is of.
func (r *profileReader) choose(ctx context.Context) (chosen *stackSource, scopes []string, err error) {
	bySlices := &stackSource{kindSlices, "slices", []profile.ValueType{{Type: "time", Unit: "nanoseconds"}}}
	if r.slices {
		if r.scope != "" {
			return nil, nil, usageError{errors.New("--slices and --scope exclude each other")}
		}
		return bySlices, []string{bySlices.scope}, r.chooseMetric(bySlices)
	}
	all, err := r.sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 && r.scope == "" {
		return bySlices, []string{bySlices.scope}, r.chooseMetric(bySlices)
	}
	var found []*stackSource
	for _, s := range all {
		matches, err := path.Match(r.scope, s.scope)
		if err != nil {
			return nil, nil, usageError{fmt.Errorf("--scope %s: %w", r.scope, err)}
		}
		if r.scope == "" && s.kind == all[0].kind || r.scope == s.scope || matches {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil, usageError{fmt.Errorf("%s has no profile %s, only %s", r.input, r.scope, scopesOf(all))}
	case r.scope == "" && len(found) > 1:
		return nil, nil, usageError{fmt.Errorf("%s has several profiles: name one by --scope, or several by a pattern: %s", r.input, scopesOf(found))}
	case r.scope == "" && len(all) > 1:
		r.ui.Message(slog.LevelWarn, r.input, fmt.Sprintf("this is %s; --scope shows another: %s", found[0].scope, scopesOf(all[1:])))
	}
	chosen = found[0]
	for _, s := range found {
		if s.kind != chosen.kind || !slices.Equal(s.metrics, chosen.metrics) {
			return nil, nil, usageError{fmt.Errorf("--scope %s: %s and %s do not measure the same", r.scope, chosen.scope, s.scope)}
		}
		scopes = append(scopes, s.scope)
	}
	return chosen, scopes, r.chooseMetric(chosen)
}

// chooseMetric leaves only one metric where there has to be one.
func (r *profileReader) chooseMetric(s *stackSource) error {
	named := slices.IndexFunc(s.metrics, func(t profile.ValueType) bool { return t.Type == r.metric })
	var names []string
	for _, t := range s.metrics {
		names = append(names, t.Type)
	}
	switch {
	case r.metric != "" && named < 0:
		return usageError{fmt.Errorf("%s has no metric %s, only %s", s.scope, r.metric, list(names))}
	case r.metric != "" && r.oneMetric:
		s.metrics = s.metrics[named : named+1]
	case len(s.metrics) > 1 && r.oneMetric:
		return usageError{fmt.Errorf("%s has several metrics: name one by --metric: %s", s.scope, list(names))}
	}
	return nil
}

// sources lists the profiles that the input has, those of the first kind first.
func (r *profileReader) sources(ctx context.Context) (all []*stackSource, err error) {
	var kind, scope string
	var t profile.ValueType
	err = r.each(ctx, `
		SELECT kind, scope, metric, unit FROM _stack_value AS v WHERE `+r.inTrace("v")+`
		GROUP BY kind, scope, metric, unit ORDER BY list_position(['profile', 'samples', 'heap'], kind), scope, min(place)`,
		nil, []any{&kind, &scope, &t.Type, &t.Unit}, func() error {
			if n := len(all); n == 0 || all[n-1].scope != scope || all[n-1].kind != kind {
				all = append(all, &stackSource{kind: kind, scope: scope})
			}
			last := all[len(all)-1]
			last.metrics = append(last.metrics, t)
			return nil
		})
	if err != nil {
		return nil, err
	}
	graph, err := r.texts(ctx, "SELECT 'any' FROM heap_graph_object AS o WHERE "+r.inTrace("o")+" LIMIT 1")
	if len(graph) > 0 {
		all = append(all, &stackSource{kindGraph, "heap_graph", []profile.ValueType{objectCount, objectSpace}})
	}
	return all, err
}

func scopesOf(all []*stackSource) string {
	var names []string
	for _, s := range all {
		names = append(names, s.scope)
	}
	return list(names)
}

// list names the first of all, and how many are left.
func list(all []string) string {
	const most = 10
	if n := len(all); n > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	} else if n == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// admit checks that a kind of profile has what is selected by.
func (r *profileReader) admit(ctx context.Context, kind string) error {
	timed := r.from != "" || r.to != ""
	switch {
	case kind == kindProfile && (timed || r.process != "" || r.thread != ""):
		return usageError{errors.New("the profile has sums only: --process, --thread, --from and --to select nothing in it")}
	case (kind == kindHeap || kind == kindGraph) && r.thread != "":
		return usageError{errors.New("memory is of processes: --thread selects nothing in it")}
	}
	for _, of := range []struct{ flag, wanted, table, number string }{
		{"--process", r.process, "process", "pid"}, {"--thread", r.thread, "thread", "tid"},
	} {
		if of.wanted == "" {
			continue
		}
		names := fmt.Sprintf("SELECT DISTINCT coalesce(name || ' (' || %[1]s || ')', CAST(%[1]s AS VARCHAR)) FROM %[2]s AS t WHERE %[3]s",
			of.number, of.table, r.inTrace("t"))
		found, err := r.texts(ctx, names+" AND "+is("t", of.number, of.wanted)+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(found) == 0 {
			all, err := r.texts(ctx, names+" ORDER BY ALL")
			if err != nil {
				return err
			}
			return usageError{fmt.Errorf("%s has no %s %s, only %s", r.input, of.table, of.wanted, list(all))}
		}
	}
	return nil
}

// is the condition in SQL that a process or thread is the wanted one.
func is(table, number, wanted string) string {
	w := sqlText(wanted)
	return fmt.Sprintf("(CAST(%[1]s.%[2]s AS VARCHAR) = %[3]s OR %[1]s.name = %[3]s OR %[1]s.name GLOB %[3]s)", table, number, w)
}

// wanted is the condition in SQL that the process p and the thread t are those to show.
func (r *profileReader) wanted() string {
	condition := "true"
	if r.process != "" {
		condition += " AND " + is("p", "pid", r.process)
	}
	if r.thread != "" {
		condition += " AND " + is("t", "tid", r.thread)
	}
	return condition
}

// owner is the thread and the process that a value is of, as far as they are known.
type owner struct{ process, pid, thread, tid string }

// ownerColumns are what scan scans, of the thread t and the process p.
const ownerColumns = `coalesce(p.name, ''), coalesce(CAST(p.pid AS VARCHAR), ''), coalesce(t.name, ''), coalesce(CAST(t.tid AS VARCHAR), '')`

func (o *owner) scan() []any { return []any{&o.process, &o.pid, &o.thread, &o.tid} }

// readSlices adds the stacks of slices.
func (r *profileReader) readSlices(ctx context.Context, b *profileBuilder) error {
	type stack struct {
		parent int64
		name   string
		number int32
		known  bool
	}
	stacks := map[int64]*stack{}
	var id, parent, ns int64
	var name string
	err := r.each(ctx, `
		SELECT stack_id, any_value(parent_stack_id), coalesce(any_value(name), '`+unknownFunction+`')
		FROM slice AS s WHERE `+r.inTrace("s")+` GROUP BY stack_id`,
		nil, []any{&id, &parent, &name}, func() error {
			stacks[id] = &stack{parent: parent, name: name}
			return nil
		})
	if err != nil {
		return err
	}
	numberOf := func(id int64) (int32, error) {
		var path []*stack
		at := model.EmptyStack
		for s := stacks[id]; s != nil; s = stacks[s.parent] {
			if s.known {
				at = s.number
				break
			}
			if path = append(path, s); len(path) > len(stacks) {
				return 0, errCycle
			}
		}
		for _, s := range slices.Backward(path) {
			at = b.push(at, b.function(s.name))
			s.number, s.known = at, true
		}
		return at, nil
	}
	var o owner
	return r.each(ctx, `
		WITH piece AS (
		    SELECT *, greatest(ts, coalesce($1::BIGINT, ts)) AS begun, least(ts + dur, coalesce($2::BIGINT, ts + dur)) AS ended
		    FROM flat_slice AS f WHERE `+r.inTrace("f")+`)
		SELECT s.stack_id, sum(f.ended - f.begun)::BIGINT, `+ownerColumns+`
		FROM piece AS f
		JOIN slice AS s ON s.id = f.slice_id AND `+r.sameTrace("s", "f")+`
		LEFT JOIN thread_track AS tt ON tt.id = s.track_id AND `+r.sameTrace("tt", "s")+`
		LEFT JOIN process_track AS pt ON pt.id = s.track_id AND `+r.sameTrace("pt", "s")+`
		LEFT JOIN thread AS t ON t.id = tt.utid AND `+r.sameTrace("t", "s")+`
		LEFT JOIN process AS p ON p.id = coalesce(pt.upid, t.upid) AND `+r.sameTrace("p", "s")+`
		WHERE f.begun < f.ended AND `+r.wanted()+`
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&id, &ns}, o.scan()...), func() error {
			at, err := numberOf(id)
			if err == nil {
				b.add(at, b.ownerLabels(o), 0, ns)
			}
			return err
		})
}

// errCycle is a fault of the dataset.
var errCycle = errors.New("a call stack is part of itself")

// readStacks adds the values of call stacks.
func (r *profileReader) readStacks(ctx context.Context, b *profileBuilder, from *stackSource, scopes []string) error {
	stacks := &traceStacks{builder: b, traces: map[string]*callsites{}}
	if err := r.readFrames(ctx, from.kind, stacks); err != nil {
		return err
	}
	place := map[profile.ValueType]int{}
	for i, t := range from.metrics {
		place[t] = i
	}
	quoted := make([]string, len(scopes))
	for i, s := range scopes {
		quoted[i] = sqlText(s)
	}
	inScope := " IN (" + strings.Join(quoted, ", ") + ")"
	var trace string
	var o owner
	var metric profile.ValueType
	var callsite sql.NullInt64
	var value float64
	err := r.each(ctx, `
		SELECT `+r.traceOf("v")+`, v.callsite_id, v.metric, v.unit, sum(v.value)::DOUBLE, `+ownerColumns+`
		FROM _stack_value AS v
		LEFT JOIN thread AS t ON t.id = v.utid AND `+r.sameTrace("t", "v")+`
		LEFT JOIN process AS p ON p.id = v.upid AND `+r.sameTrace("p", "v")+`
		WHERE v.kind = `+sqlText(from.kind)+` AND v.scope`+inScope+` AND `+r.inTrace("v")+` AND `+r.wanted()+`
		      AND ($1::BIGINT IS NULL OR v.ts >= $1) AND ($2::BIGINT IS NULL OR v.ts < $2)
		GROUP BY ALL ORDER BY ALL`,
		r.bounds, append([]any{&trace, &callsite, &metric.Type, &metric.Unit, &value}, o.scan()...), func() error {
			i, ok := place[metric]
			if !ok {
				return nil // not wanted
			}
			at, err := stacks.stack(trace, callsite)
			if err == nil {
				b.add(at, b.ownerLabels(o), i, int64(value))
			}
			return err
		})
	if err != nil || from.kind != kindProfile || r.oneMetric {
		return err
	}
	return r.readLabels(ctx, b, stacks, place, inScope)
}

// readFrames reads the frames and callsites of the traces.
func (r *profileReader) readFrames(ctx context.Context, kind string, stacks *traceStacks) error {
	var at, next struct {
		trace string
		id    int64
		frame
	}
	at.id = -1
	var l frameLine
	var symbol sql.NullInt64
	store := func() {
		if len(at.lines) > 0 {
			stacks.of(at.trace).frames[at.id] = stacks.builder.location(&at.frame)
		}
	}
	err := r.each(ctx, `
		SELECT `+r.traceOf("f")+`, f.id, f.rel_pc, coalesce(m.name, ''), coalesce(m.build_id, ''), coalesce(m.start, 0),
		       coalesce(m."end", 0), coalesce(m.exact_offset, 0), coalesce(m.load_bias, 0), coalesce(n.name, ''), coalesce(n.source_file, ''),
		       coalesce(n.line_number, 0), n.symbol_id
		FROM stack_profile_frame AS f
		LEFT JOIN stack_profile_mapping AS m ON m.id = f.mapping AND `+r.sameTrace("m", "f")+`
		LEFT JOIN _frame_function AS n ON n.frame_id = f.id AND `+r.sameTrace("n", "f")+`
		WHERE `+r.inTrace("f")+`
		ORDER BY 1, f.id, n.symbol_id`,
		nil, []any{&next.trace, &next.id, &next.relPC, &next.file, &next.buildID, &next.start, &next.end, &next.offset,
			&next.relOffset, &l.name, &l.file, &l.line, &symbol},
		func() error {
			if next.id != at.id || next.trace != at.trace {
				store()
				lines := at.lines[:0]
				at = next
				at.lines = lines
				if kind == kindProfile { // whose addresses are relative to the mapping, not to the file
					at.relOffset, at.buildID = 0, plainBuildID(at.buildID)
				} else {
					at.relOffset += at.offset
				}
			}
			l.symbol = symbol.Valid
			at.lines = append(at.lines, l)
			return nil
		})
	if err != nil {
		return err
	}
	store()
	var trace string
	var id int64
	var c callsite
	return r.each(ctx, `SELECT `+r.traceOf("c")+`, c.id, c.parent_id, c.frame_id FROM stack_profile_callsite AS c
		WHERE `+r.inTrace("c")+` ORDER BY 1, c.id`,
		nil, []any{&trace, &id, &c.parent, &c.frame}, func() error {
			stacks.of(trace).byID[id] = &callsite{parent: c.parent, frame: c.frame}
			return nil
		})
}

// readLabels gives samples that have labels these: aggregate_sample has their values in sums without labels, which they
// are taken from.
func (r *profileReader) readLabels(ctx context.Context, b *profileBuilder, stacks *traceStacks, place map[profile.ValueType]int, inScope string) error {
	var at struct {
		trace    string
		sample   int64
		callsite sql.NullInt64
		values   []int64
		labels   sampleLabels
	}
	at.sample = -1
	move := func() error {
		if at.sample < 0 {
			return nil
		}
		stack, err := stacks.stack(at.trace, at.callsite)
		if err != nil {
			return err
		}
		for i, v := range at.values {
			b.add(stack, sampleLabels{}, i, -v)
			b.add(stack, at.labels, i, v)
		}
		return nil
	}
	var trace, key, unit string
	var metric profile.ValueType
	var sample int64
	var callsite, number sql.NullInt64
	var text sql.NullString
	var value float64
	err := r.each(ctx, `
		SELECT `+r.traceOf("l")+`, l.sample_id, l.callsite_id, p.sample_type_type, p.sample_type_unit, l.value, coalesce(l.key, ''),
		       l.string_value, l.int_value, coalesce(l.unit, '')
		FROM aggregate_sample_label AS l
		JOIN aggregate_profile AS p ON p.id = l.aggregate_profile_id AND `+r.sameTrace("p", "l")+`
		WHERE p.scope`+inScope+` AND `+r.inTrace("l")+`
		ORDER BY 1, l.sample_id, l.aggregate_profile_id, l.id`,
		nil, []any{&trace, &sample, &callsite, &metric.Type, &metric.Unit, &value, &key, &text, &number, &unit}, func() error {
			if sample != at.sample || trace != at.trace {
				if err := move(); err != nil {
					return err
				}
				at.trace, at.sample, at.callsite, at.labels = trace, sample, callsite, sampleLabels{}
				at.values = make([]int64, len(place))
			}
			i := place[metric]
			at.values[i] = int64(value)
			if i == 0 { // each metric has them again
				if text.Valid {
					at.labels.addText(key, text.String)
				} else {
					at.labels.addNumber(key, number.Int64, unit)
				}
			}
			return nil
		})
	if err != nil {
		return err
	}
	return move()
}
