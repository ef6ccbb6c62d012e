// Package sqlitetest opens databases for tests.
package sqlitetest

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Open returns an empty database that is closed at the end of the test.
func Open(t testing.TB) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
