package many

import (
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Traces of language runtimes.
var runtimes = []Format{
	nettraceOf("nettrace-stacks", func(d *dotnet, n int) {
		for i := range n {
			d.stack(2, uint64(0x1000+i))
			d.event(1, 10, i+1, []byte{2, 0, 0, 0})
		}
	}),
	nettraceOf("nettrace-frames", func(d *dotnet, n int) {
		addresses := make([]uint64, n)
		for i := range addresses {
			addresses[i] = uint64(i)
		}
		d.stack(addresses...)
		d.event(1, 10, 1, []byte{2, 0, 0, 0})
	}),
	nettraceOf("nettrace-threads", func(d *dotnet, n int) {
		d.stack(5)
		for i := range n {
			d.event(1, 10+i, 1, []byte{2, 0, 0, 0})
		}
	}),
	nettraceOf("nettrace-methods", func(d *dotnet, n int) {
		d.stack(0x1000)
		d.event(1, 10, 1, []byte{2, 0, 0, 0})
		for i := range n {
			d.event(2, 10, 0, d.method(uint64(0x1000*(i+1)), "m"+strconv.Itoa(i)))
		}
	}),
	nettraceOf("nettrace-same-method", func(d *dotnet, n int) {
		d.stack(0x1000)
		for i := range n {
			d.event(2, 10, 0, d.method(0x1000, "m"+strconv.Itoa(i)))
			d.event(1, 10, 1, []byte{2, 0, 0, 0})
		}
	}),
	nettraceOf("nettrace-types", func(d *dotnet, n int) {
		for i := range n {
			d.describe(int32(i+3), "Mine", int32(i+3), "e"+strconv.Itoa(i), []byte{0, 0, 0, 0})
			d.event(uint64(i+3), 10, 0, nil)
		}
	}),
	jfrOf("jfr-samples", func(j *recording, n int) {
		for i := range n {
			j.event(20, 1000+i, 1, i+1)
		}
		j.pool(10, n, func(i int) { j.numbers(i+1, 0, 1, 1, i) })
	}),
	jfrOf("jfr-frames", func(j *recording, n int) {
		j.event(20, 1000, 1, 1)
		j.pool(10, 1, func(int) {
			j.numbers(1, 0, n)
			for i := range n {
				j.numbers(1, i)
			}
		})
	}),
	jfrOf("jfr-methods", func(j *recording, n int) {
		for i := range n {
			j.event(20, 1000+i, 1, i+1)
		}
		j.pool(10, n, func(i int) { j.numbers(i+1, 0, 1, i+1, 5) })
		j.pool(8, n, func(i int) { j.numbers(i+1, 1, i+1) })
		j.pool(6, n, func(i int) { j.numbers(i + 1); j.text("m" + strconv.Itoa(i)) })
	}),
	jfrOf("jfr-threads", func(j *recording, n int) {
		for i := range n {
			j.event(20, 1000+i, i+1, 1)
		}
		j.pool(5, n, func(i int) {
			j.numbers(i + 1)
			j.text("t")
			j.numbers(i + 10)
			j.text("j" + strconv.Itoa(i))
			j.numbers(i + 1)
		})
	}),
	jfrOf("jfr-events", func(j *recording, n int) {
		for i := range n {
			j.event(21, 1000+i, n, 2, i, 7, 0)
		}
	}),
	jfrOf("jfr-list", func(j *recording, n int) {
		j.event(slices.Concat([]int{21, 1000, 5, n}, slices.Repeat([]int{7}, n), []int{0})...)
	}),
	jfrOf("jfr-linked-objects", func(j *recording, n int) {
		for i := range n {
			j.event(21, 1000+i, 5, 0, i+1)
		}
		j.pool(11, n, func(i int) { j.numbers(i+1, (i+1)%n+1, 0) })
	}),
	{Name: "jfr-chunks", whole: func(b []byte, n int) []byte {
		for range max(n/100, 1) { // each with metadata
			var j recording
			for i := range 20 {
				j.event(20, 1000+i, 1, 1)
			}
			b = append(b, j.chunk()...)
		}
		return b
	}},
	goOf("gotrace-goroutines", func(g *goTrace, n int) {
		for i := range n {
			g.event(0x0e, 5, uint64(i+7), 0, 0)
		}
	}),
	goOf("gotrace-blocks", func(g *goTrace, n int) {
		for i := range n {
			g.event(0x14, 5, 0, 0)
			g.event(0x15, 5, 1, uint64(2*i+1), 0)
			g.event(0x10, 5, 1, uint64(2*i+2))
		}
	}),
	goOf("gotrace-tasks", func(g *goTrace, n int) {
		for i := range n {
			g.event(0x28, 5, uint64(i+1), uint64(i), 0, 0)
		}
	}),
	goOf("gotrace-regions", func(g *goTrace, n int) {
		for range n {
			g.event(0x2a, 5, 0, 0, 0)
		}
	}),
	goOf("gotrace-heap", func(g *goTrace, n int) {
		for i := range n {
			g.event(0x25, 5, uint64(i))
		}
	}),
}

// dotnet builds a trace of .NET.
type dotnet struct {
	events, stacks, types []byte
	n                     int32 // of stacks
	sequence              int
}

// put appends numbers in little-endian order, and texts in UTF-16.
func put(b []byte, values ...any) []byte {
	for _, v := range values {
		if text, ok := v.(string); ok {
			v = append(utf16.Encode([]rune(text)), 0)
		}
		b, _ = binary.Append(b, binary.LittleEndian, v)
	}
	return b
}

func (d *dotnet) stack(addresses ...uint64) {
	d.n++
	d.stacks = put(d.stacks, int32(8*len(addresses)), addresses)
}

// event appends an event of a thread with the number of a stack or 0.
func (d *dotnet) event(metadata uint64, thread, stack int, payload []byte) {
	d.sequence++
	d.events = append(d.events, 1|2|4|8|128)
	for _, v := range []uint64{metadata, 0, uint64(thread), 0, uint64(thread), uint64(stack), 1} {
		d.events = binary.AppendUvarint(d.events, v)
	}
	d.events = lengthened(d.events, payload)
}

func (d *dotnet) describe(id int32, provider string, event int32, name string, fields []byte) {
	d.types = lengthened(append(d.types, 128, 0), put(nil, id, provider, event, name, int64(0), int32(1), int32(0), fields))
}

func (d *dotnet) method(start uint64, name string) []byte {
	return put(nil, uint64(1), uint64(77), start, int32(0x100), int32(0), int32(0), "App", name, "void()", int16(9))
}

func nettraceOf(name string, things func(d *dotnet, n int)) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte {
		var d dotnet
		d.describe(1, "Microsoft-DotNETCore-SampleProfiler", 0, "", []byte{0, 0, 0, 0})
		d.describe(2, "Microsoft-Windows-DotNETRuntimeRundown", 144, "", []byte{0, 0, 0, 0})
		things(&d, n)
		begin := func(name string) {
			b = put(b, []byte{5, 5, 1}, int32(4), int32(4), int32(len(name)), []byte(name), byte(6))
		}
		block := func(name string, content []byte) {
			begin(name)
			b = put(b, int32(len(content)))
			b = append(b, make([]byte, -len(b)&3)...)
			b = append(append(b, content...), 6)
		}
		compressed := put(nil, int16(20), int16(1), int64(0), int64(0))
		b = put(b, []byte("Nettrace"), int32(20), []byte("!FastSerialization.1"))
		begin("Trace")
		b = put(b, []int16{2020, 9, 0, 13, 12, 26, 40, 500}, int64(1000), int64(1_000_000), int32(8), int32(7), int32(2), int32(0), byte(6))
		block("MetadataBlock", slices.Concat(compressed, d.types))
		block("StackBlock", append(put(nil, int32(1), d.n), d.stacks...))
		block("EventBlock", append(compressed, d.events...))
		return append(b, 1)
	}}
}

