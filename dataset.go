package tpconvert

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/internal/convert"
	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Dataset is a finished dataset of Convert.
type Dataset struct {
	Path   string
	Many   bool        // it is a dataset of many traces, each in a folder trace_id=<id>
	Traces []*Manifest // exactly one, unless it is of many
}

// Open reads the manifests of the dataset in a folder. The error is ErrForeign if it is none.
func Open(path string) (*Dataset, error) {
	traces, many, err := export.ReadManifests(path)
	if err != nil {
		return nil, err
	}
	return &Dataset{path, many, traces}, nil
}

// Cut writes the part Options.Range of each trace to the dataset in the folder out, which is laid out like this one. Rows that
// were derived are left out. Of the options, those under "writing" apply but for Append, Merge and those of inputs.
func (d *Dataset) Cut(ctx context.Context, out string, o Options) (*Result, error) {
	begun := time.Now()
	undo, err := staging.MakeParents(out)
	if err != nil {
		return nil, err
	}
	defer undo()
	target, err := o.export()
	if err != nil {
		return nil, err
	}
	manifests, err := export.Cut(ctx, d.Path, out, target)
	if err != nil {
		return nil, err
	}
	result := &Result{Out: out}
	for _, m := range manifests {
		t := Trace{Path: d.Path, Losses: LossesOf(m)}
		t.describe(m)
		result.Traces = append(result.Traces, t)
	}
	result.Seconds, result.PeakMemory = time.Since(begun).Seconds(), memory.Peak()
	return result, nil
}

// Tables adds up the tables of all traces.
func (d *Dataset) Tables() []TableSize {
	var all []TableSize
	for _, m := range d.Traces {
		for _, t := range m.Tables {
			all = addTable(all, TableSize{t.Name, t.Rows, t.Bytes})
		}
	}
	return all
}

// Losses adds up the losses of all traces.
func (d *Dataset) Losses() (all Losses) {
	for _, m := range d.Traces {
		all.Add(LossesOf(m))
	}
	return all
}

// Register creates views of all tables, and the functions, operators and views of Trace Processor, in an empty DuckDB database.
// The caller opens it, with the driver of its choice. In a dataset of many traces, each table has the column trace_id.
func (d *Dataset) Register(ctx context.Context, duckdb *sql.Conn) error {
	files, err := sqlfuncs.ReadDataset(d.Path, true)
	if err != nil {
		return err
	}
	return sqlfuncs.Register(ctx, duckdb, *files, false)
}

// PerfettoSQL begins to run PerfettoSQL, as Trace Processor v58 runs it, on one trace. traceID may be "" if there is only
// one. The files of modules are those of INCLUDE PERFETTO MODULE: a.b is a/b.sql; it may be nil.
func (d *Dataset) PerfettoSQL(traceID string, modules fs.FS) (*Conn, error) {
	if traceID == "" && len(d.Traces) == 1 {
		traceID = d.Traces[0].TraceID
	}
	if !slices.ContainsFunc(d.Traces, func(m *Manifest) bool { return m.TraceID == traceID }) {
		return nil, convert.OptionError("%s has %d traces, and none with the id %q", d.Path, len(d.Traces), traceID)
	}
	files, err := sqlfuncs.ReadDataset(d.Path, true)
	if err != nil {
		return nil, err
	}
	if d.Many {
		folder := sqlfuncs.ReadFolder(filepath.Join(d.Path, "trace_id="+traceID), traceID, true)
		files = &folder
	}
	data := tables.NewDataset(tables.FileOpener(files.Files))
	data.TraceID = files.TraceID
	engine, err := perfettosql.New(data, perfettosql.Options{Modules: modules})
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return &Conn{engine, data}, nil
}

// Conn runs PerfettoSQL on a trace. What a statement creates is there for later ones. One goroutine may use it at a time.
type Conn struct {
	engine *perfettosql.Engine
	data   *tables.Dataset
}

// Row is a row of a query.
type Row struct {
	Columns []string // their names
	Values  []any    // int64, float64, string, []byte or, for NULL, nil
}

// errStop ends a query whose caller wants no more rows.
var errStop = errors.New("stop")

// Query runs the statements of a text in order, and yields the rows of all that give some. An error comes last; it is a
// *SQLError if the text is at fault.
func (c *Conn) Query(ctx context.Context, text string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		stopped := false
		err := c.engine.Run(ctx, text, func(rows *perfettosql.Rows) error {
			columns := rows.Columns()
			for {
				if more, err := rows.Next(); err != nil || !more {
					return err
				}
				values := make([]any, len(columns))
				for i := range values {
					values[i] = rows.Any(i)
				}
				if stopped = !yield(Row{columns, values}, nil); stopped {
					return errStop
				}
			}
		})
		if err != nil && !stopped {
			yield(Row{}, err)
		}
	}
}

// Close ends it; what statements created is gone.
func (c *Conn) Close() error { return errors.Join(c.engine.Close(), c.data.Close()) }
