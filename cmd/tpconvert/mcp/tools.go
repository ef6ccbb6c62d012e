package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// traceArgs name the trace that a tool is about.
type traceArgs struct {
	Trace   string `json:"trace,omitempty" jsonschema:"path of a trace file or of a dataset made by tpconvert; may be left out if only one is open"`
	TraceID string `json:"trace_id,omitempty" jsonschema:"id or name of one trace of a dataset of many"`
}

type queryArgs struct {
	traceArgs
	SQL   string `json:"sql" jsonschema:"one or more statements of PerfettoSQL, separated by semicolons"`
	Limit int    `json:"limit,omitempty" jsonschema:"rows to answer at most; 50 by default, 500 at most"`
}

type tablesArgs struct {
	traceArgs
	Names  []string `json:"names,omitempty" jsonschema:"tables, views or functions to describe with their columns; without names all tables with rows are listed"`
	Search string   `json:"search,omitempty" jsonschema:"word to look for in the names and descriptions of tables, columns and of the modules of PerfettoSQL"`
}

type summarizeArgs struct {
	traceArgs
	Specs []string `json:"specs,omitempty" jsonschema:"what to compute: binder, cpu, frames, gc, gpu, io, memory, profile, slices, startup; all by default"`
	Limit int      `json:"limit,omitempty" jsonschema:"rows of each table at most; 15 by default"`
}

type topArgs struct {
	traceArgs
	Scope   string `json:"scope,omitempty" jsonschema:"profile to show, or a pattern: its file, profiler or heap; by default the first"`
	Metric  string `json:"metric,omitempty" jsonschema:"such as cpu, samples or alloc_space; by default the last one of a pprof profile, else the first"`
	Process string `json:"process,omitempty" jsonschema:"name of a process, or a pattern with *"`
	By      string `json:"by,omitempty" jsonschema:"self (default) orders functions by their own value, total by that with all that they call"`
	Limit   int    `json:"limit,omitempty" jsonschema:"functions to show at most; 30 by default"`
}

type compareArgs struct {
	Before []string `json:"before" jsonschema:"paths of traces, datasets or folders with traces recorded before the change; five or more tell noise from differences"`
	After  []string `json:"after" jsonschema:"paths of those recorded after it"`
	Kinds  []string `json:"kinds,omitempty" jsonschema:"compare only these: slice, gpu, cpu, state, frame, profile, memory, counter, alert"`
	By     []string `json:"by,omitempty" jsonschema:"thread, process or both, to tell slices and functions in different ones apart"`
	Limit  int      `json:"limit,omitempty" jsonschema:"differences to show at most; 30 by default"`
}

// rowsOf returns how many rows to answer.
func rowsOf(wanted, usual int) int {
	if wanted <= 0 {
		return usual
	}
	return min(wanted, maxRows)
}

// schemaOf describes the arguments of a tool. Lists are arrays: that they may also be null, as they may in Go, makes clients that know
// a single type only pass a text.
func schemaOf(arguments any) *jsonschema.Schema {
	list := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
	s, err := jsonschema.ForType(reflect.TypeOf(arguments), &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[[]string](): list}})
	if err != nil {
		panic(err)
	}
	return s
}

