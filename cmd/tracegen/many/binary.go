package many

import (
	"encoding/binary"
	"strconv"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// Binary formats other than Perfetto's.
var binaries = []Format{
	{Name: "pprof-frames", whole: func(b []byte, n int) []byte {
		var ids pb.Message
		m := append(pb.Message(b), pprofHead...)
		for i := range uint64(n) {
			m = m.Bytes(4, pb.Message{}.Number(1, i+1).Number(3, i))
			ids = binary.AppendUvarint(ids, i+1)
		}
		return m.Bytes(2, pb.Message{}.Bytes(1, ids).Bytes(2, pb.Message{1}))
	}},
	{Name: "pprof-lines", whole: func(b []byte, n int) []byte {
		location := pb.Message{}.Number(1, 1)
		m := append(pb.Message(b), pprofHead...)
		for i := range uint64(n) {
			m = m.Bytes(5, pb.Message{}.Number(1, i+1).Number(2, 1))
			location = location.Bytes(4, pb.Message{}.Number(1, i+1).Number(2, i))
		}
		return m.Bytes(4, location).Bytes(2, pb.Message{}.Bytes(1, pb.Message{1}).Bytes(2, pb.Message{1}))
	}},
	{Name: "pprof-labels", whole: func(b []byte, n int) []byte {
		sample := pb.Message{}.Bytes(1, pb.Message{1}).Bytes(2, pb.Message{1})
		for range n {
			sample = sample.Bytes(3, pb.Message{}.Number(1, 1).Number(2, 2))
		}
		return append(pb.Message(b), pprofHead...).Bytes(4, pb.Message{}.Number(1, 1).Number(3, 5)).Bytes(2, sample)
	}},
	{Name: "pprof-shared-labels", whole: func(b []byte, n int) []byte { // of all values of a sample
		m, sample, values := append(pb.Message(b), pprofHead...), pb.Message{}, make(pb.Message, n)
		for range n {
			m = m.Bytes(1, pb.Message{}.Number(1, 1))
			sample = sample.Bytes(3, pb.Message{}.Number(1, 1).Number(2, 2))
		}
		return m.Bytes(2, sample.Bytes(2, values))
	}},
	{Name: "pprof-mappings", head: pprofHead, each: func(b []byte, i, _ int) []byte {
		id := uint64(i) + 1
		return pb.Message(b).Bytes(3, pb.Message{}.Number(1, id).Number(2, id*4096).Number(3, id*4096+4096).Number(5, 1)).
			Bytes(4, pb.Message{}.Number(1, id).Number(2, id).Number(3, id*4096)).
			Bytes(2, pb.Message{}.Bytes(1, binary.AppendUvarint(nil, id)).Bytes(2, pb.Message{1}))
	}},
	{Name: "primes-nested", head: primesHead, each: func(b []byte, i, _ int) []byte {
		details := pb.Message{}.Bytes(1, []byte("n")).Number(2, uint64(i))
		return pb.Message(b).Bytes(7, pb.Message{}.Number(1, uint64(i)+1).Bytes(2, pb.Message{}.Number(2, uint64(i))).
			Bytes(3, pb.Message{}.Bytes(1, details).Bytes(6, []byte("main")).Number(8, 5)))
	}},
	{Name: "primes-flows", head: primesHead, each: func(b []byte, i, _ int) []byte {
		details := pb.Message{}.Bytes(1, []byte("n")).Number(3, 1)
		return pb.Message(b).Bytes(7, pb.Message{}.Number(1, uint64(i)+1).Bytes(2, pb.Message{}.Number(2, uint64(i))).
			Bytes(3, pb.Message{}.Bytes(1, details).Bytes(6, []byte("main")).Number(8, uint64(i)+1)))
	}},
	{Name: "simpleperf-samples", head: "SIMPLEPERF\x01\x00", tail: "\x00\x00\x00\x00", each: func(b []byte, i, _ int) []byte {
		b = sized(b, pb.Message{}.Bytes(1, pb.Message{}.Number(1, uint64(i)).Number(2, uint64(i)+1).Bytes(3, pb.Message{}.Number(1, 16).Number(2, uint64(i)))))
		b = sized(b, pb.Message{}.Bytes(4, pb.Message{}.Number(1, uint64(i)+1).Number(2, 7).Bytes(3, []byte("t"))))
		return sized(b, pb.Message{}.Bytes(3, pb.Message{}.Number(1, uint64(i)).Bytes(2, strconv.AppendInt([]byte("/bin/a"), int64(i), 10))))
	}},
	{Name: "simpleperf-frames", whole: func(b []byte, n int) []byte {
		sample := pb.Message{}.Number(1, 1).Number(2, 8)
		file := pb.Message{}.Number(1, 1).Bytes(2, []byte("/bin/a"))
		for i := range uint64(n) {
			sample = sample.Bytes(3, pb.Message{}.Number(1, i).Number(2, 1).Number(3, i))
			file = file.Bytes(3, strconv.AppendUint([]byte("f"), i, 10))
		}
		b = sized(append(b, "SIMPLEPERF\x01\x00"...), pb.Message{}.Bytes(1, sample))
		return append(sized(b, pb.Message{}.Bytes(3, file)), 0, 0, 0, 0)
	}},
	fuchsiaOf("fuchsia-open", func(e *words) { e.add(0x24|2<<16|1<<24|1<<32|2<<48, uint64(e.i)) }),
	fuchsiaOf("fuchsia-async", func(e *words) { e.add(0x34|5<<16|1<<24|1<<32|2<<48, uint64(e.i), uint64(e.i)) }),
	fuchsiaOf("fuchsia-flows", func(e *words) {
		e.add(0x34|4<<16|1<<24|1<<32|2<<48, 10*uint64(e.i), 10*uint64(e.i)+5)
		e.add(0x34|8<<16|1<<24|1<<32|2<<48, 10*uint64(e.i)+1, uint64(e.i))
	}),
	fuchsiaOf("fuchsia-overlapping", func(e *words) {
		e.add(0x34|4<<16|1<<24|1<<32|2<<48, uint64(e.i), uint64(e.i+e.n))
	}),
	fuchsiaOf("fuchsia-counters", func(e *words) {
		e.add(0x44|1<<16|1<<20|1<<24|1<<32|2<<48, uint64(e.i), 0x11|2<<16|1<<32, uint64(e.i))
	}),
	fuchsiaOf("fuchsia-objects", func(e *words) { e.add(0x27|2<<16|2<<24, 1000+uint64(e.i)) }),
	fuchsiaOf("fuchsia-threads", func(e *words) {
		e.add(0x44|2<<16|0<<24|1<<32|2<<48, uint64(e.i), 5, 1000+uint64(e.i))
	}),
	hprofOf("hprof-objects", func(h *dump, n int) {
		h.class(0x101, 0, 1)
		for i := range uint32(n) {
			h.sub(0x21, 0x10000+i, 0, 0x101, 4, 0x10000+i+1)
		}
		h.sub(0x01, 0x10000, 0)
	}),
	hprofOf("hprof-backwards", func(h *dump, n int) {
		h.class(0x101, 0, 1)
		for i := uint32(n); i > 0; i-- {
			h.sub(0x21, 0x10000+i, 0, 0x101, 4, 0x10000+i-1)
		}
		h.sub(0x01, 0x10000+uint32(n), 0)
	}),
	hprofOf("hprof-classes", func(h *dump, n int) {
		for i := range uint32(n) {
			h.class(0x10000+2*i, 0x10000+2*i-2, 0)
			h.sub(0x21, 0x10000+2*i+1, 0, 0x10000+2*i, 0)
		}
		h.sub(0x01, 0x10001, 0)
	}),
	hprofOf("hprof-fields", func(h *dump, n int) {
		for i := range uint32(n) {
			h.class(0x10000+2*i, 0x10000+2*i-2, 1)
		}
		last := uint32(0x10000 + 2*(n-1))
		for i := range uint32(n) {
			h.sub(0x21, 0x10000+2*i+1, 0, last, 0)
		}
		h.sub(0x01, 0x10001, 0)
	}),
	hprofOf("hprof-array", func(h *dump, n int) {
		h.class(0x101, 0, 0)
		h.sub(0x22, 0x10000, 0, uint32(n), 0x101)
		for i := range uint32(n) {
			h.b = binary.BigEndian.AppendUint32(h.b, 0x10001+i)
		}
		for i := range uint32(n) {
			h.sub(0x21, 0x10001+i, 0, 0x101, 0)
		}
		h.sub(0x01, 0x10000, 0)
	}),
	hprofOf("hprof-roots", func(h *dump, n int) {
		h.class(0x101, 0, 0)
		for i := range uint32(n) {
			h.sub(0x21, 0x10001+i, 0, 0x101, 0)
			h.sub(0x01, 0x10001+i, 0)
			h.sub(0x01, 0x10001, 0)
		}
	}),
}

var primesHead = string(pb.Message{}.Fixed64(1, 7).Bytes(4, pb.Message{}.Number(1, 1)))

// sized appends a message after its size.
func sized(b []byte, m pb.Message) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(m))), m...)
}

