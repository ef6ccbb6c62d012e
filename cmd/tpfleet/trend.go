package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/page"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/query"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/series"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/trend"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// trendOptions are the flags of the trend command.
type trendOptions struct {
	lakeOptions
	pickOptions
	query.Query
	stdlib       string
	metrics      []series.Metric
	by, order    string
	significance float64
	failIf       string
	condition    *compare.Condition
	last         int
	asJSON       bool
	output       string
}

func newTrendCommand() *cobra.Command {
	var o trendOptions
	cmd := &cobra.Command{
		Use:   "trend [METRIC...]",
		Short: "Show how metrics change from build to build, or day to day, and at which one",
		Long: `Show medians and quantiles of metrics by build, day, device or another group of traces, and from which group on they differ
from those before: change points, by E-divisive with a permutation test.

METRIC is a column of a table of metrics, which "run --spec" fills, such as slices.p95_dur: one series for each of its
dimensions' values, or slices.p95_dur{name="draw"}. With --sql, the last column of PerfettoSQL that runs on each trace is
another metric, and its other columns tell series apart.

--by is build (the label, or else android_build_fingerprint), day, device (the label, or else machine_name), a column of the
ledger, or a label. Builds and days are in the order of their names, where 9 comes before 10; others have no order, and so
no changes, unless --order says which.`,
		Example: `  tpfleet trend 'slices.p95_dur{name="draw"}' -o draw.html
  tpfleet trend --by day --where "labels ->> 'team' = 'x'" --sql 'SELECT count(*) AS frames FROM actual_frame_timeline_slice'
  tpfleet trend startup.max_dur --fail-if 'p50 > 1.1' --last 10`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return usageError{err}
			}
			return o.run(cmd)
		},
	}
	o.lakeOptions.register(cmd.Flags())
	o.pickOptions.register(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.SQL, "sql", "", "PerfettoSQL with a number per trace, in the last column")
	flags.StringVar(&o.by, "by", "build", "group traces by build, day, device, a column of the ledger, or a label")
	flags.StringVar(&o.order, "order", "", "order of the groups: "+strings.Join(series.Orders, ", ")+"; by default name for build and day, else none")
	flags.Float64Var(&o.significance, "significance", trend.Significant, "greatest probability that any change is chance")
	flags.StringVar(&o.failIf, "fail-if", "", "exit with code 3 if this is true of any change, such as 'p50 > 1.1': "+strings.Join(trend.Values, ", ")+" are ratios after/before; p, effect, diff and name describe the change")
	flags.IntVar(&o.last, "last", 0, "for --fail-if, only changes within so many of the last groups; 0 is all")
	flags.StringVarP(&o.output, "output", "o", "", "also write a page with a chart of each metric to this file, which it replaces")
	flags.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	flags.IntVarP(&o.Jobs, "jobs", "j", runtime.GOMAXPROCS(0), "traces or metrics at a time")
	flags.StringVar(&o.stdlib, "stdlib", "", stdlibHelp)
	return cmd
}

// read checks the flags, and reads the metrics and the condition.
func (o *trendOptions) read(args []string) error {
	if len(args) == 0 && o.SQL == "" {
		return errors.New(`METRIC is missing, such as slices.p95_dur{name="draw"}, or --sql`)
	}
	for _, arg := range args {
		m, err := series.ParseMetric(arg)
		if err != nil {
			return err
		}
		o.metrics = append(o.metrics, m)
	}
	if o.order == "" {
		o.order = series.Order(o.by)
	}
	switch {
	case !slices.Contains(series.Orders, o.order):
		return fmt.Errorf("--order %q: want one of %s", o.order, strings.Join(series.Orders, ", "))
	case !(o.significance >= 1e-6 && o.significance <= 0.5):
		return errors.New("--significance is a probability from 0.000001 to 0.5")
	case o.Jobs < 1:
		return errors.New("--jobs must be at least 1")
	case o.last < 0:
		return errors.New("--last must not be negative")
	case o.last > 0 && o.failIf == "":
		return errors.New("--last is for --fail-if")
	case o.failIf != "" && o.order == series.None:
		return fmt.Errorf("--fail-if needs changes, and groups by %s have no order: --order is missing", o.by)
	}
	o.Modules = inputs.Modules(o.stdlib)
	if o.failIf == "" {
		return nil
	}
	var err error
	if o.condition, err = compare.ParseCondition(o.failIf); err != nil {
		return fmt.Errorf("--fail-if: %w", err)
	}
	for _, kind := range o.condition.Kinds {
		if kind != trend.Kind {
			return fmt.Errorf("--fail-if: changes are of the kind %s, not %s", trend.Kind, kind)
		}
	}
	for _, name := range o.condition.Names {
		if !slices.Contains(append([]string{"p", "effect", "diff", "kind", "name"}, trend.Values...), name) {
			return fmt.Errorf("--fail-if: a change has no %s, only p, effect, diff, name, %s", name, strings.Join(trend.Values, ", "))
		}
	}
	return nil
}

// mostSeries is the number of series that are looked at together: more are harder to tell from chance, and to read.
const mostSeries = 100

