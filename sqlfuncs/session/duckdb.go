//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// newDatabase returns an empty database in memory that only loads built-in extensions.
func newDatabase() (*sql.DB, error) {
	return sql.Open("duckdb", "?autoinstall_known_extensions=false&autoload_known_extensions=false")
}

// denied reports whether DuckDB refused access to a file.
func denied(err error) bool {
	var failed *duckdb.Error
	return errors.As(err, &failed) && failed.Type == duckdb.ErrorTypePermission
}

// demangler is sqlfuncs.Demangle for DuckDB.
type demangler struct{ text duckdb.TypeInfo }

func (d demangler) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: []duckdb.TypeInfo{d.text}, ResultTypeInfo: d.text}
}

func (d demangler) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) {
		if name, ok := sqlfuncs.Demangle(row[0].(string)); ok {
			return name, nil
		}
		return nil, nil
	}}
}

// argsWriter is argsJSON for DuckDB.
type argsWriter struct{ texts, text duckdb.TypeInfo }

func (a argsWriter) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: slices.Repeat([]duckdb.TypeInfo{a.texts}, 3), ResultTypeInfo: a.text}
}

func (a argsWriter) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) {
		var columns [3][]string
		for i, values := range row {
			for _, v := range values.([]any) {
				columns[i] = append(columns[i], v.(string))
			}
		}
		return argsJSON(columns[0], columns[1], columns[2])
	}}
}

// hasher is hash for DuckDB.
type hasher struct{ texts, integer duckdb.TypeInfo }

func (h hasher) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: []duckdb.TypeInfo{h.texts}, ResultTypeInfo: h.integer}
}

func (h hasher) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) { return hash(row[0].([]any)) }}
}

// integers is an integerFunction for DuckDB.
type integers struct {
	integerFunction
	list, lists duckdb.TypeInfo
}

func (f integers) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: slices.Repeat([]duckdb.TypeInfo{f.list}, f.arguments), ResultTypeInfo: f.lists}
}

func (f integers) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) {
		columns := make([][]int64, len(row))
		for i, values := range row {
			for _, v := range values.([]any) {
				columns[i] = append(columns[i], v.(int64))
			}
		}
		return f.call(columns)
	}}
}

// addFunctions registers functions that only exist in sessions, for macros to call.
func addFunctions(conn *sql.Conn) error {
	text, err := duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	if err != nil {
		return err
	}
	integer, err := duckdb.NewTypeInfo(duckdb.TYPE_BIGINT)
	if err != nil {
		return err
	}
	list, err := duckdb.NewListInfo(integer)
	if err != nil {
		return err
	}
	lists, err := duckdb.NewListInfo(list)
	if err != nil {
		return err
	}
	texts, err := duckdb.NewListInfo(text)
	if err != nil {
		return err
	}
	err = errors.Join(duckdb.RegisterScalarUDF(conn, demangleFunction, demangler{text}),
		duckdb.RegisterScalarUDF(conn, argsFunction, argsWriter{texts, text}),
		duckdb.RegisterScalarUDF(conn, hashFunction, hasher{texts, integer}))
	for _, f := range integerFunctions {
		err = errors.Join(err, duckdb.RegisterScalarUDF(conn, f.name, integers{f, list, lists}))
	}
	return err
}

// prepare checks a single statement and returns its result columns, or none if it is not a query.
func prepare(ctx context.Context, conn *sql.Conn, statement string) (columns []Column, err error) {
	err = conn.Raw(func(raw any) error {
		s, err := raw.(driver.ConnPrepareContext).PrepareContext(ctx, statement)
		if err != nil {
			return err
		}
		defer s.Close()
		stmt := s.(*duckdb.Stmt)
		kind, err := stmt.StatementType()
		if err != nil || kind != duckdb.STATEMENT_TYPE_SELECT && kind != duckdb.STATEMENT_TYPE_EXPLAIN {
			return err
		}
		n, err := stmt.ColumnCount()
		columns = make([]Column, n)
		for i := 0; i < n && err == nil; i++ {
			var t duckdb.Type
			if columns[i].Name, err = stmt.ColumnName(i); err == nil {
				t, err = stmt.ColumnType(i)
			}
			columns[i].Kind = kindOf(t)
		}
		return err
	})
	return columns, err
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
