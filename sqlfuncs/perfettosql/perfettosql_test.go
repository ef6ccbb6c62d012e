package perfettosql

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/duckdb/duckdb-go/v2"
	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// connect returns a connection to a database with all tables, as New requires. rows is DuckDB SQL that adds
// rows.
func connect(t testing.TB, layout sqlfuncs.Layout, rows string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	exec := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(context.Background(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec("ATTACH ':memory:' AS dataset")
	exec("USE dataset")
	if err := sqlfuncs.Register(context.Background(), conn, sqlfuncs.Dataset{Layout: layout}, true); err != nil {
		t.Fatal(err)
	}
	if rows != "" {
		exec(rows)
	}
	exec("USE memory")
	exec("SET search_path = 'memory.main,dataset.main'")
	for _, setting := range Settings {
		exec(setting)
	}
	return conn
}

// database returns the database of a session.
func database(conn *sql.Conn, modules fs.FS) Database {
	describe := func(ctx context.Context, statement string) ([]Column, error) {
		stmt, err := conn.PrepareContext(ctx, statement)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		rows, err := conn.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE "+statement+")")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var columns []Column
		for rows.Next() {
			var c Column
			if err := rows.Scan(&c.Name, &c.Type); err != nil {
				return nil, err
			}
			c.Type, _, _ = strings.Cut(strings.Trim(c.Type, `"`), "(")
			columns = append(columns, c)
		}
		return columns, rows.Err()
	}
	return Database{Conn: conn, Describe: describe, Modules: modules}
}

// runAll runs statements and returns their rows, if any, as CSV.
func runAll(conn *sql.Conn, s *Session, text string) (string, error) {
	statements, err := Split(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	for _, statement := range statements {
		query, err := s.Run(context.Background(), statement.Text)
		if err == nil && query != nil {
			if out.Len() > 0 {
				out.WriteString("\n")
			}
			if err = print(&out, conn, query.SQL); err != nil {
				err = query.Place(err)
			}
		}
		if err != nil {
			var bad *Error
			if errors.As(err, &bad) {
				return "", fmt.Errorf("at %q: %w", firstWord(statement.Text[bad.Pos:]), err)
			}
			return "", err
		}
	}
	return out.String(), nil
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, "\n")
	word, _, _ = strings.Cut(word, " ")
	return word
}

func print(out *bytes.Buffer, conn *sql.Conn, query string) error {
	rows, err := conn.QueryContext(context.Background(), "SELECT COLUMNS(*)::VARCHAR FROM ("+query+"\n)")
	if err != nil {
		return err
	}
	defer rows.Close()
	w := csv.NewWriter(out)
	header, err := rows.Columns()
	if err != nil {
		return err
	}
	_ = w.Write(header)
	cells, targets := make([]sql.NullString, len(header)), make([]any, len(header))
	for i := range cells {
		targets[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		fields := make([]string, len(cells))
		for i, cell := range cells {
			if fields[i] = cell.String; !cell.Valid {
				fields[i] = "NULL"
			}
		}
		_ = w.Write(fields)
	}
	w.Flush()
	return rows.Err()
}

// TestScripts runs the archives in testdata: tables.sql fills the tables, modules/A/B.sql are modules, and
// each NAME.sql must return the rows of NAME.csv or fail with the text in NAME.err. Later scripts see what
// earlier ones created.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files, modules := map[string]string{}, fstest.MapFS{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
				if name, ok := strings.CutPrefix(f.Name, "modules/"); ok {
					modules[name] = &fstest.MapFile{Data: f.Data}
				}
			}
			conn := connect(t, sqlfuncs.OneTrace, files["tables.sql"])
			s, err := New(t.Context(), database(conn, modules))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				name, ok := strings.CutSuffix(f.Name, ".sql")
				if !ok || name == "tables" || strings.HasPrefix(name, "modules/") {
					continue
				}
				t.Run(name, func(t *testing.T) {
					got, err := runAll(conn, s, string(f.Data))
					if want, fails := files[name+".err"]; fails {
						if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
							t.Errorf("got error %v, want %s", err, want)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					if want := files[name+".csv"]; strings.TrimSpace(got) != strings.TrimSpace(want) {
						t.Errorf("got\n%s\nwant\n%s", got, want)
					}
				})
			}
		})
	}
}

func TestManyTraces(t *testing.T) {
	conn := connect(t, sqlfuncs.ManyTraces, "")
	d := database(conn, nil)
	d.Layout = sqlfuncs.ManyTraces
	if _, err := New(t.Context(), d); !errors.Is(err, ErrManyTraces) {
		t.Errorf("New = %v", err)
	}
}

func TestNoModules(t *testing.T) {
	conn := connect(t, sqlfuncs.OneTrace, "")
	s, err := New(t.Context(), database(conn, nil))
	if err != nil {
		t.Fatal(err)
	}
	var bad *Error
	_, err = s.Run(t.Context(), "INCLUDE PERFETTO MODULE slices.flat")
	if !errors.As(err, &bad) || bad.Pos != 24 || !strings.Contains(err.Error(), "--stdlib") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Run(t.Context(), "INCLUDE PERFETTO MODULE time.conversion"); err != nil {
		t.Error(err)
	}
}

