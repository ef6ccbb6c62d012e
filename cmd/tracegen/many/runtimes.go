package many

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Traces of language runtimes.
var runtimes = []Format{
	nettrace("nettrace-stacks", "", "n", `[4:16 8:2 8:0x1000+i]`, "["+dotnetEvent("1", "10", "i+1", "4:2")+"]"),
	nettrace("nettrace-frames", "", "1", `4:8*n [8:i]`, dotnetEvent("1", "10", "1", "4:2")),
	nettrace("nettrace-threads", "", "1", `4:8 8:5`, "["+dotnetEvent("1", "10+i", "1", "4:2")+"]"),
	nettrace("nettrace-methods", "", "1", `4:8 8:0x1000`, dotnetEvent("1", "10", "1", "4:2")+" ["+dotnetMethod("0x1000*(i+1)")+"]"),
	nettrace("nettrace-same-method", "", "1", `4:8 8:0x1000`, "["+dotnetMethod("0x1000")+dotnetEvent("1", "10", "1", "4:2")+"]"),
	nettrace("nettrace-types", "["+dotnetType("i+3", "Mine", "i+3", "e$i")+"]", "0", "", "["+dotnetEvent("i+3", "10", "0", "")+"]"),
	jfr("jfr-samples", `[p+4{v:20 v:1000+i v:1 v:i+1}]`, 1, `v:10 v:n [v:i+1 v:0 v:1 v:1 v:i]`),
	jfr("jfr-frames", `p+4{v:20 v:1000 v:1 v:1}`, 1, `v:10 v:1 v:1 v:0 v:n [v:1 v:i]`),
	jfr("jfr-methods", `[p+4{v:20 v:1000+i v:1 v:i+1}]`, 3,
		`v:10 v:n [v:i+1 v:0 v:1 v:i+1 v:5] v:8 v:n [v:i+1 v:1 v:i+1] v:6 v:n [v:i+1 1:3 v{"m$i"}]`),
	jfr("jfr-threads", `[p+4{v:20 v:1000+i v:i+1 v:1}]`, 1, `v:5 v:n [v:i+1 1:3 v{"t"} v:i+10 1:3 v{"j$i"} v:i+1]`),
	jfr("jfr-events", `[p+4{v:21 v:1000+i v:n v:2 v:i v:7 v:0}]`, 0, ""),
	jfr("jfr-list", `p+4{v:21 v:1000 v:5 v:n [v:7] v:0}`, 0, ""),
	jfr("jfr-linked-objects", `[p+4{v:21 v:1000+i v:5 v:0 v:i+1}]`, 1, `v:11 v:n [v:i+1 v:(i+1)%n+1 v:0]`),
	{Name: "jfr-chunks", whole: func(n int) []byte { // each with metadata
		chunk := jfr("", `[p+4{v:20 v:1000+i v:1 v:1}]`, 0, "").whole(20)
		return slices.Repeat(chunk, max(n/100, 1))
	}},
	gotrace("gotrace-goroutines", 5, `1:0x0e v:5 v:i+7 v:0 v:0`),
	gotrace("gotrace-blocks", 15, `1:0x14 v:5 v:0 v:0 1:0x15 v:5 v:1 v:2*i+1 v:0 1:0x10 v:5 v:1 v:2*i+2`),
	gotrace("gotrace-tasks", 5, `1:0x28 v:5 v:i+1 v:i v:0 v:0`),
	gotrace("gotrace-regions", 5, `1:0x2a v:5 v:0 v:0 v:0`),
	gotrace("gotrace-heap", 5, `1:0x25 v:5 v:i`),
}

// dotnetEvent is an event of a thread with the number of a stack or 0.
func dotnetEvent(kind, thread, stack, payload string) string {
	return "1:1|2|4|8|128 v:" + kind + " v:0 v:" + thread + " v:0 v:" + thread + " v:" + stack + " v:1 v{" + payload + "} "
}

func dotnetMethod(start string) string {
	return dotnetEvent("2", "10", "0", `8:1 8:77 8:`+start+` 4:0x100 4:0 4:0 u"App" u"m$i" u"void()" 2:9`)
}

// dotnetType describes a type of events, without fields.
func dotnetType(id, provider, event, name string) string {
	return `1:128 1:0 v{4:` + id + ` u"` + provider + `" 4:` + event + ` u"` + name + `" 8:0 4:1 4:0 4:0} `
}

// nettrace is a trace of .NET: descriptions of types, a number of stacks, and events.
func nettrace(name, types, number, stacks, events string) Format {
	const compressed = "2:20 2:1 8:0 8:0 "
	blocks := []struct {
		name     string
		contents template.Shape
	}{
		{"MetadataBlock", template.Little(compressed + dotnetType("1", "Microsoft-DotNETCore-SampleProfiler", "0", "") +
			dotnetType("2", "Microsoft-Windows-DotNETRuntimeRundown", "144", "") + types)},
		{"StackBlock", template.Little("4:1 4:" + number + " " + stacks)},
		{"EventBlock", template.Little(compressed + events)},
	}
	return Format{Name: name, whole: func(n int) []byte {
		b := template.Little(`"Nettrace" 4{"!FastSerialization.1"} 1:5 1:5 1:1 4:4 4:4 4{"Trace"} 1:6 `+
			`2:2020 2:9 2:0 2:13 2:12 2:26 2:40 2:500 8:1000 8:1000000 4:8 4:7 4:2 4:0 1:6`)(nil, 0, n)
		for _, block := range blocks {
			contents := block.contents(nil, 0, n)
			b = template.Little(`1:5 1:5 1:1 4:4 4:4 4{"`+block.name+`"} 1:6 4:i`)(b, len(contents), n)
			b = append(b, make([]byte, -len(b)&3)...)
			b = append(append(b, contents...), 6)
		}
		return append(b, 1)
	}}
}

