package main

import (
	"context"

	"github.com/spf13/pflag"
	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/internal/memory"
)

// readOptions are the flags for reading traces.
type readOptions struct {
	crop    bool
	analyze bool
}

func (o *readOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.crop, "crop-track-events", false, "leave out track events before the trace's range of interest")
	flags.BoolVar(&o.analyze, "analyze-trace-proto-content", false, "add up the sizes of fields in Perfetto traces: experimental_proto_content")
}

// convert converts traces with limited memory, and shows the progress.
func convert(ctx context.Context, ui console.Printer, traces []string, out string, o api.Options) (*api.Result, error) {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	limitMemory(limited, o)
	o.Log = console.Logger(ui)
	o.Progress = func(p api.Progress) { ui.Progress(console.Progress(p)) }
	return api.Convert(ctx, traces, out, o)
}

// limitMemory limits the memory of the process until ctx is done.
func limitMemory(ctx context.Context, o api.Options) {
	memory.Limit(ctx, memory.Limits{Sorting: o.Memory, Most: o.MaxMemory, Small: memory.SmallHeap})
}
