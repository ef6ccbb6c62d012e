// Package predicate finds rows for which a predicate in SQLite's SQL is true.
package predicate

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
	"modernc.org/sqlite"
)

// ErrWrong is wrapped if a predicate is wrong.
var ErrWrong = errors.New("not a predicate")

// Column is a column of integers or texts.
type Column struct {
	Name    string
	Text    bool
	Version bool // texts compare as versions: v1.9.0 is before v1.10.0, and what is no version, such as (devel), before all
}

// versions is a collation.
const versions = "versions"

func init() {
	sqlite.MustRegisterCollationUtf8(versions, func(a, b string) int { return cmp.Or(semver.Compare(a, b), strings.Compare(a, b)) })
}

// Predicate is asked about rows, batch by batch.
type Predicate struct {
	Columns []Column // that the predicate names

	db     *sql.DB
	conn   *sql.Conn
	insert string
	query  *sql.Stmt
}

// New returns a predicate over a table of a name with some columns.
func New(ctx context.Context, table, where string, columns []Column) (p *Predicate, err error) {
	p = &Predicate{}
	if p.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, err
	}
	if p.conn, err = p.db.Conn(ctx); err != nil {
		return nil, errors.Join(err, p.db.Close())
	}
	declared := []string{"row_number INTEGER PRIMARY KEY"}
	for _, c := range columns {
		if !strings.Contains(strings.ToLower(where), c.Name) {
			continue
		}
		p.Columns = append(p.Columns, c)
		switch {
		case c.Version:
			declared = append(declared, c.Name+" TEXT COLLATE "+versions)
		case c.Text:
			declared = append(declared, c.Name+" TEXT")
		default:
			declared = append(declared, c.Name+" INTEGER")
		}
	}
	p.insert = "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(p.Columns)) + ")"
	if _, err = p.conn.ExecContext(ctx, "CREATE TABLE "+table+" ("+strings.Join(declared, ", ")+")"); err == nil {
		if p.query, err = p.conn.PrepareContext(ctx, "SELECT row_number FROM "+table+" WHERE ("+where+"\n) ORDER BY row_number"); err != nil {
			err = fmt.Errorf("%q is %w over the %s: %w", where, ErrWrong, table, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the predicate.
func (p *Predicate) Close() error { return errors.Join(p.conn.Close(), p.db.Close()) }

// Rows returns the numbers of the rows, of so many, for which the predicate is true. value returns a value of a row: an int64, a string
// or nil.
func (p *Predicate) Rows(ctx context.Context, rows int, value func(column Column, row int) any) (numbers []int, err error) {
	tx, err := p.conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() // the table is empty again
	add, err := tx.PrepareContext(ctx, p.insert)
	if err != nil {
		return nil, err
	}
	values := make([]any, 1+len(p.Columns))
	for row := range rows {
		values[0] = row
		for i, c := range p.Columns {
			values[1+i] = value(c, row)
		}
		if _, err := add.ExecContext(ctx, values...); err != nil {
			return nil, err
		}
	}
	found, err := tx.StmtContext(ctx, p.query).QueryContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrong, err)
	}
	defer found.Close()
	for found.Next() {
		var row int
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		numbers = append(numbers, row)
	}
	return numbers, found.Err()
}
