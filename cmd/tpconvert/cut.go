package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
)

// rangeOptions are the flags for a part of a trace.
type rangeOptions struct{ from, to timeValue }

func (o *rangeOptions) register(flags *pflag.FlagSet) {
	flags.Var(&o.from, "from", "write only what reaches into the time from here on: 1.5s or 300ms after the start, or ns of the trace clock as in ts")
	flags.Var(&o.to, "to", "write only what begins before this time, given like --from")
}

func (o *rangeOptions) library() api.Range { return api.Range{From: o.from.at, To: o.to.at} }

func newCutCommand(ui *console.UI) *cobra.Command {
	var limits rangeOptions
	var output string
	var force bool
	cmd := &cobra.Command{
		Use:   "cut [flags] DATASET|TRACE -o OUT",
		Short: "Write a time range of a dataset or Perfetto trace",
		Long: `Write the rows of DATASET that overlap the time from --from up to --to into OUT.
They stay whole and keep their ids. OUT also has what they refer to, such as
arguments, all threads, processes, tracks and stacks, the last values of counters
before the range, and facts about the whole trace. The bounds of the trace are
those of the part. Rows that "derive" added are left out.

Times are durations after the start of the trace, such as 1.5s, 300ms or 2m, or,
without a unit, ns of the trace clock, like the column ts. In a dataset of many
traces, each trace is cut.

If the input is a Perfetto TRACE, OUT is a smaller one for Perfetto's own tools. It
has everything that TRACE has in the range, and more outside it than a dataset.

To cut any trace while it is converted, give --from and --to to "tpconvert".`,
		Example: `  tpconvert cut out/ -o part/ --from 1.5s --to 2.5s
  tpconvert cut out/ -o part/ --from 123456789000
  tpconvert cut trace.pftrace -o part.pftrace --from 1.5s --to 2.5s
  tpconvert --from 1.5s --to 2.5s trace.pftrace part/`,
		Args: console.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := api.Options{Range: limits.library(), Force: force, Version: console.Version()}
			switch {
			case output == "":
				return console.Usage(errors.New("-o OUT is missing, the folder for the dataset or the file for the trace"))
			case o.Range.Whole():
				return console.Usage(errors.New("--from or --to is missing"))
			}
			inputs.LimitMemory(cmd.Context(), o)
			if info, err := os.Stat(args[0]); err != nil {
				return err
			} else if !info.IsDir() {
				if out, err := os.Stat(output); err == nil && (out.IsDir() || os.SameFile(info, out)) {
					return console.Usage(fmt.Errorf("%s is a folder or the trace itself: OUT has to be another file; with --from and --to, \"tpconvert\" makes a dataset of a part", output))
				}
				return cutTrace(cmd.Context(), ui.Printer(cmd), args[0], output, o)
			}
			d, err := api.Open(args[0])
			if err != nil {
				return err
			}
			result, err := d.Cut(cmd.Context(), output, o)
			if err == nil {
				ui.Printer(cmd).Summary(console.Summary{Result: result})
			}
			return err
		},
	}
	flags := cmd.Flags()
	limits.register(flags)
	flags.StringVarP(&output, "output", "o", "", "folder for the dataset, or file for the trace")
	flags.BoolVarP(&force, "force", "f", false, "replace OUT if there is one")
	return cmd
}

// cutTrace writes a part of a Perfetto trace.
func cutTrace(ctx context.Context, ui console.Printer, trace, output string, o api.Options) error {
	o.Log = console.Logger(ui)
	o.Progress = func(p api.Progress) { ui.Progress(console.Progress(p)) }
	var result *api.Result
	var incomplete error
	err := writeWhole(output, o.Force, func(w io.Writer) error {
		var err error
		result, err = api.CutTrace(ctx, trace, w, o)
		if errors.Is(err, api.ErrIncomplete) {
			incomplete, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	result.Out = output
	ui.Summary(console.Summary{Result: result})
	return incomplete
}

// timeValue is a flag for a moment of a trace: 1.5s after its start, or 123456789 ns of its clock.
type timeValue struct{ at *api.Time }

// Set parses a time.
func (t *timeValue) Set(text string) error {
	if ns, err := strconv.ParseInt(text, 10, 64); err == nil {
		t.at = &api.Time{NS: ns, Absolute: true}
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is neither a time after the start, such as 1.5s, 300ms or 2m, nor ns of the trace clock", text)
	}
	t.at = &api.Time{NS: int64(d)}
	return nil
}

// Type names the value in the help.
func (t *timeValue) Type() string { return "time" }

func (t *timeValue) String() string {
	switch {
	case t.at == nil:
		return ""
	case t.at.Absolute:
		return strconv.FormatInt(t.at.NS, 10)
	}
	return time.Duration(t.at.NS).String()
}
