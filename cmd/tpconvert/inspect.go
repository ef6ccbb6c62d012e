package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/human"
)

func newInspectCommand(ui *console.UI) *cobra.Command {
	memory := console.ByteSize(api.DefaultMemory)
	var read inputs.Reading
	var merge mergeOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] TRACE...|DATASET",
		Short: "Show what is in a trace or a dataset, without writing anything",
		Long: `Read a trace and show what a conversion would give: its format and size, the
time of its first and last event in nanoseconds of the trace clock, the rows of
each table, and what cannot be imported. TRACE may be "-", the standard input.
For an archive of traces, and for several traces with --merge, show which clock
the timeline uses, how the times of each trace are converted to it, and how many
events do not fit on it.

For a dataset, show its traces, the rows of each table and what was not imported.`,
		Example: `  tpconvert inspect trace.json.gz
  tpconvert inspect out/
  tpconvert inspect --merge system.pftrace app.json
  tpconvert inspect --json trace.json | jq '.tables[] | select(.name == "slice")'`,
		Args: console.Arguments(func(cmd *cobra.Command, args []string) error {
			if merge.merge {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			printer := ui.Printer(cmd)
			merged, err := merge.library()
			if err != nil {
				return err
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() && merged == nil && !api.IsTraceFolder(args[0]) {
				c, err := inspectDataset(args[0])
				if err == nil {
					printer.Result(c)
				}
				return err
			}
			o := api.Options{Memory: int64(memory), CropTrackEvents: read.Crop, AnalyzeProtoContent: read.Analyze, Symbols: read.Symbols,
				Version: console.Version(), Stdin: cmd.InOrStdin(), Log: console.Logger(printer)}
			inputs.LimitMemory(cmd.Context(), o)
			var seen *api.Facts
			if merged != nil {
				bundle, err := api.NewBundle(args, *merged, o)
				if err != nil {
					return err
				}
				defer bundle.Close()
				seen, err = inspectBundle(cmd.Context(), bundle, o)
				if err != nil {
					return err
				}
			} else if seen, err = inspectTrace(cmd.Context(), args[0], o); err != nil {
				return err
			}
			var tables []api.TableSize
			for _, t := range seen.Tables {
				tables = append(tables, api.TableSize{Name: t.Name, Rows: t.Rows})
			}
			printer.Result(inspection{
				Format: seen.Input.Formats(), Input: seen.Input, Start: seen.Start, End: seen.End,
				Tables: tables, Losses: seen.Losses(), Stats: seen.Stats, Alignment: seen.Alignment,
			})
			return nil
		},
	}
	read.Register(cmd.Flags())
	merge.register(cmd.Flags())
	cmd.Flags().Var(&memory, "memory", "memory for sorting; above it events go to a temporary file")
	return cmd
}

// inspectTrace reads the trace in a file, or in the standard input, without writing anything.
func inspectTrace(ctx context.Context, path string, o api.Options) (*api.Facts, error) {
	o.Log = o.Log.With("trace", path)
	return inputs.Interruptible(ctx, func() (*api.Facts, error) { return api.ReadFile(ctx, path, nil, o) })
}

// inspectBundle reads merged traces without writing anything.
func inspectBundle(ctx context.Context, b *api.Bundle, o api.Options) (*api.Facts, error) {
	o.Log = o.Log.With("trace", "(merged traces)")
	return inputs.Interruptible(ctx, func() (*api.Facts, error) {
		return api.Read(ctx, api.MergedName, b.Reader(), nil, o)
	})
}

// inspection describes the contents of a trace. Times are ns of the trace clock.
type inspection struct {
	Format string          `json:"format"`
	Input  api.Input       `json:"input"`
	Start  *int64          `json:"start_ts,omitempty"`
	End    *int64          `json:"end_ts,omitempty"`
	Tables []api.TableSize `json:"tables"`
	api.Losses
	Stats []api.Stat `json:"stats"`
	// Alignment describes how the files in the trace share the timeline.
	Alignment api.Alignment `json:"alignment"`
}

func (i inspection) Text(w io.Writer) {
	if text := i.Alarm(); text != "" {
		fmt.Fprintln(w, text)
	}
	fmt.Fprintf(w, "format   %s\n", i.Format)
	fmt.Fprintf(w, "size     %s (%s bytes)\n", human.Bytes(i.Input.Bytes), human.Count(i.Input.Bytes))
	fmt.Fprintf(w, "sha-256  %s\n", i.Input.SHA256)
	if i.Start != nil {
		fmt.Fprintf(w, "time     %d to %d ns, %.6f s\n", *i.Start, *i.End, float64(*i.End-*i.Start)/1e9)
	}
	fmt.Fprintln(w)
	console.PrintTables(w, i.Tables, math.MaxInt)
	console.PrintLosses(w, i.Losses)
	if i.Alignment.Merged() {
		printAlignment(w, i.Alignment)
	}
}
