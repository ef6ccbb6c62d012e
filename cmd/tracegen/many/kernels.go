package many

import (
	"fmt"
	"strconv"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// Traces of the kernel, and of tools that write as it does.
var kernels = []Format{
	perf("perf-samples", `4:3 2:0 2+8{4:7+i 4:7+i "$(i:-15d)" 1:0 `+perfID+`} `+perfSample("7+i", "i")),
	perf("perf-maps", `4:1 2:2 2+8{4:7 4:7 8:(i+1)<<12 8:4096 8:0 "/bin/$(i:010d)" 1:0 `+perfID+`} `+perfSample("7", "(i+1)<<12")),
	perf("perf-same-map", `4:1 2:2 2+8{4:7 4:7 8:4096 8:1<<32 8:0 "/bin/$(i:010d)" 1:0 `+perfID+`} `+perfSample("7", "(i+1)<<12")),
	perf("perf-forks", `(i<1)[4:1 2:2 2+8{4:7 4:7 8:4096 8:1<<32 8:0 "/bin/a" 2:0 `+perfID+`}] `+
		`4:7 2:0 2+8{4:8+i 4:7+i 4:8+i 4:7+i 8:i `+perfID+`} `+perfSample("8+i", "4096")),
	{Name: "perf-frames", head: perfHead, each: perfFrames},
	tracecmd("tracecmd-sched", 1, `2:6 2:0 4:i 4:120 8:0 4:i+1 4:100`),
	tracecmd("tracecmd-marks", 1, `2:5 2:0 4:11 8:0 "B|11|$i" 2:10`),
	tracecmd("tracecmd-threads", 1, `2:5 2:0 4:11+i 8:0 "B|11|n" 2:10`),
	tracecmd("tracecmd-formats", 50_000, `2:7+i 2:0 4:11 4:5`),
	ctf("ctf-texts", ctfPacket(`[4:0 8:i+1 "t$i" 1:0]`)),
	ctf("ctf-packets", template.Repeat("", ctfPacket(ctfEvent))),
	ctf("ctf-events", ctfPacket(`[4:i+1 8:i+1 "t" 1:0]`), each("", "event { name = \"e$i\"; id = $(i+1); stream_id = 0; fields := struct { string s; }; };\n")),
	ctf("ctf-fields", ctfPacket(`4:1 8:1 [1:97*(i<n-1)]`), ctfStruct, each("", "u8 f$i; "), "}; };\n"),
	ctf("ctf-shared-context", ctfPacketOf(1, `[1:0] [4:0 8:i+1 "t" 1:0]`),
		"stream { id = 1; packet.context := struct { u64 content_size; u64 packet_size; ", each("", "u8 f$i; "), "}; event.header := struct { u32 id; u64_clock timestamp; }; };\n"+
			"event { name = \"e\"; id = 0; stream_id = 1; fields := struct { string s; }; };\n"),
	ctf("ctf-array", ctfPacket(`4:1 8:1 [1:97*(i<n-1)]`), ctfStruct+"u8 a[$n]; }; };\n"),
	ctf("ctf-labels", ctfPacket(`[4:1 8:i+1 4:i]`), ctfStruct+"enum : u32 { ", each("", "l$i = $i, "), "} a; }; };\n"),
	ctf("ctf-options", ctfPacket(`[4:1 8:i+1 4:i]`),
		ctfStruct+"enum : u32 { ", each("", "o$i = $i, "), "} tag; variant <tag> { ", each("", "struct { } o$i; "), "} v; }; };\n"),
	{Name: "ctf-streams", whole: func(n int) []byte { return ctfArchive([]byte(ctfHead), n, n, ctfPacket(ctfEvent)) }},
}

const perfID = "4:7 4:7 8:i" // the thread and time at the end of a record

// perfSample is a sample of user space with one address.
func perfSample(tid, address string) string {
	return "4:9 2:2 2+8{8:" + address + " 4:" + tid + " 4:" + tid + " 8:i 8:2 8:0-512 8:" + address + "}"
}

// perfFrames is a sample of up to 5000 addresses, which no other sample has.
func perfFrames(b []byte, i, n int) []byte {
	frames := min(n, 5000)
	if i >= n/frames {
		return b
	}
	sample := fmt.Sprintf("4:9 2:2 2+8{8:%[1]d<<16 4:7 4:7 8:%[1]d 8:1+n 8:0-512 [8:%[1]d<<16+i]}", i)
	return template.Little(sample)(b, 0, frames)
}

var perfHead = once(template.Little(`"PERFILE2" 8:16 4:64 2:0 2+8{4:1 4:112 8:0 8:4000 8:1|2|4|32 8:0 8:1<<18 8:0 8:0 8:0 8:0 8:0 8:0 8:0 8:0}`))

// perf is the records of a perf.data stream for each thing.
func perf(name, records string) Format {
	return Format{Name: name, head: perfHead, each: template.Little(records)}
}

const pageSize = 4096

// tracecmd is a trace.dat file of one CPU with an event for each thing, which are of up to so many formats of their own.
func tracecmd(name string, formats int, event string) Format {
	return Format{Name: name, whole: func(n int) []byte {
		formats := min(n, formats)
		head := tracecmdHead(nil, 0, formats)
		const table = 10 + 16
		at := (len(head) + table + pageSize - 1) &^ (pageSize - 1)
		pages := tracecmdPages(n, formats, template.Little(event))
		head = template.Little(`"flyrecord" 1:0 8:i 8:n`)(head, at, len(pages))
		return append(append(head, make([]byte, at-len(head))...), pages...)
	}}
}

// tracecmdPages are pages of events that are 10 ns apart.
func tracecmdPages(n, formats int, event template.Shape) (pages []byte) {
	const head = 8 + 8
	var page []byte
	time := 0
	end := func() {
		pages = append(template.Little("8:i 8:n")(pages, time, len(page)), page...)
		pages = append(pages, make([]byte, -len(pages)&(pageSize-1))...)
		page = nil
	}
	for i := range n {
		if formats > 1 {
			i %= formats
		}
		data := event(nil, i, n)
		data = append(data, make([]byte, -len(data)&3)...)
		if head+len(page)+4+len(data) > pageSize {
			end()
		}
		time += 10
		page = append(template.Little("4:10<<5|i")(page, len(data)/4, 0), data...)
	}
	end()
	return pages
}

// tracecmdHead is what precedes the pages: version 6, and descriptions of events, of which n are the trace's own.
var tracecmdHead = template.Little(`1:0x17 1:8 1:0x44 "tracing6" 1:0 1:0 1:8 4:4096 ` +
	`"header_page" 1:0 8{"	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
"} "header_event" 1:0 8{"# compressed entry header
"} 4:1 ` + tracecmdFormat("print", "5", `	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:char buf[];	offset:16;	size:0;	signed:0;
`) + `4:1 "all" 1:0 4:1+n ` + tracecmdFormat("sched_switch", "6", `	field:int prev_prio;	offset:8;	size:4;	signed:1;
	field:long prev_state;	offset:12;	size:8;	signed:1;
	field:pid_t next_pid;	offset:20;	size:4;	signed:1;
	field:int next_prio;	offset:24;	size:4;	signed:1;
`) + "[" + tracecmdFormat("e$i", "$(7+i)", "	field:int a;	offset:8;	size:4;	signed:1;\n") +
	`] 4:0 4:0 8{"11 app` + "\n" + `"} 4:1 "options  " 1:0 2:0 `)

// tracecmdFormat describes an event.
func tracecmdFormat(name, id, fields string) string {
	return `8{"name: ` + name + "\nID: " + id + "\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" +
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" + fields + "\nprint fmt: $(34:c)$(34:c)\n" + `"} `
}

// ctfPacket is a packet of events of the first stream.
func ctfPacket(events string) template.Shape { return ctfPacketOf(0, events) }

// ctfPacketOf is a packet of a stream: more of its context than the sizes, and events.
func ctfPacketOf(stream int, contents string) template.Shape {
	head, rest := template.Little("4:0xc1fc1fc1 4:i 8:n 8:n"), template.Little(contents)
	return func(b []byte, i, n int) []byte {
		following := rest(nil, i, n)
		return append(head(b, stream, 8*(4+4+8+8+len(following))), following...)
	}
}

const (
	ctfHead = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = "monotonic"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := u64_clock;
stream { id = 0; packet.context := struct { u64 content_size; u64 packet_size; }; event.header := struct { u32 id; u64_clock timestamp; }; };
event { name = "a"; id = 0; stream_id = 0; fields := struct { string s; }; };
`
	ctfStruct = "event { name = \"e\"; id = 1; stream_id = 0; fields := struct { "
	ctfEvent  = `4:0 8:i+1 "t" 1:0`
)

// ctf is a trace of one file, with more types.
func ctf(name string, packets template.Shape, types ...any) Format {
	metadata := whole("", append([]any{ctfHead}, types...)...)
	return Format{Name: name, whole: func(n int) []byte { return ctfArchive(metadata.whole(n), 1, n, packets) }}
}

// ctfArchive is an archive of a trace with so many files of n things.
func ctfArchive(metadata []byte, files, n int, packets template.Shape) []byte {
	return archive(1+files, func(i int) (string, []byte) {
		if i == 0 {
			return "metadata", metadata
		}
		return "s_" + strconv.Itoa(i-1), packets(nil, i-1, n)
	})
}
