package tpconvert

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/internal/tracefile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sort"
)

// Read reads a trace from r. Its rows go to sink in chunks, which sink must release; if it is nil, rows are only counted. name
// is the trace's name in its tables and in errors.
//
// Of the options, those under "reading" apply. The error is an *InputError if the trace is at fault, an error of sink, or that
// of ctx. Random access to r, a regular file or an io.ReaderAt with a method Size, saves temporary files for archives and heap dumps.
func Read(ctx context.Context, name string, r io.Reader, sink table.Sink, o Options) (*Facts, error) {
	return read(ctx, name, r, sink, o, new(counters))
}

// ReadFile reads the trace in a file, or StandardInput, as Read does. Errors name its path, the tables its name.
func ReadFile(ctx context.Context, path string, sink table.Sink, o Options) (*Facts, error) {
	now := new(counters)
	if o.Progress != nil {
		defer o.tell(now, path)()
	}
	return readFile(ctx, path, sink, o, now)
}

// tell tells Progress of a trace until the returned function has been called.
func (o *Options) tell(now *counters, path string) (stop func()) {
	begun, done := time.Now(), make(chan struct{})
	source, _ := SourceOf(path)
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p := Progress{Total: source.Bytes, Of: 1, Elapsed: time.Since(begun)}
				p.add(now)
				o.Progress(p)
			}
		}
	})
	return func() {
		close(done)
		telling.Wait()
	}
}

// counters count what was done for a trace. They are safe for concurrent use.
type counters struct {
	taken  atomic.Int64 // bytes read
	sorted sort.Progress
	rows   atomic.Int64 // rows made
}

// add adds what was done for a trace.
func (p *Progress) add(c *counters) {
	p.Read += c.taken.Load()
	p.Rows += c.rows.Load()
	p.Staged += c.sorted.Staged.Load()
	p.Delivered += c.sorted.Delivered.Load()
}

func readFile(ctx context.Context, path string, sink table.Sink, o Options, now *counters) (*Facts, error) {
	if path == StandardInput {
		return read(ctx, tracefile.StdinName, o.Stdin, sink, o, now)
	}
	file, err := tracefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name := filepath.Base(tracefile.Absolute(path))
	facts, err := read(ctx, name, file, sink, o.beside(path), now)
	var bad *InputError
	switch {
	case err == nil:
		if s, ok := SourceOf(path); ok {
			facts.Input.Path, facts.Input.Modified = o.Redact.Path(s.Path), s.Modified
		}
	case !errors.As(err, &bad):
	case bad.File == name:
		bad.File = path
	default:
		bad.File = path + ": " + bad.File
	}
	return facts, err
}

func read(ctx context.Context, name string, r io.Reader, sink table.Sink, o Options, now *counters) (*Facts, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, folder := range o.Symbols {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, optionError("--symbols: %s is not a folder", folder)
		}
	}
	memory := cmp.Or(o.Memory, DefaultMemory)
	input := tracefile.ReadAhead(ctx, r, &now.taken)
	seen := &observer{ctx: ctx, to: sink, rows: &now.rows}
	store := model.NewStore(model.Options{Sink: o.Redact.Sink(seen), Terse: o.Redact != nil, ChunkRows: o.RowGroupRows, Memory: memory / 2})
	defer store.Close()
	err := ingest.Read(store, name, input, ingest.Options{
		Memory:   memory,
		Version:  o.version(),
		Sorted:   &now.sorted,
		Context:  ctx,
		Crop:     o.CropTrackEvents,
		Analyze:  o.AnalyzeProtoContent,
		Cut:      o.cut,
		Binaries: o.Symbols, BinaryCache: perfCache(),
		At: tracefile.Section(r),
		Detected: func(file, format string) {
			o.log().Info(file + " is " + format)
		},
	})
	if err != nil {
		return nil, err
	}
	seen.Alignment = alignmentOf(store)
	if err := store.Finish(); err != nil {
		return nil, err
	}
	facts := seen.facts()
	facts.Input.Bytes, facts.Input.SHA256, err = input.Sum()
	return facts, err
}

// beside returns the options for a trace at a path, whose folder may have its binaries.
func (o Options) beside(path string) Options {
	if path != StandardInput && path != tracefile.Merged {
		o.Symbols = append(slices.Clip(o.Symbols), filepath.Dir(tracefile.Absolute(path)))
	}
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