// recording builds a chunk of Java's flight recorder.
type recording struct {
	events, constants []byte
	pools             int
}

func (j *recording) event(values ...int) { j.events = jfrEvent(j.events, numbers(nil, values...)) }

func jfrEvent(b, body []byte) []byte {
	size := len(body) + 4
	return append(append(b, byte(size)|0x80, byte(size>>7)|0x80, byte(size>>14)|0x80, byte(size>>21)), body...)
}

func numbers(b []byte, values ...int) []byte {
	for _, v := range values {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

func (j *recording) numbers(values ...int) { j.constants = numbers(j.constants, values...) }
func (j *recording) text(text string)      { j.constants = jfrText(j.constants, text) }

func jfrText(b []byte, text string) []byte { return lengthened(append(b, 3), []byte(text)) }

// pool appends n constants of a type.
func (j *recording) pool(kind, n int, constant func(i int)) {
	j.pools++
	j.numbers(kind, n)
	for i := range n {
		constant(i)
	}
}

// jfrTypes are the types: id, name, parent, then the fields, each with name, type, and whether it is an array, or a number of a constant.
var jfrTypes = [][]string{
	{"1", "int", ""}, {"2", "long", ""}, {"3", "java.lang.String", ""}, {"4", "boolean", ""},
	{"5", "java.lang.Thread", "", "osName", "3", "", "osThreadId", "2", "", "javaName", "3", "", "javaThreadId", "2", ""},
	{"6", "jdk.types.Symbol", "", "string", "3", ""},
	{"7", "java.lang.Class", "", "name", "6", "constantPool"},
	{"8", "jdk.types.Method", "", "type", "7", "constantPool", "name", "6", "constantPool"},
	{"9", "jdk.types.StackFrame", "", "method", "8", "constantPool", "lineNumber", "1", ""},
	{"10", "jdk.types.StackTrace", "", "truncated", "4", "", "frames", "9", "dimension"},
	{"11", "app.Node", "", "next", "11", "constantPool", "list", "1", "dimension"},
	{"20", "jdk.ExecutionSample", "jdk.jfr.Event", "startTime", "2", "", "sampledThread", "5", "constantPool", "stackTrace", "10", "constantPool"},
	{"21", "app.Event", "jdk.jfr.Event", "startTime", "2", "", "duration", "2", "", "list", "1", "dimension", "node", "11", "constantPool"},
}

// metadata appends the tree of types.
func (j *recording) metadata(b []byte) []byte {
	var texts []string
	var tree []byte
	element := func(name string, children int, attributes ...string) {
		word := func(text string) int {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			return slices.Index(texts, text)
		}
		tree = numbers(tree, word(name), len(attributes)/2)
		for _, a := range attributes {
			tree = numbers(tree, word(a))
		}
		tree = numbers(tree, children)
	}
	element("root", 1)
	element("metadata", len(jfrTypes))
	for _, t := range jfrTypes {
		element("class", len(t)/3-1, "id", t[0], "name", t[1], "superType", t[2])
		for f := range slices.Chunk(t[3:], 3) {
			how := []string{"name", f[0], "class", f[1]}
			switch f[2] {
			case "constantPool":
				how = append(how, f[2], "true")
			case "dimension":
				how = append(how, f[2], "1")
			}
			element("field", 0, how...)
		}
	}
	body := numbers(nil, 0, 0, 0, 0, len(texts))
	for _, t := range texts {
		body = jfrText(body, t)
	}
	return jfrEvent(b, append(body, tree...))
}

// chunk returns the whole chunk.
func (j *recording) chunk() []byte {
	constants := numbers(nil, 1, 0, 0, 0, 1, j.pools)
	b := append(make([]byte, 68), j.events...)
	pools := len(b)
	b = jfrEvent(b, append(constants, j.constants...))
	types := len(b)
	b = j.metadata(b)
	copy(b, "FLR\x00\x00\x02\x00\x01")
	for i, n := range []int{len(b), pools, types, 1e9, 1e9, 500, 1e9} {
		binary.BigEndian.PutUint64(b[8*(i+1):], uint64(n))
	}
	b[67] = 1
	return b
}

func jfrOf(name string, things func(j *recording, n int)) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte {
		var j recording
		things(&j, n)
		return append(b, j.chunk()...)
	}}
}

