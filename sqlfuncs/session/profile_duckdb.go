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

// addProfile registers the functions of stacks and profiles.
func addProfile(conn *sql.Conn, p *profiler) error {
	r := &registry{conn: conn}
	text, integer, blob := r.kind(duckdb.TYPE_VARCHAR), r.kind(duckdb.TYPE_BIGINT), r.kind(duckdb.TYPE_BLOB)
	texts := r.list(text)
	column := func(name string, info duckdb.TypeInfo) duckdb.StructEntry {
		entry, err := duckdb.NewStructEntry(info, name)
		r.err = errors.Join(r.err, err)
		return entry
	}
	sample := r.take(duckdb.NewStructInfo(column("stack", blob), column("types", texts), column("numbers", r.list(integer))))
	stacks := duckdb.ScalarFuncConfig{VariadicTypeInfo: r.kind(duckdb.TYPE_ANY), ResultTypeInfo: blob, SpecialNullHandling: true}
	r.add(perfettosql.StackFunction, stacks, func(_ context.Context, row []driver.Value) (any, error) { return catStacks(values(row)) })
	r.add(stackOfFunction, taking(blob, integer, integer), func(_ context.Context, row []driver.Value) (any, error) {
		return stackOf(row[0].(int64), row[1].(int64)), nil
	})
	r.add(annotationsFunction, taking(texts, texts, texts), annotationsOf)
	r.add(profileFunction, taking(blob, texts, r.list(sample)), p.call)
	return r.err
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
