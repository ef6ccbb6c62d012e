// Package reading reads a trace into a sink of tables.
package reading

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sort"
)

// Options are the options of reading a trace.
type Options struct {
	Memory    int64  // for events, in bytes; more events spill
	ChunkRows int    // rows in a chunk; 0 means table.DefaultChunkRows
	Version   string // of the converter
	Crop      bool   // leave out track events before the range of interest that the trace names
	Analyze   bool   // add up the sizes of the fields in Perfetto traces
	Progress  *Progress
	// Detected is called with the format of each file in the input as soon as it is known, unless it is nil.
	Detected func(file, format string)
	// Read is called with the store once the whole input is in it, unless it is nil.
	Read func(*model.Store)
}

// Progress counts what was done for a trace. It is safe for concurrent use.
type Progress struct {
	Taken  atomic.Int64 // bytes read
	Sorted sort.Progress
	Rows   atomic.Int64 // rows made
}

// Trace reads the trace in file, whose rows go to sink, or nowhere if that is nil. name is the file's name
// in the tables and in errors. Errors about the trace itself are a format.Error.
func Trace(ctx context.Context, name string, file io.Reader, sink table.Sink, o Options) (*Facts, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := newReadAhead(ctx, file, &o.Progress.Taken)
	seen := &observer{ctx: ctx, to: sink, rows: &o.Progress.Rows}
	store := model.NewStore(model.Options{Sink: seen, ChunkRows: o.ChunkRows, Memory: o.Memory / 2})
	defer store.Close()
	err := ingest.Read(store, name, input, ingest.Options{
		Memory:   o.Memory,
		Version:  o.Version,
		Sorted:   &o.Progress.Sorted,
		Context:  ctx,
		Crop:     o.Crop,
		Analyze:  o.Analyze,
		At:       atAnyPlace(file),
		Detected: o.Detected,
	})
	if err != nil {
		return nil, err
	}
	if o.Read != nil {
		o.Read(store)
	}
	if err := store.Finish(); err != nil {
		return nil, err
	}
	facts := seen.facts()
	facts.Input.Bytes, facts.Input.SHA256, err = input.sum()
	return facts, err
}

// atAnyPlace returns the file if it supports random access, or nil.
func atAnyPlace(file io.Reader) io.ReaderAt {
	if f, ok := file.(*os.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil
		}
	}
	at, _ := file.(io.ReaderAt)
	return at
}
