package export

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tpconvert/tpconvert/export/arrow"
	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/table"
)

// Writer writes the tables of one trace. It is a table.Sink for one goroutine.
// Commit or Abort ends it.
type Writer struct {
	options Options
	place   place
	stage   *staging.Stage
	bare    bool    // write only tables without rows
	extends bool    // add rows to a dataset
	whole   *Writer // of the trace before it is cut, or nil
	cutting bool    // it is being cut
	outputs map[string]*output
	workers chan *parquet.Scratch // one per encoder that may run at a time
	slots   chan struct{}         // one per slotBytes that may be queued at a time
	entry   sync.Mutex            // held while a chunk gets its slots
	running sync.WaitGroup

	mu  sync.Mutex // guards err
	err error
}

// place is the target of a finished trace.
type place interface {
	// admit returns an error for a trace that publish would reject.
	admit(m *Manifest) error
	// partitioned reports whether trace_id is in the path of the files instead of a
	// column, and tables without rows are in a folder of their own.
	partitioned() bool
	// publish puts the folder with the files and the manifest in place. The folder
	// at the old path, whether new or replaced, may be left behind.
	publish(folder string, m *Manifest) error
}

// encoder writes one file.
type encoder interface {
	// Encode puts the encoded chunk in the scratch, for Append. Several chunks may
	// be encoded in parallel.
	Encode(*table.Chunk, *parquet.Scratch) error
	// Append adds a chunk to the file. Calls are in the order of chunks.
	Append(*table.Chunk, *parquet.Scratch) error
	Close(metadata ...[2]string) error
}

// arrowEncoder encodes chunks when they are appended, because indices of text depend on earlier chunks.
type arrowEncoder struct{ *arrow.File }

func (arrowEncoder) Encode(*table.Chunk, *parquet.Scratch) error { return nil }

func (a arrowEncoder) Append(c *table.Chunk, _ *parquet.Scratch) error { return a.File.Append(c) }

// output is the file of one table.
type output struct {
	schema  *table.Schema
	path    string
	file    *os.File
	encoder encoder
	rows    int64
	last    queued
}

// queued is a chunk in the order of its table: started is closed once it has a
// worker, done once it is in the file.
type queued struct {
	started, done chan struct{}
}

func newWorkers(n int) chan *parquet.Scratch {
	workers := make(chan *parquet.Scratch, n)
	for range n {
		workers <- &parquet.Scratch{}
	}
	return workers
}

func newWriter(o Options, p place, s *staging.Stage, workers chan *parquet.Scratch) *Writer {
	past := make(chan struct{})
	close(past)
	w := &Writer{options: o, place: p, stage: s, workers: workers,
		slots: make(chan struct{}, slotsPerJob*o.Jobs), outputs: map[string]*output{}}
	for _, s := range o.Schemas {
		if !s.Abstract && o.selects(s.Name) {
			if p.partitioned() {
				s = s.Without(traceIDColumn)
			}
			w.outputs[s.Name] = &output{schema: s, path: filepath.Join(w.stage.Path, s.Name+"."+o.Format), last: queued{past, past}}
		}
	}
	return w
}

// Chunks queued take up to slotsPerJob*slotBytes bytes of memory for each encoder, 16 MiB. Together
// this is the memory of one large chunk.
const (
	slotBytes   = 4 << 20
	slotsPerJob = 4
)

// heavyText is the number of bytes of text from which a chunk takes all slots, so
// that no two such chunks wait in memory.
const heavyText = 12 << 20

// Chunk queues a chunk for its table's file, and releases it once it is encoded. It
// blocks while too many chunks are queued, and returns the first error of any
// encoder.
func (w *Writer) Chunk(c *table.Chunk) error {
	if w.whole != nil && !w.cutting {
		return w.whole.Chunk(c)
	}
	out := w.outputs[c.Schema.Name]
	if out == nil {
		c.Release()
		return nil
	}
	slots := min(int(c.Size()/slotBytes)+1, cap(w.slots))
	if c.Text > heavyText {
		slots = cap(w.slots)
	}
	w.entry.Lock()
	for range slots {
		w.slots <- struct{}{}
	}
	w.entry.Unlock()
	before, own := out.last, queued{make(chan struct{}), make(chan struct{})}
	out.last = own
	w.running.Go(func() { w.write(out, c, before, own, slots) })
	return w.failure()
}

// write encodes a chunk and appends it to its file. Chunks get workers in their
// order, so a chunk that waits for its turn waits only for chunks that are being
// encoded.
func (w *Writer) write(out *output, c *table.Chunk, before, own queued, slots int) {
	<-before.started
	s := <-w.workers
	if w.failure() == nil {
		w.fail(out, out.begin(c, &w.options))
	}
	close(own.started)
	if w.failure() == nil {
		w.fail(out, out.encoder.Encode(c, s))
	}
	<-before.done
	if w.failure() == nil {
		w.fail(out, out.encoder.Append(c, s))
		w.fail(out, cmp.Or(c.Strings.Err(), c.Err()))
	}
	close(own.done)
	c.Release()
	w.workers <- s
	for range slots {
		<-w.slots
	}
}

