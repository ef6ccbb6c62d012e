package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/rowformat"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/metricsv1"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// metricOptions are the flags of the metric command.
type metricOptions struct {
	inputs.Flags
	run  []string
	list bool
}

var metricFormats = []string{"textproto", "proto", "json", "parquet"}

func newMetricCommand(ui *console.UI) *cobra.Command {
	var o metricOptions
	cmd := &cobra.Command{
		Use:   "metric [flags] --run METRIC,... INPUT",
		Short: "Compute Trace Processor's version 1 metrics",
		Long: `Compute version 1 metrics of Trace Processor for INPUT: a dataset of one trace, a
DuckDB file made by tpconvert, or a trace, which is read first. The result is
Perfetto's TraceMetrics. The metrics come from "stdlib fetch", or from --stdlib, a
checkout of Perfetto. --list lists their names.

"tpconvert summarize" computes version 2 metrics, which need no checkout.`,
		Example: `  tpconvert metric --run android_cpu,android_mem trace.pftrace
  tpconvert metric --stdlib perfetto/ --run android_startup --format json out/`,
		Args: console.Arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.compute(cmd.Context(), o.Opener(cmd, ui, "json"), args, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.run, "run", nil, "metrics to compute, by name")
	flags.BoolVar(&o.list, "list", false, "list the names of all metrics")
	o.Register(cmd, metricFormats)
	return cmd
}

func (o *metricOptions) compute(ctx context.Context, trace inputs.Opener, args []string, out io.Writer) error {
	switch {
	case inputs.Stdlib(o.Stdlib) == "":
		return console.Usage(errors.New("there are no metrics: \"stdlib fetch\" downloads them, and --stdlib names a checkout of Perfetto"))
	case !slices.Contains(metricFormats, o.Format):
		return console.Usage(fmt.Errorf("--format %q: want one of %s", o.Format, strings.Join(metricFormats, ", ")))
	case (o.Format == "proto" || o.Format == "parquet") && terminal.Is(out):
		return console.Usage(fmt.Errorf("--format %s is not for a terminal: redirect the output to a file", o.Format))
	}
	library, err := metricsv1.Open(inputs.Stdlib(o.Stdlib))
	if err != nil {
		return err
	}
	switch {
	case o.list:
		names, err := library.Names()
		if err == nil {
			_, err = fmt.Fprintln(out, strings.Join(names, "\n"))
		}
		return err
	case len(o.run) == 0:
		return console.Usage(errors.New("--run is missing, the metrics to compute; --list lists them"))
	case len(args) == 0:
		return console.Usage(errors.New("INPUT is missing, a dataset or a trace"))
	}
	s, err := inputs.OpenSession(ctx, args[0], session.Options{Perfetto: true, Modules: inputs.Modules(o.Stdlib), Metrics: library}, trace)
	if err != nil {
		return err
	}
	defer s.Close()
	encoded, err := library.Compute(ctx, s, o.run)
	if err != nil {
		return err
	}
	return o.write(out, library, encoded)
}

// write writes encoded TraceMetrics in the format.
func (o *metricOptions) write(out io.Writer, library *metricsv1.Library, encoded []byte) (err error) {
	switch o.Format {
	case "textproto":
		encoded, err = library.Text(encoded)
	case "json":
		encoded, err = library.JSON(encoded)
	case "parquet":
		return o.writeParquet(out, library, encoded)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(encoded)
	return err
}

// writeParquet writes a row for each metric: its name, and its message in JSON.
func (o *metricOptions) writeParquet(out io.Writer, library *metricsv1.Library, encoded []byte) error {
	values, err := library.Values(encoded)
	if err != nil {
		return err
	}
	w, err := rowformat.New("parquet", out, []session.Column{{Name: "metric", Kind: session.Text}, {Name: "value", Kind: session.Text}})
	if err != nil {
		return err
	}
	for _, name := range o.run {
		if err := w.Row([]any{name, values[name]}); err != nil {
			return err
		}
	}
	return w.End()
}
