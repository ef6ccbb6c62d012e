package hprof_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// w encodes fields: numbers big-endian at their own size, and texts unchanged.
func w(fields ...any) (b []byte) {
	for _, f := range fields {
		switch v := f.(type) {
		case byte:
			b = append(b, v)
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint32:
			b = binary.BigEndian.AppendUint32(b, v)
		case uint64:
			b = binary.BigEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

func record(kind byte, body ...any) []byte {
	b := w(body...)
	return w(kind, uint32(0), uint32(len(b)), b)
}

func text(id uint64, s string) []byte { return record(1, id, s) }

func loadClass(id, name uint64) []byte { return record(2, uint32(0), id, uint32(0), name) }

// class returns a class record. Unless its name is 0, it has an 8-byte field
// that refers to an object.
func class(id, super, name uint64, size uint32) []byte {
	b := w(byte(0x20), id, uint32(0), super, make([]byte, 5*8), size, uint16(0), uint16(0))
	if name == 0 {
		return w(b, uint16(0))
	}
	return w(b, uint16(1), name, byte(2))
}

func instance(id, class uint64, refers ...any) []byte {
	b := w(refers...)
	return w(byte(0x21), id, uint32(0), class, uint32(len(b)), b)
}

var head = w("JAVA PROFILE 1.0.2\x00", uint32(8), uint64(1000))

// dump returns a dump with a root and two objects that refer to each other.
func dump() []byte {
	return w(head, text(1, "Node"), text(2, "next"), loadClass(10, 1),
		record(0x1c, instance(20, 10, uint64(21)), class(10, 0, 2, 24), instance(21, 10, uint64(20)), byte(0x8b), uint64(21)))
}

func TestLayoutAfterInstance(t *testing.T) {
	tables := ingesttest.MustRead(t, "x.hprof", dump())
	tables.Want(t, "heap_graph_object", "self_size|reachable|root_type|root_distance", "24|true|NULL|1", "0|false|NULL|-1", "24|true|DEBUGGER|0")
	tables.Want(t, "heap_graph_reference", "owner_id|owned_id|field_name|field_type_name", "0|2|Node.next|Node", "2|0|Node.next|Node")
}

// TestClassLoadedAgain checks that a class keeps what its dump says when it is loaded again.
func TestClassLoadedAgain(t *testing.T) {
	tables := ingesttest.MustRead(t, "x.hprof", w(dump(), text(3, "Link"), loadClass(10, 3)))
	tables.Want(t, "heap_graph_object", "self_size|reachable|root_type|root_distance", "24|true|NULL|1", "0|false|NULL|-1", "24|true|DEBUGGER|0")
	tables.Want(t, "heap_graph_class", "name", "Link", "java.lang.Class<Link>")
}

func TestUnreadRecords(t *testing.T) {
	tables := ingesttest.MustRead(t, "x.hprof", w(dump(), record(5, make([]byte, 12)), record(0x77), record(5), record(0x2c)))
	if got := strings.Join(tables.Rows("stats", "value", "description"), ", "); !strings.HasSuffix(got, "2|stack traces are not read, 1|record of kind 119 is not read") {
		t.Error(got)
	}
}

func TestCutAnywhere(t *testing.T) {
	data := dump()
	first := bytes.Index(data, instance(20, 10, uint64(21))) + len(instance(20, 10, uint64(21)))
	for n := range len(data) - 1 {
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "x.hprof", Reader: bytes.NewReader(data[:n])})
		if n >= first && (err != nil || len(tables.Rows("heap_graph_object", "id"))+len(tables.Rows("stats", "name")) == 0) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if err != nil && !format.BadInput(err) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if n >= first && len(tables.Rows("import_log", "name")) == 0 {
			t.Fatalf("%d bytes: not logged", n)
		}
	}
}

// A dump in a truncated compressed file has the objects before the cut.
func TestCutCompressed(t *testing.T) {
	data := dump()
	rest := bytes.Index(data, class(10, 0, 2, 24))
	var file bytes.Buffer
	gz := gzip.NewWriter(&file)
	gz.Write(w(data[:rest], class(10, 0, 2, 24)))
	gz.Flush() // without a trailer
	tables := ingesttest.MustRead(t, "x.hprof.gz", file.Bytes())
	tables.Want(t, "heap_graph_object", "self_size", "24", "0")
	if got := strings.Join(tables.Rows("stats", "name"), ", "); !strings.Contains(got, "truncated_input") {
		t.Error(got)
	}
}

func TestDamage(t *testing.T) {
	names := w(text(1, "Node"), text(2, "next"), loadClass(10, 1), loadClass(11, 1))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"classes that extend each other": {w(head, names, record(0x1c, class(10, 11, 2, 8), class(11, 10, 2, 8), instance(20, 10, uint64(20)))), ""},
		"an instance that is too short":  {w(head, names, record(0x1c, class(10, 0, 2, 8), instance(20, 10, uint32(1)))), "hprof_field_value_errors"},
		"an instance that lies":          {w(head, names, record(0x1c, class(10, 0, 2, 8), byte(0x21), uint64(20), uint32(0), uint64(10), uint32(1<<31))), "truncated_input"},
		"an array that lies":             {w(head, names, record(0x1c, class(10, 0, 2, 8), byte(0x22), uint64(20), uint32(0), ^uint32(0), uint64(10))), "truncated_input"},
		"a record that does not exist":   {w(head, names, record(0x1c, class(10, 0, 2, 8), byte(0x77)), record(0x1c, instance(20, 10, uint64(1)))), "hprof_heap_dump_errors"},
		"a type that does not exist":     {w(head, names, record(0x1c, class(10, 0, 2, 8), byte(0x23), uint64(20), uint32(0), uint32(1), byte(99))), "hprof_primitive_array_parsing_errors"},
		"a class that was not loaded":    {w(head, names, record(0x1c, class(10, 0, 2, 8), class(99, 0, 2, 8), instance(20, 10, uint64(1)))), "hprof_class_errors"},
		"an array of an unknown class":   {w(head, names, record(0x1c, class(10, 0, 2, 8), byte(0x23), uint64(20), uint32(0), uint32(0), byte(8))), "hprof_primitive_array_parsing_errors"},
		"a record that goes on":          {w(head, names, record(0x1c, class(10, 0, 2, 8)[:20]), class(10, 0, 2, 8)[20:]), "hprof_segment_overshoot_counter"},
	} {
		t.Run(name, func(t *testing.T) {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "x.hprof", Reader: bytes.NewReader(c.data)})
			if err != nil {
				t.Fatal(err)
			}
			found := c.want == ""
			for _, stat := range tables.Rows("stats", "name") {
				found = found || stat == c.want
			}
			if !found {
				t.Errorf("no %s in %v", c.want, tables.Rows("stats", "name", "value"))
			}
		})
	}
}