// addTools adds the tools. None changes anything.
func (s *Server) addTools(p *sdk.Server) {
	no, yes := false, true // answers have the texts of a trace, which anybody may have written
	tool := func(name, description string, arguments any) *sdk.Tool {
		return &sdk.Tool{Name: name, Description: description, InputSchema: schemaOf(arguments),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &yes, DestructiveHint: &no}}
	}
	sdk.AddTool(p, tool("open", "Open a trace or profile (Perfetto, Chrome JSON, PyTorch, perf.data, pprof, ftrace and many others) or a dataset made by tpconvert, and say "+
		"what it has: format, duration, machine, what was lost, tables with rows, profiles. A trace is converted once, which takes about a second for 50 MB.", traceArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in traceArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in, s.describe)
		})
	sdk.AddTool(p, tool("tables", "List the tables of a trace that have rows, with what they mean; or, with names, their columns; or search in all of them.", tablesArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in tablesArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in.traceArgs, func(ctx context.Context, t *trace, a *answer) error { return s.tables(ctx, t, a, in) })
		})
	sdk.AddTool(p, tool("query", "Run PerfettoSQL (the dialect of Perfetto's Trace Processor, on SQLite) on a trace, read only. Rows come as tab-separated values; "+
		"only the first are shown, so aggregate and order in SQL. Tables and views that a call creates are gone after it.", queryArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in queryArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in.traceArgs, func(ctx context.Context, t *trace, a *answer) error {
				return s.onTrace(t, func(on *session.Session) error { return a.query(ctx, on, in.SQL, rowsOf(in.Limit, defaultRows)) })
			})
		})
	sdk.AddTool(p, tool("summarize", "Compute ready-made metrics of a trace: time by slice name, CPU time by thread and core, memory, frames, startups, binder, GC, I/O, profile.", summarizeArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in summarizeArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in.traceArgs, func(ctx context.Context, t *trace, a *answer) error { return s.summarize(ctx, t, a, in) })
		})
	sdk.AddTool(p, tool("top", "Show the heaviest functions of a profile (samples of CPU, allocations): their own value, and with all that they call.", topArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in topArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in.traceArgs, func(ctx context.Context, t *trace, a *answer) error { return s.top(ctx, t, a, in) })
		})
	sdk.AddTool(p, tool("compare", "Compare traces recorded before and after a change: slices and functions by the time they take themselves, CPU time and waiting by thread, "+
		"frames, counters, memory, alerts; the largest effects on time first. With several traces on both sides p says whether a difference is noise.", compareArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in compareArgs) (*sdk.CallToolResult, any, error) {
			var a answer
			return a.result(s.compare(ctx, &a, in))
		})
	sdk.AddTool(p, tool("alerts", "Find what deserves attention: long binder calls, ANRs, bursts of late frames, lost data and other known problems.", traceArgs{}),
		func(ctx context.Context, _ *sdk.CallToolRequest, in traceArgs) (*sdk.CallToolResult, any, error) {
			return s.call(ctx, in, s.alerts)
		})
}

// onTrace calls do with a session of its own.
func (s *Server) onTrace(t *trace, do func(*session.Session) error) error {
	on, err := s.library.fork(t)
	if err != nil {
		return err
	}
	return errors.Join(do(on), on.Close())
}

// describe says what a trace has.
func (s *Server) describe(_ context.Context, t *trace, a *answer) error {
	m := t.facts
	a.line("trace: %s", t.path)
	a.line("format: %s, %s", m.Input.Formats(), human.Bytes(m.Input.Bytes))
	if m.Start != nil && m.End != nil {
		a.line("time: %.6f s, ts from %d to %d", float64(*m.End-*m.Start)/1e9, *m.Start, *m.End)
	}
	machine := []string{m.Machine.Name, m.Machine.AndroidBuildFingerprint, m.Machine.Sysname, m.Machine.Release, m.Machine.Arch}
	if text := strings.Join(slices.DeleteFunc(machine, func(s string) bool { return s == "" }), " "); text != "" {
		a.line("machine: %s", text)
	}
	losses := tpconvert.LossesOf(m)
	if text := losses.Alarm(); text != "" {
		a.line("WARNING: %s", text)
	}
	for _, c := range losses.Counts {
		a.line("%s: %d %s", c.Effect, c.Value, c.Text)
	}
	var tables []string
	for _, size := range m.Tables {
		if size.Rows > 0 {
			tables = append(tables, fmt.Sprintf("%s %d", size.Name, size.Rows))
		}
	}
	a.line("rows of tables: %s", strings.Join(tables, ", "))
	return nil
}

// documented returns the declaration of a table of PerfettoSQL, or nil.
func documented(name string) *table.Schema {
	for _, t := range schema.All() {
		if strings.EqualFold(t.Name, name) {
			return t
		}
	}
	return nil
}

