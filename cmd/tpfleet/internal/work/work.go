// Package work carries out tasks: it converts traces, and packs their rows into a file per table and day.
package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Exit codes of outcomes, as documented for tpconvert.
const (
	exitFailure  = 1
	exitBadInput = 4
)

// atOnce is the number of files that are written to a store at the same time: there may be many days.
const atOnce = 8

// Worker carries out tasks one by one.
type Worker struct {
	Memory  int64  // for events of a trace, in bytes; more events spill
	TempDir string // for traces and rows; "" means the system's
	Version string // of the converter
	Modules fs.FS  // of PerfettoSQL for specs, nil if there are none

	Redact *tpconvert.Redaction // of rows, outcomes and labels; nil means nothing

	MaxMemory int64         // of the process, for one trace, in bytes; 0 means no limit
	MaxTime   time.Duration // for one trace; 0 means no limit

	Tried func() // is called after each trace, unless it is nil

	layouts map[string][]*table.Schema // by URL of the layout
	stuck   bool                       // a conversion did not end at its limit

	// Tests replace these; by default, they are tpconvert.Read and patience.
	convertFile func(context.Context, string, io.Reader, table.Sink, tpconvert.Options) (*tpconvert.Facts, error)
	patience    time.Duration
	places      map[string]task.Layout
}

// Do makes one attempt at a task. The error of a trace is in its outcome. If the task cannot be done as a whole,
// all its traces have failed.
func (w *Worker) Do(ctx context.Context, t task.Task) task.Result {
	r := task.Result{Task: t.ID, Attempt: newAttempt(), Files: []task.File{}, Traces: []task.Outcome{}, Replaces: t.Replaces, KeepVersions: t.KeepVersions}
	stores, err := store.New(t.Stores)
	var files []task.File
	var outcomes []task.Outcome
	if err == nil {
		files, outcomes, err = w.do(ctx, stores, t, r.Name())
		r.Retries, r.Stuck = stores.Retries(), w.stuck
	}
	if err != nil {
		outcomes = outcomes[:0]
		for _, trace := range t.Traces {
			outcomes = append(outcomes, w.failed(trace, err))
		}
	}
	r.Files, r.Traces = append(r.Files, files...), append(r.Traces, outcomes...)
	return r
}

// CheckRedaction returns task.ErrRedaction if the lake of the task has other rules: then even a result may not name its traces.
func (w *Worker) CheckRedaction(ctx context.Context, t task.Task) error {
	stores, err := store.New(t.Stores)
	if err == nil {
		_, _, err = w.layout(ctx, stores, t.Layout)
	}
	if errors.Is(err, task.ErrRedaction) {
		return err
	}
	return nil // Do meets any other error again
}

