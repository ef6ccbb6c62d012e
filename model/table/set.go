package table

import (
	"cmp"
	"reflect"
)

// Set holds the tables of one conversion, which share a sink.
type Set struct {
	tables []*Table
	sink   sink
}

// NewSet binds the declarations in tables, which is a pointer to a struct of
// declarations, parents before children. A chunk has chunkRows rows, or
// DefaultChunkRows if that is zero. A nil sink drops the rows.
func NewSet(tables any, strings *StringPool, chunkRows int, to Sink, park Parking) *Set {
	if chunkRows <= 0 {
		chunkRows = DefaultChunkRows
	}
	if park.Bytes <= 0 {
		park.Bytes = DefaultWaiting
	}
	s := &Set{sink: sink{to: to, strings: strings, view: strings.View, pool: newPool(), parking: parking{Parking: park}}}
	declarations := reflect.ValueOf(tables).Elem()
	for i := range declarations.NumField() {
		s.tables = append(s.tables, declare(declarations.Field(i).Addr().Interface(), chunkRows, &s.sink))
	}
	strings.onLarge = s.weigh
	return s
}

// Check makes the tables, which have no rows yet, call unset for each chunk with a row that lacks a value in a column that may not
// be NULL. It is for tests: columns take more memory and time then.
func (s *Set) Check(unset func(table, column string)) {
	s.sink.unset = unset
	for _, t := range s.tables {
		for _, c := range t.columns {
			c.require()
		}
	}
}

// weigh makes the text columns count the bytes of their texts from now on.
func (s *Set) weigh() {
	for _, t := range s.tables {
		if t.sink == &s.sink {
			for _, c := range t.columns {
				c.weigh()
			}
		}
	}
}

// Schemas returns the schemas of the declarations in T, a struct of them, in order. They must not be
// changed.
func Schemas[T any]() []*Schema {
	declarations := reflect.TypeFor[T]()
	all := make([]*Schema, declarations.NumField())
	for i := range all {
		all[i] = schemaOf(declarations.Field(i).Type)
	}
	return all
}

// Table returns the table with this name, or nil.
func (s *Set) Table(name string) *Table {
	for _, t := range s.tables {
		if t.schema.Name == name {
			return t
		}
	}
	return nil
}

// Rows returns the number of rows of each table that stores rows, by name.
func (s *Set) Rows() map[string]int64 {
	rows := map[string]int64{}
	for _, t := range s.tables {
		if !t.schema.Abstract {
			rows[t.schema.Name] = t.rows
		}
	}
	return rows
}

// Detach allows a goroutine of its own to fill a table, with strings from view. The
// table has its own error, see Table.Err, and its rows cannot be pinned.
func (s *Set) Detach(t *Table, view func() StringView) {
	t.sink = &sink{to: s.sink.to, strings: s.sink.strings, view: view, pool: s.sink.pool, unset: s.sink.unset}
}

// BeforeSealing makes the tables call settle before they seal or copy rows that have a SetRef, to get the values that wait.
func (s *Set) BeforeSealing(settle func()) { s.sink.settle = settle }

// Fail sets the error of the sink if there was none before.
func (s *Set) Fail(err error) { s.sink.err = cmp.Or(s.sink.err, err) }

// Err returns the first error of the sink, or of reading or writing temporary files.
func (s *Set) Err() error { return cmp.Or(s.sink.err, s.sink.strings.Err()) }

// Close frees the resources that the tables hold outside memory.
func (s *Set) Close() { s.sink.parking.close() }

// Finish fills the derived tables and seals every row.
func (s *Set) Finish() {
	byName := map[string]*Table{}
	for _, t := range s.tables {
		byName[t.schema.Name] = t
	}
	derived := map[*Table][]*Table{}
	for _, t := range s.tables {
		if t.schema.Derived {
			from := root(byName, t.schema)
			derived[from] = append(derived[from], t)
		}
	}
	for _, t := range s.tables {
		if !t.schema.Abstract && !t.schema.Derived {
			t.finish(derived[t])
		}
	}
}

// root returns the table that stores the rows of a derived table.
func root(tables map[string]*Table, s *Schema) *Table {
	for s.Derived {
		s = tables[s.Parent].schema
	}
	return tables[s.Name]
}
