//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2"
)

// available reports that DuckDB is built in.
func available() error { return nil }

// newDatabase returns an empty database in memory that only loads built-in extensions.
func newDatabase() (*sql.DB, error) {
	return sql.Open("duckdb", "?autoinstall_known_extensions=false&autoload_known_extensions=false")
}

// denied reports whether DuckDB refused access to a file.
func denied(err error) bool {
	var failed *duckdb.Error
	return errors.As(err, &failed) && failed.Type == duckdb.ErrorTypePermission
}

// prepare prepares a statement. DuckDB may run earlier statements that the last of several needs, as for PIVOT.
func prepare(ctx context.Context, conn *sql.Conn, text string) (*prepared, error) {
	p := &prepared{}
	err := conn.Raw(func(raw any) error {
		s, err := raw.(driver.ConnPrepareContext).PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		p.stmt = s.(*duckdb.Stmt)
		return p.describe()
	})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// prepared is a prepared statement.
type prepared struct {
	stmt    *duckdb.Stmt
	columns []Column // of the rows, nil if it is not a query
}

// Close releases the statement.
func (p *prepared) Close() error {
	if p == nil || p.stmt == nil {
		return nil
	}
	return p.stmt.Close()
}

// describe finds the columns.
func (p *prepared) describe() error {
	kind, err := p.stmt.StatementType()
	if err != nil || kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
		return err
	}
	n, err := p.stmt.ColumnCount()
	p.columns = make([]Column, n)
	for i := 0; i < n && err == nil; i++ {
		var columnType duckdb.Type
		if p.columns[i].Name, err = p.stmt.ColumnName(i); err == nil {
			columnType, err = p.stmt.ColumnType(i)
		}
		p.columns[i].Kind = kindOf(columnType)
	}
	return err
}

// allowedTypes are the types of statements that read, or change what is in memory.
var allowedTypes = map[duckdb.StmtType]bool{
	duckdb.STATEMENT_TYPE_SELECT: true, duckdb.STATEMENT_TYPE_EXPLAIN: true, duckdb.STATEMENT_TYPE_INSERT: true,
	duckdb.STATEMENT_TYPE_UPDATE: true, duckdb.STATEMENT_TYPE_DELETE: true, duckdb.STATEMENT_TYPE_CREATE: true,
	duckdb.STATEMENT_TYPE_CREATE_FUNC: true, duckdb.STATEMENT_TYPE_ALTER: true, duckdb.STATEMENT_TYPE_DROP: true,
	duckdb.STATEMENT_TYPE_TRANSACTION: true, duckdb.STATEMENT_TYPE_ANALYZE: true,
	duckdb.STATEMENT_TYPE_SET: true, duckdb.STATEMENT_TYPE_VARIABLE_SET: true, // settings are locked
}

// allowed reports whether SQL that may only read the data may have the statement.
func (p *prepared) allowed() bool {
	kind, err := p.stmt.StatementType()
	return err == nil && allowedTypes[kind]
}

// onlyTypes refuses a text that DuckDB, unlike the session, takes for several statements, because prepare runs all but
// the last. PIVOT creates a type before it reads.
func onlyTypes(conn *sql.Conn, text string) error {
	return conn.Raw(func(raw any) error {
		var all bindings.ExtractedStatements
		n := bindings.ExtractStatements(connection(raw), text, &all)
		defer bindings.DestroyExtracted(&all)
		for i := bindings.IdxT(0); i+1 < n; i++ {
			var one bindings.PreparedStatement
			bindings.PrepareExtractedStatement(connection(raw), all, i, &one)
			kind := bindings.PreparedStatementType(one)
			bindings.DestroyPrepare(&one)
			if kind != bindings.StatementTypeCreate {
				return fmt.Errorf("several statements in one: %w", ErrDenied)
			}
		}
		return nil
	})
}

// connection returns DuckDB's connection, which the driver hides.
func connection(raw any) bindings.Connection {
	conn := reflect.ValueOf(raw.(*duckdb.Conn)).Elem().FieldByName("conn")
	return bindings.Connection{Ptr: conn.FieldByName("Ptr").UnsafePointer()}
}

func kindOf(t duckdb.Type) Kind {
	switch t {
	case duckdb.TYPE_TINYINT, duckdb.TYPE_SMALLINT, duckdb.TYPE_INTEGER, duckdb.TYPE_BIGINT,
		duckdb.TYPE_UTINYINT, duckdb.TYPE_USMALLINT, duckdb.TYPE_UINTEGER:
		return Integer
	case duckdb.TYPE_HUGEINT, duckdb.TYPE_UHUGEINT, duckdb.TYPE_UBIGINT:
		return Huge
	case duckdb.TYPE_FLOAT, duckdb.TYPE_DOUBLE, duckdb.TYPE_DECIMAL:
		return Real
	case duckdb.TYPE_BOOLEAN:
		return Bool
	case duckdb.TYPE_BLOB:
		return Bytes
	case duckdb.TYPE_VARIANT:
		return Variant
	case duckdb.TYPE_LIST, duckdb.TYPE_ARRAY, duckdb.TYPE_STRUCT, duckdb.TYPE_MAP, duckdb.TYPE_UNION:
		return Nested
	default:
		return Text
	}
}