// newAttempt returns an id that no other attempt has.
func newAttempt() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (w *Worker) do(ctx context.Context, stores *store.Stores, t task.Task, name string) (files []task.File, outcomes []task.Outcome, err error) {
	layout, schemas, err := w.layout(ctx, stores, t.Layout)
	if err != nil {
		return nil, nil, err
	}
	specs, err := measure.Read(layout.Specs)
	if err != nil {
		return nil, nil, err
	}
	specs.Modules, specs.MaxTime = w.Modules, w.MaxTime
	dir, err := os.MkdirTemp(w.TempDir, "tpfleet-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	spool, err := export.NewSpool(dir)
	if err != nil {
		return nil, nil, err
	}
	defer spool.Close()

	ctx, cancel := context.WithCancel(ctx)
	fetching := w.fetch(ctx, stores, dir, t.Traces)
	defer func() { // before dir is removed
		cancel()
		for range fetching {
		}
	}()
	known := map[string]string{}
	for f := range fetching {
		labels, err := labelsOf(ctx, stores, &t, f.trace.URL)
		if err != nil && f.err == nil {
			f.err = err
		}
		labels = labels.Redacted(w.Redact)
		o, isKnown, err := w.known(f, t.Contents)
		if !isKnown && err == nil {
			o, err = w.convert(ctx, f, spool, known, t.Replaces)
		}
		if err == nil && o.Status == task.OK {
			if len(layout.Specs) > 0 {
				o.Metrics, err = w.measure(ctx, specs, labels, layout.MetricSchemas(), spool)
			}
			err = errors.Join(err, spool.Keep(o.TraceID, o.Day, name))
		}
		if err != nil {
			return nil, nil, err
		}
		o.Labels = labels
		outcomes = append(outcomes, o)
		if w.Tried != nil {
			w.Tried()
		}
	}
	packed, err := spool.Pack(dir, schemas, w.Version)
	if err != nil {
		return nil, nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, p := range packed {
		f := Describe(p, schemas)
		f.URL = layout.Tables[p.Table].Location + "/data/" + name + export.DaySuffix(p.Day) + ".parquet"
		group.Go(func() error { return stores.Put(ctx, f.URL, p.Path) })
		files = append(files, f)
	}
	return files, outcomes, group.Wait()
}

// measure adds the metrics of the current trace in the spool to its rows. It returns what Specs.Trace does.
func (w *Worker) measure(ctx context.Context, specs *measure.Specs, labels task.Labels, schemas map[string]*table.Schema, spool *export.Spool) (task.Labels, error) {
	open := func(name string, pool *dataframe.Pool) ([]tables.Rows, error) {
		rows, err := spool.Rows(name)
		if rows == nil || err != nil {
			return nil, err
		}
		return []tables.Rows{tables.RowsOf(rows, pool)}, nil
	}
	chunks, done, err := specs.Trace(ctx, open, labels, schemas)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		if err := spool.Chunk(c); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// labelsOf returns the labels of a trace. Those that the task gives it count before those beside it, and these before those of the object.
func labelsOf(ctx context.Context, stores *store.Stores, t *task.Task, url string) (l task.Labels, err error) {
	l = task.Labels{}
	if t.LabelSources.Object {
		found, err := stores.Labels(ctx, url)
		if err != nil {
			return nil, err
		}
		maps.Copy(l, found)
	}
	if t.LabelSources.Sidecar != "" {
		sidecar := url + t.LabelSources.Sidecar
		text, err := stores.ReadIf(ctx, sidecar)
		if err != nil {
			return nil, err
		}
		if text != nil {
			found, err := task.ReadLabels(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sidecar, err)
			}
			maps.Copy(l, found)
		}
	}
	maps.Copy(l, t.Labels[url])
	return l, nil
}

// layout reads a layout and returns the packed schemas of its tables.
func (w *Worker) layout(ctx context.Context, stores *store.Stores, url string) (task.Layout, []*table.Schema, error) {
	if schemas := w.layouts[url]; schemas != nil {
		return w.places[url], schemas, nil
	}
	text, err := stores.Read(ctx, url)
	if err != nil {
		return task.Layout{}, nil, err
	}
	var l task.Layout
	if err := json.Unmarshal(text, &l); err != nil {
		return l, nil, fmt.Errorf("%s: %w", url, err)
	}
	if err := l.CheckRedaction(w.Redact.Digest()); err != nil {
		return l, nil, err
	}
	schemas, err := l.Schemas()
	if err != nil {
		return l, nil, fmt.Errorf("%s: %w", url, err)
	}
	metrics, err := l.PackedMetrics()
	if err != nil {
		return l, nil, fmt.Errorf("%s: %w", url, err)
	}
	schemas = append(schemas, metrics...)
	if w.layouts == nil {
		w.layouts, w.places = map[string][]*table.Schema{}, map[string]task.Layout{}
	}
	w.layouts[url], w.places[url] = schemas, l
	return l, schemas, nil
}

// fetched is a trace in a local file, or the error of fetching it.
type fetched struct {
	trace task.Trace
	at    time.Time
	path  string
	err   error
}

// fetch copies the traces to files in dir, one ahead of the one that is converted.
func (w *Worker) fetch(ctx context.Context, stores *store.Stores, dir string, traces []task.Trace) <-chan fetched {
	all := make(chan fetched)
	go func() {
		defer close(all)
		for i, t := range traces {
			f := fetched{trace: t, at: time.Now(), path: filepath.Join(dir, fmt.Sprintf("trace-%d", i))}
			f.trace, f.err = fetchOne(ctx, stores, t, f.path)
			select {
			case all <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	return all
}

func fetchOne(ctx context.Context, stores *store.Stores, t task.Trace, path string) (task.Trace, error) {
	f, err := os.Create(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	o, err := stores.Fetch(ctx, t.URL, f)
	if err != nil {
		return t, err
	}
	return task.Trace{URL: t.URL, Bytes: o.Bytes, ETag: o.ETag}, nil
}

// convert converts a trace, and leaves its rows in the spool if it is OK. known has the SHA-256 of the traces that are kept there, by id; replaces has those that it may have, unless
// it is nil. The error is one that ends the whole task.
func (w *Worker) convert(ctx context.Context, f fetched, spool *export.Spool, known map[string]string, replaces map[string]string) (task.Outcome, error) {
	defer os.Remove(f.path)
	if f.err != nil {
		return w.failed(f.trace, f.err), nil
	}
	begun := time.Now()
	facts, limit, err := w.read(ctx, f, spool)
	o := w.outcome(f.trace)
	o.Read = new(f.at.UnixNano())
	o.Seconds = time.Since(begun).Seconds()
	var bad *tpconvert.InputError
	switch {
	case err != nil && ctx.Err() != nil:
		return o, err
	case errors.Is(err, tpconvert.ErrTarget):
		return o, err
	case err != nil && limit != nil:
		o.Status, o.ExitCode, o.Error = task.Large, exitFailure, limit.Error()
		o.SHA256, err = hashOf(f.path)
		return o, errors.Join(err, spool.Drop())
	case errors.As(err, &bad):
		o.Status, o.ExitCode, o.Error = task.Bad, exitBadInput, w.failure(err)
		o.SHA256, err = hashOf(f.path)
		return o, errors.Join(err, spool.Drop())
	case err != nil:
		return w.failed(f.trace, err), spool.Drop()
	}
	o.SHA256, o.Format, o.Start, o.End = facts.Input.SHA256, facts.Input.Formats(), facts.Start, facts.End
	o.StartUnix, o.Machine = facts.StartUnix, facts.Machine
	o.Rank, o.WorldSize = facts.Rank, facts.WorldSize
	o.Lost, o.Damaged, o.Truncated = lacks(facts.Losses())
	o.TraceID, o.Day = export.TraceID(o.SHA256), task.Day(begun, o.StartUnix, o.Start)
	if replaces != nil && replaces[o.TraceID] == "" {
		return w.failed(f.trace, errChanged), spool.Drop()
	}
	switch known[o.TraceID] {
	case "":
	case o.SHA256:
		o.Status, o.TraceID = task.Copy, ""
		return o, spool.Drop()
	default:
		o.Status, o.ExitCode, o.Error = task.Bad, exitBadInput, "another trace, with the SHA-256 "+known[o.TraceID]+", has the same trace_id"
		o.TraceID = ""
		return o, spool.Drop()
	}
	known[o.TraceID] = o.SHA256
	return o, nil
}

// lacks returns the sum of the stats that mean missing events, the sum of the others that mean missing data, and whether the trace ends
// too early.
func lacks(l tpconvert.Losses) (lost int64, damaged, truncated *int64) {
	damaged, truncated = new(-l.Lost), new(int64(0))
	for _, c := range l.Counts {
		if c.Value > 0 && (c.Effect == model.Lost.String() || c.Effect == model.Damaged.String()) {
			*damaged += c.Value
		}
	}
	if l.Incomplete {
		*truncated = 1
	}
	return l.Lost, damaged, truncated
}

// known reports whether the content of a trace is one of some, which have sizes in bytes.
func (w *Worker) known(f fetched, contents map[string]int64) (o task.Outcome, known bool, err error) {
	if f.err != nil || !slices.Contains(slices.Collect(maps.Values(contents)), f.trace.Bytes) {
		return o, false, nil
	}
	sum, err := hashOf(f.path)
	if _, known = contents[sum]; !known || err != nil {
		return o, false, err
	}
	o = w.outcome(f.trace)
	o.Status, o.SHA256, o.Read = task.Copy, sum, new(f.at.UnixNano())
	return o, true, os.Remove(f.path)
}

// errChanged is why a trace cannot be converted again: its old rows would be lost.
var errChanged = errors.New("the object has changed since it was converted: the old rows stay, and \"run\" adds the new version")

// read converts a trace. limit is the limit at which it was ended, if it was.
func (w *Worker) read(ctx context.Context, f fetched, sink table.Sink) (facts *tpconvert.Facts, limit, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if w.MaxTime > 0 {
		slow := fmt.Errorf("it takes more than --max-time=%s", w.MaxTime)
		defer time.AfterFunc(w.MaxTime, func() { end(slow) }).Stop()
	}
	guard := memory.Guard{Most: w.MaxMemory}
	defer guard.Add(false, end)()
	go guard.Watch(ctx)
	facts, err = w.readUntil(ctx, path.Base(f.trace.URL), file, sink)
	if err != nil && ctx.Err() != nil {
		if limit = context.Cause(ctx); limit == memory.ErrLimit {
			limit = fmt.Errorf("it needs more than --max-memory=%d MiB", w.MaxMemory>>20)
		}
	}
	return facts, limit, err
}

// patience is the time in which a conversion has to end after its context.
const patience = 10 * time.Second

// readUntil converts a trace, and closes its file. A conversion that does not end with its context is left alone: its rows are
// refused, and the process has to end at some time.
func (w *Worker) readUntil(ctx context.Context, name string, file *os.File, sink table.Sink) (*tpconvert.Facts, error) {
	read := w.convertFile
	if read == nil {
		read = tpconvert.Read
	}
	type result struct {
		facts *tpconvert.Facts
		err   error
	}
	open, ended := &gate{sink: sink}, make(chan result, 1)
	go func() {
		defer file.Close()
		facts, err := read(ctx, name, file, open, tpconvert.Options{Memory: w.Memory, Version: w.Version, Redact: w.Redact})
		ended <- result{facts, err}
	}()
	late := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		time.Sleep(cmp.Or(w.patience, patience))
		close(late)
	})()
	select {
	case r := <-ended:
		return r.facts, r.err
	case <-late:
		open.close()
		w.stuck = true
		return nil, ctx.Err()
	}
}

// gate is a sink that can be closed.
type gate struct {
	mu     sync.Mutex
	sink   table.Sink
	closed bool
}

// Chunk implements table.Sink.
func (g *gate) Chunk(c *table.Chunk) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		c.Release()
		return os.ErrClosed
	}
	return g.sink.Chunk(c)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (w *Worker) outcome(t task.Trace) task.Outcome {
	t.URL = w.Redact.Path(t.URL)
	return task.Outcome{Trace: t, Status: task.OK, Version: w.Version, Schema: table.SchemaVersion}
}

func (w *Worker) failed(t task.Trace, err error) task.Outcome {
	o := w.outcome(t)
	o.Status, o.ExitCode, o.Error = task.Failed, exitFailure, w.failure(err)
	return o
}

func (w *Worker) failure(err error) string {
	return (&tpconvert.Options{Redact: w.Redact}).Failure(err)
}
