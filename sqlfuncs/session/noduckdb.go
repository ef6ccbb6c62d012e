//go:build !cgo

package session

import (
	"context"
	"database/sql"
	"errors"
)

var errNoDuckDB = errors.New("this tpconvert was built without DuckDB: ask in PerfettoSQL (query --perfetto), " +
	"or install the full build, which https://github.com/tpconvert/tpconvert#install tells how to get")

func available() error { return errNoDuckDB }

func newDatabase() (*sql.DB, error) { return nil, errNoDuckDB }

func addFunctions(*sql.Conn) error { return errNoDuckDB }

type prepared struct{ columns []Column }

func prepare(context.Context, *sql.Conn, string) (*prepared, error) { return nil, errNoDuckDB }

func (p *prepared) allowed() bool { return false }

func onlyTypes(*sql.Conn, string) error { return errNoDuckDB }

// Close does nothing.
func (p *prepared) Close() error { return nil }

// denied reports whether DuckDB refused access to a file.
func denied(error) bool { return false }
