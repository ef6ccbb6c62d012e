//go:build cgo

// Extension is tpconvert as an extension of DuckDB, a shared library: traces are tables.
package main

// #include <stdlib.h>
// #include "duckdb.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
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

// load registers the functions in a database.
func load(handle unsafe.Pointer) error {
	db := &database{}
	if handle == nil || C.duckdb_connect(handle, &db.connection) != 0 {
		return errors.New("tpconvert cannot connect to the database")
	}
	for _, f := range functions(db) {
		if err := db.register(f); err != nil {
			db.disconnect()
			return err
		}
	}
	attachable.add(db)
	return nil
}

// database is a database that has loaded the extension.
type database struct {
	mu         sync.Mutex     // held while statements run
	connection unsafe.Pointer // nil if it is closed
}

// databases have a connection, for attach_trace. DuckDB lets an extension connect only while it is loaded, and a connection keeps
// its database open. So databases in files, which others may want to open, have none; of those in memory, the ones that nobody
// else uses are closed when the next database loads the extension.
type databases struct {
	mu  sync.Mutex
	all []*database
}

var attachable databases

func (d *databases) add(db *database) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, db)
	d.all = slices.DeleteFunc(d.all, func(old *database) bool {
		keep := inMemory
		if old != db {
			keep = inUse
		}
		if old.run(keep) == nil {
			return false
		}
		old.disconnect()
		return true
	})
}

// Statements that fail if a connection is not worth keeping.
const (
	inMemory = "SELECT CASE WHEN path IS NOT NULL THEN error('') END FROM duckdb_databases() WHERE database_name = current_database()"
	inUse    = "SELECT CASE WHEN count = 1 THEN error('') END FROM duckdb_connection_count()"
)

// disconnect closes the connection.
func (db *database) disconnect() {
	db.mu.Lock()
	defer db.mu.Unlock()
	C.duckdb_disconnect(&db.connection)
}

// register makes a function known.
func (db *database) register(f *function) error {
	to := C.duckdb_create_table_function()
	defer C.duckdb_destroy_table_function(&to)
	name := C.CString(f.name)
	defer C.free(unsafe.Pointer(name))
	C.duckdb_table_function_set_name(to, name)
	withType(C.ANY, func(t unsafe.Pointer) { C.duckdb_table_function_add_parameter(to, t) })
	if f.table {
		withType(C.VARCHAR, func(t unsafe.Pointer) { C.duckdb_table_function_add_parameter(to, t) })
	}
	named := func(name string) func(unsafe.Pointer) {
		return func(t unsafe.Pointer) {
			text := C.CString(name)
			defer C.free(unsafe.Pointer(text))
			C.duckdb_table_function_add_named_parameter(to, text, t)
		}
	}
	withType(C.BIGINT, named("memory"))
	withType(C.BOOLEAN, named("strict"))
	withType(C.VARCHAR, func(t unsafe.Pointer) {
		list := C.duckdb_create_list_type(t)
		defer C.duckdb_destroy_logical_type(&list)
		named("symbols")(list)
	})
	C.duckdb_table_function_supports_projection_pushdown(to, true)
	C.set_callbacks(to, C.uintptr_t(cgo.NewHandle(f)))
	if C.duckdb_register_table_function(db.connection, to) != 0 {
		return fmt.Errorf("the function %s cannot be registered", f.name)
	}
	return nil
}

// withType calls f with a type of DuckDB.
func withType(id C.int, f func(t unsafe.Pointer)) {
	t := C.duckdb_create_logical_type(id)
	defer C.duckdb_destroy_logical_type(&t)
	f(t)
}

// errNoConnection is for attach_trace in a database without a connection.
var errNoConnection = errors.New("attach_trace needs a database in memory, to which ATTACH adds files: views of a trace in a file would need this extension")

// run runs statements in a transaction.
func (db *database) run(statements ...string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.connection == nil {
		return errNoConnection
	}
	err := db.query("BEGIN; " + strings.Join(statements, ";\n") + "; COMMIT")
	if err != nil {
		err = errors.Join(err, db.query("ROLLBACK"))
	}
	return err
}

func (db *database) query(sql string) error {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	var result C.struct_query_result
	defer C.duckdb_destroy_result(&result)
	if C.duckdb_query(db.connection, text, &result) != 0 {
		return errors.New(C.GoString(C.duckdb_result_error(&result)))
	}
	return nil
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
