package gpuwork

import (
	"encoding/hex"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/internal/sqlitefile"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Table is a table of an SQLite file whose rows are events.
type Table struct {
	*sqlitefile.Table
	Number  int
	columns map[string]int
	args    []column
}

// Labels are the texts that the values of a column stand for.
type Labels map[int64]model.StringID

type column struct {
	at     int
	key    model.StringID
	labels Labels
}

// NewTable returns a table. Its columns become args under their names, except some. Integers that have a label
// become texts.
func NewTable(s *model.Store, rows *sqlitefile.Table, labels func(column string) Labels, except ...string) *Table {
	t := &Table{Table: rows, columns: map[string]int{}}
	for i, name := range rows.Columns {
		t.columns[name] = i
		if !slices.Contains(except, name) {
			t.args = append(t.args, column{i, s.Strings.Intern(name), labels(name)})
		}
	}
	return t
}

// Event is a row of a table. It is a source of args.
type Event struct {
	*Table
	sqlitefile.Row
}

// Unpack reads what a row's Pack wrote.
func (e *Event) Unpack(t *Table, r token.Reader) {
	e.Table = t
	e.Row.Unpack(t.Table, r)
}

// Of makes the event a row of a table.
func (e *Event) Of(t *Table, row *sqlitefile.Row) {
	e.Table = t
	e.Row.Copy(row)
}

func (e *Event) at(name string) int {
	if i, ok := e.columns[name]; ok {
		return i
	}
	return -1
}

// Int returns an integer, or false.
func (e *Event) Int(name string) (int64, bool) { return e.Row.Int(e.at(name)) }

// IntOr returns an integer, or missing.
func (e *Event) IntOr(name string, missing int64) int64 {
	if n, ok := e.Int(name); ok {
		return n
	}
	return missing
}

// Number returns a number, or 0.
func (e *Event) Number(name string) float64 {
	return e.Row.Number(e.at(name))
}

// Text returns a text, or nil.
func (e *Event) Text(name string) []byte { return e.Row.Text(e.at(name)) }

// AddArgs adds the values of the columns that are args.
func (e *Event) AddArgs(set *model.ArgSet) {
	for _, c := range e.args {
		switch e.Kind(c.at) {
		case sqlitefile.Integer:
			n, _ := e.Row.Int(c.at)
			if label := c.labels[n]; label != 0 {
				set.Add(c.key, model.StringArg(label))
			} else {
				set.Add(c.key, model.IntArg(n))
			}
		case sqlitefile.Real:
			set.Add(c.key, model.RealArg(e.Row.Number(c.at)))
		case sqlitefile.Text:
			set.AddText(c.key, c.key, e.Row.Text(c.at))
		case sqlitefile.Blob:
			set.AddText(c.key, c.key, hex.AppendEncode(nil, e.Row.Text(c.at)))
		}
	}
}
