package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// ErrManyTraces is returned for a dataset of many traces, because PerfettoSQL works on one.
var ErrManyTraces = errors.New("PerfettoSQL requires a dataset of one trace")

// openTables begins the session of PerfettoSQL on the tables of a trace, unless only others run SQL.
func (s *Session) openTables(data *tables.Dataset) error {
	s.data = data
	if s.options.Shared {
		return nil
	}
	return s.Begin()
}

// Fork returns another session of PerfettoSQL on the same data, which sees nothing that statements of other sessions create,
// and may outlive s. Begin makes it ready.
func (s *Session) Fork() *Session {
	options := s.options
	options.Shared = false
	f := &Session{Scratch: s.Scratch, options: options, data: s.data.Share(), drop: func() error { return nil }, starting: make(chan error, 1)}
	f.starting <- nil
	return f
}

// On begins a session of PerfettoSQL on the tables of a trace, without a folder for temporary files. Closing it closes the tables.
func On(data *tables.Dataset, o Options) (*Session, error) {
	o.Perfetto = true
	s := &Session{options: o, data: data, drop: func() error { return nil }, starting: make(chan error, 1)}
	s.starting <- nil
	if err := s.Begin(); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return s, nil
}

// Begin begins the session of PerfettoSQL on its data.
func (s *Session) Begin() (err error) {
	o := perfettosql.Options{Modules: s.options.Modules, Metrics: s.options.Metrics, Memory: cmp.Or(s.options.Memory, DefaultMemory),
		Pool: s.options.Pool}
	s.perfetto, err = perfettosql.New(s.data, o)
	return err
}

// OpenKept makes the tables of a trace whose rows are kept available to PerfettoSQL, some of them without rows. The last session that
// uses them closes the rows.
func (s *Session) OpenKept(rows *table.Kept, without ...string) error {
	return s.openTables(tables.NewKept(rows, without...))
}

// openDuckDB makes the tables of a DuckDB file available to PerfettoSQL: those of its dataset or, if it has the rows itself, copies.
func (s *Session) openDuckDB(ctx context.Context, path string) error {
	db, err := OpenDatabase(ctx)
	if err != nil {
		return err
	}
	s.Database = db // to be closed
	if err := db.Attach(ctx, path, "(READ_ONLY)"); err != nil {
		return err
	}
	layout, err := sqlfuncs.Registered(ctx, db.Conn)
	if err != nil {
		return fmt.Errorf("%s is %w", path, err)
	}
	if layout == sqlfuncs.ManyTraces {
		return ErrManyTraces
	}
	folders, err := db.parquetFolders(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		names, err := db.Texts(ctx, "SELECT table_name FROM duckdb_tables() WHERE database_name = '"+attached+"'")
		if err != nil {
			return err
		}
		return s.openTables(tables.NewDataset(s.copyOpener(context.WithoutCancel(ctx), names)))
	}
	for _, f := range folders {
		if _, err := os.Stat(filepath.Join(f, "_tpconvert.json")); err == nil {
			return s.OpenDataset(ctx, f)
		}
	}
	return fmt.Errorf("%s is of a dataset that is no longer in %s", path, folders[0])
}

// copyOpener copies tables of the attached DuckDB file, of these names, to temporary files when they are first needed.
func (s *Session) copyOpener(ctx context.Context, names []string) tables.Opener {
	return func(table string, pool *dataframe.Pool) ([]tables.Rows, error) {
		if !slices.Contains(names, table) {
			return nil, nil
		}
		path := filepath.Join(s.Scratch, table+".parquet")
		if err := s.Exec(ctx, fmt.Sprintf("COPY %s.%s TO %s (FORMAT parquet)", attached, table, sqltext.QuoteText(filepath.ToSlash(path)))); err != nil {
			return nil, err
		}
		f, err := os.Open(path)
		_ = os.Remove(path) // if the system does not remove open files, the end of the session does
		if err != nil {
			return nil, err
		}
		rows, err := tables.OpenFile(f, pool)
		if err != nil {
			return nil, err
		}
		return []tables.Rows{rows}, nil
	}
}

// Perfetto is the session of PerfettoSQL, nil for DuckDB's SQL.
func (s *Session) Perfetto() *perfettosql.Engine { return s.perfetto }

// Stored has the tables of the dataset, for PerfettoSQL.
func (s *Session) Stored() *tables.Dataset { return s.data }

func (s *Session) eachPerfetto(ctx context.Context, text string, each func(*Query) error) error {
	err := s.perfetto.Run(ctx, text, func(rows *perfettosql.Rows) error {
		q := &Query{Last: rows.Last, rows: rows}
		for _, name := range rows.Columns() {
			q.Columns = append(q.Columns, Column{Name: name, Kind: Variant})
		}
		return each(q)
	})
	if at := errorPosition(err); at >= 0 {
		return &sqlError{err.Error(), text, at}
	}
	return err
}

// Rows are the rows of a query of PerfettoSQL.
func (q *Query) Rows() *perfettosql.Rows { return q.rows }

// Infer finds the kinds of the columns of PerfettoSQL, whose types belong to values: from the first rows, or from all if rows is
// negative. A column of several kinds is a Variant.
func (q *Query) Infer(rows int) error {
	if q.rows == nil {
		return nil
	}
	kinds := make(Kinds, len(q.Columns))
	for rows < 0 || len(q.ahead) < rows {
		more, err := q.rows.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		values := make([]any, len(q.Columns))
		for i := range values {
			values[i] = q.rows.Any(i)
		}
		kinds.Add(values)
		q.ahead = append(q.ahead, values)
	}
	for i := range q.Columns {
		q.Columns[i].Kind = kinds.Of(i)
	}
	return nil
}

// Kinds are the kinds of the values of each column of some rows, as bits.
type Kinds []uint

// Add adds those of a row of PerfettoSQL.
func (k Kinds) Add(row []any) {
	for i, v := range row {
		switch v.(type) {
		case int64:
			k[i] |= 1 << Integer
		case float64:
			k[i] |= 1 << Real
		case string:
			k[i] |= 1 << Text
		case []byte:
			k[i] |= 1 << Bytes
		}
	}
}

// Of returns the kind of a column: a Variant if its values have several that are not numbers, and Text if there are none.
func (k Kinds) Of(column int) Kind {
	switch k[column] {
	case 0, 1 << Text:
		return Text
	case 1 << Integer:
		return Integer
	case 1 << Real, 1<<Integer | 1<<Real:
		return Real
	case 1 << Bytes:
		return Bytes
	}
	return Variant
}

func (q *Query) eachPerfetto(row func([]any) error) error {
	for _, values := range q.ahead {
		if err := row(values); err != nil {
			return err
		}
	}
	values := make([]any, len(q.Columns))
	for {
		more, err := q.rows.Next()
		if err != nil || !more {
			return err
		}
		for i := range values {
			values[i] = q.rows.Any(i)
		}
		if err := row(values); err != nil {
			return err
		}
	}
}
