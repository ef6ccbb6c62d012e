package lake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/traces"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	stored "github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Selection has the rows of some traces, in all tables at one state.
type Selection struct {
	Traces []Selected // in the order of their ids, which is that of rows in files

	attempts map[string]string // whose rows count, by trace; "" if all do
	tasks    map[string]string // that made the rows
	days     map[string]string
	labels   map[string]task.Labels
	tables   map[string]func() (*traces.Files, error)
	metrics  map[string]*table.Table
	blocks   *store.Blocks

	mu     sync.Mutex
	opened []*traces.Files
}

// Selected is a trace with rows.
type Selected struct {
	ID    string
	Facts []any // what the ledger says in the wanted columns: a string, an int64 or nil
}

// Select selects those of the picked traces that have rows. columns are those of the ledger for their facts.
func (l *Lake) Select(ctx context.Context, p Picked, columns []string) (s *Selection, err error) {
	err = l.read(ctx, "select", func(ctx context.Context) error {
		s = &Selection{attempts: map[string]string{}, tasks: map[string]string{}, days: map[string]string{}, labels: map[string]task.Labels{}, tables: map[string]func() (*traces.Files, error){}, metrics: map[string]*table.Table{}, blocks: store.NewBlocks()}
		ledger, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		facts, err := factsOf(ledger, columns)
		if err != nil {
			return err
		}
		more := append(slices.Clone(columns), export.TraceDayColumn)
		if byLedger(ledger) {
			more = append(more, export.TraceAttemptColumn)
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
			s.tasks[e.TraceID], s.days[e.TraceID], s.labels[e.TraceID] = e.task, e.Day, e.Labels
			return nil
		})
		if err != nil {
			return err
		}
		slices.SortFunc(s.Traces, func(a, b Selected) int { return cmp.Compare(a.ID, b.ID) })
		if err := l.loadAll(ctx, s, tableNames()[1:], metricNames(ledger)); err != nil {
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
func (l *Lake) loadAll(ctx context.Context, s *Selection, names, metrics []string) error {
	var mu sync.Mutex
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, name := range slices.Concat(names, metrics) {
		group.Go(func() error {
			t, err := l.load(loading, name)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.tables[name] = s.opener(ctx, t)
			if i >= len(names) {
				s.metrics[name] = t
			}
			return nil
		})
	}
	return group.Wait()
}

// opener returns what opens a table once.
func (s *Selection) opener(ctx context.Context, t *table.Table) func() (*traces.Files, error) {
	return sync.OnceValues(func() (*traces.Files, error) {
		files, err := s.open(context.WithoutCancel(ctx), t)
		if err != nil {
			err = fmt.Errorf("table %s: %w", strings.Join(t.Identifier(), "."), err)
		}
		return files, err
	})
}

// Rows opens the tables of a trace, on any goroutine.
func (s *Selection) Rows(trace string) stored.Opener {
	return func(name string, pool *dataframe.Pool) ([]stored.Rows, error) {
		open, there := s.tables[name]
		if !there {
			return nil, nil
		}
		files, err := open()
		if err != nil {
			return nil, err
		}
		return files.Rows(trace, pool), nil
	}
}

// open opens the files of a table that have rows of the selected traces.
func (s *Selection) open(ctx context.Context, t *table.Table) (*traces.Files, error) {
	opened := &traces.Files{}
	s.mu.Lock()
	s.opened = append(s.opened, opened)
	s.mu.Unlock()
	if t.CurrentSnapshot() == nil || len(s.Traces) == 0 {
		return opened, nil
	}
	all, err := filesOn(ctx, t, maps.Values(s.days))
	if err != nil {
		return nil, err
	}
	from, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	some := s.counts
	if t.Identifier()[len(t.Identifier())-1] == task.Ledger {
		some = s.entries
	}
	for _, f := range all {
		if !mayHave(t, f.File, s.attempts) {
			continue
		}
		if deletesOf(f) != "" {
			return nil, fmt.Errorf("another engine deleted rows of %s, in files of their own: tpfleet compact merges these", f.File.FilePath())
		}
		in, err := from.Open(f.File.FilePath())
		if err == nil {
			err = opened.Add(s.blocks.Of(in, f.File.FilePath(), f.File.FileSizeBytes()), some)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.File.FilePath(), err)
		}
	}
	return opened, nil
}

// counts says which rows of a file are of selected traces and, if the ledger names attempts, of those.
func (s *Selection) counts(f *stored.File) (traces.Counts, error) {
	if !f.Has(export.TraceAttemptColumn) {
		return func(id string, _ int) bool { _, there := s.attempts[id]; return there }, nil
	}
	attempts, err := f.Texts(export.TraceAttemptColumn)
	return func(id string, row int) bool {
		attempt, there := s.attempts[id]
		return there && attempts.Text(row) == attempt
	}, err
}

// entries says which rows of a file of the ledger are of selected traces.
func (s *Selection) entries(f *stored.File) (traces.Counts, error) {
	status, err := f.Texts("status")
	return func(id string, row int) bool {
		_, there := s.attempts[id]
		return there && status.Text(row) == task.OK
	}, err
}

// Close closes the files.
func (s *Selection) Close() (err error) {
	for _, files := range s.opened {
		err = errors.Join(err, files.Close())
	}
	return err
}
