//go:build cgo

package session

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// addMessages registers the function that builds messages.
func addMessages(conn *sql.Conn, metrics Metrics) error {
	r := &registry{conn: conn}
	config := taking(r.kind(duckdb.TYPE_BLOB), r.kind(duckdb.TYPE_VARCHAR))
	config.VariadicTypeInfo, config.SpecialNullHandling = r.kind(duckdb.TYPE_ANY), true
	r.add(perfettosql.MessageFunction, config, func(_ context.Context, row []driver.Value) (any, error) {
		return metrics.Build(row[0].(string), values(row[1:]))
	})
	return r.err
}

// values returns values of DuckDB as those of any type.
func values(row []driver.Value) []any {
	all := make([]any, len(row))
	for i, v := range row {
		all[i] = v
	}
	return all
}