// goTrace builds batches of events of one thread, which take 5 ticks each.
type goTrace struct {
	batches, events []byte
	time, begun     uint64
}

// event appends an event some ticks after the one before.
func (g *goTrace) event(kind byte, ticks uint64, args ...uint64) {
	if len(g.events) > 32<<10 {
		g.end()
	}
	g.time += ticks
	g.events = binary.AppendUvarint(append(g.events, kind), ticks)
	for _, a := range args {
		g.events = binary.AppendUvarint(g.events, a)
	}
}

// end ends a batch.
func (g *goTrace) end() {
	g.batches = goBatch(g.batches, 100, g.begun, g.events)
	g.begun, g.events = g.time, nil
}

func goBatch(b []byte, thread, time uint64, events []byte) []byte {
	b = append(b, 1, 1)
	return lengthened(binary.AppendUvarint(binary.AppendUvarint(b, thread), time), events)
}

func goOf(name string, things func(g *goTrace, n int)) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte {
		g := goTrace{time: 1000, begun: 1000}
		g.event(0x0d, 10, 0, 1)
		g.event(0x19, 0, 1, 100, 2)
		things(&g, n)
		g.end()
		// The frequency and the clocks.
		sync := []byte("\x32\x08\x80\x94\xeb\xdc\x03\x33\x00\xe8\x07\x80\xe2\xcf\xaa\x06\x80\xca\xb5\xee\x01")
		b = goBatch(append(b, "go 1.26 trace\x00\x00\x00"...), 0, 1000, sync)
		b = append(b, g.batches...)
		for _, table := range []string{"\x04", "\x02", "\x06"} { // of strings, stacks and samples
			b = goBatch(b, 0, 1000, []byte(table))
		}
		return append(b, 0x34)
	}}
}
