package pattern

import (
	"database/sql"
	"math/rand/v2"
	"testing"

	_ "modernc.org/sqlite"
)

// TestAsInSQLite compares both tests with SQLite's own, on short texts of few characters: ASCII for GLOB, which works on bytes.
func TestAsInSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := rand.New(rand.NewPCG(1, 2))
	text := func(of []string, most int) string {
		var s string
		for range r.IntN(most) {
			s += of[r.IntN(len(of))]
		}
		return s
	}
	run := func() bool { return false }
	for range 4000 {
		ascii := text([]string{"a", "b", "A", "]", "-", "%"}, 6)
		s := ascii + text([]string{"é", "b"}, 3)
		glob := text([]string{"a", "b", "*", "[ab]", "[^a]", "[a-b]", "[]a]", "-", "[b-", "%"}, 5)
		like := text([]string{"a", "B", "%", "_", "é", "!%", "!_", "!", "-"}, 5)
		var wantGlob, wantLike bool
		if err := db.QueryRow("SELECT ? GLOB ?, ? LIKE ? ESCAPE '!'", ascii, glob, s, like).Scan(&wantGlob, &wantLike); err != nil {
			t.Fatal(err)
		}
		if got := Glob(glob)(ascii, run); got != wantGlob {
			t.Errorf("%q GLOB %q is %v", ascii, glob, got)
		}
		if got := Like(like, '!')(s, run); got != wantLike {
			t.Errorf("%q LIKE %q is %v", s, like, got)
		}
	}
}