// jfrTypes are types of Java's flight recorder: id, name, parent, and fields, each with name, type, and whether it is the number of a
// constant or an array.
const jfrTypes = `1 int -
2 long -
3 java.lang.String -
4 boolean -
5 java.lang.Thread - osName:3 osThreadId:2 javaName:3 javaThreadId:2
6 jdk.types.Symbol - string:3
7 java.lang.Class - name:6:constantPool:true
8 jdk.types.Method - type:7:constantPool:true name:6:constantPool:true
9 jdk.types.StackFrame - method:8:constantPool:true lineNumber:1
10 jdk.types.StackTrace - truncated:4 frames:9:dimension:1
11 app.Node - next:11:constantPool:true list:1:dimension:1
20 jdk.ExecutionSample jdk.jfr.Event startTime:2 sampledThread:5:constantPool:true stackTrace:10:constantPool:true
21 app.Event jdk.jfr.Event startTime:2 duration:2 list:1:dimension:1 node:11:constantPool:true`

// jfrMetadata is the tree of types, behind the texts in it.
func jfrMetadata() string {
	var texts []string
	tree := ""
	element := func(children int, words ...string) { // name, and keys and values of attributes
		for i, word := range words {
			if !slices.Contains(texts, word) {
				texts = append(texts, word)
			}
			tree += fmt.Sprint(" v:", slices.Index(texts, word))
			if i == 0 {
				tree += fmt.Sprint(" v:", len(words)/2)
			}
		}
		tree += fmt.Sprint(" v:", children)
	}
	types := strings.Split(jfrTypes, "\n")
	element(1, "root")
	element(len(types), "metadata")
	for _, line := range types {
		t := strings.Fields(line)
		element(len(t)-3, "class", "id", t[0], "name", t[1], "superType", strings.Trim(t[2], "-"))
		for _, field := range t[3:] {
			f := strings.Split(field, ":")
			element(0, append([]string{"field", "name", f[0], "class", f[1]}, f[2:]...)...)
		}
	}
	return fmt.Sprintf(`p+4{v:0 v:0 v:0 v:0 v:%d 1:3 v{"%s"}%s}`, len(texts), strings.Join(texts, `"} 1:3 v{"`), tree)
}

// jfr is a chunk of events, constants in so many pools, and types.
func jfr(name, events string, pools int, constants string) Format {
	const head = 68
	parts := []template.Shape{
		template.Little(events),
		template.Little(fmt.Sprintf("p+4{v:1 v:0 v:0 v:0 v:1 v:%d %s}", pools, constants)),
		template.Little(jfrMetadata()),
	}
	return Format{Name: name, whole: func(n int) []byte {
		b := make([]byte, head)
		ends := make([]int, len(parts))
		for i, part := range parts {
			b = part(b, 0, n)
			ends[i] = len(b)
		}
		sizes := fmt.Sprintf(`"FLR" 1:0 2:2 2:1 8:%d 8:%d 8:%d 8:1000000000 8:1000000000 8:500 8:1000000000 4:1`, ends[2], ends[0], ends[1])
		template.Big(sizes)(b[:0], 0, n)
		return b
	}}
}

// gotrace is an execution trace of a thread, which writes events for each thing that take so many ticks.
func gotrace(name string, ticks int, events string) Format {
	head := template.Little(`"go 1.26 trace" 1:0 2:0 ` + goTable(`1:0x32 1:8 v:1000000000 1:0x33 v:0 v:1000 v:1700000000 v:500000000`)) // the frequency and the clocks
	tail := template.Little(goTable("1:4") + goTable("1:2") + goTable("1:6") + "1:0x34")                                                // without strings, stacks and samples
	batch, event := template.Little("1:1 1:1 v:100 v:i v:n"), template.Little(events)
	return Format{Name: name, whole: func(n int) []byte {
		b := head(nil, 0, n)
		written := template.Little("1:0x0d v:10 v:0 v:1 1:0x19 v:0 v:1 v:100 v:2")(nil, 0, n) // a processor and a goroutine start
		begun, time := 1000, 1010
		for i := range n {
			if len(written) > 32<<10 {
				b = append(batch(b, begun, len(written)), written...)
				begun, written = time, nil
			}
			written = event(written, i, n)
			time += ticks
		}
		return tail(append(batch(b, begun, len(written)), written...), 0, n)
	}}
}

// goTable is a batch of no thread.
func goTable(contents string) string { return "1:1 1:1 v:0 v:1000 v{" + contents + "} " }
