package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
)

// progressInterval is the time between two reports of progress.
const progressInterval = 200 * time.Millisecond

// errDataLost fails a run in which data was lost, if --strict asks for that.
var errDataLost = errors.New("data was lost")

// failedError says that of several traces some could not be converted.
type failedError struct {
	errs []error
	of   int
}

func (e *failedError) Error() string {
	return fmt.Sprintf("%d of %d traces could not be converted", len(e.errs), e.of)
}

// badInput reports whether the input is at fault every time.
func (e *failedError) badInput() bool {
	return !slices.ContainsFunc(e.errs, func(err error) bool { return !format.BadInput(err) })
}

// run converts traces once.
type run struct {
	ui      printer
	options convertOptions
	out     string
	reader  traceReader
	create  func() (*export.Writer, error)

	mu         sync.Mutex
	done       int                         // traces
	writers    map[*export.Writer]struct{} // at work
	committing sync.WaitGroup
}

// convert converts the traces, and those in folders among them, to the dataset.
func (r *run) convert(ctx context.Context, traces []string) error {
	begun := time.Now()
	paths, err := expandFolders(traces, func(path, reason string) {
		r.ui.Message(slog.LevelWarn, path, "left out: "+reason)
	})
	if err != nil {
		return err
	}
	many := len(traces) > 1 || !slices.Equal(paths, traces)
	if err := r.options.check(len(paths), many); err != nil {
		return usageError{err}
	}
	closeTarget, err := r.openTarget(many)
	if err != nil {
		return err
	}
	defer closeTarget()
	limitMemory(int64(r.options.memory))
	workers := min(r.options.jobs, len(paths))
	r.reader.ui = r.ui
	r.reader.chunkRows = r.options.rowGroupRows
	r.reader.readOptions = r.options.read
	r.reader.memory = int64(r.options.memory) / int64(workers)

	var conversions []conversion
	var errs []error
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		conversions, errs = r.all(ctx, paths, workers, many)
	}()
	if !r.watch(ctx, finished, begun, paths) {
		r.abort()
		return ctx.Err()
	}
	switch {
	case len(errs) > 0 && ctx.Err() != nil:
		return ctx.Err()
	case len(errs) > 0 && !many:
		return errs[0]
	}
	r.ui.Summary(summary{r.out, conversions, time.Since(begun).Seconds(), peakMemory()})
	if len(errs) > 0 {
		return &failedError{errs, len(paths)}
	}
	return r.strict(conversions)
}

// openTarget prepares the target and returns what ends the work on it.
func (r *run) openTarget(many bool) (func(), error) {
	r.writers = map[*export.Writer]struct{}{}
	o, err := r.options.export()
	if err != nil {
		return nil, err
	}
	if !many {
		r.create = func() (*export.Writer, error) { return export.Create(r.out, o) }
		return func() {}, nil
	}
	dataset, err := export.OpenDataset(r.out, o)
	if err != nil {
		return nil, err
	}
	r.create = dataset.Create
	return dataset.Close, nil
}

// strict returns an error if data was lost and that matters.
func (r *run) strict(conversions []conversion) error {
	var lost []lostCount
	for _, c := range conversions {
		for _, l := range c.Lost {
			lost = addLost(lost, l)
		}
	}
	if !r.options.strict || lost == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errDataLost, describeLost(lost))
}

// watch reports progress. It returns true once the run is finished, and false
// if it is interrupted before that.
func (r *run) watch(ctx context.Context, finished <-chan struct{}, begun time.Time, paths []string) bool {
	total := totalSize(paths)
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-finished:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
			r.mu.Lock()
			done := r.done
			r.mu.Unlock()
			r.ui.Progress(progress{
				read: r.reader.taken.Load(), total: total, rows: r.reader.rows.Load(),
				staged: r.reader.sorted.Staged.Load(), delivered: r.reader.sorted.Delivered.Load(),
				done: done, of: len(paths), elapsed: time.Since(begun),
			})
		}
	}
}

// all converts the traces, as many at a time as there are workers, and returns
// what became of each and the errors of those that failed.
func (r *run) all(ctx context.Context, paths []string, workers int, many bool) ([]conversion, []error) {
	conversions, errs := make([]conversion, len(paths)), make([]error, len(paths))
	slots := make(chan struct{}, workers)
	var running sync.WaitGroup
	for i, path := range paths {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			begun := time.Now()
			c := &conversions[i]
			c.Trace = path
			if err := r.one(ctx, c); err != nil {
				errs[i], c.Error = err, err.Error()
				if many && ctx.Err() == nil {
					r.ui.Message(slog.LevelError, "", err.Error())
				}
			}
			c.Seconds = time.Since(begun).Seconds()
			r.mu.Lock()
			r.done++
			r.mu.Unlock()
		})
	}
	running.Wait()
	return conversions, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// one converts a trace.
func (r *run) one(ctx context.Context, c *conversion) error {
	begun := time.Now()
	w, err := r.begin(ctx)
	if err != nil {
		return err
	}
	seen, err := r.reader.read(ctx, c.Trace, w)
	if !r.end(w) {
		return ctx.Err()
	}
	defer r.committing.Done()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	c.Lost = seen.lost()
	m := export.Manifest{
		TraceID:         cmp.Or(r.options.traceID, "t_"+seen.input.SHA256[:16]),
		Input:           seen.input,
		Stats:           seen.stats,
		WallSeconds:     time.Since(begun).Seconds(),
		PeakMemoryBytes: peakMemory(),
	}
	if len(c.Lost) > 0 {
		m.Warnings = append(m.Warnings, "not imported: "+describeLost(c.Lost))
	}
	if err := w.Commit(&m); err != nil {
		return err
	}
	c.TraceID, c.Format, c.Bytes = m.TraceID, seen.format(), m.Input.Bytes
	for _, t := range m.Tables {
		c.Tables = append(c.Tables, tableSize{t.Name, t.Rows, t.Bytes})
	}
	return nil
}

// begin opens a writer that abort drops, until end.
func (r *run) begin(ctx context.Context) (*export.Writer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := r.create()
	if err == nil {
		r.writers[w] = struct{}{}
	}
	return w, err
}

// end hands the writer back for its last step, unless abort dropped it.
func (r *run) end(w *export.Writer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ours := r.writers[w]
	if ours {
		delete(r.writers, w)
		r.committing.Add(1)
	}
	return ours
}

// abort drops what is not complete, without waiting for the parsers. Writers at
// their last step come to its end.
func (r *run) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.writers {
		w.Abort()
	}
	clear(r.writers)
	r.committing.Wait()
}
