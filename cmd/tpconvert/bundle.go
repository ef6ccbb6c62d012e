package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
)

// errMisaligned fails a bundle with --strict if events have no place on the timeline.
var errMisaligned = errors.New("events have no place on the timeline; record clock snapshots, or relate the clocks in a manifest")

func newBundleCommand(ui *console.UI) *cobra.Command {
	memory := console.ByteSize(api.DefaultMemory)
	var m mergeOptions
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
report how the traces share the timeline and how many events do not fit on it.
FILE is written completely or not at all.`,
		Example: `  tpconvert bundle -o merged.tar --manifest manifest.json phone.pftrace watch.pftrace
  tpconvert bundle -o merged.tar --machine phone=a.pftrace --machine watch=b.pftrace a.pftrace b.pftrace`,
		Args: console.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return console.Usage(errors.New("-o FILE is missing, the archive to write"))
			}
			m.merge = true
			merged, err := m.library()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(output); err == nil && !force {
				return fmt.Errorf("%s: %w", output, api.ErrExists)
			}
			printer := ui.Printer(cmd)
			o := api.Options{Memory: int64(memory), Version: console.Version(), Stdin: cmd.InOrStdin(), Log: console.Logger(printer)}
			inputs.LimitMemory(cmd.Context(), o)
			archive, err := api.NewBundle(args, *merged, o)
			if err != nil {
				return err
			}
			defer archive.Close()
			b := bundle{File: output, Traces: archive.Len(), Bytes: archive.Reader().Size()}
			if !noValidate {
				seen, err := inspectBundle(cmd.Context(), archive, o)
				if err != nil {
					return err
				}
				b.Alignment, b.Dropped = &seen.Alignment, seen.Alignment.DroppedEvents()
				if strict && b.Dropped > 0 {
					return fmt.Errorf("%s %w", human.Count(b.Dropped), errMisaligned)
				}
			}
			err = writeWhole(output, force, func(w io.Writer) error {
				_, err := io.Copy(w, contextReader{cmd.Context(), archive.Reader()})
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
	m.registerManifest(flags)
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
	File      string         `json:"file"`
	Traces    int            `json:"traces"`
	Bytes     int64          `json:"bytes"`
	Dropped   int64          `json:"dropped_events"`
	Alignment *api.Alignment `json:"alignment,omitempty"` // nil with --no-validate
}

func (b bundle) Text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s traces, %s\n", terminal.Printable(b.File), human.Count(b.Traces), human.Bytes(b.Bytes))
	if b.Alignment == nil {
		return
	}
	printAlignment(w, *b.Alignment)
	if b.Dropped > 0 {
		fmt.Fprintf(w, "\n%s %v.\n", human.Count(b.Dropped), errMisaligned)
	}
}
