package tpconvert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/internal/tracefile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// progressInterval is the time between two progress reports.
const progressInterval = 200 * time.Millisecond

// run is one conversion of traces.
type run struct {
	options Options
	out     string
	begun   time.Time
	merged  *Bundle         // what the input tracefile.Merged stands for, or nil
	dataset *export.Dataset // for many traces, or nil
	create  func() (*export.Writer, error)
	guard   memory.Guard

	committed  atomic.Int64 // traces
	mu         sync.Mutex
	done       int                         // traces
	reading    []*counters                 // of traces, except postponed ones
	writers    map[*export.Writer]struct{} // of traces being converted
	committing sync.WaitGroup
}

// convert converts the traces, including those in folders, to the dataset.
func (r *run) convert(ctx context.Context, traces []string) (*Result, error) {
	paths, err := tracefile.List(traces, r.options.log())
	if err != nil {
		return nil, err
	}
	many := r.options.Append || r.options.Merge == nil && (len(traces) > 1 || !slices.Equal(paths, traces))
	if r.options.Merge != nil && len(paths) > 0 {
		if r.merged, err = newBundle(paths, *r.options.Merge, r.options.Stdin); err != nil {
			return nil, err
		}
		defer r.merged.Close()
		paths = []string{tracefile.Merged}
	}
	if err := r.options.check(len(paths)); err != nil {
		return nil, err
	}
	closeTarget, err := r.openTarget(many)
	if err != nil {
		return nil, err
	}
	defer closeTarget()
	jobs, known, err := r.plan(ctx, paths)
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	r.guard.Most = r.options.MaxMemory
	go r.guard.Watch(watching)
	workers := max(1, min(cmp.Or(r.options.Jobs, runtime.GOMAXPROCS(0)), len(jobs)))
	r.options.Memory = max(1, cmp.Or(r.options.Memory, DefaultMemory)/int64(workers))

	var errs []error
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		errs = r.all(ctx, jobs, workers)
	}()
	if !r.watch(ctx, finished, jobs) {
		r.abort()
	}
	if ctx.Err() != nil {
		committed := int(r.committed.Load())
		if committed < len(jobs) {
			return nil, &InterruptedError{r.out, committed + len(known), len(paths), ctx.Err()}
		}
		<-finished // all may finish before the interruption stops it
	}
	if len(errs) > 0 && !many {
		return nil, errs[0]
	}
	result := &Result{r.out, known, time.Since(r.begun).Seconds(), memory.Peak()}
	for _, j := range jobs {
		for _, path := range j.copies {
			if j.Err != nil {
				errs = append(errs, r.failedCopy(path, j))
			} else {
				result.Traces = append(result.Traces, Trace{Path: path, Known: "has the same content as " + j.path})
			}
		}
	}
	for _, j := range jobs {
		result.Traces = append(result.Traces, j.Trace)
	}
	if len(errs) > 0 {
		return result, &FailedError{errs, len(paths)}
	}
	return result, r.losses(result)
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

// failedCopy notes that a file cannot be converted, because one with the same content could not, and returns the error.
func (r *run) failedCopy(path string, first *job) error {
	err := fmt.Errorf("%s has the same content as %s: %w", path, first.path, first.Err)
	r.options.log().Error(err.Error())
	r.note(path, err)
	return err
}

// note notes in the dataset that a file cannot be converted or, without an error, that it can.
func (r *run) note(path string, err error) {
	if err != nil {
		err = errors.New(r.options.Failure(err))
	}
	if err := r.dataset.Failed(r.options.Redact.Path(tracefile.Absolute(path)), err); err != nil {
		r.options.log().Warn(err.Error())
	}
}

// losses returns an error if a trace is incomplete, or if data was lost and Options.Strict is set.
func (r *run) losses(result *Result) error {
	all := result.Losses()
	text := all.Describe(model.Lost, model.Damaged)
	switch {
	case r.options.Strict && text != "":
		return fmt.Errorf("%w: %s", ErrDataLost, text)
	case all.Incomplete:
		return ErrIncomplete
	}
	return nil
}

