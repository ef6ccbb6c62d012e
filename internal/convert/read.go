package convert

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/tracefile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sort"
)

// Counters count what was done for a trace. They are safe for concurrent use.
type Counters struct {
	Taken  atomic.Int64 // bytes read
	Sorted sort.Progress
	Rows   atomic.Int64 // rows made
}

// ReadFile reads the trace at a path as Read does. Errors name its path, the tables its name.
func ReadFile(ctx context.Context, path string, sink table.Sink, o Reading, now *Counters) (*export.Manifest, error) {
	if path == tracefile.StandardInput {
		return Read(ctx, tracefile.StdinName, o.Stdin, sink, o, now)
	}
	file, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name := filepath.Base(tracefile.Absolute(path))
	m, err := Read(ctx, name, file, sink, o.beside(path), now)
	var bad *format.Error
	switch {
	case err == nil:
		if s, ok := tracefile.SourceOf(path); ok {
			m.Input.Path, m.Input.Modified = o.Redact.Path(s.Path), s.Modified
		}
	case !errors.As(err, &bad):
	case bad.File == name:
		bad.File = path
	default:
		bad.File = path + ": " + bad.File
	}
	return m, err
}

// Read reads a trace from r, whose name in the tables is given. Its rows go to sink in chunks; if it is nil, they are only counted.
// The tables of the manifest are those with rows, in the order of their first chunks.
func Read(ctx context.Context, name string, r io.Reader, sink table.Sink, o Reading, now *Counters) (*export.Manifest, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, folder := range o.Ingest.Binaries {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, OptionError("--symbols: %s is not a folder", folder)
		}
	}
	input := tracefile.ReadAhead(ctx, r, &now.Taken)
	seen := &observer{ctx: ctx, to: sink, rows: &now.Rows}
	store := model.NewStore(model.Options{Sink: o.Redact.Sink(seen), Terse: o.Redact != nil, ChunkRows: o.ChunkRows, Memory: o.Ingest.Memory / 2})
	defer store.Close()
	read := o.Ingest
	read.Context, read.Sorted, read.BinaryCache, read.At = ctx, &now.Sorted, perfCache(), tracefile.Section(r)
	read.Detected = func(file, format string) {
		o.Log.Info(file + " is " + format)
	}
	if err := ingest.Read(store, name, input, read); err != nil {
		return nil, err
	}
	if o.Aligned != nil {
		o.Aligned(store)
	}
	if err := store.Finish(); err != nil {
		return nil, err
	}
	size, sum, err := input.Sum()
	if err != nil {
		return nil, err
	}
	m := seen.manifest()
	m.SchemaVersion, m.ConverterVersion, m.TraceID = table.SchemaVersion, o.Ingest.Version, export.TraceID(sum)
	m.Input.Bytes, m.Input.SHA256 = size, sum
	return m, nil
}

// beside returns the options for a trace at a path, whose folder may have its binaries.
func (o Reading) beside(path string) Reading {
	o.Ingest.Binaries = append(slices.Clip(o.Ingest.Binaries), filepath.Dir(tracefile.Absolute(path)))
	return o
}

// perfCache returns the folder where perf record keeps binaries by their build ids, or "".
func perfCache() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".debug")
}
