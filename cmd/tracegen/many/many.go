// Package many writes small traces that name very many things, or large ones. A converter's memory use shows what it keeps for each.
package many

import (
	"bufio"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// A Format is the traces of one kind of thing.
type Format struct {
	Name       string
	head, tail string
	each       template.Shape     // of one thing
	whole      func(n int) []byte // the whole trace, if its things do not follow one another
}

const (
	largeName  = 30_000_000
	largeArg   = 1_000_000
	screenshot = 200_000
)

// Formats are the formats.
var Formats = slices.Concat(things, jsonEvents, texts, packetFormats, binaries, profiles, spans, runtimes, kernels, gpus, archives)

// Traces that name many things, or large ones.
var things = []Format{
	events("processes", `"ph":"X","pid":$(i+1),"tid":$(i+1),"ts":$(i*10),"dur":5,"name":"n"`),
	events("names", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"name $i distinct"`),
	events("arg-keys", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"n","args":{"k$i":$i}`),
	events("async-ids", `"ph":"b","cat":"c","id":$i,"pid":1,"tid":2,"ts":$(i*10),"name":"n"`),
	events("async-ids-ended", `"ph":"b","cat":"c","id":$i,"pid":1,"tid":2,"ts":$(i*10),"name":"n"`,
		`"ph":"e","cat":"c","id":$i,"pid":1,"tid":2,"ts":$(i*10+5),"name":"n"`),
	events("flows", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"n"`,
		`"ph":"s","cat":"c","id":$i,"pid":1,"tid":2,"ts":$(i*10+1),"name":"n"`),
	events("counter-tracks", `"ph":"C","pid":1,"ts":$(i*10),"name":"c$i","args":{"v":$i}`),
	events("open-slices", `"ph":"B","pid":1,"tid":2,"ts":$i,"name":"n"`),
	events("open-on-threads", `"ph":"B","pid":1,"tid":$(i%1000000),"ts":$i,"name":"n"`),
	large("large-names", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"$i`, "A", largeName, `"`),
	large("large-args", `"ph":"X","pid":1,"tid":2,"ts":$(i*10),"dur":5,"name":"n","args":{"a":"$i`, "A", largeArg, `"}`),
	large("screenshots", `"ph":"I","s":"t","cat":"disabled-by-default-devtools.screenshot","pid":1,"tid":2,"ts":$(i*16667),"name":"Screenshot","args":{"snapshot":"$i`,
		"/9j/4AAQ", screenshot/8, `"}`),
	lines("thread-names", systraceHead, "   comm$i-$(i+1)  (1) [000] .... "+seconds+": tracing_mark_write: B|$(i+1)|n$i\n"),
	messages("sequences", "", `1:{8:i+1 10:i+1 13:1 12:{2:{1:1 2:"nm$i"}} 11:{9:3 11:7 10:1}}`),
	messages("track-uuids", "", `1:{10:1 60:{1:1000+i 2:"track $i"}} 1:{8:i*10 10:1 11:{9:3 11:1000+i 23:"n"}}`),
	messages("interned-names", "", `1:{8:i+1 10:1 13:2-(i<1) 12:{2:{1:i+1 2:"nm$i"}} 11:{9:3 11:7 10:i+1}}`),
	messages("pprof-locations", pprofHead, `4:{1:i+1 3:i 4:{1:10000000000+i}} (3<i%5)[2:{1:<i-3 i-2 i-1 i i+1> 2:<1>}]`),
}

// lines are texts or lines, one for each thing.
func lines(name, head, line string) Format {
	return Format{Name: name, head: head, each: template.Text(line)}
}

// events are events of Chrome's JSON.
func events(name string, each ...string) Format {
	f := lines(name, "[", "{"+strings.Join(each, "},\n{")+"},\n")
	f.tail = work + "]"
	return f
}

const work = `{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"}`

// large are events with a text that is repeated so many times.
func large(name, before, repeated string, times int, after string) Format {
	filling := func(b []byte, _, _ int) []byte { return append(b, strings.Repeat(repeated, times)...) }
	return Format{Name: name, head: "[", each: template.Join(template.Text("{"+before), filling, template.Text(after+"},\n")), tail: work + "]"}
}

// messages are fields of a message of Protocol Buffers, for each thing.
func messages(name, head, fields string) Format {
	return Format{Name: name, head: once(template.Message(head)), each: template.Message(fields)}
}

// message is a message of Protocol Buffers.
func message(name, fields string) Format { return whole(name, template.Message(fields)) }

// whole is a trace of parts that are templates of text, once, or shapes.
func whole(name string, parts ...any) Format {
	var all []template.Shape
	for _, part := range parts {
		if text, ok := part.(string); ok {
			part = template.Text(text)
		}
		all = append(all, part.(template.Shape))
	}
	return Format{Name: name, whole: func(n int) []byte { return template.Join(all...)(nil, 0, n) }}
}

// each repeats a template of text, with a text between.
func each(separator, text string) template.Shape {
	return template.Repeat(separator, template.Text(text))
}

// once is a part that does not depend on i or n.
func once(part template.Shape) string { return string(part(nil, 0, 0)) }

// Write writes a trace of n things.
func (f *Format) Write(w *bufio.Writer, n int) error {
	if f.whole != nil {
		_, err := w.Write(f.whole(n))
		return err
	}
	w.WriteString(f.head)
	for i := range n {
		if _, err := w.Write(f.each(w.AvailableBuffer(), i, n)); err != nil {
			return err
		}
	}
	_, err := w.WriteString(f.tail)
	return err
}
