package model

import "reflect"

// Options of a store.
type Options struct {
	ChunkRows int  // rows of a chunk; 0 means DefaultChunkRows
	Sink      Sink // where sealed chunks go; nil drops them
}

// Store is the state of one conversion: the tables, the strings and the arg
// sets that all traces in it share. It has one writer.
type Store struct {
	Tables
	Strings *StringPool

	tables []*Table
	sink   sink
}

// NewStore returns a store of empty tables.
func NewStore(o Options) *Store {
	if o.ChunkRows <= 0 {
		o.ChunkRows = DefaultChunkRows
	}
	s := &Store{Strings: NewStringPool()}
	s.sink = sink{to: o.Sink, strings: s.Strings}
	declarations := reflect.ValueOf(&s.Tables).Elem()
	for i := range declarations.NumField() {
		table, _ := declare(declarations.Field(i).Addr().Interface(), o.ChunkRows, &s.sink)
		s.tables = append(s.tables, table)
	}
	return s
}

// Schemas returns the declarations of all tables in the order of Tables.
func Schemas() []*Schema {
	var all []*Schema
	for _, t := range NewStore(Options{}).tables {
		all = append(all, t.schema)
	}
	return all
}
