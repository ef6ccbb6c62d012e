//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// demangler is sqlfuncs.Demangle as a function of DuckDB.
type demangler struct{ text duckdb.TypeInfo }

// Config says that the function makes a text of a text.
func (d demangler) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: []duckdb.TypeInfo{d.text}, ResultTypeInfo: d.text}
}

// Executor returns what DuckDB calls for each row.
func (d demangler) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowContextExecutor: func(_ context.Context, row []driver.Value) (any, error) {
		if name, ok := sqlfuncs.Demangle(row[0].(string)); ok {
			return name, nil
		}
		return nil, nil
	}}
}

// addFunctions registers the function that only exists in sessions.
func addFunctions(conn *sql.Conn) error {
	text, err := duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	if err != nil {
		return err
	}
	return duckdb.RegisterScalarUDF(conn, demangleFunction, demangler{text})
}