// tables lists tables, describes some, or searches.
func (s *Server) tables(ctx context.Context, t *trace, a *answer, in tablesArgs) error {
	return s.onTrace(t, func(on *session.Session) error {
		switch {
		case in.Search != "":
			return search(ctx, on, a, in.Search)
		case len(in.Names) == 0:
			r := a.table(maxRows, "table", "rows", "description")
			for _, size := range t.facts.Tables {
				if d := documented(size.Name); size.Rows > 0 && d != nil {
					about, _, _ := strings.Cut(d.Doc, ". ")
					r.row(size.Name, size.Rows, about)
				}
			}
			r.end(true, "give names for one of the others")
			return nil
		}
		for _, name := range in.Names {
			if err := describeTable(ctx, on, a, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// describeTable lists the columns of a table as PerfettoSQL has them.
func describeTable(ctx context.Context, on *session.Session, a *answer, name string) error {
	d := documented(name)
	about := ""
	if d != nil {
		about = ": " + d.Doc
	}
	a.line("%s%s", name, about)
	docs := map[string]string{}
	if d != nil {
		for _, c := range d.Columns {
			docs[c.Name] = c.Doc
		}
		if text, ok := docs["classification"]; ok { // what the dataset calls Trace Processor's type
			docs["type"] = text
		}
	}
	found := 0
	err := on.Each(ctx, "PRAGMA table_info("+sqltext.QuoteText(name)+")", func(q *session.Query) error {
		return q.Each(ctx, func(v []any) error {
			column, _ := v[1].(string)
			if strings.HasPrefix(column, "_") {
				return nil
			}
			found++
			a.line("  %s %v  %s", column, v[2], docs[column])
			return nil
		})
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("there is no table %s; search finds tables by a word", name)
	}
	return err
}

// search lists the tables, columns and objects of modules that a word is in.
func search(ctx context.Context, on *session.Session, a *answer, word string) error {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(word)) })
	}
	r := a.table(maxRows, "name", "kind", "description")
	for _, t := range schema.All() {
		if t.Planned {
			continue
		}
		if has(t.Name, t.Doc) {
			r.row(t.Name, "table", t.Doc)
		}
		for _, c := range t.Columns {
			if has(c.Name, c.Doc) {
				r.row(t.Name+"."+c.Name, "column", c.Doc)
			}
		}
	}
	err := on.Each(ctx, "SELECT module, name, object_type, description FROM __intrinsic_stdlib_objects WHERE exposed AND object_type != 'MODULE'", func(q *session.Query) error {
		return q.Each(ctx, func(v []any) error {
			module, _ := v[0].(string)
			name, _ := v[1].(string)
			about, _ := v[3].(string)
			if has(module, name, about) {
				r.row(name, fmt.Sprintf("%v, after INCLUDE PERFETTO MODULE %s", v[2], module), about)
			}
			return nil
		})
	})
	r.end(true, "search for a longer word")
	return err
}

// summarize computes metrics.
func (s *Server) summarize(ctx context.Context, t *trace, a *answer, in summarizeArgs) error {
	names := in.Specs
	if len(names) == 0 {
		names = metrics.Builtin()
	}
	var summarizer metrics.Summarizer
	for _, name := range names {
		spec, ok := metrics.Spec(name)
		if !ok {
			return fmt.Errorf("there is no spec %s, only %s", name, strings.Join(metrics.Builtin(), ", "))
		}
		if err := summarizer.Add(spec); err != nil {
			return err
		}
	}
	return s.onTrace(t, func(on *session.Session) error {
		summary, err := summarizer.Summarize(ctx, on, nil, "")
		if err != nil {
			return err
		}
		all := summary.Tables()
		var empty []string
		for _, m := range all {
			if len(m.Rows) == 0 {
				empty = append(empty, m.ID)
				continue
			}
			a.line("%s", m.ID)
			var columns []string
			for _, c := range m.Columns {
				columns = append(columns, c.Name)
			}
			r := a.table(rowsOf(in.Limit, 15), columns...)
			for _, row := range m.Rows {
				r.row(row...)
			}
			r.end(true, "a greater limit shows more")
			a.line("")
		}
		if len(empty) > 0 {
			a.line("without rows: %s", strings.Join(empty, ", "))
		}
		return nil
	})
}

// top shows the heaviest functions of a profile.
func (s *Server) top(ctx context.Context, t *trace, a *answer, in topArgs) error {
	if in.By != "" && in.By != "self" && in.By != "total" {
		return fmt.Errorf("by is self or total, not %q", in.By)
	}
	return s.onTrace(t, func(on *session.Session) error {
		all, err := stacks.Read(ctx, on)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return errors.New("the trace has no profile; summarize shows which slices take the time")
		}
		var shown *stacks.Profile
		for _, p := range all {
			a.line("profile: %s, metric %s (%s), total %s", p.Scope, p.Metric, p.Unit, cell(p.Total))
			scope, err := path.Match(in.Scope, p.Scope)
			if err != nil {
				return err
			}
			if (in.Scope == "" || in.Scope == p.Scope || scope) && (in.Metric == "" || in.Metric == p.Metric) && shown == nil {
				shown = p
			}
		}
		if shown == nil {
			return fmt.Errorf("there is no such profile and metric:\n%s", a.String())
		}
		functions := shown.Functions()
		if in.Process != "" {
			functions = slices.DeleteFunc(functions, func(f stacks.Function) bool {
				ok, _ := path.Match(in.Process, f.Process)
				return !ok
			})
		}
		if in.By == "total" {
			slices.SortStableFunc(functions, func(x, y stacks.Function) int { return cmp.Compare(y.Total, x.Total) })
		}
		a.line("\nshown: %s, metric %s", shown.Scope, shown.Metric)
		r := a.table(rowsOf(in.Limit, 30), "self", "self_percent", "total", "total_percent", "function", "process")
		percent := func(v float64) string { return fmt.Sprintf("%.2f", 100*v/shown.Total) }
		for _, f := range functions {
			r.row(f.Self, percent(f.Self), f.Total, percent(f.Total), f.Name, f.Process)
		}
		r.end(true, "a greater limit shows more")
		return nil
	})
}

// maxCompared is how many traces a call may compare.
const maxCompared = 100

// compare compares traces.
func (s *Server) compare(ctx context.Context, a *answer, in compareArgs) error {
	if len(in.Before) == 0 || len(in.After) == 0 {
		return errors.New("before and after name at least one trace each")
	}
	o, err := compare.NewOptions(in.By, in.Kinds)
	if err != nil {
		return err
	}
	o.Alerts = s.options.Alerts
	var sides [2]compare.Side
	for i, paths := range [][]string{in.Before, in.After} {
		for _, path := range paths {
			if path, err = s.library.allowed(path); err != nil {
				return err
			}
			traces, err := inputs.FindTraces(ctx, path)
			if err != nil {
				return err
			}
			for _, t := range traces {
				if len(sides[0])+len(sides[1]) == maxCompared {
					return fmt.Errorf("there are more than %d traces to compare", maxCompared)
				}
				m, err := s.measure(ctx, t, o)
				if err != nil {
					return fmt.Errorf("%s: %w", t, err)
				}
				sides[i] = append(sides[i], m)
			}
		}
	}
	result := compare.Compare(sides[0], sides[1])
	r := a.table(rowsOf(in.Limit, 30), compare.Shown...)
	for i := range result.Rows {
		var cells []any
		for _, text := range result.Rows[i].Texts() {
			if text == "" {
				cells = append(cells, nil)
			} else {
				cells = append(cells, text)
			}
		}
		r.row(cells...)
	}
	r.end(true, "a greater limit or fewer kinds show the others")
	for _, note := range result.Notes() {
		a.note("%s", note)
	}
	return nil
}

// measure opens and measures a trace.
func (s *Server) measure(ctx context.Context, t inputs.Trace, o *compare.Options) (m *compare.Measured, err error) {
	open, err := s.library.open(ctx, t.Path, t.ID)
	if err != nil {
		return nil, err
	}
	err = s.limited(ctx, func(ctx context.Context) error {
		return s.onTrace(open, func(on *session.Session) error {
			m, err = compare.Measure(ctx, on, o)
			return err
		})
	})
	return m, err
}

// alerts lists what deserves attention.
func (s *Server) alerts(ctx context.Context, t *trace, a *answer) error {
	e := derive.Evaluator{Open: func(context.Context, bool) (*session.Session, error) { return s.library.fork(t) }}
	found, err := e.Alerts(ctx, s.options.Alerts)
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	r := a.table(maxRows, "level", "name", "text", "ts", "dur", "slice_id", "utid", "upid")
	for _, one := range found {
		r.row(one.Level, one.Name, one.Text, number(one.TS), number(one.Dur), number(one.SliceID), number(one.UTID), number(one.UPID))
	}
	r.end(true, "query the tables for the others")
	return nil
}

func number(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}
