package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/derive"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// alertsOptions are the flags of the alerts command.
type alertsOptions struct {
	inputs.Flags
}

// alertError reports alerts of level error.
type alertError int

func (e alertError) Error() string {
	return fmt.Sprintf("alerts of level error: %s", human.Count(int(e)))
}

func newAlertsCommand(ui *console.UI) *cobra.Command {
	var o alertsOptions
	cmd := &cobra.Command{
		Use:   "alerts [flags] [FILE...] INPUT",
		Short: "List what deserves attention in a trace or dataset, and fail if it is an error",
		Long: `List the alerts of INPUT: a dataset, a DuckDB file made by tpconvert, or a trace,
which is converted first. These are the alerts that "tpconvert derive" added, and
those that each FILE defines: YAML, as for derive, or "` + derive.BuiltinName + `", tpconvert's own
alerts, which is the default. INPUT does not change. The exit code is 3 if there is
an alert of level error. Times are in ns.`,
		Example: `  tpconvert alerts trace.pftrace
  tpconvert alerts --format csv limits.yaml out/`,
		Args: console.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			trace := o.Opener(cmd, ui, "ndjson")
			return o.run(cmd.Context(), trace, args[:last], args[last], cmd.OutOrStdout())
		},
	}
	o.Register(cmd, rowformat.Names)
	return cmd
}

// alertColumns are the columns of the list.
var alertColumns = []session.Column{
	{Name: "level", Kind: session.Text}, {Name: "name", Kind: session.Text}, {Name: "text", Kind: session.Text},
	{Name: "ts", Kind: session.Integer}, {Name: "dur", Kind: session.Integer},
	{Name: "slice_id", Kind: session.Integer}, {Name: "utid", Kind: session.Integer}, {Name: "upid", Kind: session.Integer},
}

func (o *alertsOptions) run(ctx context.Context, trace inputs.Opener, files []string, input string, out io.Writer) (err error) {
	if err := inputs.CheckFormat(o.Format, out); err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{derive.BuiltinName}
	}
	definitions, err := readDefinitions(files)
	if err != nil {
		return err
	}
	definitions = slices.DeleteFunc(definitions, func(d derive.Definition) bool { return d.Kind != derive.Alerts })
	traces, err := session.ReadTraces(ctx, input)
	if err != nil {
		return err
	}
	var drop func() error
	if input, drop, err = trace.Dataset(ctx, input); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	columns, ids := alertColumns, []string{""}
	if traces != nil {
		ids = traces.IDs
		columns = append([]session.Column{{Name: "trace_id", Kind: session.Text}}, columns...)
	}
	w, err := rowformat.New(o.Format, out, columns)
	if err != nil {
		return err
	}
	failed := alertError(0)
	for _, id := range ids {
		alerts, err := o.find(ctx, definitions, input, traces, id)
		if err != nil {
			return err
		}
		for _, a := range alerts {
			if a.Level == derive.Error {
				failed++
			}
			row := []any{a.Level, a.Name, a.Text, value(a.TS), value(a.Dur), value(a.SliceID), value(a.UTID), value(a.UPID)}
			if traces != nil {
				row = append([]any{id}, row...)
			}
			if err := w.Row(row); err != nil {
				return err
			}
		}
	}
	if err := w.End(); err != nil {
		return err
	}
	if failed > 0 {
		return failed
	}
	return nil
}

func value(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// find returns the alerts of the input, or of one of its traces.
func (o *alertsOptions) find(ctx context.Context, definitions []derive.Definition, input string, traces *session.Traces, id string) (alerts []derive.Alert, err error) {
	evaluator := derive.Evaluator{Open: func(ctx context.Context, perfetto bool) (*session.Session, error) {
		s, err := session.New(ctx, session.Options{Perfetto: perfetto, Modules: inputs.Modules(o.Stdlib), NoComments: true, Derived: true})
		if err != nil {
			return nil, err
		}
		if traces != nil {
			err = s.OpenTrace(ctx, traces, id)
		} else if _, err = (inputs.Opener{}).Open(ctx, s, input, perfetto); errors.Is(err, session.ErrManyTraces) { // a DuckDB file
			err = fmt.Errorf("%s has many traces: give the dataset that it was made from", input)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}}
	defer func() { err = errors.Join(err, evaluator.Close()) }()
	return evaluator.Alerts(ctx, definitions)
}
