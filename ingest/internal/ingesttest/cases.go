package ingesttest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// plainSection is the name of rows of a case that are columns of a table, or functions of a column.
var plainSection = regexp.MustCompile(`^(\w+): (\w+(\(\w+\))?(, )?)+$`)

// Cases reads the traces of testdata/cases that match a pattern, such as perfetto/power*, and compares the rows of tables. Rows
// that need SQL are left to the command's test.
func Cases(t *testing.T, patterns ...string) {
	root := "testdata/cases"
	for range 8 {
		if _, err := os.Stat(root); err == nil {
			break
		}
		root = filepath.Join("..", root)
	}
	compared := 0
	for _, pattern := range patterns {
		paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)+".txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no cases, %v", pattern, err)
		}
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { compared += compareCase(t, path) })
		}
	}
	if compared == 0 {
		t.Error("no rows were compared")
	}
}

func compareCase(t *testing.T, path string) (compared int) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, data, err := tracecase.Trace(&archive.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	tables, err := Read(t, File{name, bytes.NewReader(data)})
	for _, f := range archive.Files[1:] {
		if !plainSection.MatchString(f.Name) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		source, columns, _ := strings.Cut(f.Name, ": ")
		got, ok := tables.cells(source, strings.Split(columns, ", "))
		if !ok {
			continue
		}
		compared++
		var want [][]string
		for line := range strings.Lines(string(f.Data)) {
			row := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
			for i := range row {
				row[i] = strings.TrimSpace(row[i])
			}
			want = append(want, row)
		}
		if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("-- %s --\n%s\nwant\n%s", f.Name, lines(got), lines(want))
		}
	}
	return compared
}

func lines(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(strings.Join(row, " | ") + "\n")
	}
	return b.String()
}

// cells returns columns of all rows of a table as cases write them, or false if it has no such column.
func (t *Tables) cells(name string, columns []string) (rows [][]string, ok bool) {
	at := slices.IndexFunc(schema.All(), func(s *table.Schema) bool { return s.Name == name })
	if at < 0 {
		return nil, false
	}
	s := schema.All()[at]
	if name == "trace" { // the export makes it
		return nil, false
	}
	n := len(t.Rows(name, s.Columns[0].Name))
	rows = make([][]string, n)
	for _, expression := range columns {
		function, column, isCall := strings.Cut(strings.TrimSuffix(expression, ")"), "(")
		if !isCall {
			column = function
		}
		i := s.Column(column)
		if i < 0 {
			return nil, false
		}
		for row, cell := range t.column(name, column) {
			if isCall {
				cell = t.call(function, cell)
			}
			rows[row] = append(rows[row], strings.TrimSpace(strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(cell)))
		}
	}
	return rows, true
}

// column returns a column of all rows, as cases write it.
func (t *Tables) column(name, column string) (cells []string) {
	for _, c := range t.chunks[name] {
		i := c.Schema.Column(column)
		for row := range c.Rows {
			cell := t.text(c, i, row)
			switch c.Schema.Columns[i].Type {
			case table.TypeBool:
				cell = map[string]string{"false": "0", "true": "1", "NULL": "NULL"}[cell]
			case table.TypeFloat64:
				if v, err := strconv.ParseFloat(cell, 64); err == nil {
					cell = strconv.FormatFloat(v, 'f', -1, 64)
				}
			}
			cells = append(cells, cell)
		}
	}
	return cells
}

// call returns what an id refers to: args(arg_set_id), track(track_id), tid(utid) or pid(upid).
func (t *Tables) call(function, id string) string {
	if function == "args" {
		return t.argsOf(id)
	}
	source := map[string][2]string{"track": {"track", "name"}, "tid": {"thread", "tid"}, "pid": {"process", "pid"}}[function]
	at := slices.Index(t.column(source[0], "id"), id)
	if at < 0 {
		return "NULL"
	}
	cell := t.column(source[0], source[1])[at]
	if function == "track" && cell == "NULL" {
		return ""
	}
	return cell
}

// argsOf returns the args of a set by key.
func (t *Tables) argsOf(set string) string {
	keys, texts, numbers, reals := t.column("args", "key"), t.column("args", "string_value"), t.column("args", "int_value"), t.column("args", "real_value")
	var all []string
	for row, id := range t.column("args", "arg_set_id") {
		if id != set {
			continue
		}
		value := texts[row]
		if value == "NULL" {
			value = numbers[row]
		}
		if value == "NULL" && reals[row] != "NULL" {
			if value = reals[row]; !strings.Contains(value, ".") {
				value += ".0"
			}
		}
		all = append(all, keys[row]+"\x00"+value)
	}
	if all == nil {
		return "NULL"
	}
	slices.Sort(all)
	return strings.ReplaceAll(strings.Join(all, " "), "\x00", "=")
}
