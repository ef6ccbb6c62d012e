package lake

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	model "github.com/tpconvert/tpconvert/model/table"
)

// Description is what the catalog says of a table.
type Description struct {
	Name, Comment string
	Columns       []ColumnDescription
}

// ColumnDescription is what the catalog says of a column. The type is a name that Spark, Databricks and DuckDB know.
type ColumnDescription struct{ Name, Type, Comment string }

var sqlTypes = [...]string{
	model.TypeInt64: "bigint", model.TypeInt32: "int", model.TypeFloat64: "double", model.TypeBool: "boolean", model.TypeString: "string", model.TypeBytes: "binary",
}

// Describe returns all tables, the ledger first.
func (l *Lake) Describe(ctx context.Context) ([]Description, error) {
	names, err := l.tableNames(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Description, len(names))
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i, name := range names {
		group.Go(func() error {
			t, err := l.load(loading, name)
			if err != nil {
				return err
			}
			all[i] = Description{Name: name, Comment: t.Properties()["comment"]}
			for _, f := range t.Schema().Fields() {
				kind := slices.Index(icebergTypes[:], iceberg.Type(f.Type))
				if kind < 0 {
					return fmt.Errorf("the column %s of the table %s has the type %s", f.Name, name, f.Type)
				}
				all[i].Columns = append(all[i].Columns, ColumnDescription{f.Name, sqlTypes[kind], f.Doc})
			}
			return nil
		})
	}
	return all, group.Wait()
}
