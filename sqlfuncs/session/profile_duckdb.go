//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// stackWriter is catStacks for DuckDB.
type stackWriter struct{ any, blob duckdb.TypeInfo }

func (w stackWriter) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{VariadicTypeInfo: w.any, ResultTypeInfo: w.blob, SpecialNullHandling: true}
}

func (w stackWriter) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) {
		parts := make([]any, len(row))
		for i, v := range row {
			parts[i] = v
		}
		return catStacks(parts)
	}}
}

// function is a scalar function for DuckDB. Its result is NULL if an argument is.
type function struct {
	arguments []duckdb.TypeInfo
	result    duckdb.TypeInfo
	call      duckdb.RowContextExecutorFn
}

func (f function) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{InputTypeInfos: f.arguments, ResultTypeInfo: f.result}
}

func (f function) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowContextExecutor: f.call}
}

// addProfile registers the functions of stacks and profiles.
func addProfile(conn *sql.Conn, p *profiler) error {
	var failed []error
	of := func(info duckdb.TypeInfo, err error) duckdb.TypeInfo {
		failed = append(failed, err)
		return info
	}
	text, integer := of(duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)), of(duckdb.NewTypeInfo(duckdb.TYPE_BIGINT))
	blob, anything := of(duckdb.NewTypeInfo(duckdb.TYPE_BLOB)), of(duckdb.NewTypeInfo(duckdb.TYPE_ANY))
	texts, integers := of(duckdb.NewListInfo(text)), of(duckdb.NewListInfo(integer))
	column := func(name string, info duckdb.TypeInfo) duckdb.StructEntry {
		entry, err := duckdb.NewStructEntry(info, name)
		failed = append(failed, err)
		return entry
	}
	sample := of(duckdb.NewStructInfo(column("stack", blob), column("types", texts), column("numbers", integers)))
	samples := of(duckdb.NewListInfo(sample))
	return errors.Join(append(failed,
		duckdb.RegisterScalarUDF(conn, perfettosql.StackFunction, stackWriter{anything, blob}),
		duckdb.RegisterScalarUDF(conn, stackOfFunction, function{[]duckdb.TypeInfo{integer, integer}, blob,
			func(_ context.Context, row []driver.Value) (any, error) {
				return stackOf(row[0].(int64), row[1].(int64)), nil
			}}),
		duckdb.RegisterScalarUDF(conn, annotationsFunction, function{[]duckdb.TypeInfo{texts, texts}, texts, annotationsOf}),
		duckdb.RegisterScalarUDF(conn, profileFunction, function{[]duckdb.TypeInfo{texts, samples}, blob, p.call}))...)
}

// annotationsOf is annotations for DuckDB.
func annotationsOf(_ context.Context, row []driver.Value) (any, error) {
	functions, err := elements[string](row[0])
	if err != nil {
		return nil, err
	}
	mappings, err := elements[string](row[1])
	if err != nil {
		return nil, err
	}
	return annotations(functions, mappings), nil
}

// call is profile for DuckDB.
func (p *profiler) call(ctx context.Context, row []driver.Value) (any, error) {
	queries, err := elements[string](row[0])
	if err != nil {
		return nil, err
	}
	rows := row[1].([]any)
	samples := make([]profileSample, len(rows))
	for i, r := range rows {
		columns := r.(map[string]any)
		s := profileSample{stack: columns["stack"].([]byte)}
		if i == 0 {
			if s.types, err = elements[string](columns["types"]); err != nil {
				return nil, errNoSampleType
			}
		}
		if s.values, err = elements[int64](columns["numbers"]); err != nil {
			return nil, err
		}
		samples[i] = s
	}
	return p.profile(ctx, queries, samples)
}

// elements returns the elements of a list, which must have the type T.
func elements[T any](list any) ([]T, error) {
	var all []T
	for _, v := range list.([]any) {
		element, ok := v.(T)
		if !ok {
			return nil, errors.New("a list has NULL")
		}
		all = append(all, element)
	}
	return all, nil
}
