package sqlitefile

import (
	"fmt"
	"math"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
)

// Row is a row of a table.
type Row struct {
	ID     int64
	table  *Table
	values []value
}

// Kind is the type of a value.
type Kind uint8

// The types of values.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// value is what a row has in a column.
type value struct {
	kind   Kind
	number uint64 // an integer, or the bits of a real number
	text   []byte
}

// Scan implements sql.Scanner.
func (v *value) Scan(from any) error {
	*v = value{}
	switch x := from.(type) {
	case nil:
	case int64:
		v.kind, v.number = Integer, uint64(x)
	case float64:
		v.kind, v.number = Real, math.Float64bits(x)
	case string:
		v.kind, v.text = Text, []byte(x)
	case []byte:
		v.kind, v.text = Blob, append([]byte{}, x...)
	default:
		return fmt.Errorf("a value of type %T", from)
	}
	return nil
}

// targets are where the id and the values of a row go.
func (r *Row) targets() []any {
	into := []any{&r.ID}
	for i := range r.values {
		into = append(into, &r.values[i])
	}
	return into
}

// Pack writes the row for the sorter.
func (r *Row) Pack(w *token.Writer) {
	w.Int(r.ID)
	for _, v := range r.values {
		w.Uint(uint64(v.kind))
		switch v.kind {
		case Integer:
			w.Int(int64(v.number))
		case Real:
			w.Uint(v.number)
		case Text, Blob:
			w.Raw(v.text)
		}
	}
}

// Unpack reads what Pack wrote of a row of the table. It is valid as long as the token.
func (r *Row) Unpack(t *Table, from token.Reader) {
	r.table, r.ID, r.values = t, from.Int(), r.values[:0]
	for range t.Columns {
		v := value{kind: Kind(from.Uint())}
		switch v.kind {
		case Integer:
			v.number = uint64(from.Int())
		case Real:
			v.number = from.Uint()
		case Text, Blob:
			v.text = from.Raw()
		}
		r.values = append(r.values, v)
	}
}

// Copy makes it a copy of another row, whose texts stay with that one.
func (r *Row) Copy(from *Row) {
	r.table, r.ID, r.values = from.table, from.ID, append(r.values[:0], from.values...)
}

// Kind returns the type of a column's value. Columns that the table does not have are NULL.
func (r *Row) Kind(column int) Kind {
	if column < 0 || column >= len(r.values) {
		return Null
	}
	return r.values[column].kind
}

// Misfit returns the first column that is declared as integers and has something else, or -1. SQLite allows that.
func (r *Row) Misfit() int {
	for _, column := range r.table.integers {
		if k := r.Kind(column); k != Integer && k != Null {
			return column
		}
	}
	return -1
}

// Int returns an integer.
func (r *Row) Int(column int) (n int64, ok bool) {
	if r.Kind(column) != Integer {
		return 0, false
	}
	return int64(r.values[column].number), true
}

// Number returns an integer or real number, or 0.
func (r *Row) Number(column int) float64 {
	if r.Kind(column) == Real {
		return math.Float64frombits(r.values[column].number)
	}
	i, _ := r.Int(column)
	return float64(i)
}

// Text returns a text or blob, or nil.
func (r *Row) Text(column int) []byte {
	if k := r.Kind(column); k == Text || k == Blob {
		return r.values[column].text
	}
	return nil
}