func (o *trendOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	t, err := o.gather(cmd)
	if err != nil {
		return err
	}
	if o.order != series.None {
		var group errgroup.Group
		group.SetLimit(o.Jobs)
		for _, s := range t.Series {
			group.Go(func() error { return s.Find(ctx, o.significance, len(t.Series)) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	trend.Sort(t.Series)
	if o.asJSON {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(t)
	} else {
		err = printTrend(cmd.OutOrStdout(), t)
	}
	if err == nil && o.output != "" {
		err = writePage(o.output, report.Trend(t, terminal.Printable))
	}
	if err != nil {
		return err
	}
	if err := o.check(t); err != nil {
		return err
	}
	if t.Failed > 0 {
		return fmt.Errorf("the SQL failed for %d of %d traces, which are left out", t.Failed, t.Traces)
	}
	return nil
}

// gather reads the values of the selected traces.
func (o *trendOptions) gather(cmd *cobra.Command) (t *trend.Result, err error) {
	ctx := cmd.Context()
	p := lake.Picked{Where: "true"}
	if o.where != "" || o.list != "" {
		if p, err = o.picked(nil, cmd.InOrStdin()); err != nil {
			return nil, err
		}
	}
	if o.SQL != "" {
		if columns, err := o.Query.Columns(ctx); err != nil {
			return nil, usageError{err}
		} else if len(columns) == 0 {
			return nil, usageError{errors.New("the SQL has no column")}
		}
	}
	l, _, _, err := o.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	tables, err := l.MetricTables(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range o.metrics {
		if err := m.Check(tables); err != nil {
			return nil, usageError{err}
		}
	}
	by := series.GroupBy(o.by)
	columns := append(by.Columns(), "metrics")
	selected, err := l.Select(ctx, p, columns)
	if err != nil {
		return nil, pickError(err)
	}
	defer func() { err = errors.Join(err, selected.Close()) }()
	groups := by.Group(selected.Traces)
	t = &trend.Result{By: o.by, Order: o.order, Significance: o.significance, Traces: len(selected.Traces), Without: groups.Without}
	names, err := groups.Names(o.order)
	if err != nil {
		return nil, usageError{err}
	}
	t.Groups = len(names)
	measured, unmeasured := make([]map[string]bool, len(o.metrics)), map[string]bool{}
	for i, m := range o.metrics {
		measured[i] = map[string]bool{}
		for _, trace := range selected.Traces {
			if lake.HasMetrics(trace.Facts[len(columns)-1], tables[m.Table].Spec) {
				measured[i][trace.ID] = true
			} else {
				unmeasured[trace.ID] = true
			}
		}
	}
	t.Unmeasured = len(unmeasured)
	for _, note := range t.LeftOut() {
		slog.WarnContext(ctx, note)
	}
	values := series.NewGathered(groups)
	for i, m := range o.metrics {
		n, err := values.Metric(ctx, selected, m, tables[m.Table], measured[i])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("no trace has a value of %s", m)
		}
	}
	if o.SQL != "" {
		err := values.Query(ctx, selected, &o.Query, func(trace string, err error) {
			t.Failed++
			slog.WarnContext(ctx, "left out", "trace_id", trace, "error", err)
		})
		if err != nil {
			return nil, err
		}
	}
	t.Series = values.Series(names)
	switch n := len(t.Series); {
	case n == 0:
		return nil, errors.New("no trace has a value")
	case n > mostSeries:
		return nil, usageError{fmt.Errorf(`there are %d series, such as %s: choose some, at most %d, with labels in braces`, n, t.Series[0].Name, mostSeries)}
	}
	return t, nil
}

// printTrend prints each series: its changes, then a table of its groups.
func printTrend(out io.Writer, t *trend.Result) error {
	for i, s := range t.Series {
		if i > 0 {
			fmt.Fprintln(out)
		}
		lines := append([]string{s.Name, s.Summary(t.By)}, t.Sentences(s)...)
		for _, line := range lines {
			fmt.Fprintln(out, terminal.Printable(line))
		}
		fmt.Fprintln(out)
		if err := printGroups(out, t.By, s); err != nil {
			return err
		}
	}
	return nil
}

// printGroups prints the groups of a series.
func printGroups(out io.Writer, by string, s *trend.Series) error {
	var columns []session.Column
	for _, name := range trend.Shown {
		columns = append(columns, session.Column{Name: name, Kind: session.Real})
	}
	w, err := rowformat.New("table", out, append(columns, session.Column{Name: by, Kind: session.Text}))
	if err != nil {
		return err
	}
	for i, g := range s.Groups {
		var cells []any
		for _, text := range append(s.Texts(i), g.Name) {
			cells = append(cells, text)
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return w.End()
}

// writePage writes a page, which appears when it is complete.
func writePage(path string, p *report.Page) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tpfleet-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // fails once the file was renamed
	if err := errors.Join(page.Write(draft, p), draft.Chmod(0o644), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}

// trendError says of how many changes --fail-if is true.
type trendError struct {
	condition, first string
	n                int
}

func (e trendError) Error() string {
	text := fmt.Sprintf("%s is true of %s", e.condition, e.first)
	if e.n > 1 {
		text += fmt.Sprintf(", and of %d more", e.n-1)
	}
	return text
}

// check returns an error if --fail-if is true of a change.
func (o *trendOptions) check(t *trend.Result) error {
	if o.condition == nil {
		return nil
	}
	failed := trendError{condition: o.failIf}
	for _, s := range t.Series {
		for _, c := range s.Last(o.last) {
			holds, err := o.condition.Holds(s.Row(&c))
			if err != nil {
				return err
			}
			if !holds {
				continue
			}
			if failed.n++; failed.n == 1 {
				failed.first = s.Name + ", " + s.Sentence(&c)
			}
		}
	}
	if failed.n > 0 {
		return failed
	}
	return nil
}