// watch reports progress. It returns true when the run has finished, or false if it
// is interrupted first.
func (r *run) watch(ctx context.Context, finished <-chan struct{}, jobs []*job) bool {
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
			if r.options.Progress != nil {
				p := r.progress()
				p.Total, p.Of = total, len(jobs)
				r.options.Progress(p)
			}
		}
	}
}

// progress adds up the progress of all traces.
func (r *run) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Done: r.done, Elapsed: time.Since(r.begun)}
	for _, c := range r.reading {
		p.add(c)
	}
	return p
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
		if errs[i] == memory.ErrPostponed {
			errs[i] = r.attempt(ctx, j)
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// attempt converts a trace and reports the outcome, unless the trace is postponed.
func (r *run) attempt(ctx context.Context, j *job) error {
	begun := time.Now()
	j.Path = j.path
	err := r.convertJob(ctx, j)
	if errors.Is(err, memory.ErrPostponed) {
		return memory.ErrPostponed
	}
	if err != nil {
		j.Err, j.Error = err, err.Error()
	}
	if r.dataset != nil && ctx.Err() == nil {
		if err != nil {
			r.options.log().Error(j.Error)
		}
		r.note(j.path, err)
	}
	j.Seconds = time.Since(begun).Seconds()
	r.mu.Lock()
	r.done++
	r.mu.Unlock()
	return err
}

// convertJob converts a trace.
func (r *run) convertJob(ctx context.Context, j *job) error {
	begun := time.Now()
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	_, repeatable := SourceOf(j.path)
	defer r.guard.Add(repeatable, end)()
	w, err := r.begin(ctx)
	if err != nil {
		return err
	}
	seen, err := r.read(reading, j.path, w)
	var m *export.Manifest
	if err == nil {
		m = r.manifest(j, seen)
		if err = w.Cut(m); err != nil {
			err = fmt.Errorf("%s: %w", j.path, err)
		}
	}
	if !r.end(w) {
		return ctx.Err()
	}
	defer r.committing.Done()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	m.WallSeconds, m.PeakMemoryBytes = time.Since(begun).Seconds(), memory.Peak()
	if err := w.Commit(m); err != nil {
		return r.elsewhere(err, j, m)
	}
	r.committed.Add(1)
	j.describe(m)
	return nil
}

// manifest returns the manifest of a trace that was read.
func (r *run) manifest(j *job, seen *Facts) *export.Manifest {
	j.Losses = seen.Losses()
	m := seen.Manifest(r.options)
	m.Also = j.also
	if text := j.Losses.Alarm(); text != "" {
		m.Warnings = append(m.Warnings, text)
	}
	if text := j.Losses.Describe(model.Lost, model.Damaged, model.NotRead); text != "" {
		m.Warnings = append(m.Warnings, "not imported: "+text)
	}
	return m
}

// read reads the trace at path. Its rows go to sink.
func (r *run) read(ctx context.Context, path string, sink table.Sink) (*Facts, error) {
	now := new(counters)
	r.mu.Lock()
	r.reading = append(r.reading, now)
	r.mu.Unlock()
	facts, err := r.readInput(ctx, path, sink, now)
	switch cause := context.Cause(ctx); {
	case err == nil:
	case cause == memory.ErrLimit:
		err = memoryError(path, r.options.MaxMemory)
	case cause == memory.ErrPostponed:
		err = cause
		r.mu.Lock()
		r.reading = slices.DeleteFunc(r.reading, func(other *counters) bool { return other == now })
		r.mu.Unlock()
	}
	return facts, err
}

func (r *run) readInput(ctx context.Context, path string, sink table.Sink, now *counters) (*Facts, error) {
	o := r.options
	o.Log = o.log().With("trace", path)
	if path == tracefile.Merged {
		return read(ctx, MergedName, r.merged.Reader(), sink, o, now)
	}
	return readFile(ctx, path, sink, o, now)
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
	j.Known, j.Losses = "has the same content as a trace in the dataset", Losses{}
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
