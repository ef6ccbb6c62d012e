// Package tables has the tables of a dataset as Trace Processor names and types them.
package tables

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// builtin lists the internal tables of Trace Processor v58 in its order: name column:kind ... A kind is i, t or d, and n or e for
// NULLs, which take room after e; and s for values that ascend, or g for numbers of groups, which are those of their first rows;
// and x for an index.
//
//go:embed tables.txt
var builtin string

// internals are the columns of Trace Processor's internal tables, by the tables' names without the prefix "__intrinsic_".
var internals = sync.OnceValues(func() (byName map[string][]dataframe.Spec, names []string) {
	byName = map[string][]dataframe.Spec{}
	kinds := map[string]dataframe.Kind{"i": dataframe.Integer, "t": dataframe.Text, "d": dataframe.Real}
	for line := range strings.Lines(builtin) {
		words := strings.Fields(line)
		var columns []dataframe.Spec
		for _, w := range words[1:] {
			name, kind, _ := strings.Cut(w, ":")
			columns = append(columns, dataframe.Spec{Name: name, Kind: kinds[kind[:1]], Layout: &dataframe.Layout{
				Nullable: strings.ContainsAny(kind[1:], "ne"), Dense: strings.Contains(kind[1:], "e"),
				Sorted: strings.ContainsAny(kind[1:], "sg"), Group: strings.Contains(kind[1:], "g"), Indexed: strings.Contains(kind[1:], "x"),
			}})
		}
		name := strings.TrimPrefix(words[0], "__intrinsic_")
		byName[name] = columns
		names = append(names, name)
	}
	return byName, names
})

// Dataset has the tables of a trace in a dataset. Sessions on any goroutines share its columns, which are read once.
type Dataset struct {
	TraceID string // of the trace, if its files do not have it

	pool   *dataframe.Pool
	open   Opener
	kept   *table.Kept    // has the rows, or nil
	stored lazily[[]Rows] // of tables
	frames lazily[*dataframe.Frame]
	users  atomic.Int64

	opening sync.Mutex // held while open runs
}

// lazily are things that are made when they are first needed. Those of different names are made at once.
type lazily[T any] struct {
	mu   sync.Mutex
	made map[string]*made[T]
}

type made[T any] struct {
	mu    sync.Mutex
	done  bool
	thing T
}

// get returns what has a name, and makes it if need be. An error is not kept: the next call tries again.
func (l *lazily[T]) get(name string, make func() (T, error)) (T, error) {
	l.mu.Lock()
	m := l.made[name]
	if m == nil {
		if l.made == nil {
			l.made = map[string]*made[T]{}
		}
		m = &made[T]{}
		l.made[name] = m
	}
	l.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done {
		return m.thing, nil
	}
	thing, err := make()
	if err == nil {
		m.thing, m.done = thing, true
	}
	return thing, err
}

// Opener opens the rows of a table of the dataset, in order. Their texts go to the pool.
type Opener func(table string, pool *dataframe.Pool) ([]Rows, error)

// Rows are some rows of a table.
type Rows interface {
	Len() int
	Has(column string) bool
	// Read reads the first rows of a column, all if there are fewer, into values of the kind that they hold.
	Read(column string, rows int, to *dataframe.Values) error
	// Bytes returns a value of a column of bytes, nil for NULL.
	Bytes(column string, row int) ([]byte, error)
	Close() error
}

// NewDataset returns the tables of a dataset.
func NewDataset(open Opener) *Dataset {
	d := &Dataset{pool: dataframe.NewPool(), open: open}
	d.users.Store(1)
	return d
}

// Share returns the dataset for another user, who closes it too. It must not be closed yet.
func (d *Dataset) Share() *Dataset {
	d.users.Add(1)
	return d
}

// Close closes the rows and releases the texts, once all users have called it.
func (d *Dataset) Close() error {
	if d.users.Add(-1) > 0 {
		return nil
	}
	var err error
	for _, m := range d.stored.made {
		for _, r := range m.thing {
			err = errors.Join(err, r.Close())
		}
	}
	if d.kept != nil {
		d.kept.Close()
	}
	d.pool.Free()
	return err
}

// Pool has the texts of all tables.
func (d *Dataset) Pool() *dataframe.Pool { return d.pool }

// Names are the names of Trace Processor's internal tables.
func (d *Dataset) Names() []string {
	_, names := internals()
	return names
}

// storedPrefix begins the names of tables as the dataset has them, with columns that Trace Processor lacks.
const storedPrefix = "dataset_"

