package inputs

import (
	"context"

	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/model/table"
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
	show(&o, ui)
	return api.Convert(ctx, traces, out, o)
}

// show shows what happens.
func show(o *api.Options, ui console.Printer) {
	o.Log = console.Logger(ui)
	o.Progress = func(p api.Progress) { ui.Progress(console.Progress(p)) }
}

// mostKept is how many bytes the rows of a trace take in memory. More go to a temporary file.
const mostKept = 1 << 30

func newKept() *table.Kept {
	most := int64(mostKept)
	if all := memory.OfCgroup(); all > 0 {
		most = min(most, all/4)
	}
	return table.Keep(most)
}

// Interruptible runs f and returns its result. If ctx is done first, it returns the error of ctx without waiting for f.
func Interruptible(ctx context.Context, f func() (*api.Facts, error)) (*api.Facts, error) {
	var facts *api.Facts
	done := make(chan error, 1)
	go func() {
		var err error
		facts, err = f()
		done <- err
	}()
	select {
	case err := <-done:
		return facts, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// LimitMemory limits the memory of the process until ctx is done.
func LimitMemory(ctx context.Context, o api.Options) {
	memory.Limit(ctx, memory.Limits{Sorting: o.Memory, Most: o.MaxMemory, Small: memory.SmallHeap})
}
