package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/internal/reading"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

func newInspectCommand(ui *uiOptions) *cobra.Command {
	memory := byteSize(defaultMemory)
	var read readOptions
	var merge mergeOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] TRACE...|DATASET",
		Short: "Show what is in a trace or a dataset, without writing anything",
		Long: `Read a trace and show what a conversion would give: its format and size, the
time of its first and last event in nanoseconds of the trace clock, the rows of
each table, and what cannot be imported. TRACE may be "-", the standard input.
For an archive of traces, and for several traces with --merge, show which clock
the timeline has, how the times of each trace are converted to it, and how many
events have no place on it.

For a dataset, show its traces, the rows of each table and what was not imported.`,
		Example: `  tpconvert inspect trace.json.gz
  tpconvert inspect out/
  tpconvert inspect --merge system.pftrace app.json
  tpconvert inspect --json trace.json | jq '.tables[] | select(.name == "slice")'`,
		Args: arguments(func(cmd *cobra.Command, args []string) error {
			if merge.merge {
				return cobra.MinimumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			printer := ui.printer(cmd)
			if err := merge.check(); err != nil {
				return err
			}
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() && !merge.merge {
				c, err := inspectDataset(args[0])
				if err == nil {
					printer.Result(c)
				}
				return err
			}
			reading.LimitMemory(cmd.Context(), reading.Limits{Sorting: int64(memory), Small: reading.SmallHeap})
			reader := traceReader{ui: printer, stdin: cmd.InOrStdin(), memory: int64(memory), readOptions: read}
			path := args[0]
			if merge.merge {
				if err := reader.merge(&merge, args); err != nil {
					return err
				}
				defer reader.merged.Close()
				path = mergedTraces
			}
			seen, err := reader.inspect(cmd.Context(), path)
			if err != nil {
				return err
			}
			var tables []tableSize
			for _, t := range seen.Tables {
				tables = append(tables, tableSize{Name: t.Name, Rows: t.Rows})
			}
			printer.Result(inspection{
				Format: seen.Input.Formats(), Input: seen.Input, Start: seen.Start, End: seen.End,
				Tables: tables, losses: lossesOf(seen.Events, seen.Stats), Stats: seen.Stats, Alignment: seen.alignment,
			})
			return nil
		},
	}
	read.register(cmd.Flags())
	merge.register(cmd.Flags())
	cmd.Flags().Var(&memory, "memory", "memory for sorting; above it events go to a temporary file")
	return cmd
}

// inspect reads a trace without writing anything.
func (r *traceReader) inspect(ctx context.Context, path string) (seen *observation, err error) {
	err = interruptible(ctx, func() (err error) {
		seen, err = r.read(ctx, path, nil)
		return err
	})
	return seen, err
}

// interruptible runs f and returns its error. If ctx is done first, it returns
// the error of ctx without waiting for f.
func interruptible(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inspection describes the contents of a trace. Times are ns of the trace clock.
type inspection struct {
	Format string       `json:"format"`
	Input  export.Input `json:"input"`
	Start  *int64       `json:"start_ts,omitempty"`
	End    *int64       `json:"end_ts,omitempty"`
	Tables []tableSize  `json:"tables"`
	losses
	Stats []export.Stat `json:"stats"`
	// Alignment describes how the files in the trace share the timeline.
	Alignment alignment `json:"alignment"`
}

func (i inspection) text(w io.Writer) {
	if text := i.losses.alarm(); text != "" {
		fmt.Fprintln(w, text)
	}
	fmt.Fprintf(w, "format   %s\n", i.Format)
	fmt.Fprintf(w, "size     %s (%s bytes)\n", formatBytes(i.Input.Bytes), count.String(i.Input.Bytes))
	fmt.Fprintf(w, "sha-256  %s\n", i.Input.SHA256)
	if i.Start != nil {
		fmt.Fprintf(w, "time     %d to %d ns, %.6f s\n", *i.Start, *i.End, float64(*i.End-*i.Start)/1e9)
	}
	fmt.Fprintln(w)
	printTables(w, i.Tables, math.MaxInt)
	i.losses.text(w)
	if i.Alignment.merged() {
		i.Alignment.text(w)
	}
}
