package lake

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
	"golang.org/x/mod/semver"
	"modernc.org/sqlite"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Picked are entries of the ledger: those with an id, or those for which a predicate is true.
type Picked struct {
	IDs   []string // of traces
	Where string   // in SQLite's SQL over the columns of the ledger
}

// ErrPicked is wrapped if a predicate is wrong.
var ErrPicked = errors.New("not a predicate over the ledger")

// versions is a collation: v1.9.0 is before v1.10.0, and what is no version, such as (devel), before all.
const versions = "versions"

func init() {
	sqlite.MustRegisterCollationUtf8(versions, func(a, b string) int { return cmp.Or(semver.Compare(a, b), strings.Compare(a, b)) })
}

// picked are the entries that pick finds, with what all callers need.
type picked struct {
	entry
	status string
}

// entryColumns are the columns of a picked entry.
var entryColumns = []string{"trace_id", "url", "etag", "bytes", "status", "sha256", "converter_version", "schema_version", "task", "added_unix_ns"}

// pick calls found with the entries that are picked. It is an error if there is no trace with one of the ids.
func pick(ctx context.Context, t *table.Table, p Picked, found func(picked) error) error {
	columns := slices.Clone(entryColumns)
	var choose func(b batch) ([]int, error)
	missing := map[string]bool{}
	if p.Where != "" {
		f, err := newFilter(ctx, p.Where, columnsOf(byLedger(t)))
		if err != nil {
			return err
		}
		defer f.Close()
		for _, c := range f.columns {
			if !slices.Contains(columns, c.name) {
				columns = append(columns, c.name)
			}
		}
		choose = func(b batch) ([]int, error) { return f.rows(ctx, b) }
	} else {
		wanted := map[string]bool{}
		for _, id := range p.IDs {
			wanted[id], missing[id] = true, true
		}
		choose = func(b batch) (rows []int, err error) {
			for row := range b.rows {
				if id := b.text("trace_id", row); wanted[id] {
					rows = append(rows, row)
					delete(missing, id)
				}
			}
			return rows, nil
		}
	}
	err := eachBatch(ctx, t, columns, func(b batch) error {
		rows, err := choose(b)
		for _, row := range rows {
			if err == nil && b.text("status", row) != task.Abandoned {
				err = found(b.entry(row))
			}
		}
		return err
	})
	if err == nil && len(missing) > 0 {
		for id := range missing {
			return fmt.Errorf("%s and %d others: the ledger has no such trace", id, len(missing)-1)
		}
	}
	return err
}

// entry returns the entry in a row, with what pick reads of it.
func (b batch) entry(row int) picked {
	text := func(column string) string { return strings.Clone(b.text(column, row)) }
	p := picked{entry{task: text("task"), added: b.number("added_unix_ns", row)}, text("status")}
	p.Trace, p.TraceID, p.SHA256, p.Version, p.Schema = kept(b.object(row)), text("trace_id"), text("sha256"), text("converter_version"), int(*b.number("schema_version", row))
	return p
}

// content returns the id of the trace with this content, "" if it was never read.
func (p *picked) content() string {
	if p.TraceID != "" || p.SHA256 == "" {
		return p.TraceID
	}
	return traceID(p.SHA256)
}

// filter finds the rows for which a predicate is true. SQLite tells, batch by batch.
type filter struct {
	*sql.Conn
	db      *sql.DB
	columns []ledgerColumn // that the predicate names
	query   *sql.Stmt
}

func newFilter(ctx context.Context, where string, columns []ledgerColumn) (f *filter, err error) {
	f = &filter{}
	if f.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, err
	}
	if f.Conn, err = f.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	declared := []string{"row_number INTEGER PRIMARY KEY"}
	for _, c := range columns {
		if !strings.Contains(strings.ToLower(where), c.name) {
			continue
		}
		f.columns = append(f.columns, c)
		switch {
		case c.name == "converter_version":
			declared = append(declared, c.name+" TEXT COLLATE "+versions)
		case c.text:
			declared = append(declared, c.name+" TEXT")
		default:
			declared = append(declared, c.name+" INTEGER")
		}
	}
	if _, err = f.ExecContext(ctx, "CREATE TABLE ledger ("+strings.Join(declared, ", ")+")"); err == nil {
		if f.query, err = f.PrepareContext(ctx, "SELECT row_number FROM ledger WHERE ("+where+"\n) ORDER BY row_number"); err != nil {
			err = fmt.Errorf("%q is %w: %w", where, ErrPicked, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *filter) Close() error { return errors.Join(f.Conn.Close(), f.db.Close()) }

// rows returns the numbers of the rows.
func (f *filter) rows(ctx context.Context, b batch) (rows []int, err error) {
	tx, err := f.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // the table is empty again
	add, err := tx.PrepareContext(ctx, "INSERT INTO ledger VALUES (?"+strings.Repeat(", ?", len(f.columns))+")")
	if err != nil {
		return nil, err
	}
	values := make([]any, 1+len(f.columns))
	for row := range b.rows {
		values[0] = row
		for i, c := range f.columns {
			switch {
			case b.columns[c.name].IsNull(row):
				values[1+i] = nil
			case c.text:
				values[1+i] = b.text(c.name, row)
			default:
				values[1+i] = *b.number(c.name, row)
			}
		}
		if _, err := add.ExecContext(ctx, values...); err != nil {
			return nil, err
		}
	}
	found, err := tx.StmtContext(ctx, f.query).QueryContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPicked, err)
	}
	defer found.Close()
	for found.Next() {
		var row int
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, found.Err()
}

// Tried is a trace that was tried before.
type Tried struct {
	task.Trace
	ID, Task string // of its rows, and what made them; "" if it is bad
}

// Tried returns the traces that are picked, except for copies and those that are forgotten.
func (l *Lake) Tried(ctx context.Context, p Picked) (traces []Tried, err error) {
	t, err := l.ledger(ctx)
	if err != nil {
		return nil, err
	}
	err = pick(ctx, t, p, func(e picked) error {
		switch e.status {
		case task.Bad:
			traces = append(traces, Tried{Trace: e.Trace})
		case task.OK:
			traces = append(traces, Tried{e.Trace, e.TraceID, e.task})
		}
		return nil
	})
	return traces, err
}
