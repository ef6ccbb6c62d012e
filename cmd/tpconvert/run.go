package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/cmd/internal/reading"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/count"
	"github.com/tpconvert/tpconvert/model"
)

// progressInterval is the time between two progress reports.
const progressInterval = 200 * time.Millisecond

// errDataLost fails a run with --strict in which data was lost.
var errDataLost = errors.New("data was lost or damaged")

// errIncomplete fails a run whose input ends too early. The dataset is written.
var errIncomplete = errors.New("the dataset is written, but incomplete: the input ends too early")

// failedError reports that some traces could not be converted.
type failedError struct {
	errs []error
	of   int
}

func (e *failedError) Error() string {
	return fmt.Sprintf("%s of %s traces could not be converted", count.String(len(e.errs)), count.String(e.of))
}

// badInput reports whether the input caused every failure.
func (e *failedError) badInput() bool {
	return !slices.ContainsFunc(e.errs, func(err error) bool { return !format.BadInput(err) })
}

// interruptedError reports what was finished before an interruption.
type interruptedError struct {
	out           string
	many          bool
	committed, of int // traces
}

func (e *interruptedError) Error() string {
	if !e.many || e.committed == 0 {
		return "interrupted: nothing was written to " + e.out
	}
	return fmt.Sprintf("interrupted: %s of %s traces are in %s; the same command continues with the others",
		count.String(e.committed), count.String(e.of), e.out)
}

func (e *interruptedError) Unwrap() error { return context.Canceled }

// run is one conversion of traces.
type run struct {
	ui      printer
	options convertOptions
	out     string
	reader  traceReader
	dataset *export.Dataset // for many traces, or nil
	create  func() (*export.Writer, error)

	committed  atomic.Int64 // traces
	mu         sync.Mutex
	done       int                         // traces
	writers    map[*export.Writer]struct{} // of traces being converted
	committing sync.WaitGroup
}

// convert converts the traces, including those in folders, to the dataset.
func (r *run) convert(ctx context.Context, traces []string) error {
	begun := time.Now()
	paths, err := expandFolders(traces, leftOut(r.ui))
	if err != nil {
		return err
	}
	many := r.options.append || !r.options.merge && (len(traces) > 1 || !slices.Equal(paths, traces))
	if r.options.merge && len(paths) > 0 {
		if r.reader.merged, err = r.options.bundle(paths, r.reader.stdin); err != nil {
			return err
		}
		defer r.reader.merged.Close()
		paths = []string{mergedTraces}
	}
	if err := r.options.check(len(paths)); err != nil {
		return usageError{err}
	}
	closeTarget, err := r.openTarget(many)
	if err != nil {
		return err
	}
	defer closeTarget()
	jobs, known, err := r.plan(ctx, paths)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	reading.LimitMemory(watching, reading.Limits{Sorting: int64(r.options.memory), Most: int64(r.options.maxMemory), Small: reading.SmallHeap})
	r.reader.guard.most = int64(r.options.maxMemory)
	go r.reader.guard.watch(watching)
	workers := max(1, min(r.options.jobs, len(jobs)))
	r.reader.ui = r.ui
	r.reader.chunkRows = r.options.rowGroupRows
	r.reader.readOptions = r.options.read
	r.reader.memory = int64(r.options.memory) / int64(workers)

	var errs []error
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		errs = r.all(ctx, jobs, workers)
	}()
	if !r.watch(ctx, finished, begun, jobs) {
		r.abort()
	}
	if ctx.Err() != nil {
		committed := int(r.committed.Load())
		if committed < len(jobs) {
			return &interruptedError{r.out, many, committed + len(known), len(paths)}
		}
		<-finished // all may finish before the interruption stops it
	}
	if len(errs) > 0 && !many {
		return errs[0]
	}
	conversions := known
	for _, j := range jobs {
		conversions = append(conversions, j.conversion)
	}
	r.ui.Summary(summary{r.out, conversions, time.Since(begun).Seconds(), reading.PeakMemory()})
	if len(errs) > 0 {
		return &failedError{errs, len(paths)}
	}
	return r.losses(conversions)
}

// openTarget opens the target and returns the function that closes it.
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
	r.dataset, r.create = dataset, dataset.Create
	return dataset.Close, nil
}

// losses returns an error if a trace is incomplete, or if data was lost and --strict is given.
func (r *run) losses(conversions []conversion) error {
	var all losses
	for _, c := range conversions {
		all.add(c.losses)
	}
	text := all.describe(model.Lost, model.Damaged)
	switch {
	case r.options.strict && text != "":
		return fmt.Errorf("%w: %s", errDataLost, text)
	case all.Incomplete:
		return errIncomplete
	}
	return nil
}

