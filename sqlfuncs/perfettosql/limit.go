package perfettosql

import (
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// limit bounds what statements may do: they work in memory on the tables of the engine, and cannot reach files or change the
// process.
func (e *Engine) limit() error {
	for name, args := range undefined {
		if err := e.db.Undefine(name, args); err != nil {
			return err
		}
	}
	e.db.Limit(sqlite.LimitLength, 256<<20)
	e.db.Limit(sqlite.LimitSQLLength, maxExpansion)
	e.db.Limit(sqlite.LimitAttached, 0)
	e.db.Authorize(func(a sqlite.Action, first, second string) bool {
		switch a {
		case sqlite.Attach, sqlite.Detach:
			return false
		case sqlite.Pragma:
			return pragmas[strings.ToLower(first)] && (second == "" || !numbers[strings.ToLower(first)])
		case sqlite.CallFunction:
			return strings.ToLower(second) != "load_extension"
		}
		return true
	})
	return nil
}

// pragmas are the pragmas that only tell about tables and functions.
var pragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true, "index_list": true, "index_info": true, "index_xinfo": true, "database_list": true,
	"function_list": true, "module_list": true, "collation_list": true, "pragma_list": true, "compile_options": true, "foreign_key_list": true,
	"data_version": true, "schema_version": true, "user_version": true, "application_id": true,
}

// numbers are the pragmas that set a number if they are given one.
var numbers = map[string]bool{"data_version": true, "schema_version": true, "user_version": true, "application_id": true}

// undefined are functions of SQLite that Trace Processor does not have, by their number of arguments.
var undefined = map[string]int{"soundex": 1, "sqlite_offset": 1}
