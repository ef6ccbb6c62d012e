//go:build cgo && linux && !gosqlite

package sqlite

import (
	_ "embed"
	"slices"
	"strings"
	"testing"
)

//go:embed sqlite3.h
var header string

// The declarations are those of the C code that is linked.
func TestHeader(t *testing.T) {
	_, rest, _ := strings.Cut(header, "#define SQLITE_SOURCE_ID")
	_, rest, _ = strings.Cut(rest, `"`)
	id, _, _ := strings.Cut(rest, `"`)
	linked, err := rows(t, open(t), "SELECT sqlite_source_id()")
	if want := []string{"string:" + id + " "}; err != nil || !slices.Equal(linked, want) {
		t.Errorf("SQLite %q, %v, but sqlite3.h is of %q: copy it from the module that has the C code", linked, err, want)
	}
}
