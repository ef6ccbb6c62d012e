//go:build cgo

package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// arraysDump is an HPROF dump with an array of each of the values: two ints and three bytes.
func arraysDump() []byte {
	u32 := func(values ...uint32) (b []byte) {
		for _, v := range values {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	dump := append([]byte("JAVA PROFILE 1.0.2\x00"), u32(4, 0, 1000)...)
	record := func(kind byte, body []byte) {
		dump = append(append(append(dump, kind), u32(0, uint32(len(body)))...), body...)
	}
	var heap []byte
	for i, array := range []struct {
		name string
		kind byte
		n    uint32
		data []byte
	}{{"int[]", 10, 2, u32(1<<31, 7)}, {"byte[]", 8, 3, []byte{0xff, 0, 1}}} {
		id := uint32(10 + i)
		record(1, append(u32(id), array.name...))
		record(2, u32(0, 20+id, 0, id))
		heap = append(append(append(heap, 0x20), u32(20+id, 0, 0, 0, 0, 0, 0, 0, 0)...), 0, 0, 0, 0, 0, 0)
		heap = append(append(append(append(heap, 0x23), u32(40+id, 0, array.n)...), array.kind), array.data...)
	}
	record(0x1c, heap)
	return dump
}

func TestHeapArrays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.hprof"), arraysDump(), 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", "x.hprof", "out").expect(t, exitDone, "")
	for _, c := range []struct{ sql, want string }{
		{`SELECT array_element_type AS t, hex(__intrinsic_heap_graph_array(array_data_id)) AS x, __intrinsic_heap_graph_array_json(array_data_id) AS j
FROM heap_graph_object_data ORDER BY id`, "\"t\",\"x\",\"j\"\n\"int\",\"0000008007000000\",\"[-2147483648,7]\"\n\"byte\",\"FF0001\",\"[-1,0,1]\"\n"},
		{`SELECT typeof(__intrinsic_heap_graph_array(0)) AS t, __intrinsic_heap_graph_array(NULL) AS n, __intrinsic_heap_graph_array_json(NULL) AS m,
__intrinsic_heap_graph_array(2) AS o, __intrinsic_heap_graph_array_json(-1) AS p`, "\"t\",\"n\",\"m\",\"o\",\"p\"\n\"blob\",\"[NULL]\",\"[NULL]\",\"[NULL]\",\"[NULL]\"\n"},
	} {
		if got := rowsOf(t, dir, "out", c.sql, "--perfetto"); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.sql, got, c.want)
		}
	}
	tpconvert(t, dir, "query", "--perfetto", "out", "SELECT __intrinsic_heap_graph_array_json('0')").expect(t, exitFailure, "array_data_id must be an integer")
	// Datasets of earlier versions lack the arrays, too.
	tpconvert(t, dir, "-q", "--tables", "heap_graph_object_data", "x.hprof", "less").expect(t, exitDone, "")
	tpconvert(t, dir, "query", "--perfetto", "less", "SELECT __intrinsic_heap_graph_array(0)").expect(t, exitFailure, "has no table heap_graph_array: convert the trace again")
}
