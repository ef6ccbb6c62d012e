package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/internal/reading"
	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// standardInput is the TRACE that stands for the standard input.
const standardInput = "-"

// readOptions are the flags for reading traces.
type readOptions struct {
	crop    bool
	analyze bool
}

func (o *readOptions) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.crop, "crop-track-events", false, "leave out track events before the trace's range of interest")
	flags.BoolVar(&o.analyze, "analyze-trace-proto-content", false, "add up the sizes of fields in Perfetto traces: experimental_proto_content")
}

// traceReader reads traces, possibly several at a time.
type traceReader struct {
	ui        printer
	stdin     io.Reader
	merged    *mergedFiles // the archive of mergedTraces, or nil
	memory    int64        // for events of one trace, in bytes; more events spill
	chunkRows int
	readOptions

	guard memoryGuard

	mu       sync.Mutex
	readings []*reading.Progress // except postponed ones
}

// observation is what is known about a trace once it is read.
type observation struct {
	*reading.Facts
	alignment alignment
}

// progress adds up the progress of all traces.
func (r *traceReader) progress() progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	var p progress
	for _, of := range r.readings {
		p.read += of.Taken.Load()
		p.rows += of.Rows.Load()
		p.staged += of.Sorted.Staged.Load()
		p.delivered += of.Sorted.Delivered.Load()
	}
	return p
}

// begin adds a reading to the progress, and forget removes it.
func (r *traceReader) begin() *reading.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readings = append(r.readings, new(reading.Progress))
	return r.readings[len(r.readings)-1]
}

func (r *traceReader) forget(of *reading.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readings = slices.DeleteFunc(r.readings, func(other *reading.Progress) bool { return other == of })
}

// read reads the trace at path. Its rows go to sink; if that is nil, they are dropped.
func (r *traceReader) read(ctx context.Context, path string, sink table.Sink) (*observation, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	_, again := sourceOf(path)
	defer r.guard.add(again, end)()
	now := r.begin()
	seen, err := r.readFile(ctx, path, sink, now)
	var much memoryError
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.As(cause, &much):
		err = fmt.Errorf("%s: %w", path, much)
	case cause == errPutOff:
		r.forget(now)
		err = errPutOff
	}
	return seen, err
}

func (r *traceReader) readFile(ctx context.Context, path string, sink table.Sink, now *reading.Progress) (*observation, error) {
	file, err := r.open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	name, seen := traceName(path), &observation{}
	seen.Facts, err = reading.Trace(ctx, name, file, sink, reading.Options{
		Memory:    r.memory,
		ChunkRows: r.chunkRows,
		Version:   version(),
		Crop:      r.crop,
		Analyze:   r.analyze,
		Progress:  now,
		Detected: func(file, format string) {
			r.ui.Message(slog.LevelInfo, path, fmt.Sprintf("%s is %s", file, format))
		},
		Read: func(store *model.Store) { seen.alignment = alignmentOf(store) },
	})
	if err != nil {
		return nil, atPath(err, path, name)
	}
	if source, ok := sourceOf(path); ok {
		seen.Input.Path, seen.Input.Modified = source.Path, source.Modified
	}
	return seen, nil
}

// open opens the file of a trace.
func (r *traceReader) open(path string) (io.ReadCloser, error) {
	switch path {
	case standardInput:
		return io.NopCloser(r.stdin), nil
	case mergedTraces:
		return r.merged.open(), nil
	}
	return os.Open(path)
}

// traceName returns a trace's name without its folder.
func traceName(path string) string {
	switch path {
	case standardInput:
		return "stdin"
	case mergedTraces:
		return mergedName
	}
	return filepath.Base(path)
}

// atPath replaces the name of a trace in an error by its path.
func atPath(err error, path, name string) error {
	var bad *format.Error
	switch {
	case path == standardInput || path == mergedTraces || !errors.As(err, &bad):
	case bad.File == name:
		bad.File = path
	default:
		bad.File = path + ": " + bad.File
	}
	return err
}

// expandFolders replaces folders among paths by the files in them and their
// subfolders. It skips hidden files and folders, links to folders, datasets, and
// whatever is not a regular file, and calls leftOut with the reason.
func expandFolders(paths []string, leftOut func(path, reason string)) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); path == standardInput || err != nil || !info.IsDir() {
			all = append(all, path) // reading the trace reports any error
			continue
		}
		if isDataset(path) {
			return nil, usageError{fmt.Errorf("%s is a dataset, not a folder of traces", path)}
		}
		err := filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			reason := ""
			if name != path {
				reason = reasonToLeaveOut(name, e)
			}
			switch {
			case reason == "" && !e.IsDir():
				all = append(all, name)
			case reason != "":
				leftOut(name, reason)
				if e.IsDir() {
					return filepath.SkipDir
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// leftOut warns the user about a path that expandFolders skips.
func leftOut(ui printer) func(path, reason string) {
	return func(path, reason string) { ui.Message(slog.LevelWarn, path, "left out: "+reason) }
}

// isNotes reports whether a file is a text such as a readme. Reading a trace reports any error.
func isNotes(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, format.HeadBytes))
	return err == nil && ingest.IsNotes(head)
}

// reasonToLeaveOut returns why an entry of a folder is not a trace, or "" if it may be one.
func reasonToLeaveOut(path string, e fs.DirEntry) string {
	if strings.HasPrefix(e.Name(), ".") {
		return "hidden"
	}
	if e.IsDir() {
		if isDataset(path) {
			return "a dataset"
		}
		return ""
	}
	info, err := os.Stat(path) // follows links
	switch {
	case err != nil:
		return err.Error()
	case info.IsDir():
		return "a link to a folder"
	case !info.Mode().IsRegular():
		return "not a file"
	case isNotes(path):
		return "a text, not a trace"
	}
	return ""
}

// totalSize adds up the sizes of files, in bytes. It is 0 if one has no size.
func totalSize(jobs []*job) int64 {
	var total int64
	for _, j := range jobs {
		info, err := os.Stat(j.path)
		if err != nil || info.Mode()&fs.ModeType != 0 {
			return 0
		}
		total += info.Size()
	}
	return total
}
