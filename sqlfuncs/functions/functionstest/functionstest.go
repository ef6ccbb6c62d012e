// Package functionstest has tables and checks for tests of functions.
package functionstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/sqlitetest"
)

// Tables are the tables of a test.
type Tables struct {
	pool   *dataframe.Pool
	frames map[string]*dataframe.Frame
}

// NewTables returns no table yet.
func NewTables() *Tables {
	return &Tables{dataframe.NewPool(), map[string]*dataframe.Frame{}}
}

func (s *Tables) Pool() *dataframe.Pool { return s.pool }

func (s *Tables) Table(name string) (*dataframe.Frame, error) {
	if f := s.frames[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("there is no table %s", name)
}

// Add adds a table, whose columns are described as for define.Specs.
func (s *Tables) Add(t *testing.T, name, columns string, rows ...[]any) {
	t.Helper()
	b := dataframe.NewBuilder(s.pool, define.Specs(columns)...)
	for _, row := range rows {
		for i, v := range row {
			if n, ok := v.(int); ok {
				v = int64(n)
			}
			if err := b.Any(i, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.frames[name] = b.Frame()
}

// Open returns a function that returns the rows of a query to a database in which functions are defined.
func (s *Tables) Open(t *testing.T, functions func(*define.Definer)) func(query string) string {
	t.Helper()
	db := sqlitetest.Open(t)
	d := &define.Definer{DB: db, Tables: s}
	functions(d)
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	return func(query string) string { return ask(db, query) }
}

// ask returns the rows of a query as literals of SQL, separated by spaces and line ends, or the error.
func ask(db *sqlite.DB, query string) string {
	s, _, err := db.Prepare(query)
	if err != nil {
		return "error: " + err.Error()
	}
	defer s.Close()
	var rows []string
	for {
		more, err := s.Step()
		if err != nil {
			return "error: " + err.Error()
		}
		if !more {
			return strings.Join(rows, "\n")
		}
		var row []string
		for i := range s.Columns() {
			row = append(row, literal(s.Any(i)))
		}
		rows = append(rows, strings.Join(row, " "))
	}
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		if s := fmt.Sprintf("%.9g", v); strings.ContainsAny(s, ".eI") {
			return s
		}
		return fmt.Sprintf("%.1f", v)
	case string:
		return "'" + v + "'"
	case []byte:
		return fmt.Sprintf("x'%X'", v)
	}
	return fmt.Sprint(v)
}

// Test is a query, and the rows that Trace Processor v58.2 gives for it, or what an error says.
type Test [2]string

// Check runs tests.
func Check(t *testing.T, query func(string) string, tests []Test) {
	t.Helper()
	for _, x := range tests {
		text, want := x[0], x[1]
		got := query(text)
		if message, failure := strings.CutPrefix(want, "error: "); failure {
			if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, message) {
				t.Errorf("%s:\n%s\nwant an error with: %s", text, got, message)
			}
			continue
		}
		if got != strings.TrimPrefix(want, "\n") {
			t.Errorf("%s:\n%s\nwant:\n%s", text, got, strings.TrimPrefix(want, "\n"))
		}
	}
}
