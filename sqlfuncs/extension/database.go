//go:build cgo

package main

// #include <stdlib.h>
// #include "duckdb.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

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
var errNoConnection = errors.New("attach_trace needs a database in memory, to which ATTACH adds files: in a file, its views would need this extension")

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
