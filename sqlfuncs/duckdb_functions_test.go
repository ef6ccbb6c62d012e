//go:build cgo

package sqlfuncs

import (
	"slices"
	"strings"
	"testing"
)

// TestFunctionLists checks that each function of the DuckDB in this program is either allowed or denied.
func TestFunctionLists(t *testing.T) {
	db := openFile(t, "")
	denied := strings.Fields(duckdbDenied)
	known := map[string]bool{}
	for _, row := range query(t, db, "SELECT DISTINCT function_name FROM duckdb_functions()")[1:] {
		name := row[0]
		known[name] = true
		if AllowedFunctions()[name] == slices.Contains(denied, name) {
			t.Errorf("%s has to be in one of duckdb_allowed.txt and duckdb_denied.txt: what could it read, write, run or change?", name)
		}
	}
	for _, name := range append(strings.Fields(duckdbAllowed), denied...) {
		if !known[name] {
			t.Errorf("DuckDB has no function %s", name)
		}
	}
}
