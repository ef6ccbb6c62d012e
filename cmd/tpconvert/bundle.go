package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/internal/reading"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

// errMisaligned fails a bundle with --strict if events have no place on the timeline.
var errMisaligned = errors.New("events have no place on the timeline; record clock snapshots, or relate the clocks in a manifest")

func newBundleCommand(ui *uiOptions) *cobra.Command {
	memory := byteSize(defaultMemory)
	var o mergeOptions
	var output string
	var force, strict, noValidate bool
	cmd := &cobra.Command{
		Use:   "bundle [flags] -o FILE TRACE...",
		Short: "Write traces into one archive that opens as one trace",
		Long: `Write traces, and the manifest that says how they relate, into a tar archive.
tpconvert converts it into one dataset, as it does the traces with --merge, and
Perfetto's Trace Processor and UI open it as one trace.

The members have the base names of the traces; the "path" entries of the
manifest refer to these names. The archive is then read as in a conversion, to
report how the traces share the timeline and how many events have no place on it.
FILE is written completely or not at all.`,
		Example: `  tpconvert bundle -o merged.tar --manifest manifest.json phone.pftrace watch.pftrace
  tpconvert bundle -o merged.tar --machine phone=a.pftrace --machine watch=b.pftrace a.pftrace b.pftrace`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return usageError{errors.New("-o FILE is missing, the archive to write")}
			}
			o.merge = true
			if err := o.check(); err != nil {
				return err
			}
			if _, err := os.Lstat(output); err == nil && !force {
				return fmt.Errorf("%s: %w", output, export.ErrExists)
			}
			printer := ui.printer(cmd)
			reading.LimitMemory(cmd.Context(), reading.Limits{Sorting: int64(memory), Small: reading.SmallHeap})
			reader := traceReader{ui: printer, stdin: cmd.InOrStdin(), memory: int64(memory)}
			if err := reader.merge(&o, args); err != nil {
				return err
			}
			defer reader.merged.Close()
			b := bundle{File: output, Traces: len(reader.merged.names), Bytes: reader.merged.Size()}
			if !noValidate {
				seen, err := reader.inspect(cmd.Context(), mergedTraces)
				if err != nil {
					return err
				}
				b.Alignment, b.Dropped = &seen.alignment, seen.alignment.dropped()
				if strict && b.Dropped > 0 {
					return fmt.Errorf("%s %w", count.String(b.Dropped), errMisaligned)
				}
			}
			err := writeWhole(output, force, func(w io.Writer) error {
				_, err := io.Copy(w, contextReader{cmd.Context(), reader.merged.open()})
				return err
			})
			if err != nil {
				return err
			}
			printer.Result(b)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", "archive to write")
	flags.BoolVarP(&force, "force", "f", false, "replace FILE if it exists")
	flags.BoolVar(&strict, "strict", false, "fail, and write nothing, if events have no place on the timeline")
	flags.BoolVar(&noValidate, "no-validate", false, "do not read the archive to check it")
	flags.Var(&memory, "memory", "memory for sorting; above it events go to a temporary file")
	o.registerManifest(flags)
	return cmd
}

// contextReader returns the error of a context once the context is done.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// bundle describes a written archive.
type bundle struct {
	File      string     `json:"file"`
	Traces    int        `json:"traces"`
	Bytes     int64      `json:"bytes"`
	Dropped   int64      `json:"dropped_events"`
	Alignment *alignment `json:"alignment,omitempty"` // nil with --no-validate
}

func (b bundle) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s traces, %s\n", printable(b.File), count.String(b.Traces), formatBytes(b.Bytes))
	if b.Alignment == nil {
		return
	}
	b.Alignment.text(w)
	if b.Dropped > 0 {
		fmt.Fprintf(w, "\n%s %v.\n", count.String(b.Dropped), errMisaligned)
	}
}