func TestDanglingReferences(t *testing.T) {
	const n = 100_000
	ids := make([]byte, 8*n)
	for i := range n {
		binary.BigEndian.PutUint64(ids[8*i:], uint64(1000+i))
	}
	data := w(head, text(1, "Node"), text(2, "next"), loadClass(10, 1),
		record(0x1c, class(10, 0, 2, 8), byte(0x22), uint64(20), uint32(0), uint32(n), uint64(10), ids))
	tables := ingesttest.MustRead(t, "x.hprof", data)
	tables.Want(t, "heap_graph_object", "self_size", "0", "800008")
	tables.Want(t, "heap_graph_reference", "id")
	if got := strings.Join(tables.Rows("stats", "value", "description"), ", "); !strings.Contains(got, "100000|dangling references are not read") {
		t.Error(got)
	}
}

// TestLongArray has the hash of Trace Processor v58.
func TestLongArray(t *testing.T) {
	chars, want := make([]byte, 100_000), make([]byte, 100_000)
	for i := range chars {
		chars[i] = byte(i * i >> 3)
		want[i^1] = chars[i]
	}
	data := w(head, text(1, "char[]"), loadClass(10, 1), record(0x1c, class(10, 0, 0, 8), byte(0x23), uint64(20), uint32(0), uint32(50_000), byte(5), chars))
	tables := ingesttest.MustRead(t, "x.hprof", data)
	tables.Want(t, "heap_graph_object_data", "array_element_count|array_data_hash", "50000|-4825080318929179384")
	tables.Want(t, "heap_graph_array", "data", string(want))
}

// A list of many objects does not fit in little memory.
func TestLongList(t *testing.T) {
	const n = 5000
	data := class(10, 0, 2, 24)
	for i := range uint64(n) {
		next := 8 * (1 + (i+3999)%n) // which may be far
		data = append(data, instance(8*(1+i), 10, next)...)
	}
	data = w(head, text(1, "Node"), text(2, "next"), loadClass(10, 1), record(0x1c, data, byte(0x8b), uint64(8)))
	tables := ingesttest.MustRead(t, "x.hprof", data)
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint("24|", 999*i%n)) // 999 steps lead to the next one: 999*3999 % n is 1
	}
	if got := tables.Rows("heap_graph_object", "self_size", "root_distance"); !slices.Equal(got[1:], want) {
		t.Errorf("%.1000s...", strings.Join(got, " "))
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"no objects": {w(head, text(1, "Node")), format.ErrNoEvents},
		"ids":        {w("JAVA PROFILE 1.0.2\x00", uint32(3), uint64(0)), format.ErrUnsupported},
		"no version": {w("JAVA PROFILE 1.0.2"), format.ErrCorrupt},
		"no header":  {w("JAVA PROFILE 1.0.2\x00\x00"), format.ErrCorrupt},
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "x.hprof", Reader: bytes.NewReader(c.data)})
		if !errors.Is(err, c.want) || !format.BadInput(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzHprof(f *testing.F) {
	f.Add(dump())
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if detected := ingest.Detect(data); detected == nil || detected.Name != "art_hprof" {
			return
		}
		_, err := ingesttest.Read(t, ingesttest.File{Name: "fuzz", Reader: bytes.NewReader(data)})
		if err != nil && !format.BadInput(err) {
			t.Fatal(err)
		}
	})
}
