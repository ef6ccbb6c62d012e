package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/page"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/compare"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// reportOptions are the flags of the report command.
type reportOptions struct {
	inputs.Flags
	output  string
	replace bool
	compare bool
	traceID string
}

func newReportCommand(ui *console.UI) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] INPUT",
		Short: "Show a trace, or how traces differ, as one HTML page",
		Long: `Write a page about INPUT, a dataset, a DuckDB file made by tpconvert, or a trace,
which is read first: what was recorded and lost, alerts, when CPUs, threads
and GPUs were busy, slices, CPU time, thread states, frames, memory and other
counters, profiles with a flame graph, and GPU kernels. The page is one file that
needs neither a server nor a network. Each figure comes with its SQL.

If INPUT is a dataset or a folder with the traces of a job, one per rank, the page
is about the job: which ranks come late and who waits for them, computation and
communication, and kernels that differ between ranks.

Without --output, the page is INPUT.report.html beside the input, and opens in the
browser if the output is a terminal.

With --compare, the page shows how traces differ from others, as "compare" does.`,
		Example: `  tpconvert report trace.pftrace
  tpconvert report trace.pftrace -o report.html
  tpconvert report ranks/
  tpconvert report --compare before/ after/ -o report.html
  tpconvert report --compare main/*.pb.gz -o report.html -- branch/*.pb.gz`,
		RunE: func(cmd *cobra.Command, args []string) error {
			printer := ui.Printer(cmd)
			trace := inputs.Opener{UI: printer, Stdin: cmd.InOrStdin(), Read: o.Read}
			p, err := o.page(cmd, trace, args)
			if err != nil {
				return err
			}
			switch o.output {
			case api.StandardInput:
				return page.Write(cmd.OutOrStdout(), p)
			case "":
				return beside(printer, args[0], p, terminal.Is(cmd.OutOrStdout()))
			}
			return writeWhole(o.output, o.replace, func(w io.Writer) error { return page.Write(w, p) })
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", `file to write, or "-" for the standard output (default: INPUT.report.html)`)
	flags.BoolVarP(&o.replace, "force", "f", false, "replace the file of --output")
	flags.BoolVar(&o.compare, "compare", false, "compare traces: INPUT is BEFORE... -- AFTER..., or two inputs")
	flags.StringVar(&o.traceID, "trace-id", "", "one trace of a dataset of many, by its id or name")
	o.Read.Register(flags)
	return cmd
}

// beside writes a page beside its input, in place of one from before.
func beside(ui console.Printer, input string, p *report.Page, browse bool) error {
	path := filepath.Clean(input)
	if base := filepath.Base(path); base == "." || base == ".." {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	path += ".report.html"
	if err := writeWhole(path, true, func(w io.Writer) error { return page.Write(w, p) }); err != nil {
		return err
	}
	ui.Result(written{path})
	if browse {
		if err := console.Browse(path); err != nil {
			ui.Message(slog.LevelWarn, path, "no browser could be opened: "+err.Error())
		}
	}
	return nil
}

// written reports a file.
type written struct {
	File string `json:"file"`
}

func (w written) Text(to io.Writer) { fmt.Fprintln(to, terminal.Printable(w.File)) }

// page makes the page.
func (o *reportOptions) page(cmd *cobra.Command, trace inputs.Opener, args []string) (*report.Page, error) {
	ctx := cmd.Context()
	if o.output == "" && (o.compare || len(args) == 1 && args[0] == api.StandardInput) {
		return nil, console.Usage(errors.New("want --output FILE, or - for the standard output"))
	}
	if _, err := os.Lstat(o.output); err == nil && !o.replace {
		return nil, fmt.Errorf("%s exists; --force replaces it", o.output)
	}
	alerts, err := builtinAlerts()
	if err != nil {
		return nil, err
	}
	if o.compare {
		before, after, err := sides(cmd, args)
		if err != nil {
			return nil, err
		}
		result, err := compareInputs(ctx, trace, o.Stdlib, before, after, &compare.Options{Alerts: alerts})
		if err != nil {
			return nil, err
		}
		return report.Compare(before, after, result, terminal.Printable), nil
	}
	if err := console.Arguments(cobra.ExactArgs(1))(cmd, args); err != nil {
		return nil, err
	}
	return o.trace(ctx, trace, args[0], report.Options{Name: args[0], Alerts: alerts, Printable: terminal.Printable})
}

// trace makes the page of a trace.
func (o *reportOptions) trace(ctx context.Context, trace inputs.Opener, input string, options report.Options) (p *report.Page, err error) {
	if input, err = inputs.OneTrace(ctx, input, o.traceID); err != nil {
		return nil, err
	}
	if !inputs.IsTrace(input) {
		given := input
		var drop func() error
		if input, drop, err = trace.Dataset(ctx, given); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, drop()) }()
		switch traces, err := session.ReadTraces(ctx, input); {
		case err != nil || traces == nil:
		case traces.Ranks != nil:
			return job(ctx, input, traces, options)
		case input != given:
			return nil, console.Usage(fmt.Errorf("%s is a folder of traces that are not the ranks of a job: name one of them", given))
		}
	}
	s, err := session.New(ctx, session.Options{Perfetto: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	facts, err := trace.Open(ctx, s, input, true)
	if err != nil {
		return nil, err
	}
	if facts != nil {
		described(&options, facts.Losses(), facts.Input)
	} else if manifests, many, err := export.ReadManifests(input); err == nil && !many {
		described(&options, api.LossesOf(manifests[0]), manifests[0].Input)
	}
	return report.Make(ctx, s, options)
}

// described notes what the head of the page says.
func described(o *report.Options, losses api.Losses, input api.Input) {
	o.Alarm, o.Badge, o.Format = losses.Alarm(), "Nothing lost or damaged", api.FormatTitle(input.Formats())
	if lost := losses.Describe(model.Lost, model.Damaged); lost != "" {
		o.Badge = "Lost or damaged: " + lost
	} else if losses.Describe(model.NotRead) != "" {
		o.Badge += "; some parts are not read"
	}
}

// job makes the page of a job, whose ranks have a trace each.
func job(ctx context.Context, input string, traces *session.Traces, options report.Options) (*report.Page, error) {
	manifests, _, err := export.ReadManifests(input)
	if err != nil {
		return nil, err
	}
	ranks := make([]report.Rank, len(manifests))
	for i, m := range manifests {
		losses := api.LossesOf(m)
		ranks[i] = report.Rank{Manifest: m, Alarm: losses.Alarm()}
	}
	open := func(ctx context.Context, r report.Rank) (*session.Session, error) {
		s, err := session.New(ctx, session.Options{Perfetto: true})
		if err != nil {
			return nil, err
		}
		if err := s.OpenTrace(ctx, traces, r.TraceID); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	return report.Job(ctx, ranks, open, options)
}
