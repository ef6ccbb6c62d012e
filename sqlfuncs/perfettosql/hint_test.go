package perfettosql_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// TestHints checks that an error about a name says which module makes it, or which name was meant.
func TestHints(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT * FROM android_startups":                                          "no such table: android_startups: INCLUDE PERFETTO MODULE android.startup.startups makes it",
		"SELECT * FROM android_startup":                                           "no such table: android_startup: did you mean android_startups of module android.startup.startups?",
		"SELECT * FROM slyce":                                                     "no such table: slyce: did you mean slice?",
		"SELECT * FROM nothing_like_it":                                           "no such table: nothing_like_it",
		"SELECT extract_ar(1, 'x')":                                               "no such function: extract_ar: did you mean extract_arg?",
		"SELECT * FROM _interval_intersect!((a, b), ())":                          "there is no macro _interval_intersect: INCLUDE PERFETTO MODULE intervals.intersect makes it",
		"CREATE PERFETTO MACRO twice(x Expr) RETURNS Expr AS $x; SELECT twic!(1)": "there is no macro twic: did you mean twice?",
	} {
		if _, err := rows(t, sql); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// TestObjectNames checks the names of modules against Perfetto's.
func TestObjectNames(t *testing.T) {
	root := filepath.Join(os.Getenv("CONFORMANCE"), "modules", "stdlib")
	if info, err := os.Stat(root); os.Getenv("CONFORMANCE") == "" || err != nil || !info.IsDir() {
		t.Skip("THE NAMES OF MODULES ARE NOT TESTED: CONFORMANCE names no folder with them")
	}
	created := regexp.MustCompile(`(?im)^CREATE\s+(?:OR\s+REPLACE\s+)?(?:PERFETTO|VIRTUAL)\s+(TABLE|VIEW|FUNCTION|MACRO)\s+(\w+)`)
	modules := os.DirFS(root)
	err := fs.WalkDir(modules, ".", func(path string, e fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(strings.ReplaceAll(path, "/", "."), ".sql")
		if err != nil || !ok || strings.HasPrefix(name, "prelude.") {
			return err
		}
		text, err := fs.ReadFile(modules, path)
		for _, m := range created.FindAllStringSubmatch(string(text), -1) {
			if m[2][0] == '_' && !strings.EqualFold(m[1], "MACRO") {
				continue
			}
			if got := perfettosql.ModuleOf(m[2]); got != name {
				t.Errorf("%s is of module %s, not %q", m[2], name, got)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
