// Package ingesttest reads traces for tests and shows the rows they become.
package ingesttest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/fuzz"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// Tables are the rows of a converted trace.
type Tables struct {
	chunks map[string][]*table.Chunk
}

// Chunk keeps a chunk that the store has finished.
func (t *Tables) Chunk(c *table.Chunk) error {
	t.chunks[c.Schema.Name] = append(t.chunks[c.Schema.Name], c)
	return nil
}

// A File is a named input.
type File struct {
	Name string
	io.Reader
}

// Read reads files into one store. It returns the first read error; the rows
// read until then are still there.
func Read(t testing.TB, files ...File) (*Tables, error) {
	t.Helper()
	return read(t, model.Options{}, files...)
}

// ReadWith reads a trace with options.
func ReadWith(t testing.TB, o ingest.Options, file File) (*Tables, error) {
	t.Helper()
	return readWith(t, model.Options{}, o, file)
}

func read(t testing.TB, o model.Options, files ...File) (*Tables, error) {
	t.Helper()
	return readWith(t, o, ingest.Options{}, files...)
}

func readWith(t testing.TB, o model.Options, how ingest.Options, files ...File) (*Tables, error) {
	t.Helper()
	how.TempDir = t.TempDir()
	tables := &Tables{chunks: map[string][]*table.Chunk{}}
	o.Sink = tables
	o.Unset = func(table, column string) { t.Errorf("a row of %s has no %s, which may not be NULL", table, column) }
	store := model.NewStore(o)
	var first error
	for _, f := range files {
		if err := ingest.Read(store, f.Name, f, how); err != nil && first == nil {
			first = err
		}
	}
	if err := store.Finish(); err != nil {
		t.Fatal(err)
	}
	return tables, first
}

// MustRead reads data as a whole and byte by byte, the latter with little memory. Both must
// give the same rows and no error. It returns the rows.
func MustRead(t *testing.T, name string, data []byte) *Tables {
	t.Helper()
	whole, err := Read(t, File{name, bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	split, err := read(t, model.Options{Memory: 1}, File{name, iotest.OneByteReader(bytes.NewReader(data))})
	if err != nil {
		t.Fatalf("byte by byte: %v", err)
	}
	if a, b := whole.all(), split.all(); !slices.Equal(a, b) {
		t.Errorf("whole:\n%s\nbyte by byte:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	return whole
}

func (t *Tables) all() []string {
	var rows []string
	for name, chunks := range t.chunks {
		var columns []string
		for _, c := range chunks[0].Schema.Columns {
			columns = append(columns, c.Name)
		}
		for _, row := range t.Rows(name, columns...) {
			rows = append(rows, name+": "+row)
		}
	}
	slices.Sort(rows)
	return rows
}

// Rows returns the values of the columns for each row of a table, as text
// separated by bars.
func (t *Tables) Rows(name string, columns ...string) []string {
	var rows []string
	for _, c := range t.chunks[name] {
		for i := range c.Rows {
			var values []string
			for _, column := range columns {
				values = append(values, t.text(c, c.Schema.Column(column), i))
			}
			rows = append(rows, strings.Join(values, "|"))
		}
	}
	return rows
}

func (t *Tables) text(c *table.Chunk, column, row int) string {
	if c.Schema.Columns[column].Row {
		return fmt.Sprint(c.Base + int64(row))
	}
	v := c.Column(column)
	if v.Valid != nil && v.Valid[row>>3]&(1<<(row&7)) == 0 {
		return "NULL"
	}
	switch values := v.Values.(type) {
	case []int64:
		return fmt.Sprint(values[row])
	case []int32:
		return fmt.Sprint(values[row])
	case []float64:
		return fmt.Sprint(values[row])
	case []bool:
		return fmt.Sprint(values[row])
	case []table.StringID:
		if values[row] == 0 {
			return "NULL"
		}
		return c.Strings.Get(values[row])
	}
	return "NULL"
}

// Want fails the test if the rows of a table differ from want.
func (t *Tables) Want(tb testing.TB, name, columns string, want ...string) {
	tb.Helper()
	if got := t.Rows(name, strings.Split(columns, "|")...); !slices.Equal(got, want) {
		tb.Errorf("%s (%s):\n%s\nwant:\n%s", name, columns, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// MayFail reads what may be damaged: an error must be one about the input.
func MayFail(t testing.TB, data []byte) (tables *Tables, failed bool) {
	t.Helper()
	tables, err := Read(t, File{"trace", bytes.NewReader(data)})
	if err != nil && !format.BadInput(err) {
		t.Fatalf("%.1000q: %v", data, err)
	}
	return tables, err != nil
}

// Cuts reads a trace that is cut off at each 64th. A longer part has no fewer rows in the table, and says that its end is
// missing. It returns the number of rows of the longest part.
func Cuts(t *testing.T, trace []byte, rows string) int {
	t.Helper()
	last := 0
	for i := 1; i < 64; i++ {
		tables, failed := MayFail(t, trace[:len(trace)*i/64])
		n := len(tables.Rows(rows, "id"))
		if n < last || !failed && !slices.Contains(tables.Rows("stats", "name"), "truncated_input") {
			t.Errorf("cut at %d/64: %d rows of %s after %d, %v", i, n, rows, last, tables.Rows("stats", "name"))
		}
		last = n
	}
	return last
}

// Fuzz feeds a format with what it detects as its own, beginning with some traces.
func Fuzz(f *testing.F, name string, traces ...[]byte) {
	for _, trace := range traces {
		f.Add(trace)
	}
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected != nil && detected.Name == name {
			MayFail(t, data)
		}
	})
}
