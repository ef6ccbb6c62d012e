//go:build !cgo

package session

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

var errNoDuckDB = errors.New("this tpconvert was built without DuckDB; build it with CGO_ENABLED=1 and a C compiler")

func available() error { return errNoDuckDB }

func newDatabase() (*sql.DB, error) { return nil, errNoDuckDB }

func addFunctions(*sql.Conn) error { return errNoDuckDB }

func addMessages(*sql.Conn, Metrics) error { return errNoDuckDB }

func addProfile(*sql.Conn, *profiler) error { return errNoDuckDB }

type recursion struct {
	perfettosql.Recursion
	conn *sql.Conn
}

func newRecursion(*sql.Conn) *recursion { return nil }

func addRecursion(*sql.Conn, *recursion) error { return errNoDuckDB }

func (r *recursion) begin(context.Context) {}

func (r *recursion) forget() error { return nil }

func (r *recursion) Close() error { return nil }

type prepared struct{ columns []Column }

func prepare(context.Context, *sql.Conn, string) (*prepared, error) { return nil, errNoDuckDB }

func (p *prepared) allowed() bool { return false }

func onlyTypes(*sql.Conn, string) error { return errNoDuckDB }

func (p *prepared) described() []perfettosql.Column { return nil }

// Close does nothing.
func (p *prepared) Close() error { return nil }

// denied reports whether DuckDB refused access to a file.
func denied(error) bool { return false }

// Chunks runs the query and calls each with its rows.
func (q *Query) Chunks(context.Context, func(*Chunk) error) error { return errNoDuckDB }
