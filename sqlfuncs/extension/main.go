//go:build cgo

// Extension is tpconvert as an extension of DuckDB, a shared library: traces are tables.
package main

// #include <stdlib.h>
// #include "duckdb.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"

	"github.com/tpconvert/tpconvert/model/table"
)

func main() {}

// guarded runs a callback, and passes its error to fail. A panic is one, too.
func guarded(fail func(text *C.char), run func() error) {
	err := func() (err error) {
		defer func() {
			if fault := recover(); fault != nil {
				err = fmt.Errorf("a fault of tpconvert: %v\n%s", fault, debug.Stack())
			}
		}()
		return run()
	}()
	if err != nil {
		text := C.CString(err.Error())
		defer C.free(unsafe.Pointer(text))
		fail(text)
	}
}

//export tpconvert_init_c_api
func tpconvert_init_c_api(info unsafe.Pointer, access *C.struct_extension_access) C.bool {
	ok := C.bool(true)
	guarded(func(text *C.char) { ok = false; C.load_failed(info, access, text) }, func() error {
		return load(C.open_api(info, access))
	})
	return ok
}

//export tpconvert_drop
func tpconvert_drop(data C.uintptr_t) { cgo.Handle(data).Delete() }

// of returns what DuckDB keeps for us.
func of[T any](data C.uintptr_t) T { return cgo.Handle(data).Value().(T) }

//export tpconvert_bind
func tpconvert_bind(info unsafe.Pointer) {
	guarded(func(text *C.char) { C.duckdb_bind_set_error(info, text) }, func() error {
		c := &call{function: of[*function](C.duckdb_bind_get_extra_info(info)), options: options{memory: defaultMemory}}
		c.read(info)
		if err := c.prepare(); err != nil {
			return err
		}
		for _, column := range c.columns {
			name := C.CString(column.Name)
			defer C.free(unsafe.Pointer(name))
			withType(types[column.Type], func(t unsafe.Pointer) { C.duckdb_bind_add_result_column(info, name, t) })
		}
		if c.estimated > 0 {
			C.duckdb_bind_set_cardinality(info, C.uint64_t(c.estimated), false)
		}
		C.bind_set_data(info, C.uintptr_t(cgo.NewHandle(c)))
		return nil
	})
}

var types = map[table.Type]C.int{
	table.TypeInt64:   C.BIGINT,
	table.TypeInt32:   C.INTEGER,
	table.TypeFloat64: C.DOUBLE,
	table.TypeBool:    C.BOOLEAN,
	table.TypeString:  C.VARCHAR,
	table.TypeBytes:   C.BLOB,
}

// read reads the arguments.
func (c *call) read(info unsafe.Pointer) {
	value := func(v unsafe.Pointer, take func(v unsafe.Pointer)) {
		if v != nil {
			defer C.duckdb_destroy_value(&v)
			take(v)
		}
	}
	named := func(name string, take func(v unsafe.Pointer)) {
		text := C.CString(name)
		defer C.free(unsafe.Pointer(text))
		value(C.duckdb_bind_get_named_parameter(info, text), take)
	}
	value(C.duckdb_bind_get_parameter(info, 0), func(v unsafe.Pointer) {
		c.many = C.duckdb_get_type_id(C.duckdb_get_value_type(v)) == C.LIST
		c.patterns = texts(v)
		if !c.many {
			c.patterns = []string{textOf(v)}
		}
	})
	if c.table {
		value(C.duckdb_bind_get_parameter(info, 1), func(v unsafe.Pointer) { c.wanted = textOf(v) })
	}
	named("memory", func(v unsafe.Pointer) { c.memory = int64(C.duckdb_get_int64(v)) })
	named("strict", func(v unsafe.Pointer) { c.strict = bool(C.duckdb_get_bool(v)) })
	named("symbols", func(v unsafe.Pointer) { c.symbols = texts(v) })
}

// texts returns the texts of a list.
func texts(list unsafe.Pointer) []string {
	var all []string
	for i := range C.duckdb_get_list_size(list) {
		v := C.duckdb_get_list_child(list, i)
		all = append(all, textOf(v))
		C.duckdb_destroy_value(&v)
	}
	return all
}

// textOf returns a value as text, "" for NULL.
func textOf(v unsafe.Pointer) string {
	if v == nil || C.duckdb_is_null_value(v) {
		return ""
	}
	s := C.duckdb_get_varchar(v)
	defer C.duckdb_free(unsafe.Pointer(s))
	return C.GoString(s)
}

//export tpconvert_init
func tpconvert_init(info unsafe.Pointer) {
	guarded(func(text *C.char) { C.duckdb_init_set_error(info, text) }, func() error {
		c := of[*call](C.duckdb_init_get_bind_data(info))
		columns := make([]string, C.duckdb_init_get_column_count(info))
		for i := range columns {
			// Others, which rows are counted by, have numbers beyond those of the columns.
			if at := C.duckdb_init_get_column_index(info, C.uint64_t(i)); at < C.uint64_t(len(c.columns)) {
				columns[i] = c.columns[at].Name
			}
		}
		s, err := c.start(columns)
		if err != nil {
			return err
		}
		C.duckdb_init_set_max_threads(info, C.uint64_t(runtime.GOMAXPROCS(0)))
		C.init_set_data(info, C.uintptr_t(cgo.NewHandle(s)))
		return nil
	})
}

// cursor is the place of a thread in a source.
type cursor struct {
	batch *batch
	row   int // next row of it
}

//export tpconvert_init_local
func tpconvert_init_local(info unsafe.Pointer) {
	C.init_set_data(info, C.uintptr_t(cgo.NewHandle(&cursor{})))
}

//export tpconvert_scan
func tpconvert_scan(info, chunk unsafe.Pointer) {
	guarded(func(text *C.char) { C.duckdb_function_set_error(info, text) }, func() error {
		at := of[*cursor](C.duckdb_function_get_local_init_data(info))
		for at.batch == nil || at.row == at.batch.rows {
			b, err := of[*source](C.duckdb_function_get_init_data(info)).next()
			if b == nil || err != nil {
				C.duckdb_data_chunk_set_size(chunk, 0)
				return err
			}
			at.batch, at.row = b, 0
		}
		b := at.batch
		rows := min(int(C.duckdb_vector_size()), b.rows-at.row)
		for i := range b.columns {
			b.columns[i].fill(C.duckdb_data_chunk_get_vector(chunk, C.uint64_t(i)), &b.texts, at.row, rows)
		}
		C.duckdb_data_chunk_set_size(chunk, C.uint64_t(rows))
		at.row += rows
		return b.texts.Err()
	})
}