// Own are the names of the dataset's tables, also with a prefix. Views of Trace Processor come before them.
func (d *Dataset) Own() []string {
	var names []string
	for _, s := range schema.All() {
		names = append(names, s.Name, storedPrefix+s.Name)
	}
	return names
}

// Table returns an internal table of Trace Processor, or a table of the dataset that has no such name.
func (d *Dataset) Table(name string) (*dataframe.Frame, error) {
	return d.frames.get(name, func() (*dataframe.Frame, error) {
		f, err := d.read(name)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		return f, nil
	})
}

// Declaration returns the CREATE TABLE of a table as a virtual table.
func (d *Dataset) Declaration(name string) (string, error) {
	byName, _ := internals()
	if columns, ok := byName[name]; ok {
		return dataframe.Declaration(columns), nil
	}
	s, err := storedSchema(name)
	if err != nil {
		return "", err
	}
	return dataframe.Declaration(specs(s)), nil
}

func (d *Dataset) read(name string) (*dataframe.Frame, error) {
	byName, _ := internals()
	columns, ok := byName[name]
	if !ok {
		s, err := storedSchema(name)
		if err != nil {
			return nil, err
		}
		return d.Stored(s)
	}
	if make, ok := derived[name]; ok {
		return make(d, columns)
	}
	from := name
	if other, ok := renamed[name]; ok {
		from = other
	}
	return d.columns(from, columns, renames[name])
}

// storedSchema returns the table of the dataset with a name of Own.
func storedSchema(name string) (*table.Schema, error) {
	all, name := schema.All(), strings.TrimPrefix(name, storedPrefix)
	i := slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == name })
	if i < 0 {
		return nil, errors.New("there is no such table")
	}
	return all[i], nil
}

// renamed are the dataset's names of tables, and renames those of columns, where they differ from Trace Processor's.
var (
	renamed = map[string]string{
		"logs": "android_logs", "trace_import_logs": "import_log", "_linux_interrupt_mapping": "linux_interrupt_mapping",
	}
	renames = map[string]map[string]string{
		"track": {"type": "classification"}, "trace_import_logs": localTrace, "metadata": localTrace, "stats": localTrace,
		"trace_diagnostics": localTrace, "flow": localTrace,
	}
	localTrace = map[string]string{"trace_id": "local_trace_id"}
)

// derived are the internal tables that are made of others.
var derived = map[string]func(*Dataset, []dataframe.Spec) (*dataframe.Frame, error){
	"build_flags":                (*Dataset).buildFlags,
	"cpu":                        (*Dataset).cpus,
	"metadata":                   (*Dataset).metadata,
	"modules":                    (*Dataset).parts,
	"stats":                      (*Dataset).stats,
	"profiler_sample":            (*Dataset).samples,
	"profiler_task_context":      (*Dataset).taskContexts,
	"profiler_execution_context": (*Dataset).executionContexts,
}

// rows returns the rows of a table of the dataset.
func (d *Dataset) rows(name string) ([]Rows, error) {
	return d.stored.get(name, func() ([]Rows, error) {
		d.opening.Lock()
		defer d.opening.Unlock()
		return d.open(name, d.pool)
	})
}

// columns returns columns of a table of the dataset. One that it does not have is NULL.
func (d *Dataset) columns(name string, columns []dataframe.Spec, renames map[string]string) (*dataframe.Frame, error) {
	parts, err := d.rows(name)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return dataframe.Empty(d.pool, columns...), nil
	}
	f := &dataframe.Frame{Pool: d.pool}
	for _, part := range parts {
		f.Rows += part.Len()
	}
	for _, c := range columns {
		from := c.Name
		if other, ok := renames[from]; ok {
			from = other
		}
		column := dataframe.LazyRows(c.Name, c.Kind, func(v *dataframe.Values, rows int) error {
			for _, part := range parts {
				if err := d.readColumn(part, from, rows, v); err != nil {
					return err
				}
				rows -= min(rows, part.Len())
			}
			return nil
		})
		column.Layout = c.Layout
		f.Columns = append(f.Columns, column)
	}
	return f, nil
}

// readColumn reads the first rows of a column.
func (d *Dataset) readColumn(part Rows, name string, rows int, v *dataframe.Values) error {
	if part.Has(name) {
		return part.Read(name, rows, v)
	}
	for range min(rows, part.Len()) {
		if name == "trace_id" && d.TraceID != "" {
			v.Text(d.pool.Add(d.TraceID))
		} else {
			v.Null()
		}
	}
	return nil
}

