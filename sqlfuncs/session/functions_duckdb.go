//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// function is a scalar function for DuckDB.
type function struct {
	config duckdb.ScalarFuncConfig
	call   duckdb.RowContextExecutorFn
}

func (f function) Config() duckdb.ScalarFuncConfig { return f.config }

func (f function) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowContextExecutor: f.call}
}

// registry registers functions, for macros to call.
type registry struct {
	conn *sql.Conn
	err  error
}

// take returns a type of DuckDB that has just been made.
func (r *registry) take(info duckdb.TypeInfo, err error) duckdb.TypeInfo {
	r.err = errors.Join(r.err, err)
	return info
}

func (r *registry) kind(kind duckdb.Type) duckdb.TypeInfo { return r.take(duckdb.NewTypeInfo(kind)) }

func (r *registry) list(of duckdb.TypeInfo) duckdb.TypeInfo { return r.take(duckdb.NewListInfo(of)) }

func (r *registry) add(name string, config duckdb.ScalarFuncConfig, call duckdb.RowContextExecutorFn) {
	r.err = errors.Join(r.err, duckdb.RegisterScalarUDF(r.conn, name, function{config, call}))
}

// taking returns the configuration of a function of these arguments. Its result is NULL if an argument is.
func taking(result duckdb.TypeInfo, arguments ...duckdb.TypeInfo) duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: arguments, ResultTypeInfo: result}
}

// addFunctions registers functions that only exist in sessions.
func addFunctions(conn *sql.Conn) error {
	r := &registry{conn: conn}
	text, integer, blob := r.kind(duckdb.TYPE_VARCHAR), r.kind(duckdb.TYPE_BIGINT), r.kind(duckdb.TYPE_BLOB)
	texts, integers := r.list(text), r.list(integer)
	lists := r.list(integers)
	r.add(demangleFunction, taking(text, text), demangle)
	r.add(argsFunction, taking(text, texts, texts, texts), writeArgs)
	r.add(hashFunction, taking(integer, texts), func(_ context.Context, row []driver.Value) (any, error) { return hash(row[0].([]any)) })
	r.add(compressFunction, taking(blob, blob), compress)
	r.add(elementsFunction, taking(text, text, blob), func(_ context.Context, row []driver.Value) (any, error) {
		return elementsJSON(row[0].(string), row[1].([]byte))
	})
	for _, f := range integerFunctions {
		r.add(f.name, taking(lists, slices.Repeat([]duckdb.TypeInfo{integers}, f.arguments)...), f.onLists)
	}
	return r.err
}

// demangle is sqlfuncs.Demangle for DuckDB.
func demangle(_ context.Context, row []driver.Value) (any, error) {
	if name, ok := sqlfuncs.Demangle(row[0].(string)); ok {
		return name, nil
	}
	return nil, nil
}

// writeArgs is argsJSON for DuckDB.
func writeArgs(_ context.Context, row []driver.Value) (any, error) {
	var columns [3][]string
	for i, values := range row {
		for _, v := range values.([]any) {
			columns[i] = append(columns[i], v.(string))
		}
	}
	return argsJSON(columns[0], columns[1], columns[2])
}

// onLists is the function for DuckDB.
func (f integerFunction) onLists(_ context.Context, row []driver.Value) (any, error) {
	columns := make([][]int64, len(row))
	for i, values := range row {
		for _, v := range values.([]any) {
			columns[i] = append(columns[i], v.(int64))
		}
	}
	return f.call(columns)
}

// compressFunction is the name of compress in SQL.
const compressFunction = "_zstd_compress"

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil) })

// compress compresses bytes with Zstandard.
func compress(_ context.Context, row []driver.Value) (any, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(row[0].([]byte), nil), nil
}
