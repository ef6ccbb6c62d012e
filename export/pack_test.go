package export

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/model/table"
)

// packKinds packs traces of so many rows and chunks, by id, which began on some days. It gives up some more on the way.
func packKinds(t *testing.T, days map[string]string, traces map[string][2]int) (files []PackedFile, rows [][]any) {
	t.Helper()
	s, err := NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := []string{}
	for id := range traces { // in any order
		ids = append(ids, id)
	}
	all := map[string][][]any{}
	for _, id := range ids {
		fill(t, 100, 30, s)
		if err := s.Drop(); err != nil {
			t.Fatal(err)
		}
		all[id], _ = fill(t, traces[id][0], traces[id][1], s)
		if err := s.Keep(id, days[id], ""); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		for _, row := range all[id] {
			var day any
			if days[id] != "" {
				day = days[id]
			}
			rows = append(rows, append([]any{id, day}, row...))
		}
	}
	var schemas []*table.Schema
	for _, schema := range kindsSchemas() {
		schemas = append(schemas, PackedSchema(schema))
	}
	if files, err = s.Pack(t.TempDir(), schemas, "v1"); err != nil {
		t.Fatal(err)
	}
	return files, rows
}

func TestPack(t *testing.T) {
	files, want := packKinds(t, nil, map[string][2]int{"t_b": {1001, 64}, "t_a": {77, 8}, "t_c": {1, 8}, "t_d": {9000, 6000}})
	if len(files) != 2 || files[0].Table != "kinds" || files[1].Table != "kinds_child" {
		t.Fatalf("%+v, want files of kinds and kinds_child, and none of a table without rows", files)
	}
	rows, f := readParquetGo(t, files[0].Path)
	equalRows(t, rows, want)
	equalRows(t, readArrowGo(t, files[0].Path), want)
	if files[0].Rows != int64(len(want)) || files[0].Bytes != f.Size() || len(f.RowGroups()) != 1 {
		t.Errorf("%d rows in %d bytes, %d row groups, want %d, %d, 1", files[0].Rows, files[0].Bytes, len(f.RowGroups()), len(want), f.Size())
	}
	for i, column := range f.Root().Columns() {
		if column.ID() != i+1 {
			t.Errorf("field id %d of %s, want %d", column.ID(), column.Name(), i+1)
		}
	}
	if filter := f.RowGroups()[0].ColumnChunks()[2].BloomFilter(); filter != nil {
		t.Error("id has a bloom filter")
	}
	filter := f.RowGroups()[0].ColumnChunks()[0].BloomFilter()
	for id, there := range map[string]bool{"t_a": true, "t_d": true, "t_x": false, "": false} {
		if found, err := filter.Check(parquetgo.ValueOf(id)); found != there || err != nil {
			t.Errorf("the filter says %t for %q, %v", found, id, err)
		}
	}
	for i, c := range files[0].Columns {
		least, greatest, nulls := limits(want, i)
		if c.Nulls != nulls || !slices.Equal(c.Least, plainBytes(least)) || !slices.Equal(c.Greatest, plainBytes(greatest)) {
			t.Errorf("column %d: %v to %v and %d NULLs, want %v to %v, %d", i, c.Least, c.Greatest, c.Nulls, least, greatest, nulls)
		}
	}
}

// The rows of each day are in a file of their own.
func TestPackDays(t *testing.T) {
	days := map[string]string{"t_a": "2026-11-24", "t_b": "2026-11-23", "t_d": "2026-11-24"}
	files, all := packKinds(t, days, map[string][2]int{"t_a": {77, 8}, "t_b": {1001, 64}, "t_c": {64, 8}, "t_d": {90, 60}})
	want := []string{"", "2026-11-23", "2026-11-24"}
	if len(files) != 2*len(want) {
		t.Fatalf("%d files of two tables and %d days", len(files), len(want))
	}
	for i, day := range want {
		var rows [][]any
		for _, row := range all {
			if days[row[0].(string)] == day {
				rows = append(rows, row)
			}
		}
		got, _ := readParquetGo(t, files[i].Path)
		equalRows(t, got, rows)
		if files[i].Table != "kinds" || files[i].Day != day || files[i].Rows != int64(len(rows)) {
			t.Errorf("%s of %q has %d rows, want %d of %q", files[i].Table, files[i].Day, files[i].Rows, len(rows), day)
		}
	}
}

// plainBytes returns a value of a test row in Parquet's plain encoding.
func plainBytes(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	}
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

func TestPackedRowGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long to make so many rows")
	}
	files, want := packKinds(t, nil, map[string][2]int{"t_a": {100_000, 30_000}, "t_b": {60_000, 9_000}, "t_c": {90_000, 90_000}})
	rows, f := readParquetGo(t, files[0].Path)
	equalRows(t, rows, want)
	if len(f.RowGroups()) != len(files[0].Groups) || len(files[0].Groups) != 2 {
		t.Fatalf("%d row groups, %d of them described, want 2", len(f.RowGroups()), len(files[0].Groups))
	}
	if n := f.RowGroups()[0].NumRows(); n < packedRows {
		t.Errorf("a row group of %d rows", n)
	}
}

func TestAppendBits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var got []byte
		var want []bool
		for range random.IntN(5) {
			n := random.IntN(40)
			bits := make([]byte, (n+7)/8)
			for i := range bits {
				bits[i] = byte(random.Uint32())
			}
			if random.IntN(5) == 0 {
				bits = nil
			}
			got = appendBits(got, len(want), n, bits)
			for i := range n {
				want = append(want, bits != nil && bits[i/8]>>(i%8)&1 == 1)
			}
		}
		packed := make([]byte, (len(want)+7)/8)
		for i, bit := range want {
			if bit {
				packed[i/8] |= 1 << (i % 8)
			}
		}
		if !bytes.Equal(got, packed) {
			t.Fatalf("%08b, want %08b", got, packed)
		}
	}
}

func TestPackedBoundsAreUnknown(t *testing.T) {
	var c PackedColumn
	one := func(v float64) *parquet.Column {
		if math.IsNaN(v) {
			return &parquet.Column{}
		}
		return &parquet.Column{Bounds: parquet.Bounds{Least: plainBytes(v), Greatest: plainBytes(v)}}
	}
	for _, v := range []float64{1, math.NaN(), 2} {
		c.add(one(v), 1, table.TypeFloat64)
	}
	if c.Least != nil || c.Greatest != nil {
		t.Errorf("%v to %v, though a row group has no bounds", c.Least, c.Greatest)
	}
}
