package many

import "encoding/binary"

// Binary formats other than Perfetto's.
var binaries = []Format{
	whole("pprof-frames", message(pprofHead+`[4:{1:i+1 3:i}] 2:{1:<[i+1]> 2:<1>}`)),
	whole("pprof-lines", message(pprofHead+`[5:{1:i+1 2:1}] 4:{1:1 [4:{1:i+1 2:i}]} 2:{1:<1> 2:<1>}`)),
	whole("pprof-labels", message(pprofHead+`4:{1:1 3:5} 2:{1:<1> 2:<1> [3:{1:1 2:2}]}`)),
	whole("pprof-shared-labels", message(pprofHead+`[1:{1:1}] 2:{[3:{1:1 2:2}] 2:<[0]>}`)), // of all values of a sample
	messages("pprof-mappings", pprofHead, `3:{1:i+1 2:(i+1)*4096 3:(i+1)*4096+4096 5:1} 4:{1:i+1 2:i+1 3:(i+1)*4096} 2:{1:<i+1> 2:<1>}`),
	messages("primes-nested", primesHead, `7:{1:i+1 2:{2:i} 3:{1:{1:"n" 2:i} 6:"main" 8:5}}`),
	messages("primes-flows", primesHead, `7:{1:i+1 2:{2:i} 3:{1:{1:"n" 3:1} 6:"main" 8:i+1}}`),
	simpleperf("simpleperf-samples", repeat("", join(sized(`1:{1:i 2:i+1 3:{1:16 2:i}}`), sized(`4:{1:i+1 2:7 3:"t"}`), sized(`3:{1:i 2:"/bin/a$i"}`)))),
	simpleperf("simpleperf-frames", sized(`1:{1:1 2:8 [3:{1:i 2:1 3:i}]}`), sized(`3:{1:1 2:"/bin/a" [3:"f$i"]}`)),
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

const (
	pprofHead  = `6:{} 6:"samples" 6:"count" 1:{1:1 2:2} `
	primesHead = `1=7 4:{1:1}`
)

func simpleperf(name string, records ...shape) Format {
	return whole(name, "SIMPLEPERF\x01\x00", join(records...), "\x00\x00\x00\x00")
}

// sized is a message after its size.
func sized(template string) shape {
	m := message(template)
	return func(b []byte, i, n int) []byte {
		body := m(nil, i, n)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), body...)
	}
}

// words builds records of numbers of 64 bits for the i-th of n things.
type words struct {
	b    []byte
	i, n int
}

func (e *words) add(words ...uint64) {
	for _, v := range words {
		e.b = binary.LittleEndian.AppendUint64(e.b, v)
	}
}

func numbersOf(numbers ...uint64) string {
	var w words
	w.add(numbers...)
	return string(w.b)
}

func wordsOf(name, head string, each func(*words)) Format {
	return Format{Name: name, head: head, each: func(b []byte, i, n int) []byte {
		e := words{b, i, n}
		each(&e)
		return e.b
	}}
}

func fuchsiaOf(name string, each func(*words)) Format {
	return wordsOf(name, numbersOf(0x0016547846040010, 0x21, 1e9, 0x22|1<<16|3<<32, 0x746163, 0x22|2<<16|4<<32, 0x6b726f77, 0x33|1<<16, 5, 6), each)
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
