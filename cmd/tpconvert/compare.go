package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// compareOptions are the flags of the compare command.
type compareOptions struct {
	inputs.Flags
	by, kinds, groups, metrics []string
	exact                      bool
	limit                      int
	failIf                     string
}

func newCompareCommand(ui *console.UI) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare [flags] BEFORE... -- AFTER...",
		Short: "Show how traces differ from others, and whether that is noise",
		Long: `Compare traces recorded before a change with others recorded after it: slices,
GPU kernels, CPU and waiting time of threads, frames, counters, memory, functions
in profiles, alerts, and metrics of "summarize". The largest effects on time come
first. BEFORE and AFTER are traces, datasets of one or many traces, or folders of
traces; without --, give one of each.

With several traces on both sides, p is the probability that chance alone causes
such a difference, by the Mann-Whitney U test, corrected for the number of
comparisons; differences with p below 0.01 come first. Names that differ only in
numbers count as one, unless --exact or --group says otherwise.`,
		Example: `  tpconvert compare before.pftrace after.pftrace
  tpconvert compare --format markdown main/*.pb.gz -- branch/*.pb.gz
  tpconvert compare --fail-if 'slice.total > 1.05 && p < 0.01' before/ after/
  tpconvert compare --group 'frame=^Frame \d+$' --by thread before/ after/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, after, err := sides(cmd, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), o.Opener(cmd, ui, "ndjson"), before, after, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.by, "by", nil, "split slices and functions by thread, process or both")
	flags.StringSliceVar(&o.kinds, "kinds", nil, "compare only these: "+strings.Join(compare.Kinds, ", "))
	flags.StringArrayVar(&o.groups, "group", nil, "give all names that match a pattern one name, NAME=REGEXP; NAME may refer to parts as $1")
	flags.BoolVar(&o.exact, "exact", false, "keep names apart that differ only in numbers")
	flags.StringSliceVar(&o.metrics, "metrics", nil, "also compare the metrics of these specs, as for summarize")
	flags.IntVar(&o.limit, "limit", 30, "differences to show as table or Markdown")
	flags.StringVar(&o.failIf, "fail-if", "", "exit with code 3 if this is true for any difference: KIND.VALUE is the ratio after/before of count, total, self, mean, p50 or p95; p, effect, diff and name describe the difference")
	o.Register(cmd, []string{"table", "markdown", "json", "ndjson", "csv", "parquet", "arrow"})
	return cmd
}

// sides are the inputs before and after a change.
func sides(cmd *cobra.Command, args []string) (before, after []string, err error) {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash > 0 && dash < len(args):
		return args[:dash], args[dash:], nil
	case dash < 0 && len(args) == 2:
		return args[:1], args[1:], nil
	}
	return nil, nil, console.Usage(fmt.Errorf("want BEFORE... -- AFTER..., or two inputs; see %s --help", cmd.CommandPath()))
}

// compareError is how many differences --fail-if is true of.
type compareError struct {
	n         int
	first     string
	condition string
}

func (e compareError) Error() string {
	text := fmt.Sprintf("%s is true of %s", e.condition, e.first)
	if e.n > 1 {
		text += fmt.Sprintf(", and of %d more", e.n-1)
	}
	return text
}

func (o *compareOptions) run(ctx context.Context, trace inputs.Opener, before, after []string, out io.Writer) error {
	if err := inputs.CheckFormat(o.Format, out); err != nil {
		return err
	}
	measure, condition, err := o.parse()
	if err != nil {
		return err
	}
	result, err := compareInputs(ctx, trace, o.Stdlib, before, after, measure)
	if err != nil {
		return err
	}
	if condition != nil && slices.Contains(condition.Names, "p") && result.Tested == 0 {
		return console.Usage(errors.New("--fail-if: p needs several traces before and after"))
	}
	if err := o.print(out, result); err != nil {
		return err
	}
	if condition == nil {
		return nil
	}
	for _, kind := range condition.Kinds {
		if !slices.ContainsFunc(result.Rows, func(r compare.Row) bool { return r.Kind == kind }) {
			trace.UI.Message(slog.LevelWarn, "", fmt.Sprintf("--fail-if: nothing of the kind %s was compared", kind))
		}
	}
	return o.check(condition, result)
}

// compareInputs measures the traces of both sides, and compares them.
func compareInputs(ctx context.Context, trace inputs.Opener, stdlib string, before, after []string, measure *compare.Options) (*compare.Result, error) {
	if slices.Contains(slices.Concat(before, after), api.StandardInput) {
		return nil, console.Usage(errors.New("the standard input cannot be compared"))
	}
	sides := [2]compare.Side{}
	for i, paths := range [][]string{before, after} {
		for _, path := range paths {
			traces, err := inputs.FindTraces(ctx, path)
			if err != nil {
				return nil, err
			}
			for _, t := range traces {
				m, err := measureTrace(ctx, trace, stdlib, t, measure)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", t, err)
				}
				sides[i] = append(sides[i], m)
			}
		}
	}
	return compare.Compare(sides[0], sides[1]), nil
}

// parse reads the flags.
func (o *compareOptions) parse() (*compare.Options, *compare.Condition, error) {
	m, err := compare.NewOptions(o.by, o.kinds)
	if err != nil {
		return nil, nil, console.Usage(err)
	}
	m.Exact = o.exact
	for _, text := range o.groups {
		g, err := compare.ParseGroup(text)
		if err != nil {
			return nil, nil, console.Usage(fmt.Errorf("--group: %w", err))
		}
		m.Groups = append(m.Groups, g)
	}
	if len(o.metrics) > 0 {
		if m.Metrics, err = inputs.ReadSpecs(o.metrics); err != nil {
			return nil, nil, err
		}
	}
	if m.Alerts, err = builtinAlerts(); err != nil || o.failIf == "" {
		return m, nil, err
	}
	c, err := compare.ParseCondition(o.failIf)
	if err != nil {
		return nil, nil, console.Usage(fmt.Errorf("--fail-if: %w", err))
	}
	return m, c, nil
}

// builtinAlerts are the definitions of alerts that need no file.
func builtinAlerts() ([]derive.Definition, error) {
	all, err := readDefinitions([]string{derive.BuiltinName})
	return slices.DeleteFunc(all, func(d derive.Definition) bool { return d.Kind != derive.Alerts }), err
}

// measureTrace opens and measures a trace.
func measureTrace(ctx context.Context, trace inputs.Opener, stdlib string, t inputs.Trace, as *compare.Options) (m *compare.Measured, err error) {
	s, err := session.New(ctx, session.Options{Perfetto: true, Modules: inputs.Modules(stdlib), Derived: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if t.ID != "" {
		err = t.Open(ctx, s)
	} else {
		_, err = trace.Open(ctx, s, t.Path, true)
	}
	if err != nil {
		return nil, err
	}
	return compare.Measure(ctx, s, as)
}

// print writes the differences.
func (o *compareOptions) print(out io.Writer, r *compare.Result) error {
	columns, rows := compare.Columns, r.Rows
	forPeople := o.Format == "table" || o.Format == "markdown"
	if forPeople {
		columns = nil
		for _, name := range compare.Shown {
			kind := session.Text
			if compare.ShowsNumber(name) {
				kind = session.Real
			}
			columns = append(columns, session.Column{Name: name, Kind: kind})
		}
		rows = rows[:min(len(rows), max(o.limit, 0))]
	}
	w, err := rowformat.New(o.Format, out, columns)
	if err != nil {
		return err
	}
	for i := range rows {
		cells := rows[i].Cells()
		if forPeople {
			cells = nil
			for _, text := range rows[i].Texts() {
				cells = append(cells, text)
			}
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	if err := w.End(); err != nil || !forPeople {
		return err
	}
	notes := r.Notes()
	if left := len(r.Rows) - len(rows); left > 0 {
		notes = append(notes, fmt.Sprintf("%d more differences: --limit", left))
	}
	_, err = fmt.Fprintf(out, "\n%s\n", strings.Join(notes, "\n"))
	return err
}

// check returns an error if the condition is true of a difference.
func (o *compareOptions) check(c *compare.Condition, r *compare.Result) error {
	failed := compareError{condition: o.failIf}
	for i := range r.Rows {
		row := &r.Rows[i]
		holds, err := c.Holds(row)
		if err != nil {
			return err
		}
		if holds {
			if failed.n++; failed.n == 1 {
				failed.first = fmt.Sprintf("%s %s: %s before, %s after", row.Kind, row.Name, human.Quantity(row.Before, row.Unit), human.Quantity(row.After, row.Unit))
			}
		}
	}
	if failed.n > 0 {
		return failed
	}
	return nil
}
