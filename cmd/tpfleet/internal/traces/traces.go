// Package traces finds the rows of each trace in files of a table with the rows of many.
package traces

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Files are the files of a table, in which the rows of each trace are together.
type Files struct {
	open []*tables.File
	at   map[string]span
}

// span are the rows of a trace in a file.
type span struct{ file, from, to int }

// Counts reports whether a row of a trace counts.
type Counts func(trace string, row int) bool

// Add adds a file. some says which of its rows count.
func (f *Files) Add(in tables.Input, some func(*tables.File) (Counts, error)) error {
	pool := dataframe.NewPool() // of the ids
	defer pool.Free()
	file, err := tables.OpenFile(in, pool)
	if err != nil {
		return err
	}
	f.open = append(f.open, file)
	counts, err := some(file)
	if err != nil {
		return err
	}
	ids, err := file.Texts("trace_id")
	if err != nil {
		return err
	}
	if f.at == nil {
		f.at = map[string]span{}
	}
	for row := 0; row < file.Len(); {
		first := row
		row++
		if ids.IsNull(first) {
			continue
		}
		id := strings.Clone(ids.Text(first))
		wanted := counts(id, first)
		for row < file.Len() && !ids.IsNull(row) && ids.TextID(row) == ids.TextID(first) && (!wanted || counts(id, row)) {
			row++
		}
		if !wanted {
			continue
		}
		if _, twice := f.at[id]; twice {
			return fmt.Errorf("the rows of %s are not together: tpfleet compact sorts them", id)
		}
		f.at[id] = span{len(f.open) - 1, first, row}
	}
	return nil
}

// Rows returns the rows of a trace, whose texts go to a pool.
func (f *Files) Rows(trace string, pool *dataframe.Pool) []tables.Rows {
	at, there := f.at[trace]
	if !there {
		return nil
	}
	return []tables.Rows{f.open[at.file].Part(at.from, at.to, pool)}
}

// Close closes the files.
func (f *Files) Close() (err error) {
	for _, file := range f.open {
		err = errors.Join(err, file.Close())
	}
	return err
}