// watch reports progress. It returns true when the run has finished, or false if it
// is interrupted first.
func (r *run) watch(ctx context.Context, finished <-chan struct{}, begun time.Time, jobs []*job) bool {
	total := totalSize(jobs)
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
			p := r.reader.progress()
			p.total, p.done, p.of, p.elapsed = total, done, len(jobs), time.Since(begun)
			r.ui.Progress(p)
		}
	}
}

// all converts the traces, up to one per worker at a time, and then postponed traces
// one by one. It returns the errors of those that failed.
func (r *run) all(ctx context.Context, jobs []*job, workers int) []error {
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, workers)
	var running sync.WaitGroup
	for i, j := range jobs {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = r.attempt(ctx, j)
		})
	}
	running.Wait()
	for i, j := range jobs {
		if errs[i] == errPutOff {
			errs[i] = r.attempt(ctx, j)
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// attempt converts a trace and reports the outcome, unless the trace is postponed.
func (r *run) attempt(ctx context.Context, j *job) error {
	begun := time.Now()
	j.Trace = j.path
	err := r.one(ctx, j)
	if errors.Is(err, errPutOff) {
		return errPutOff
	}
	if err != nil {
		j.Error = err.Error()
	}
	if r.dataset != nil && ctx.Err() == nil {
		if err != nil {
			r.ui.Message(slog.LevelError, "", j.Error)
		}
		if err := r.dataset.Failed(absolute(j.path), err); err != nil {
			r.ui.Message(slog.LevelWarn, "", err.Error())
		}
	}
	j.Seconds = time.Since(begun).Seconds()
	r.mu.Lock()
	r.done++
	r.mu.Unlock()
	return err
}

// one converts a trace.
func (r *run) one(ctx context.Context, j *job) error {
	begun := time.Now()
	w, err := r.begin(ctx)
	if err != nil {
		return err
	}
	seen, err := r.reader.read(ctx, j.path, w)
	if !r.end(w) {
		return ctx.Err()
	}
	defer r.committing.Done()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	j.losses = lossesOf(seen.Events, seen.Stats)
	m := export.Manifest{
		TraceID:         cmp.Or(r.options.traceID, "t_"+seen.Input.SHA256[:16]),
		Input:           seen.Input,
		Also:            j.also,
		Start:           seen.Start,
		End:             seen.End,
		StartUnix:       seen.StartUnix,
		Machine:         seen.Machine,
		Events:          seen.Events,
		Stats:           seen.Stats,
		WallSeconds:     time.Since(begun).Seconds(),
		PeakMemoryBytes: reading.PeakMemory(),
	}
	if text := j.losses.alarm(); text != "" {
		m.Warnings = append(m.Warnings, text)
	}
	if text := j.losses.describe(model.Lost, model.Damaged, model.NotRead); text != "" {
		m.Warnings = append(m.Warnings, "not imported: "+text)
	}
	j.TraceID, j.Format, j.Bytes = m.TraceID, m.Input.Formats(), m.Input.Bytes
	if err := w.Commit(&m); err != nil {
		return r.elsewhere(err, j, &m)
	}
	r.committed.Add(1)
	for _, t := range m.Tables {
		j.Tables = append(j.Tables, tableSize{t.Name, t.Rows, t.Bytes})
	}
	return nil
}

// elsewhere marks a trace as known if another run or input has added it in the
// meantime. It returns any other error.
func (r *run) elsewhere(err error, j *job, m *export.Manifest) error {
	if r.dataset == nil || !errors.Is(err, export.ErrExists) {
		return err
	}
	there, unread := r.dataset.Manifest(m.TraceID)
	if unread != nil || there.Input.SHA256 != m.Input.SHA256 {
		return err
	}
	for _, s := range m.Sources() {
		if err := r.dataset.AddSource(m.TraceID, s); err != nil {
			return err
		}
	}
	r.committed.Add(1)
	j.Known, j.losses = "has the same content as a trace in the dataset", losses{}
	return nil
}

// begin opens a writer. abort drops it unless end was called before.
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

// end takes the writer back for its commit. It returns false if abort has dropped it.
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

// abort drops incomplete writers without waiting for the parsers, and waits for
// commits to finish.
func (r *run) abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.writers {
		w.Abort()
	}
	clear(r.writers)
	r.committing.Wait()
}
