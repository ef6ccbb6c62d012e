package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
)

// maxPlaces is how many damaged places of a table are passed over.
const maxPlaces = 1000

// Rows goes through the rows of a table in the order of their ids. A damaged part is reported and passed over.
type Rows struct {
	Row
	Err error // of reading the file

	rows    *sql.Rows // nil at the end
	query   string
	into    []any
	next    int64 // the least id that the next row may have
	ready   bool  // the row was read, and not yet given
	places  int   // that were damaged
	content budget
}

// Rows returns the table's rows.
func (t *Table) Rows() *Rows { return t.read(t.Columns) }

// Count returns the number of rows.
func (t *Table) Count() int64 {
	n := int64(0)
	for r := t.read(nil); r.Next(); {
		n++
	}
	return n
}

func (t *Table) read(columns []string) *Rows {
	r := &Rows{Row: Row{table: t, values: make([]value, len(columns))}, next: math.MinInt64}
	if t.file == nil {
		return r
	}
	r.query, r.into, r.content = t.selection(columns, ">="), r.targets(), t.file.budget()
	t.file.open = append(t.file.open, r)
	if why := r.seek(r.next); why != "" {
		r.pass(why)
	}
	return r
}

// selection returns the query for columns of the rows whose id compares so with a parameter. The plus keeps the library from
// making times of texts that are declared as dates. A table whose rows have no ids is read in its own order.
func (t *Table) selection(columns []string, compare string) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(", +" + quote(c))
	}
	from := b.String() + " FROM main." + quote(t.Name)
	if t.id == "" {
		return "SELECT 0" + from
	}
	return "SELECT " + t.id + from + " NOT INDEXED WHERE " + t.id + compare + "?"
}

// Next reads the next row, if there is one.
func (r *Rows) Next() bool {
	for r.rows != nil {
		if !r.ready {
			if why := r.read(); why != "" {
				r.pass(why)
				continue
			}
		}
		r.ready = false
		return r.rows != nil
	}
	return false
}

// seek reads the first row from an id on, for Next to give. It returns what is damaged, or "".
func (r *Rows) seek(id int64) (why string) {
	r.close()
	var args []any
	if r.table.id != "" {
		args = []any{id}
	}
	var err error
	if r.rows, err = r.table.file.conn.QueryContext(context.Background(), r.query, args...); err != nil {
		return r.failed(err)
	}
	why = r.read()
	r.ready = why == ""
	return why
}

// read reads a row, or closes the rows at their end.
func (r *Rows) read() (why string) {
	if !r.rows.Next() {
		err := r.rows.Err()
		if err == nil {
			r.close()
			return ""
		}
		return r.failed(err)
	}
	if err := r.rows.Scan(r.into...); err != nil {
		return r.failed(err)
	}
	switch {
	case r.table.id == "":
		r.ID = r.next
	case r.ID < r.next: // a row that was read, or its id is damaged
		return "the ids of its rows are out of order"
	}
	if !r.content.take(&r.Row) {
		r.close()
		r.report(r.next, "its rows have more bytes than the file")
		return ""
	}
	if r.next = r.ID; r.ID < math.MaxInt64 {
		r.next++
	}
	return ""
}

// pass passes over what is damaged, up to the first row after it that can be read.
func (r *Rows) pass(why string) {
	from, content := r.next, r.content
	if r.places++; r.table.id == "" || r.places > maxPlaces {
		r.close()
		r.report(from, why)
		return
	}
	most := uint64(math.MaxInt64) - uint64(from)
	step := uint64(1)
	for ; r.seek(int64(uint64(from)+step)) != ""; step = min(step, most/2) * 2 {
		if step > most/2 {
			r.close()
			r.report(from, why)
			return
		}
	}
	for damaged := step / 2; step-damaged > 1; {
		middle := damaged + (step-damaged)/2
		r.next = from
		if r.seek(int64(uint64(from)+middle)) == "" {
			step = middle
		} else {
			damaged = middle
		}
	}
	r.next, r.content = from, content
	r.seek(int64(uint64(from) + step))
	r.report(from, why)
}

// report reports what is damaged from an id on, up to the row that is ready.
func (r *Rows) report(from int64, why string) {
	if r.Err != nil {
		return
	}
	where := "table " + r.table.Name
	if from != math.MinInt64 {
		where += fmt.Sprintf(" from row %d", from)
	}
	if r.rows != nil {
		where += fmt.Sprintf(" to row %d", r.ID-1)
	}
	r.table.file.damaged(where + ": " + why)
}

// failed returns what is damaged. If SQLite failed for another cause, that is an error of the rows.
func (r *Rows) failed(err error) (why string) {
	why, r.Err = r.table.file.cause(err)
	if r.Err != nil {
		r.close()
	}
	return why
}

func (r *Rows) close() {
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
	r.ready = false
}

// Lookup finds rows by their ids.
type Lookup struct {
	Row
	find    *sql.Stmt
	into    []any
	content budget
}

// Lookup returns a lookup in the table.
func (t *Table) Lookup() *Lookup {
	l := &Lookup{Row: Row{table: t, values: make([]value, len(t.Columns))}}
	l.into = l.targets()
	return l
}

// Find returns the row with an id, or nil. It is valid until the next call.
func (l *Lookup) Find(id int64) (*Row, error) {
	t := l.table
	if t.file == nil || t.id == "" {
		return nil, nil
	}
	var err error
	if l.find == nil {
		l.content = t.file.budget()
		l.find, err = t.file.conn.PrepareContext(context.Background(), t.selection(t.Columns, "="))
	}
	if err == nil {
		err = l.find.QueryRow(id).Scan(l.into...)
	}
	switch {
	case err == sql.ErrNoRows:
		return nil, nil
	case err != nil:
		why, err := t.file.cause(err)
		if why != "" {
			t.file.damaged(fmt.Sprintf("table %s, row %d: %s", t.Name, id, why))
		}
		return nil, err
	case !l.content.take(&l.Row):
		t.file.damaged(fmt.Sprintf("table %s, row %d: its rows have more bytes than the file", t.Name, id))
		return nil, nil
	}
	return &l.Row, nil
}

// budget bounds what the rows of a table have. Rows of a damaged file can share pages, and be much more than it.
type budget struct{ left int64 }

// budget returns what the rows of a table of the file can have at most: texts become longer if the file has them in UTF-16.
func (f *File) budget() budget { return budget{2 * f.size} }

func (b *budget) take(r *Row) bool {
	for i := range r.values {
		b.left -= int64(len(r.values[i].text))
	}
	return b.left >= 0
}
