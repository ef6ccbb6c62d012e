// Package many writes small traces that name very many things, or large ones. A converter's memory use shows what it keeps for each.
package many

import (
	"bufio"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// A Format is the traces of one kind of thing.
type Format struct {
	Name       string
	head, tail string
	// each appends the i-th of n things.
	each func(b []byte, i, n int) []byte
	// whole appends the whole trace, if its things do not follow one another.
	whole func(b []byte, n int) []byte
}

const (
	largeName  = 30_000_000
	largeArg   = 1_000_000
	screenshot = 200_000
	deepStacks = 1_000_000 // threads with open slices
	stackDepth = 5         // of samples of a profile
)

// Formats are the formats.
var Formats = slices.Concat(events, jsonEvents, texts, packetFormats, binaries, profiles, spans, runtimes, kernels, gpus, exports, members)

var events = []Format{
	jsonOf("processes", func(e *textOf) {
		e.event(`"ph":"X","pid":`, e.i+1, `,"tid":`, e.i+1, `,"ts":`, e.i*10, `,"dur":5,"name":"n"`)
	}),
	jsonOf("names", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"name `, e.i, ` distinct"`)
	}),
	jsonOf("arg-keys", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"n","args":{"k`, e.i, `":`, e.i, `}`)
	}),
	jsonOf("async-ids", func(e *textOf) {
		e.event(`"ph":"b","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i*10, `,"name":"n"`)
	}),
	jsonOf("async-ids-ended", func(e *textOf) {
		e.event(`"ph":"b","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i*10, `,"name":"n"`)
		e.event(`"ph":"e","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i*10+5, `,"name":"n"`)
	}),
	jsonOf("flows", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"n"`)
		e.event(`"ph":"s","cat":"c","id":`, e.i, `,"pid":1,"tid":2,"ts":`, e.i*10+1, `,"name":"n"`)
	}),
	jsonOf("counter-tracks", func(e *textOf) {
		e.event(`"ph":"C","pid":1,"ts":`, e.i*10, `,"name":"c`, e.i, `","args":{"v":`, e.i, `}`)
	}),
	jsonOf("open-slices", func(e *textOf) { e.event(`"ph":"B","pid":1,"tid":2,"ts":`, e.i, `,"name":"n"`) }),
	jsonOf("open-on-threads", func(e *textOf) {
		e.event(`"ph":"B","pid":1,"tid":`, e.i%min(deepStacks, e.n), `,"ts":`, e.i, `,"name":"n"`)
	}),
	jsonOf("large-names", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"`, e.i, strings.Repeat("A", largeName), `"`)
	}),
	jsonOf("large-args", func(e *textOf) {
		e.event(`"ph":"X","pid":1,"tid":2,"ts":`, e.i*10, `,"dur":5,"name":"n","args":{"a":"`, e.i, strings.Repeat("A", largeArg), `"}`)
	}),
	jsonOf("screenshots", func(e *textOf) {
		e.event(`"ph":"I","s":"t","cat":"disabled-by-default-devtools.screenshot","pid":1,"tid":2,"ts":`, e.i*16667,
			`,"name":"Screenshot","args":{"snapshot":"`, e.i, strings.Repeat("/9j/4AAQ", screenshot/8), `"}`)
	}),
	{Name: "thread-names", head: "# tracer: nop\n#\n", each: func(b []byte, i, _ int) []byte {
		e := textOf{b: b, i: i}
		e.text("   comm", i, "-", i+1, "  (1) [000] .... ", i/1e6, ".", strconv.Itoa(1e6 + i%1e6)[1:], ": tracing_mark_write: B|", i+1, "|n", i, "\n")
		return e.b
	}},
	{Name: "sequences", each: func(b []byte, i, _ int) []byte {
		interned := pb.Message{}.Bytes(2, pb.Message{}.Number(1, 1).Bytes(2, strconv.AppendInt([]byte("nm"), int64(i), 10)))
		event := pb.Message{}.Number(9, 3).Number(11, 7).Number(10, 1)
		return pb.Message(b).Bytes(1, pb.Message{}.Number(8, uint64(i)+1).Number(10, uint64(i)+1).Number(13, 1).Bytes(12, interned).Bytes(11, event))
	}},
	{Name: "track-uuids", each: func(b []byte, i, _ int) []byte {
		track := pb.Message{}.Number(1, 1000+uint64(i)).Bytes(2, strconv.AppendInt([]byte("track "), int64(i), 10))
		event := pb.Message{}.Number(9, 3).Number(11, 1000+uint64(i)).Bytes(23, []byte("n"))
		b = pb.Message(b).Bytes(1, pb.Message{}.Number(10, 1).Bytes(60, track))
		return pb.Message(b).Bytes(1, pb.Message{}.Number(8, uint64(i)*10).Number(10, 1).Bytes(11, event))
	}},
	{Name: "interned-names", each: func(b []byte, i, _ int) []byte {
		interned := pb.Message{}.Bytes(2, pb.Message{}.Number(1, uint64(i)+1).Bytes(2, strconv.AppendInt([]byte("nm"), int64(i), 10)))
		event := pb.Message{}.Number(9, 3).Number(11, 7).Number(10, uint64(i)+1)
		flags := uint64(2)
		if i == 0 {
			flags = 1
		}
		return pb.Message(b).Bytes(1, pb.Message{}.Number(8, uint64(i)+1).Number(10, 1).Number(13, flags).Bytes(12, interned).Bytes(11, event))
	}},
	{Name: "pprof-locations", head: pprofHead, each: func(b []byte, i, _ int) []byte {
		b = pb.Message(b).Bytes(4, pb.Message{}.Number(1, uint64(i)+1).Number(3, uint64(i)).Bytes(4, pb.Message{}.Number(1, 10_000_000_000+uint64(i))))
		if i%stackDepth != stackDepth-1 {
			return b
		}
		var stack pb.Message
		for id := i - stackDepth + 2; id <= i+1; id++ {
			stack = binary.AppendUvarint(stack, uint64(id))
		}
		return pb.Message(b).Bytes(2, pb.Message{}.Bytes(1, stack).Bytes(2, pb.Message{1}))
	}},
}

var pprofHead = string(pb.Message{}.Bytes(6, nil).Bytes(6, []byte("samples")).Bytes(6, []byte("count")).Bytes(1, pb.Message{}.Number(1, 1).Number(2, 2)))

// textOf builds the text of the i-th of n things.
type textOf struct {
	b    []byte
	i, n int
}

// text appends texts and numbers.
func (e *textOf) text(parts ...any) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			e.b = append(e.b, part...)
		case int:
			e.b = strconv.AppendInt(e.b, int64(part), 10)
		}
	}
}

// repeat appends the parts for each of n things, with a comma between them if they are of JSON.
func (e *textOf) repeat(separator string, parts func(i int)) {
	for i := range e.n {
		if i > 0 {
			e.text(separator)
		}
		parts(i)
	}
}

// event appends a JSON event.
func (e *textOf) event(members ...any) {
	e.b = append(e.b, '{')
	e.text(members...)
	e.b = append(e.b, "},\n"...)
}

func jsonOf(name string, each func(*textOf)) Format {
	return textsOf(name, "[", `{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"}]`, each)
}

func textsOf(name, head, tail string, each func(*textOf)) Format {
	return Format{Name: name, head: head, tail: tail, each: func(b []byte, i, n int) []byte {
		e := textOf{b, i, n}
		each(&e)
		return e.b
	}}
}

// textOfAll is for texts whose things do not follow one another.
func textOfAll(name string, all func(*textOf)) Format {
	return Format{Name: name, whole: func(b []byte, n int) []byte {
		e := textOf{b: b, n: n}
		all(&e)
		return e.b
	}}
}

// Write writes a trace of n things.
func (f *Format) Write(w *bufio.Writer, n int) error {
	if f.whole != nil {
		_, err := w.Write(f.whole(nil, n))
		return err
	}
	w.WriteString(f.head)
	var b []byte
	for i := range n {
		b = f.each(b[:0], i, n)
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	_, err := w.WriteString(f.tail)
	return err
}
