//go:build cgo

package sqlfuncs

import (
	"fmt"
	"testing"
)

// Each object can be created alone, and comes with what it is made of.
func TestCatalogCreatesWhatIsNamed(t *testing.T) {
	for _, layout := range []Layout{OneTrace, ManyTraces} {
		db := openFile(t, "")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		names := []string{"slice"}
		for _, m := range Macros(layout) {
			names = append(names, m.Name)
		}
		for i, name := range names {
			for _, statement := range []string{"ATTACH ':memory:' AS d%d", "USE d%d"} {
				if _, err := conn.ExecContext(t.Context(), fmt.Sprintf(statement, i)); err != nil {
					t.Fatal(err)
				}
			}
			c := Dataset{Layout: layout}.Catalog()
			if err := c.CreateOn(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
			before := c.pending
			if err := c.Create(t.Context(), `FROM "`+name+`"`); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if c.pending == before || c.pending < before/2 {
				t.Errorf("%s: %d of %d objects are still to be created", name, c.pending, before)
			}
			if _, err := conn.ExecContext(t.Context(), "USE memory"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), fmt.Sprintf("DETACH d%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCatalogCreatesAllForStatementsAboutIt(t *testing.T) {
	for statement, all := range map[string]bool{
		"SHOW TABLES":                             true,
		"SELECT count(*) FROM (SHOW TABLES)":      true,
		" begin transaction":                      true,
		"FROM duckdb_views()":                     true,
		"SELECT * FROM information_schema.tables": true,
		"SELECT ts FROM slice ORDER BY ts DESC":   false,
	} {
		db := openFile(t, "")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := Dataset{}.Catalog()
		if err := c.CreateOn(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if c.Complete() != all {
			t.Errorf("%s: all objects exist: %t, want %t", statement, c.Complete(), all)
		}
	}
}
