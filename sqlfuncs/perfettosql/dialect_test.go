package perfettosql_test

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// example is a statement of testdata/dialect.txt with what it gives.
type example struct {
	line   int
	sql    string
	rows   []string
	failed string // part of the error
}

// examples reads a file of statements.
func examples(t *testing.T, path string) []example {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []example
	var e example
	end := func() {
		if e.sql != "" {
			all = append(all, e)
		}
		e = example{}
	}
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		switch kind, rest, _ := strings.Cut(line, " "); {
		case line == "":
			end()
		case kind == "#" || kind == "##" || kind == "~":
		case kind == ">":
			e.rows = append(e.rows, strings.ReplaceAll(rest, `\n`, "\n"))
		case kind == "!":
			e.failed = rest
		case e.sql == "":
			e.line, e.sql = number, line
		default:
			e.sql += "\n" + line
		}
	}
	end()
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// literal returns a value as SQL. Real numbers are as short as their value allows.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		return real(v + 0) // without the sign of 0, which quote() does not show
	case string:
		v, _, _ = strings.Cut(v, "\x00") // as quote() does
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case []byte:
		return "X'" + strings.ToUpper(hex.EncodeToString(v)) + "'"
	}
	return fmt.Sprint(v)
}

func real(f float64) string { return "real " + strconv.FormatFloat(f, 'g', -1, 64) }

// normal writes real numbers of an expected row as literal does.
func normal(row string) string {
	cells := strings.Split(row, " | ")
	for i, c := range cells {
		if _, err := strconv.ParseInt(c, 10, 64); err == nil || c == "NULL" || c[0] == '\'' || c[0] == 'X' {
			continue
		}
		f, err := strconv.ParseFloat(c, 64)
		if err != nil && !math.IsInf(f, 0) {
			panic("no value: " + c)
		}
		cells[i] = real(f)
	}
	return strings.Join(cells, " | ")
}

// rows runs statements in a new session, and returns the rows of the last one.
func rows(t *testing.T, sql string) ([]string, error) {
	t.Helper()
	return rowsWith(t, perfettosql.Options{}, sql)
}

func rowsWith(t *testing.T, o perfettosql.Options, sql string) ([]string, error) {
	t.Helper()
	s, err := perfettosql.New(empty(t), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	err = s.Run(t.Context(), sql, func(r *perfettosql.Rows) error {
		got = nil
		for {
			more, err := r.Next()
			if err != nil || !more {
				return err
			}
			var cells []string
			for i := range r.Columns() {
				cells = append(cells, literal(r.Any(i)))
			}
			got = append(got, strings.Join(cells, " | "))
		}
	})
	return got, err
}

func TestDialect(t *testing.T) {
	t.Parallel()
	all := examples(t, "testdata/dialect.txt")
	if len(all) < 200 {
		t.Errorf("only %d statements", len(all))
	}
	for _, e := range all {
		got, err := rows(t, e.sql)
		for i, row := range e.rows {
			e.rows[i] = normal(row)
		}
		switch {
		case e.failed != "" && err == nil:
			t.Errorf("line %d: %s: got %q, want an error", e.line, e.sql, got)
		case e.failed != "" && !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(e.failed)):
			t.Errorf("line %d: %s: got %v, want %s", e.line, e.sql, err, e.failed)
		case e.failed == "" && err != nil:
			t.Errorf("line %d: %s: %v", e.line, e.sql, err)
		case e.failed == "" && !slices.Equal(got, e.rows):
			t.Errorf("line %d: %s:\n got %q\nwant %q", e.line, e.sql, got, e.rows)
		}
	}
}

//go:embed testdata/refused.txt
var refused string

// TestRefused checks that what Trace Processor refuses is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	for sql := range strings.Lines(refused) {
		if sql = strings.TrimSpace(sql); sql == "" || sql[0] == '#' {
			continue
		}
		if got, err := rows(t, sql); err == nil {
			t.Errorf("%s is allowed and gives %q", sql, got)
		}
	}
}

// empty has all tables, without rows.
func empty(t *testing.T) *tables.Dataset {
	d := tables.NewDataset(func(string, *dataframe.Pool) ([]tables.Rows, error) { return nil, nil })
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
