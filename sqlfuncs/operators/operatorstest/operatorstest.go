// Package operatorstest runs statements of operators for tests.
package operatorstest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/operators"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/sqlitetest"
)

// source has no tables: the operators work on rows that they are given.
type source struct{ pool *dataframe.Pool }

func (s source) Table(name string) (*dataframe.Frame, error) {
	return nil, fmt.Errorf("there is no table %s", name)
}
func (s source) Pool() *dataframe.Pool { return s.pool }

// expand stands for the macros of a session: there is one.
func expand(query string) (string, error) {
	return strings.ReplaceAll(query, "double!(total)", "2 * total"), nil
}

// Open returns a database in which the operators are defined.
func Open(t testing.TB) *sqlite.DB {
	t.Helper()
	pool := dataframe.NewPool()
	t.Cleanup(pool.Free) // once the database is closed
	db := sqlitetest.Open(t)
	if err := operators.Define(db, source{pool}, expand); err != nil {
		t.Fatal(err)
	}
	return db
}

// Query runs statements and returns the rows of the last, as Trace Processor's shell prints them.
func Query(db *sqlite.DB, text string) (string, error) {
	var b strings.Builder
	for {
		s, rest, err := db.Prepare(text)
		if err != nil || s == nil {
			return b.String(), err
		}
		b.Reset()
		err = printRows(&b, s)
		s.Close()
		if err != nil {
			return "", err
		}
		text = rest
	}
}

func printRows(b *strings.Builder, s *sqlite.Stmt) error {
	for i := range s.Columns() {
		fmt.Fprintf(b, "%s%q", comma(i), s.Name(i))
	}
	b.WriteByte('\n')
	for {
		row, err := s.Step()
		if err != nil || !row {
			return err
		}
		for i := range s.Columns() {
			b.WriteString(comma(i))
			switch s.Type(i) {
			case sqlite.Null:
				b.WriteString(`"[NULL]"`)
			case sqlite.Integer:
				fmt.Fprint(b, s.Int(i))
			case sqlite.Real:
				fmt.Fprintf(b, "%f", s.Float(i))
			default:
				fmt.Fprintf(b, `"%s"`, s.Text(i))
			}
		}
		b.WriteByte('\n')
	}
}

func comma(i int) string {
	if i > 0 {
		return ","
	}
	return ""
}

// Cases runs each NAME.sql of testdata/*.txtar after setup.sql, and compares its rows with NAME.csv, which Trace Processor printed, or its
// error with NAME.error, where Trace Processor has one too.
func Cases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = strings.TrimSpace(string(f.Data))
		}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".sql")
			if !ok || name == "setup" {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				got, err := Query(Open(t), files["setup.sql"]+"\n"+files[f.Name])
				if want, ok := files[name+".error"]; ok {
					if err == nil || err.Error() != want {
						t.Errorf("got error %v\nwant %s", err, want)
					}
					return
				}
				want, ok := files[name+".csv"]
				if got = strings.TrimSpace(got); err != nil || !ok || got != want {
					t.Errorf("got:\n%s\nwant:\n%s\nerror: %v", got, want, err)
				}
			})
		}
	}
}
