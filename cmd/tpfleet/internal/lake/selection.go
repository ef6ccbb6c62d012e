package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	stored "github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Selection has the rows of some traces, in all tables at one state.
type Selection struct {
	Traces []Selected // in the order of their ids, which is that of rows in files

	attempts map[string]string // whose rows count, by trace; "" if all do
	tables   map[string]func() (*files, error)
	blocks   *store.Blocks

	mu     sync.Mutex
	opened []*stored.File
}

// Selected is a trace with rows.
type Selected struct {
	ID    string
	Facts []any // what the ledger says in the wanted columns: a string, an int64 or nil
}

// Select selects those of the picked traces that have rows. columns are those of the ledger for their facts.
func (l *Lake) Select(ctx context.Context, p Picked, columns []string) (s *Selection, err error) {
	err = l.read(ctx, "select", func(ctx context.Context) error {
		s = &Selection{attempts: map[string]string{}, tables: map[string]func() (*files, error){}, blocks: store.NewBlocks()}
		ledger, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		facts, err := factsOf(ledger, columns)
		if err != nil {
			return err
		}
		more := columns
		if byLedger(ledger) {
			more = append(slices.Clone(columns), export.TraceAttemptColumn)
		}
		err = pick(ctx, ledger, p, more, func(e entry) error {
			if e.Status != task.OK {
				return nil
			}
			one := Selected{ID: e.TraceID}
			for _, c := range facts {
				one.Facts = append(one.Facts, c.value(&e))
			}
			s.Traces, s.attempts[e.TraceID] = append(s.Traces, one), e.attempt
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(s.Traces, func(a, b Selected) int { return cmp.Compare(a.ID, b.ID) })
		if err := l.loadAll(ctx, s); err != nil {
			return err
		}
		s.tables[task.Ledger] = s.opener(ctx, ledger)
		// Each commit changes the ledger. If it is the same as before, the tables are all of one state.
		now, err := l.ledger(ctx)
		if err == nil && now.MetadataLocation() != ledger.MetadataLocation() {
			err = errMoved
		}
		return err
	})
	return s, err
}

// factsOf returns columns of the ledger by their names.
func factsOf(ledger *table.Table, names []string) (columns []ledgerColumn, err error) {
	for _, name := range names {
		i := slices.IndexFunc(columnsOf(byLedger(ledger)), func(c ledgerColumn) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrNoColumn, name)
		}
		columns = append(columns, allColumns[i])
	}
	return columns, nil
}

// ErrNoColumn is wrapped if the ledger does not have a column.
var ErrNoColumn = errors.New("the ledger has no such column")

// loadAll loads the current state of the tables that a commit changes with the ledger.
func (l *Lake) loadAll(ctx context.Context, s *Selection) error {
	var mu sync.Mutex
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, name := range tableNames()[1:] {
		group.Go(func() error {
			t, err := l.load(loading, name)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.tables[name] = s.opener(ctx, t)
			return nil
		})
	}
	return group.Wait()
}

// opener returns what opens a table once.
func (s *Selection) opener(ctx context.Context, t *table.Table) func() (*files, error) {
	return sync.OnceValues(func() (*files, error) {
		of, err := s.open(context.WithoutCancel(ctx), t)
		if err != nil {
			err = fmt.Errorf("table %s: %w", strings.Join(t.Identifier(), "."), err)
		}
		return of, err
	})
}

// Rows opens the tables of a trace, on any goroutine.
func (s *Selection) Rows(trace string) stored.Opener {
	return func(name string, pool *dataframe.Pool) ([]stored.Rows, error) {
		open, there := s.tables[name]
		if !there {
			return nil, nil
		}
		of, err := open()
		if err != nil {
			return nil, err
		}
		at, there := of.traces[trace]
		if !there {
			return nil, nil
		}
		return []stored.Rows{of.open[at.file].Part(at.from, at.to, pool)}, nil
	}
}

// files are those of a table, and where the rows of each selected trace are in them.
type files struct {
	open   []*stored.File
	traces map[string]span
}

// span are the rows of a trace in a file, which are together.
type span struct{ file, from, to int }

func (s *Selection) open(ctx context.Context, t *table.Table) (*files, error) {
	of := &files{traces: map[string]span{}}
	if t.CurrentSnapshot() == nil || len(s.Traces) == 0 {
		return of, nil
	}
	all, err := planFiles(ctx, t)
	if err != nil {
		return nil, err
	}
	from, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	id, there := t.Schema().FindFieldByName("trace_id")
	if !there {
		return nil, errIncomplete
	}
	ids := make([]string, len(s.Traces))
	for i, trace := range s.Traces {
		ids[i] = trace.ID
	}
	for _, f := range all {
		if !between(ids, f.File.LowerBoundValues()[id.ID], f.File.UpperBoundValues()[id.ID]) {
			continue
		}
		if deletesOf(f) != "" {
			return nil, fmt.Errorf("another engine deleted rows of %s, in files of their own: tpfleet compact merges these", f.File.FilePath())
		}
		if err := s.index(of, from, f.File, t.Identifier()[len(t.Identifier())-1] == task.Ledger); err != nil {
			return nil, fmt.Errorf("%s: %w", f.File.FilePath(), err)
		}
	}
	return of, nil
}

// index adds the rows of a file. Of those of the ledger, one of each trace says that it is ok.
func (s *Selection) index(of *files, from icebergio.IO, data iceberg.DataFile, ledger bool) error {
	in, err := from.Open(data.FilePath())
	if err != nil {
		return err
	}
	pool := dataframe.NewPool() // of the ids
	defer pool.Free()
	f, err := stored.OpenFile(s.blocks.Of(in, data.FilePath(), data.FileSizeBytes()), pool)
	if err != nil {
		return err
	}
	of.open = append(of.open, f)
	s.mu.Lock()
	s.opened = append(s.opened, f)
	s.mu.Unlock()
	column := func(name string) (dataframe.Reader, error) {
		if !f.Has(name) {
			return dataframe.Reader{}, errIncomplete
		}
		return f.Texts(name)
	}
	ids, err := column("trace_id")
	if err != nil {
		return err
	}
	counts := func(int, string) bool { return true }
	if ledger {
		status, err := column("status")
		if err != nil {
			return err
		}
		counts = func(row int, _ string) bool { return status.Text(row) == task.OK }
	} else if f.Has(export.TraceAttemptColumn) {
		attempts, err := column(export.TraceAttemptColumn)
		if err != nil {
			return err
		}
		counts = func(row int, attempt string) bool { return attempts.Text(row) == attempt }
	}
	for row := 0; row < f.Len(); {
		first := row
		if ids.IsNull(row) {
			row++
			continue
		}
		id := strings.Clone(ids.Text(first))
		attempt, wanted := s.attempts[id]
		wanted = wanted && counts(first, attempt)
		for row++; row < f.Len() && !ids.IsNull(row) && ids.TextID(row) == ids.TextID(first) && (!wanted || counts(row, attempt)); row++ {
		}
		if !wanted {
			continue
		}
		if _, twice := of.traces[id]; twice {
			return fmt.Errorf("the rows of %s are not together: tpfleet compact sorts them", id)
		}
		of.traces[id] = span{len(of.open) - 1, first, row}
	}
	return nil
}

// Close closes the files.
func (s *Selection) Close() (err error) {
	for _, f := range s.opened {
		err = errors.Join(err, f.Close())
	}
	return err
}