// internal returns an internal table as the dataset has it.
func (d *Dataset) internal(name string) (*dataframe.Frame, error) {
	byName, _ := internals()
	return d.columns(name, byName[name], renames[name])
}

// Stored returns a table as the dataset has it, but for columns of bytes.
func (d *Dataset) Stored(s *table.Schema) (*dataframe.Frame, error) {
	return d.columns(s.Name, specs(s), nil)
}

// specs are the columns of a table of the dataset, but for bytes.
func specs(s *table.Schema) []dataframe.Spec {
	var columns []dataframe.Spec
	for _, c := range s.Columns {
		switch c.Type {
		case table.TypeString:
			columns = append(columns, dataframe.Spec{Name: c.Name, Kind: dataframe.Text})
		case table.TypeFloat64:
			columns = append(columns, dataframe.Spec{Name: c.Name, Kind: dataframe.Real})
		case table.TypeBytes:
		default:
			columns = append(columns, dataframe.Spec{Name: c.Name, Kind: dataframe.Integer})
		}
	}
	return columns
}

// Array returns the elements of a Java array in a heap dump.
func (d *Dataset) Array(id int64) ([]byte, error) {
	parts, err := d.rows("heap_graph_array")
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	return parts[0].Bytes("data", int(id))
}

// Samples of Trace Processor name a context that several share; the dataset's samples have its columns.

// contexts numbers the different values of columns of the samples, in the order of their first row. NULLs alone are no context.
func (d *Dataset) contexts(columns ...string) (ids []int64, first []int, readers []dataframe.Reader, err error) {
	var specs []dataframe.Spec
	for _, c := range columns {
		kind := dataframe.Integer
		if c == "cpu_mode" {
			kind = dataframe.Text
		}
		specs = append(specs, dataframe.Spec{Name: c, Kind: kind})
	}
	f, err := d.columns("stack_sample", specs, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	for i := range specs {
		r, err := f.Reader(i)
		if err != nil {
			return nil, nil, nil, err
		}
		readers = append(readers, r)
	}
	numbers := map[[3]any]int64{}
	for row := range f.Rows {
		var k [3]any
		for i, r := range readers {
			k[i] = r.Any(row)
		}
		if k == ([3]any{}) {
			ids = append(ids, -1)
			continue
		}
		n, known := numbers[k]
		if !known {
			n = int64(len(first))
			numbers[k] = n
			first = append(first, row)
		}
		ids = append(ids, n)
	}
	return ids, first, readers, nil
}

var taskColumns, executionColumns = []string{"upid", "utid", "async_context_id"}, []string{"ucpu", "cpu_mode"}

func (d *Dataset) taskContexts(columns []dataframe.Spec) (*dataframe.Frame, error) {
	return d.contextTable(columns, taskColumns)
}

func (d *Dataset) executionContexts(columns []dataframe.Spec) (*dataframe.Frame, error) {
	return d.contextTable(columns, executionColumns)
}

func (d *Dataset) contextTable(columns []dataframe.Spec, names []string) (*dataframe.Frame, error) {
	_, first, readers, err := d.contexts(names...)
	if err != nil {
		return nil, err
	}
	b := dataframe.NewBuilder(d.pool, columns...)
	for i, c := range columns {
		at := slices.Index(names, c.Name)
		for n, row := range first {
			var v any
			switch {
			case c.Name == "id":
				v = int64(n)
			case at >= 0:
				v = readers[at].Any(row)
			}
			if err := b.Any(i, v); err != nil {
				return nil, err
			}
		}
	}
	return b.Frame(), nil
}

func (d *Dataset) samples(columns []dataframe.Spec) (*dataframe.Frame, error) {
	f, err := d.columns("stack_sample", columns, nil)
	if err != nil {
		return nil, err
	}
	for name, columns := range map[string][]string{"task_context_id": taskColumns, "execution_context_id": executionColumns} {
		i := f.Column(name)
		layout := f.Columns[i].Layout
		f.Columns[i] = dataframe.Lazy(name, dataframe.Integer, func(v *dataframe.Values) error {
			numbers, _, _, err := d.contexts(columns...)
			for _, n := range numbers {
				if n < 0 {
					v.Null()
				} else {
					v.Int(n)
				}
			}
			return err
		})
		f.Columns[i].Layout = layout
	}
	return f, nil
}