// words builds the records of Fuchsia for the i-th of n things.
type words struct {
	b    []byte
	i, n int
}

func (e *words) add(words ...uint64) {
	for _, v := range words {
		e.b = binary.LittleEndian.AppendUint64(e.b, v)
	}
}

func fuchsiaOf(name string, each func(*words)) Format {
	head := words{}
	head.add(0x0016547846040010, 0x21, 1e9, 0x22|1<<16|3<<32, 0x746163, 0x22|2<<16|4<<32, 0x6b726f77, 0x33|1<<16, 5, 6)
	return Format{Name: name, head: string(head.b), each: func(b []byte, i, n int) []byte {
		e := words{b, i, n}
		each(&e)
		return e.b
	}}
}

// dump builds a segment of an HPROF dump with ids of 4 bytes.
type dump struct{ b []byte }

// sub appends a record of an object or a root.
func (h *dump) sub(tag byte, numbers ...uint32) {
	h.b = append(h.b, tag)
	for _, v := range numbers {
		h.b = binary.BigEndian.AppendUint32(h.b, v)
	}
}

// class appends a class with fields that are references.
func (h *dump) class(id, super uint32, fields byte) {
	h.sub(0x20, id, 0, super, 0, 0, 0, 0, 0, 16)
	h.b = append(h.b, 0, 0, 0, 0, 0, fields)
	for range fields {
		h.b = append(binary.BigEndian.AppendUint32(h.b, 2), 2)
	}
}

func hprofOf(name string, objects func(h *dump, n int)) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte {
		var h dump
		objects(&h, n)
		b = append(b, "JAVA PROFILE 1.0.3\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x30\x39"...)
		b = hprofRecord(b, 0x01, append([]byte{0, 0, 0, 1}, "com/app/A"...))
		b = hprofRecord(b, 0x01, append([]byte{0, 0, 0, 2}, "next"...))
		b = hprofRecord(b, 0x02, []byte{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1})
		b = hprofRecord(b, 0x1c, h.b)
		return hprofRecord(b, 0x2c, nil)
	}}
}

func hprofRecord(b []byte, tag byte, body []byte) []byte {
	b = append(b, tag, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}