func TestModuleObjects(t *testing.T) {
	module := `--
-- License.

-- Slices that
-- last long.
CREATE PERFETTO TABLE long_slice(
  -- Id of the slice.
  id JOINID(slice.id),
  dur DURATION
) AS SELECT id, dur FROM slice;

SELECT ';';
CREATE OR REPLACE PERFETTO FUNCTION _twice(x LONG)
-- Two times x.
RETURNS LONG AS SELECT $x * 2;
CREATE PERFETTO MACRO both(a Expr, b ColumnName) RETURNS TableOrSubquery AS (SELECT $a, $b);
CREATE PERFETTO FUNCTION slices_of(name STRING) RETURNS TABLE(id LONG) AS SELECT id FROM slice WHERE name = $name;
-- All.
CREATE PERFETTO VIEW every_slice AS SELECT * FROM slice;
`
	modules := fstest.MapFS{
		"a/b/c.sql": {Data: []byte(module)}, "d/broken.sql": {Data: []byte("CREATE PERFETTO MACRO m(x Expr) RETURNS")},
		"a/README.md": {}, "e/open.sql": {Data: []byte("SELECT 'open")},
	}
	conn := connect(t, sqlfuncs.OneTrace, "")
	s, err := New(t.Context(), database(conn, modules))
	if err != nil {
		t.Fatal(err)
	}
	got, err := runAll(conn, s, `
		SELECT id, package, module, name, object_type, exposed, description, return_type, return_description, args, cols
		FROM __intrinsic_stdlib_objects ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	want := `id,package,module,name,object_type,exposed,description,return_type,return_description,args,cols
0,a,a.b.c,a.b.c,MODULE,1,,,,[],[]
1,a,a.b.c,long_slice,TABLE,1,Slices that last long.,,,[],"[{""name"":""id"",""type"":""JOINID(slice.id)"",""description"":""Id of the slice.""},{""name"":""dur"",""type"":""DURATION"",""description"":""""}]"
2,a,a.b.c,every_slice,VIEW,1,All.,,,[],[]
3,a,a.b.c,_twice,FUNCTION,0,,LONG,Two times x.,"[{""name"":""x"",""type"":""LONG"",""description"":""""}]",[]
4,a,a.b.c,slices_of,TABLE_FUNCTION,1,,TABLE,,"[{""name"":""name"",""type"":""STRING"",""description"":""""}]","[{""name"":""id"",""type"":""LONG"",""description"":""""}]"
5,a,a.b.c,both,MACRO,1,,TableOrSubquery,,"[{""name"":""a"",""type"":""Expr"",""description"":""""},{""name"":""b"",""type"":""ColumnName"",""description"":""""}]",[]
6,d,d.broken,d.broken,MODULE,1,,,,[],[]
7,d,d.broken,m,MACRO,1,,,,"[{""name"":""x"",""type"":""Expr"",""description"":""""}]",[]
8,e,e.open,e.open,MODULE,1,,,,[],[]
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got, err = runAll(conn, s, "SELECT summary FROM __intrinsic_stdlib_objects WHERE name = 'long_slice'")
	want = `summary
"Package: a
Module: a.b.c
Name: long_slice
Qualified name: a.b.c.long_slice
Search aliases: a a b c long slice
Kind: public TABLE
Description: Slices that last long.
Columns:
- id (JOINID(slice.id)): Id of the slice.
- dur (DURATION)"
`
	if err != nil || got != want {
		t.Errorf("got\n%s, %v", got, err)
	}
}

func TestSplit(t *testing.T) {
	text := "SELECT 1; -- one; two\n;SELECT ';' /* ; */, \"a;b\";\n  SELECT 3"
	got, err := Split(text)
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{"SELECT 1", "SELECT ';' /* ; */, \"a;b\"", "SELECT 3"} {
		if got[i].Text != want || text[got[i].Pos:got[i].Pos+len(want)] != want {
			t.Errorf("%d: %q at %d", i, got[i].Text, got[i].Pos)
		}
	}
	if _, err := Split("SELECT 'a"); err == nil {
		t.Error("an open text is no error")
	}
}

// nothing is a catalog without tables.
type nothing struct{}

func (nothing) columns(string) []field { return nil }
func (nothing) class(string) class     { return unknown }

// FuzzTranslate checks that no text makes the translation panic or report a position outside the text.
func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{
		"SELECT a, \"b\", 'c' || x'00', 0x1f FROM t LEFT JOIN f(1) USING (k) WHERE NOT a GLOB 'x*' AND b IS NOT 3",
		"CREATE PERFETTO FUNCTION f(x INT) RETURNS TABLE(y INT) AS SELECT $x AS y",
		"CREATE VIRTUAL TABLE s USING SPAN_JOIN(a PARTITIONED p, b)",
		"WITH x AS (VALUES (1, 2)) SELECT max(a) FILTER (WHERE b) OVER (ORDER BY c) FROM x LIMIT 3 OFFSET 1",
		"CREATE PERFETTO MACRO m(a Expr) RETURNS Expr AS ($a + 1)", "SELECT m!(3, (4, 5))", "DROP TABLE IF EXISTS t", "CREATE PERFETTO MACRO m(", "SELECT " + strings.Repeat("(", 5000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		statements, err := Split(source)
		if err != nil {
			return
		}
		for _, statement := range statements {
			if source[statement.Pos:statement.Pos+len(statement.Text)] != statement.Text {
				t.Errorf("%q is not at %d", statement.Text, statement.Pos)
			}
			tokens, err := tokenize(statement.Text)
			documentedIn(source[statement.Pos:])
			if err == nil {
				p := &parser{source: statement.Text, tokens: tokens, virtual: map[string]string{}, catalog: nothing{}}
				_, err = p.translate()
			}
			var bad *Error
			if err != nil && (!errors.As(err, &bad) || bad.Pos < 0 || bad.Pos > len(statement.Text)) {
				t.Errorf("error %#v", err)
			}
		}
	})
}
