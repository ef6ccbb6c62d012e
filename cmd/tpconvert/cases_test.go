//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

var (
	updateCases = flag.Bool("update", false, "write the rows of cases, for a person to read")
	keepTraces  = flag.String("keep", "", "`folder` in which to keep the traces of cases")
	peerPath    = flag.String("peer", "", "`path` of Trace Processor's shell, whose rows are logged if they differ")
)

// TestCases converts the traces of testdata/cases, which testdata/README.md describes,
// and compares rows of the datasets.
func TestCases(t *testing.T) {
	t.Parallel()
	const root = "../../testdata/cases"
	db := newCaseDatabase(t)
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
				t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { runCase(t, db, path) })
			}
		})
	}
}

func runCase(t *testing.T, db caseDatabase, path string) {
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
	failure := ""
	if code != exitDone {
		failure = fmt.Sprintf("exit code %d: %s", code, strings.ReplaceAll(stderr.String(), filepath.Dir(trace)+string(filepath.Separator), ""))
	} else {
		db.load(t, out)
	}
	for i := 1; i < len(archive.Files); i++ {
		f := &archive.Files[i]
		query, isQuery := strings.CutSuffix(f.Name, ".sql")
		switch {
		case f.Name == "error":
			expect(t, f, failure)
		case failure != "":
			t.Fatal(failure)
		case isQuery:
			if i++; i == len(archive.Files) || archive.Files[i].Name != query+".rows" {
				t.Fatalf("%s has no %s.rows", f.Name, query)
			}
			expect(t, &archive.Files[i], db.rows(t, string(f.Data)))
			comparePeer(t, trace, string(f.Data), &archive.Files[i])
		default:
			source, columns, ok := strings.Cut(f.Name, ": ")
			if !ok {
				t.Fatalf("%s is neither error, QUERY.sql nor TABLE: COLUMNS", f.Name)
			}
			expect(t, f, db.rows(t, "SELECT "+columns+" FROM "+source+joinOrder(source)))
			comparePeer(t, trace, "SELECT "+columns+" FROM "+source, f)
		}
	}
	if *updateCases {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// expect compares rows with those of the case, or with -update writes them to the case.
func expect(t *testing.T, f *txtar.File, got string) {
	t.Helper()
	if *updateCases {
		f.Data = []byte(got)
	} else if want := string(f.Data); trimCells(got) != trimCells(want) {
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

// caseMacros are functions that show what the ids in rows refer to.
var caseMacros = []string{
	"CREATE TEMP MACRO args(arg_set) AS (SELECT string_agg(key || '=' || coalesce(string_value, int_value::VARCHAR, real_value::VARCHAR, 'NULL'), ' ' ORDER BY key) FROM args WHERE arg_set_id = arg_set)",
	"CREATE TEMP MACRO track(track) AS (SELECT coalesce(name, '') FROM track WHERE id = track)",
	"CREATE TEMP MACRO tid(thread) AS (SELECT tid FROM thread WHERE id = thread)",
	"CREATE TEMP MACRO pid(process) AS (SELECT pid FROM process WHERE id = process)",
}

// caseDatabase holds the rows of one case at a time.
type caseDatabase struct{ *session.Database }

// newCaseDatabase returns a database with all tables, without rows.
func newCaseDatabase(t *testing.T) caseDatabase {
	db, err := session.OpenDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Attach(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	if err := sqlfuncs.Register(t.Context(), db.Conn, sqlfuncs.Dataset{}, true); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), caseMacros...); err != nil {
		t.Fatal(err)
	}
	return caseDatabase{db}
}

// load fills the tables with a dataset until the end of the test.
func (d caseDatabase) load(t *testing.T, path string) {
	t.Helper()
	stored, err := sqlfuncs.ReadDataset(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range stored.Tables {
		file := sqltext.QuoteText(stored.Path + "/" + table + ".parquet")
		if err := d.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s BY NAME FROM read_parquet(%s)", table, file)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Exec(context.Background(), "DELETE FROM "+table); err != nil {
				t.Error(err)
			}
		})
	}
}

// rows runs a query and returns its rows, one per line, with bars between cells.
func (d caseDatabase) rows(t *testing.T, query string) string {
	t.Helper()
	rows, err := d.Conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var table [][]string
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(columns))
		for i, v := range values {
			cells[i] = cell(v)
		}
		table = append(table, cells)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return align(table)
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

func align(table [][]string) string {
	var width []int
	for _, row := range table {
		width = append(width, make([]int, max(0, len(row)-len(width)))...)
		for i, c := range row {
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

// peerMacros are caseMacros for Trace Processor.
const peerMacros = `
CREATE PERFETTO FUNCTION args(arg_set LONG) RETURNS STRING AS
SELECT group_concat(key || '=' || coalesce(string_value, int_value, real_value, 'NULL'), ' ' ORDER BY key) FROM args WHERE arg_set_id = $arg_set;
CREATE PERFETTO FUNCTION track(track LONG) RETURNS STRING AS SELECT coalesce(name, '') FROM track WHERE id = $track;
CREATE PERFETTO FUNCTION tid(thread LONG) RETURNS LONG AS SELECT tid FROM thread WHERE id = $thread;
CREATE PERFETTO FUNCTION pid(process LONG) RETURNS LONG AS SELECT pid FROM process WHERE id = $process;
`

// joinOrder orders the rows of a join by the id of its first table, because DuckDB may start with either table.
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

// comparePeer logs Trace Processor's rows if they differ. It ignores their order, which
// Trace Processor only keeps if ids define it.
func comparePeer(t *testing.T, trace, query string, rows *txtar.File) {
	t.Helper()
	if *peerPath == "" {
		return
	}
	shell := exec.Command(*peerPath, "query", trace, peerMacros+query)
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	out, err := shell.Output()
	if _, table, missing := strings.Cut(stderr.String(), "no such table: "); missing && !strings.Contains(query, "__intrinsic") {
		table = strings.TrimSpace(table)
		comparePeer(t, trace, strings.ReplaceAll(query, "FROM "+table, "FROM __intrinsic_"+table), rows)
		return
	}
	if err != nil {
		text := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		t.Logf("-- %s -- in Trace Processor: %s", rows.Name, text[len(text)-1])
		return
	}
	csv := csv.NewReader(bytes.NewReader(out))
	csv.LazyQuotes, csv.FieldsPerRecord = true, -1 // quotes in cells are not escaped
	records, err := csv.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := [][]string{}
	for _, record := range records[min(1, len(records)):] {
		if strings.HasSuffix(record[0], "_trace_duration_ns") || strings.HasSuffix(record[0], "_trace_type_duration_ns") {
			continue // how long reading took
		}
		for i, c := range record {
			record[i] = cell(c)
			if f, err := strconv.ParseFloat(c, 64); err == nil && strings.Contains(c, ".") {
				record[i] = cell(f)
			} else if c == "[NULL]" {
				record[i] = "NULL"
			}
		}
		table = append(table, record)
	}
	sorted := func(rows string) []string {
		return slices.Sorted(strings.Lines("|" + strings.ReplaceAll(rows, "\n", "\n|")))
	}
	ours := strings.Join(sorted(trimCells(string(rows.Data))), "")
	if theirs := align(table); strings.Join(sorted(trimCells(theirs)), "") != ours {
		t.Logf("-- %s -- in Trace Processor\n%s", rows.Name, theirs)
	}
}
