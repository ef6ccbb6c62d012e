package sqlfuncs

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// The functions of DuckDB, by name. SQL on a dataset may call those that only compute, and those that read the catalog or
// Parquet files. It may not call the others: they run SQL from text, read other files, write, change settings, take addresses,
// wait, or are for DuckDB itself.
var (
	//go:embed duckdb_allowed.txt
	duckdbAllowed string
	//go:embed duckdb_denied.txt
	duckdbDenied string
)

// AllowedFunctions returns the functions of DuckDB that SQL on a dataset may call.
var AllowedFunctions = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(duckdbAllowed) {
		all[name] = true
	}
	return all
})

// deniedMark stands for an expression that matches the denied functions in the SQL of macros. The macro _query refuses them in
// the text of sources, which only DuckDB parses.
const deniedMark = "DENIED_FUNCTIONS"

func withDenied(sql string) string {
	return strings.ReplaceAll(sql, deniedMark, strings.Join(slices.Sorted(strings.FieldsSeq(duckdbDenied)), "|"))
}
