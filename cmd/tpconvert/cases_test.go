package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/sqlitetest"
)

var (
	updateCases = flag.Bool("update", false, "write the rows of cases, for a person to read")
	keepTraces  = flag.String("keep", "", "`folder` in which to keep the traces of cases")
	peerPath    = flag.String("peer", "", "`path` of Trace Processor's shell, whose rows are logged if they differ")
)

// caseFunctions show what the ids in rows refer to: their names, the types of their results, and queries with the id as $id.
var caseFunctions = [][3]string{
	{"args", "STRING", "SELECT group_concat(key || '=' || coalesce(string_value, CAST(int_value AS TEXT), CAST(real_value AS TEXT), 'NULL'), ' ' ORDER BY key) FROM args WHERE arg_set_id = $id"},
	{"track", "STRING", "SELECT coalesce(name, '') FROM track WHERE id = $id"},
	{"tid", "LONG", "SELECT tid FROM thread WHERE id = $id"},
	{"pid", "LONG", "SELECT pid FROM process WHERE id = $id"},
}

// withDuckDB says whether the build has DuckDB.
var withDuckDB bool

// caseDatabase is the dataset of a case in an engine.
type caseDatabase struct {
	ask func(query string) [][]any // returns the rows of a query
	nan string                     // how the engine shows NaN
}

// caseEngine opens a dataset until the end of the test.
type caseEngine func(t *testing.T, dataset string) caseDatabase

// caseEngines start the engines of this build.
var caseEngines = []func(t *testing.T) caseEngine{func(*testing.T) caseEngine { return openInSQLite }}

// TestCases converts the traces of testdata/cases, which testdata/README.md describes,
// and compares rows of the datasets.
func TestCases(t *testing.T) {
	t.Parallel()
	const root = "../../testdata/cases"
	var engines []caseEngine
	for _, start := range caseEngines {
		engines = append(engines, start(t))
	}
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		t.Run(folder.Name(), func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join(root, folder.Name(), "*.txtar"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("no cases, %v", err)
			}
			for _, path := range paths {
				t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { runCase(t, engines, path) })
			}
		})
	}
}

