//go:build cgo

package session

import (
	"database/sql"
	"database/sql/driver"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// messageBuilder is Metrics.Build for DuckDB.
type messageBuilder struct {
	metrics         Metrics
	text, any, blob duckdb.TypeInfo
}

func (b messageBuilder) Config() duckdb.ScalarFuncConfig {
	return duckdb.ScalarFuncConfig{
		InputTypeInfos: []duckdb.TypeInfo{b.text}, VariadicTypeInfo: b.any, ResultTypeInfo: b.blob, SpecialNullHandling: true,
	}
}

func (b messageBuilder) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(row []driver.Value) (any, error) {
		args := make([]any, len(row)-1)
		for i, v := range row[1:] {
			args[i] = v
		}
		return b.metrics.Build(row[0].(string), args)
	}}
}

// addMessages registers the function that builds messages.
func addMessages(conn *sql.Conn, metrics Metrics) error {
	b := messageBuilder{metrics: metrics}
	for kind, info := range map[duckdb.Type]*duckdb.TypeInfo{duckdb.TYPE_VARCHAR: &b.text, duckdb.TYPE_ANY: &b.any, duckdb.TYPE_BLOB: &b.blob} {
		var err error
		if *info, err = duckdb.NewTypeInfo(kind); err != nil {
			return err
		}
	}
	return duckdb.RegisterScalarUDF(conn, perfettosql.MessageFunction, b)
}
