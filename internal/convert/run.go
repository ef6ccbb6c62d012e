package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

// Conversion is one conversion of traces to a dataset.
type Conversion struct {
	options Options
	out     string
	traces  int     // with those that are not converted
	known   []Trace // that the dataset has
	jobs    []*job
	merged  *Bundle         // what the input tracefile.Merged stands for, or nil
	dataset *export.Dataset // for many traces, or nil
	create  func() (*export.Writer, error)
	guard   memory.Guard

	committed  atomic.Int64 // traces
	mu         sync.Mutex
	done       int                         // traces
	reading    []*Counters                 // of traces, except postponed ones
	writers    map[*export.Writer]struct{} // of traces being converted
	committing sync.WaitGroup
}

// New plans to convert traces, including those in folders, to the dataset in the folder out.
func New(ctx context.Context, traces []string, out string, o Options) (_ *Conversion, err error) {
	c := &Conversion{options: o, out: out, writers: map[*export.Writer]struct{}{}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	paths, err := tracefile.List(traces, o.Log)
	if err != nil {
		return nil, err
	}
	one := len(traces) == 1 && len(paths) == 1 && filepath.Clean(paths[0]) == filepath.Clean(traces[0])
	many := o.Append || o.Merge == nil && !one
	if o.Merge != nil && len(paths) > 0 {
		if c.merged, err = NewBundle(paths, o.Merge, o.Stdin); err != nil {
			return nil, err
		}
		paths = []string{tracefile.Merged}
	}
	if err := o.check(traces, len(paths)); err != nil {
		return nil, err
	}
	if err := c.open(many); err != nil {
		return nil, err
	}
	c.traces = len(paths)
	c.jobs, c.known, err = c.plan(ctx, paths)
	return c, err
}

// open opens the dataset, which is of one trace or of many.
func (c *Conversion) open(many bool) (err error) {
	if !many {
		c.create = func() (*export.Writer, error) { return export.Create(c.out, c.options.Dataset) }
		return nil
	}
	if c.dataset, err = export.OpenDataset(c.out, c.options.Dataset); err == nil {
		c.create = c.dataset.Create
	}
	return err
}

// Close closes the dataset, and the traces that are merged.
func (c *Conversion) Close() {
	if c.merged != nil {
		c.merged.Close()
	}
	if c.dataset != nil {
		c.dataset.Close()
	}
}

// Run converts the traces.
func (c *Conversion) Run(ctx context.Context) Outcome {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	c.guard.Most = c.options.MaxMemory
	go c.guard.Watch(watching)
	workers := max(1, min(cmp.Or(c.options.Dataset.Jobs, runtime.GOMAXPROCS(0)), len(c.jobs)))
	c.options.Ingest.Memory = max(1, c.options.Ingest.Memory/int64(workers))

	var errs []error
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		errs = c.all(ctx, workers)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		c.abort()
	}
	if ctx.Err() != nil {
		if committed := int(c.committed.Load()); committed < len(c.jobs) {
			return Outcome{Interrupted: ctx.Err(), Committed: committed + len(c.known), Of: c.traces}
		}
		<-finished // all may finish before the interruption stops it
	}
	return c.outcome(errs)
}

// outcome puts together the outcomes of all traces. errs are those of the jobs.
func (c *Conversion) outcome(errs []error) Outcome {
	result := Outcome{Many: c.dataset != nil, Traces: c.known, Of: c.traces}
	for _, j := range c.jobs {
		for _, path := range j.copies {
			if j.Err != nil {
				errs = append(errs, c.failedCopy(path, j))
			} else {
				result.Traces = append(result.Traces, Trace{Path: path, Known: "has the same content as " + j.Path})
			}
		}
	}
	for _, j := range c.jobs {
		result.Traces = append(result.Traces, j.Trace)
	}
	result.Errs = errs
	return result
}

// failedCopy notes that a file cannot be converted, because one with the same content could not, and returns the error.
func (c *Conversion) failedCopy(path string, first *job) error {
	err := fmt.Errorf("%s has the same content as %s: %w", path, first.Path, first.Err)
	c.options.Log.Error(err.Error())
	c.note(path, err)
	return err
}

// note notes in the dataset that a file cannot be converted or, without an error, that it can.
func (c *Conversion) note(path string, err error) {
	if err != nil {
		err = errors.New(Failure(err, c.options.Redact))
	}
	if err := c.dataset.Failed(c.options.Redact.Path(tracefile.Absolute(path)), err); err != nil {
		c.options.Log.Warn(err.Error())
	}
}

// Progress is what was done so far: the traces of which nothing is left to do, those to convert, and what was read.
func (c *Conversion) Progress() (done, of int, read []*Counters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done, len(c.jobs), slices.Clone(c.reading)
}

