package functions

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/sqlitetest"
)

// tables are the tables of a test.
type tables struct {
	pool   *dataframe.Pool
	frames map[string]*dataframe.Frame
}

func newTables() *tables {
	return &tables{dataframe.NewPool(), map[string]*dataframe.Frame{}}
}

func (s *tables) Pool() *dataframe.Pool { return s.pool }

func (s *tables) Table(name string) (*dataframe.Frame, error) {
	if f := s.frames[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("there is no table %s", name)
}

// add adds a table, whose columns are described as for specs.
func (s *tables) add(t *testing.T, name, columns string, rows ...[]any) {
	t.Helper()
	b := dataframe.NewBuilder(s.pool, specs(columns)...)
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

// open returns a database with the functions, and a function that returns the rows of a query.
func (s *tables) open(t *testing.T, data Data) func(query string) string {
	t.Helper()
	db := sqlitetest.Open(t)
	if err := Define(db, s, data); err != nil {
		t.Fatal(err)
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

// test is a query, the rows that Trace Processor v58.2 gives for it, or what an error says.
type test struct{ query, want string }

func check(t *testing.T, query func(string) string, tests []test) {
	t.Helper()
	for _, x := range tests {
		got := query(x.query)
		if text, failure := strings.CutPrefix(x.want, "error: "); failure {
			if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, text) {
				t.Errorf("%s:\n%s\nwant an error with: %s", x.query, got, text)
			}
			continue
		}
		if got != strings.TrimPrefix(x.want, "\n") {
			t.Errorf("%s:\n%s\nwant:\n%s", x.query, got, strings.TrimPrefix(x.want, "\n"))
		}
	}
}
