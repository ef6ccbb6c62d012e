package tpconvert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/convert"
)

// perfettoTrace is the name of the format of Perfetto's traces.
const perfettoTrace = "proto"

// CutTrace writes the part Options.Range of the Perfetto trace in a file, which may be compressed, to w, as a Perfetto trace whose
// rows in the range are those of the whole. It reads the trace twice, and keeps its slices and states in a temporary folder
// meanwhile. Of the options, those under "reading" apply. The result is about the whole trace; the error may be ErrIncomplete beside it.
func CutTrace(ctx context.Context, trace string, w io.Writer, o Options) (*Result, error) {
	if _, repeatable := SourceOf(trace); !repeatable {
		return nil, convert.OptionError("%s: a trace to cut is read twice, so it must be a file", trace)
	}
	scratch, remove, err := staging.Temporary("tpconvert-cut-")
	if err != nil {
		return nil, err
	}
	defer remove()
	all := o
	all.Range, all.Tables, all.Temporary, all.Compression, all.Jobs = Range{}, export.MomentTables, true, "snappy", 1
	folder := filepath.Join(scratch, "whole")
	result, err := Convert(ctx, []string{trace}, folder, all)
	if err != nil && !errors.Is(err, ErrIncomplete) {
		return nil, err
	}
	incomplete := err
	manifests, _, err := export.ReadManifests(folder)
	if err != nil {
		return nil, err
	}
	if formats := strings.Split(result.Traces[0].Format, "/"); formats[len(formats)-1] != perfettoTrace || len(manifests[0].Input.Members) > 1 {
		return nil, convert.OptionError("%s is %s: only Perfetto's own traces are cut as traces; convert it with --from and --to for a dataset of the part", trace, result.Traces[0].Format)
	}
	moments, err := export.MomentsOf(folder, manifests[0], o.Range)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", trace, err)
	}
	b := bufio.NewWriterSize(w, 1<<20)
	reading := o.reading()
	reading.Ingest.Cut = &format.Cut{Stays: moments.Has, To: b}
	if _, err := o.readFile(ctx, trace, nil, reading); err != nil {
		return nil, err
	}
	if err := b.Flush(); err != nil {
		return nil, err
	}
	return result, incomplete
}
