package functions

import (
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// metadata are the facts about the trace.
type metadata struct {
	name, text, number, machine, trace dataframe.Reader

	pool *dataframe.Pool
	rows int
}

func readMetadata(tables dataframe.Source) (*metadata, error) {
	m := &metadata{}
	f, err := define.Columns(tables, "metadata", define.Readers{
		"name": &m.name, "str_value": &m.text, "int_value": &m.number, "machine_id": &m.machine, "trace_id": &m.trace,
	})
	if err != nil {
		return nil, err
	}
	m.pool, m.rows = f.Pool, f.Rows
	return m, nil
}

// find returns the first row of a name, and of the machine and trace unless they are nil, or -1.
func (m *metadata) find(name string, machine, trace *int64) int {
	id, ok := m.pool.Find(name)
	if !ok {
		return -1
	}
	is := func(column dataframe.Reader, row int, want *int64) bool {
		return want == nil || !column.IsNull(row) && column.Int(row) == *want
	}
	for row := range m.rows {
		if m.name.TextID(row) == id && is(m.machine, row, machine) && is(m.trace, row, trace) {
			return row
		}
	}
	return -1
}

func defineMetadata(d *define.Definer) {
	load := define.Once(func() (*metadata, error) { return readMetadata(d.Tables) })
	// machine and trace are the positions of these arguments, or -1. The name is the last argument.
	define := func(function string, n, machine, trace int) {
		d.Scalar(function, n, func(c sqlite.Context, args []sqlite.Value) error {
			for _, a := range args {
				if a.IsNull() {
					return nil
				}
			}
			m, err := load()
			if err != nil {
				return fmt.Errorf("%s: %w", function, err)
			}
			number := func(i int) *int64 {
				if i < 0 {
					return nil
				}
				v := int64(uint32(args[i].Int()))
				return &v
			}
			row := m.find(args[n-1].View(), number(machine), number(trace))
			switch {
			case row < 0:
			case !m.text.IsNull(row):
				m.text.Put(c, row)
			default:
				m.number.Put(c, row)
			}
			return nil
		})
	}
	define("extract_metadata", 1, -1, -1)
	define("extract_metadata_for_machine", 2, 0, -1)
	define("extract_metadata_for_trace", 2, -1, 0)
	define("extract_exact_metadata", 3, 0, 1)
}
