package tpconvert

import (
	"context"
	"io"
	"time"

	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// Read reads a trace from r. Its rows go to sink in chunks, which sink must release; if it is nil, rows are only counted. name
// is the trace's name in its tables and in errors.
//
// Of the options, those under "reading" apply. The error is an *InputError if the trace is at fault, an error of sink, or that
// of ctx. Random access to r, a regular file or an io.ReaderAt with a method Size, saves temporary files for archives and heap dumps.
func Read(ctx context.Context, name string, r io.Reader, sink table.Sink, o Options) (*Facts, error) {
	return facts(o.reading(), func(reading convert.Reading) (*Manifest, error) {
		return convert.Read(ctx, name, r, sink, reading, new(convert.Counters))
	})
}

// ReadFile reads the trace in a file, or StandardInput, as Read does. Errors name its path, the tables its name.
func ReadFile(ctx context.Context, path string, sink table.Sink, o Options) (*Facts, error) {
	return o.readFile(ctx, path, sink, o.reading())
}

func (o *Options) readFile(ctx context.Context, path string, sink table.Sink, reading convert.Reading) (*Facts, error) {
	now := new(convert.Counters)
	if o.Progress != nil {
		begun := time.Now()
		source, _ := SourceOf(path)
		defer o.tell(func() Progress {
			p := Progress{Total: source.Bytes, Of: 1, Elapsed: time.Since(begun)}
			p.add(now)
			return p
		})()
	}
	return facts(reading, func(reading convert.Reading) (*Manifest, error) {
		return convert.ReadFile(ctx, path, sink, reading, now)
	})
}

// facts returns the facts about the trace that the function reads.
func facts(reading convert.Reading, read func(convert.Reading) (*Manifest, error)) (*Facts, error) {
	var shared Alignment
	reading.Aligned = func(s *model.Store) { shared = alignmentOf(s) }
	m, err := read(reading)
	if err != nil {
		return nil, err
	}
	return factsOf(m, shared), nil
}
