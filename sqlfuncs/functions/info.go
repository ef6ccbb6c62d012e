package functions

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

var infoColumns = define.Specs("id, table_name text, name text, col_type text, nullable, sorted")

// defineInfo defines the functions about tables and statements.
func defineInfo(d *define.Definer, named func(string) *dataframe.Frame) {
	const name = "perfetto_table_info"
	d.Rows(&dataframe.Function{Name: name, Columns: infoColumns, Args: []string{"_fn_arg0"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			if args[0].Type() != sqlite.TextOf {
				return nil, errors.New(name + ": the argument is no name of a table")
			}
			table := args[0].Text()
			var f *dataframe.Frame
			if named != nil {
				f = named(table)
			}
			if f == nil {
				return nil, fmt.Errorf("%s: there is no Perfetto table %s", name, table)
			}
			b := dataframe.NewBuilder(d.Tables.Pool(), infoColumns...)
			for i, c := range f.Columns {
				about, err := f.Describe(i)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				b.Int(0, int64(i))
				b.Text(1, table)
				b.Text(2, c.Name)
				b.Text(3, about.Type)
				b.Int(4, about.Nullable)
				b.Int(5, about.Sorted)
			}
			return b.Frame(), nil
		}})
	// Statements are not recorded.
	constant(d, "sqlstats", define.Specs("query text, started, first_next, ended"))
	// The importers that Trace Processor can be built without, which a converter always has.
	constant(d, "__intrinsic_modules", define.Specs("id, name text"), []any{int64(0), "winscope"})
}

// constant defines a function without arguments whose rows are always the same.
func constant(d *define.Definer, name string, shape []dataframe.Spec, rows ...[]any) {
	b := dataframe.NewBuilder(d.Tables.Pool(), shape...)
	for _, row := range rows {
		for i, v := range row {
			d.Do(b.Any(i, v))
		}
	}
	f := b.Frame()
	d.Rows(&dataframe.Function{Name: name, Columns: shape, Rows: func([]sqlite.Value) (*dataframe.Frame, error) { return f, nil }})
}