func runCase(t *testing.T, engines []caseEngine, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(text)
	if len(archive.Comment) == 0 || len(archive.Files) < 2 {
		t.Fatal("a case is a comment, a trace and rows")
	}
	trace, err := caseInput(t, &archive.Files[0])
	if err != nil {
		t.Fatalf("%s: %v", archive.Files[0].Name, err)
	}
	out := filepath.Join(t.TempDir(), "out")
	var stderr bytes.Buffer
	code := execute(t.Context(), []string{"--quiet", trace, out}, strings.NewReader(""), new(bytes.Buffer), &stderr)
	var databases []caseDatabase
	failure := ""
	if code != exitDone && code != exitIncomplete { // a case may show what is read of a trace without its end
		failure = fmt.Sprintf("exit code %d: %s", code, strings.ReplaceAll(stderr.String(), filepath.Dir(trace)+string(filepath.Separator), ""))
	} else {
		for _, open := range engines {
			databases = append(databases, open(t, out))
		}
	}
	check := func(rows *txtar.File, query, order string) {
		for _, d := range databases {
			expect(t, rows, align(d.ask(query+order)), d.nan)
		}
		comparePeer(t, trace, query, rows)
	}
	for i := 1; i < len(archive.Files); i++ {
		f := &archive.Files[i]
		query, isQuery := strings.CutSuffix(f.Name, ".sql")
		switch {
		case f.Name == "error":
			expect(t, f, failure, "NaN")
		case failure != "":
			t.Fatal(failure)
		case isQuery:
			if i++; i == len(archive.Files) || archive.Files[i].Name != query+".rows" {
				t.Fatalf("%s has no %s.rows", f.Name, query)
			}
			check(&archive.Files[i], string(f.Data), "")
		default:
			source, columns, ok := strings.Cut(f.Name, ": ")
			if !ok {
				t.Fatalf("%s is neither error, QUERY.sql nor TABLE: COLUMNS", f.Name)
			}
			check(f, "SELECT "+columns+" FROM "+source, joinOrder(source))
		}
	}
	if *updateCases {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// expect compares rows with those of the case, or with -update writes them to the case.
func expect(t *testing.T, f *txtar.File, got, nan string) {
	t.Helper()
	if *updateCases {
		f.Data = []byte(got)
	} else if want := strings.ReplaceAll(string(f.Data), "NaN", nan); trimCells(got) != trimCells(want) {
		t.Errorf("-- %s --\n%swant\n%s", f.Name, got, want)
	}
}

// trimCells removes the spaces that align cells.
func trimCells(rows string) string {
	var b strings.Builder
	for line := range strings.Lines(rows) {
		for cell := range strings.SplitSeq(line, " | ") {
			b.WriteString(strings.TrimSpace(cell) + "|")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// caseInput writes the trace of a case to a file.
func caseInput(t *testing.T, f *txtar.File) (path string, err error) {
	name, data, err := tracecase.Trace(f)
	if err != nil {
		return "", err
	}
	dir := t.TempDir()
	if *keepTraces != "" {
		dir = filepath.Join(*keepTraces, t.Name())
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
	}
	path = filepath.Join(dir, name)
	return path, os.WriteFile(path, data, 0o666)
}

// openInSQLite opens the tables of a dataset in SQLite, with all columns.
func openInSQLite(t *testing.T, dataset string) caseDatabase {
	stored := tables.NewDataset(tables.FileOpener(func(table string) []string { return []string{filepath.Join(dataset, table+".parquet")} }))
	t.Cleanup(func() {
		if err := stored.Close(); err != nil {
			t.Error(err)
		}
	})
	db := sqlitetest.Open(t)
	for _, s := range schema.All() {
		err := db.Module(s.Name, sqlite.Module{Connect: func() (sqlite.Table, string, error) {
			frame, err := stored.Stored(s)
			if err != nil {
				return nil, "", err
			}
			return frame.Table(), frame.Declaration(), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range caseFunctions {
		err := db.Function(f[0], 1, sqlite.Deterministic, func(c sqlite.Context, args []sqlite.Value) error {
			rows, err := askSQLite(db, f[2], args[0])
			if err == nil && len(rows) > 0 {
				c.Any(rows[0][0])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func(query string) [][]any {
		t.Helper()
		rows, err := askSQLite(db, query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return rows
	}
	return caseDatabase{ask, "NULL"}
}

func askSQLite(db *sqlite.DB, query string, args ...any) (rows [][]any, err error) {
	s, _, err := db.Prepare(query)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for i, v := range args {
		if err := s.Bind(i+1, v); err != nil {
			return nil, err
		}
	}
	for {
		more, err := s.Step()
		if err != nil || !more {
			return rows, err
		}
		row := make([]any, s.Columns())
		for i := range row {
			row[i] = s.Any(i)
		}
		rows = append(rows, row)
	}
}

// joinOrder orders the rows of a join by the id of its first table, because an engine may start with either table.
func joinOrder(source string) string {
	words := strings.Fields(source)
	if !slices.Contains(words, "JOIN") || strings.Contains(source, "ORDER BY") {
		return ""
	}
	first := words[0]
	if words[1] != "JOIN" && words[1] != "LEFT" {
		first = words[1]
	}
	return " ORDER BY " + first + ".id"
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool: // as in Trace Processor
		return map[bool]string{false: "0", true: "1"}[v]
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(v)
	}
	return fmt.Sprint(v)
}

// align returns rows as text, one per line, with bars between cells.
func align(rows [][]any) string {
	var width []int
	var table [][]string
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		table = append(table, cells)
		width = append(width, make([]int, max(0, len(cells)-len(width)))...)
		for i, c := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range table {
		line := ""
		for i, c := range row {
			if i > 0 {
				line += " | "
			}
			line += c + strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
