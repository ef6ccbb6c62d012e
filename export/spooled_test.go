package export

import (
	"math"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

// recorder is a parquet.Target that keeps what it is given.
type recorder struct {
	values []any
	words  []string
}

func (r *recorder) Ints(values []int64) {
	for _, v := range values {
		r.values = append(r.values, v)
	}
}

func (r *recorder) Reals(values []float64) {
	for _, v := range values {
		r.values = append(r.values, math.Float64bits(v))
	}
}

func (r *recorder) Texts(numbers []uint32) {
	for _, n := range numbers {
		r.values = append(r.values, r.words[n])
	}
}

func (r *recorder) Number(b []byte) uint32 {
	r.words = append(r.words, string(b))
	return uint32(len(r.words) - 1)
}

func (r *recorder) Nulls(n int) { r.values = append(r.values, make([]any, n)...) }

// The rows of the current trace in a spool are those that were put there, in any number, while others are there.
func TestSpooledRows(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(t, 77, 30, s)
	if err := s.Keep("t_a", "", ""); err != nil {
		t.Fatal(err)
	}
	fill(t, 100, 30, s)
	if err := s.Drop(); err != nil {
		t.Fatal(err)
	}
	parents, children := fill(t, 1001, 64, s)
	if rows, err := s.Rows("nothing"); rows != nil || err != nil {
		t.Errorf("a table without rows: %v, %v", rows, err)
	}
	for _, schema := range kindsSchemas() {
		want := map[string][][]any{"kinds": parents, "kinds_child": children}[schema.Name]
		if want == nil {
			continue
		}
		rows, err := s.Rows(schema.Name)
		if err != nil {
			t.Fatal(err)
		}
		if rows.Len() != len(want) || rows.Has("nothing") {
			t.Errorf("%s has %d rows, want %d", schema.Name, rows.Len(), len(want))
		}
		for i, c := range schema.Columns {
			for _, n := range []int{1, 64, 300, len(want), math.MaxInt} {
				var got recorder
				if err := rows.Read(c.Name, n, &got); err != nil || !rows.Has(c.Name) {
					t.Fatal(c.Name, err)
				}
				if len(got.values) != min(n, len(want)) {
					t.Fatalf("%s.%s: %d rows, want %d", schema.Name, c.Name, len(got.values), min(n, len(want)))
				}
				for row, v := range got.values {
					if v != asRead(want[row][i]) {
						t.Fatalf("%s.%s, row %d is %v, want %v", schema.Name, c.Name, row, v, want[row][i])
					}
				}
			}
		}
	}
}

// asRead returns a value as a parquet.Target gets it.
func asRead(v any) any {
	switch v := v.(type) {
	case int32:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

func TestSpooledBytes(t *testing.T) {
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := fillBytes(t, 1001, 64, s)
	rows, err := s.Rows(table.Schemas[bytesTables]()[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	for row := range want {
		got, err := rows.Bytes("data", row)
		if v, some := want[row][1].(string); err != nil || some != (got != nil) || v != string(got) {
			t.Fatalf("row %d: %d bytes, %v", row, len(got), err)
		}
	}
}