// failure returns the first error.
func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail records the first error.
func (w *Writer) fail(out *output, err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, fmt.Errorf("%w table %s: %w", ErrTarget, out.schema.Name, err))
}

// Commit finishes the files and puts the dataset, or the trace, in place together
// with the manifest, whose tables it fills in. If it fails, nothing is left behind.
func (w *Writer) Commit(m *Manifest) error {
	defer w.Abort()
	w.running.Wait()
	if w.err != nil {
		return w.err
	}
	m.SchemaVersion, m.ConverterVersion = table.SchemaVersion, w.options.Version
	// Lists must not be null in JSON, even if they are empty.
	m.Stats, m.Warnings = append([]Stat{}, m.Stats...), append([]string{}, m.Warnings...)
	if err := w.place.admit(m); err != nil {
		return err
	}
	if err := w.describe(m); err != nil {
		return err
	}
	if err := w.finish(m); err != nil {
		return err
	}
	if err := errors.Join(m.write(filepath.Join(w.stage.Path, manifestName)), staging.Sync(w.stage.Path)); err != nil {
		return staging.Error(w.stage.Path, err)
	}
	return w.place.publish(w.stage.Path, m)
}

// finish completes the files of all tables that the dataset will have.
func (w *Writer) finish(m *Manifest) error {
	var outputs []*output
	for _, s := range w.options.Schemas {
		if out := w.outputs[s.Name]; out != nil && (out.rows > 0 || w.keepsEmpty(s)) {
			outputs = append(outputs, out)
			w.running.Go(func() {
				s := <-w.workers
				w.fail(out, out.finish(m.TraceID, &w.options))
				w.workers <- s
				if out.file != nil && !w.options.Temporary {
					startWriteback(out.file)
				}
			})
		}
	}
	w.running.Wait()
	// Together, the syncs share a commit of the file system's journal.
	closeFile := staging.CloseSynced
	if w.options.Temporary {
		closeFile = (*os.File).Close
	}
	for _, out := range outputs {
		if out.file != nil {
			w.running.Go(func() { w.fail(out, closeFile(out.file)) })
		}
	}
	w.running.Wait()
	m.Tables = []Table{}
	for _, out := range outputs {
		info, err := os.Stat(out.path)
		w.fail(out, err)
		if err == nil {
			m.Tables = append(m.Tables, Table{Name: out.schema.Name, Rows: out.rows, Bytes: info.Size(), File: filepath.Base(out.path)})
		}
	}
	return w.err
}

// keepsEmpty reports whether a selected table is written even without rows. The
// children of counter_track and of state_track are written if their parent has
// rows, so that a reader can join all of them without checking which exist.
func (w *Writer) keepsEmpty(s *table.Schema) bool {
	switch {
	case w.bare:
		return true
	case w.extends || w.place.partitioned():
		return false
	case w.options.keepsEmpty(s):
		return true
	}
	parent := w.outputs[s.Parent]
	return parent != nil && parent.schema.Derived && parent.rows > 0
}

// Abort discards everything written so far. After Commit it does nothing.
func (w *Writer) Abort() error {
	w.end(os.ErrClosed)
	if w.whole != nil {
		w.whole.Abort()
	}
	w.running.Wait()
	for _, out := range w.outputs {
		if out.file != nil {
			out.file.Close()
		}
	}
	return w.stage.Remove()
}

// end makes all that follows fail.
func (w *Writer) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = cmp.Or(w.err, err)
}

// open creates the file. first is nil for a table without rows.
func (out *output) open(o *Options, first *table.Chunk) (err error) {
	if out.file, err = os.Create(out.path); err != nil {
		return err
	}
	if o.Format == Arrow {
		file, err := arrow.New(out.path, out.file, out.schema, o.Compression.codec == "zstd", fileMetadata(o, out.schema))
		out.encoder = arrowEncoder{file}
		return err
	}
	options, err := o.parquet(out.schema)
	if err != nil {
		return err
	}
	out.encoder, err = parquet.New(out.file, out.schema, options, first)
	return err
}

// begin prepares the file for the next chunk in order.
func (out *output) begin(c *table.Chunk, o *Options) error {
	out.rows += int64(c.Rows)
	if out.encoder != nil {
		return nil
	}
	return out.open(o, c)
}

func (out *output) finish(traceID string, o *Options) error {
	if out.encoder == nil {
		if err := out.open(o, nil); err != nil {
			return err
		}
	}
	if traceID == "" {
		return out.encoder.Close()
	}
	return out.encoder.Close([2]string{traceIDKey, traceID})
}
