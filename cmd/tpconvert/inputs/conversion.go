package inputs

import (
	"context"

	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/internal/memory"
)

// Reading are the flags for reading traces.
type Reading struct {
	Crop    bool
	Analyze bool
	Symbols []string
}

// Register adds the flags.
func (o *Reading) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Crop, "crop-track-events", false, "leave out track events before the trace's range of interest")
	flags.StringArrayVar(&o.Symbols, "symbols", nil, "folder with binaries that perf.data refers to, to unwind stacks and name functions; / for those of this machine")
	flags.BoolVar(&o.Analyze, "analyze-trace-proto-content", false, "add up the sizes of fields in Perfetto traces: experimental_proto_content")
}

// Convert converts traces with limited memory, and shows the progress.
func Convert(ctx context.Context, ui console.Printer, traces []string, out string, o api.Options) (*api.Result, error) {
	limited, stop := context.WithCancel(ctx)
	defer stop()
	LimitMemory(limited, o)
	o.Log = console.Logger(ui)
	o.Progress = func(p api.Progress) { ui.Progress(console.Progress(p)) }
	return api.Convert(ctx, traces, out, o)
}

// LimitMemory limits the memory of the process until ctx is done.
func LimitMemory(ctx context.Context, o api.Options) {
	memory.Limit(ctx, memory.Limits{Sorting: o.Memory, Most: o.MaxMemory, Small: memory.SmallHeap})
}