// all converts the traces, up to one per worker at a time, and then postponed traces
// one by one. It returns the errors of those that failed.
func (c *Conversion) all(ctx context.Context, workers int) []error {
	errs := make([]error, len(c.jobs))
	slots := make(chan struct{}, workers)
	var running sync.WaitGroup
	for i, j := range c.jobs {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = c.attempt(ctx, j)
		})
	}
	running.Wait()
	for i, j := range c.jobs {
		if errs[i] == memory.ErrPostponed {
			errs[i] = c.attempt(ctx, j)
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// attempt converts a trace and reports the outcome, unless the trace is postponed.
func (c *Conversion) attempt(ctx context.Context, j *job) error {
	begun := time.Now()
	err := c.convertJob(ctx, j)
	if errors.Is(err, memory.ErrPostponed) {
		return memory.ErrPostponed
	}
	j.Err = err
	if c.dataset != nil && ctx.Err() == nil {
		if err != nil {
			c.options.Log.Error(err.Error())
		}
		c.note(j.Path, err)
	}
	j.Seconds = time.Since(begun).Seconds()
	c.mu.Lock()
	c.done++
	c.mu.Unlock()
	return err
}

// convertJob converts a trace.
func (c *Conversion) convertJob(ctx context.Context, j *job) error {
	begun := time.Now()
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	_, repeatable := tracefile.SourceOf(j.Path)
	defer c.guard.Add(repeatable, end)()
	w, err := c.begin(ctx)
	if err != nil {
		return err
	}
	m, err := c.read(reading, j.Path, w)
	if err == nil {
		c.describe(j, m)
		if err = w.Cut(m); err != nil {
			err = fmt.Errorf("%s: %w", j.Path, err)
		}
	}
	if !c.end(w) {
		return ctx.Err()
	}
	defer c.committing.Done()
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	m.WallSeconds, m.PeakMemoryBytes = time.Since(begun).Seconds(), memory.Peak()
	if err := w.Commit(m); err != nil {
		return c.elsewhere(err, j, m)
	}
	c.committed.Add(1)
	j.Manifest = m
	return nil
}

// describe completes what the manifest of a trace says of its reading.
func (c *Conversion) describe(j *job, m *export.Manifest) {
	j.Losses = m.Losses()
	m.TraceID, m.Also, m.Tables = cmp.Or(c.options.TraceID, m.TraceID), j.also, nil
	if text := j.Losses.Alarm(); text != "" {
		m.Warnings = append(m.Warnings, text)
	}
	if text := j.Losses.Describe(model.Lost, model.Damaged, model.NotRead); text != "" {
		m.Warnings = append(m.Warnings, "not imported: "+text)
	}
}

// read reads the trace at path. Its rows go to sink.
func (c *Conversion) read(ctx context.Context, path string, sink table.Sink) (*export.Manifest, error) {
	now := new(Counters)
	c.mu.Lock()
	c.reading = append(c.reading, now)
	c.mu.Unlock()
	m, err := c.readInput(ctx, path, sink, now)
	switch cause := context.Cause(ctx); {
	case err == nil:
	case cause == memory.ErrLimit:
		err = memoryError(path, c.options.MaxMemory)
	case cause == memory.ErrPostponed:
		err = cause
		c.mu.Lock()
		c.reading = slices.DeleteFunc(c.reading, func(other *Counters) bool { return other == now })
		c.mu.Unlock()
	}
	return m, err
}

func (c *Conversion) readInput(ctx context.Context, path string, sink table.Sink, now *Counters) (*export.Manifest, error) {
	o := c.options.Reading
	o.Log = o.Log.With("trace", path)
	if path == tracefile.Merged {
		return Read(ctx, tracefile.MergedName, c.merged.Reader(), sink, o, now)
	}
	return ReadFile(ctx, path, sink, o, now)
}

// elsewhere marks a trace as known if another run or input has added it in the
// meantime. It returns any other error.
func (c *Conversion) elsewhere(err error, j *job, m *export.Manifest) error {
	if c.dataset == nil || !errors.Is(err, export.ErrExists) {
		return err
	}
	there, unread := c.dataset.Manifest(m.TraceID)
	if unread != nil || there.Input.SHA256 != m.Input.SHA256 {
		return err
	}
	for _, s := range m.Sources() {
		if err := c.dataset.AddSource(m.TraceID, s); err != nil {
			return err
		}
	}
	c.committed.Add(1)
	j.Known, j.Losses = "has the same content as a trace in the dataset", export.Losses{}
	return nil
}

// begin opens a writer. abort drops it unless end was called before.
func (c *Conversion) begin(ctx context.Context) (*export.Writer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := c.create()
	if err == nil {
		c.writers[w] = struct{}{}
	}
	return w, err
}

// end takes the writer back for its commit. It returns false if abort has dropped it.
func (c *Conversion) end(w *export.Writer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ours := c.writers[w]
	if ours {
		delete(c.writers, w)
		c.committing.Add(1)
	}
	return ours
}

// abort drops incomplete writers without waiting for the parsers, and waits for
// commits to finish.
func (c *Conversion) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.writers {
		w.Abort()
	}
	clear(c.writers)
	c.committing.Wait()
}
