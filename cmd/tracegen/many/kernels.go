package many

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Traces of the kernel, and of tools that write as it does.
var kernels = []Format{
	perfOf("perf-samples", func(p *perf) {
		p.add(3, 0, uint32(7+p.i), uint32(7+p.i), fmt.Sprintf("%-15d\x00", p.i), p.id())
		p.sample(7+p.i, uint64(p.i))
	}),
	perfOf("perf-maps", func(p *perf) {
		p.add(1, 2, uint32(7), uint32(7), uint64(p.i+1)<<12, uint64(4096), uint64(0), fmt.Sprintf("/bin/%010d\x00", p.i), p.id())
		p.sample(7, uint64(p.i+1)<<12)
	}),
	perfOf("perf-same-map", func(p *perf) {
		p.add(1, 2, uint32(7), uint32(7), uint64(1)<<12, uint64(1)<<32, uint64(0), fmt.Sprintf("/bin/%010d\x00", p.i), p.id())
		p.sample(7, uint64(p.i+1)<<12)
	}),
	perfOf("perf-forks", func(p *perf) {
		if p.i == 0 {
			p.add(1, 2, uint32(7), uint32(7), uint64(1)<<12, uint64(1)<<32, uint64(0), "/bin/a\x00\x00", p.id())
		}
		p.add(7, 0, uint32(8+p.i), uint32(7+p.i), uint32(8+p.i), uint32(7+p.i), uint64(p.i), p.id())
		p.sample(8+p.i, 1<<12)
	}),
	perfOf("perf-frames", func(p *perf) {
		chain := make([]uint64, min(p.n, 5000))
		for i := range chain {
			chain[i] = uint64(p.i<<16 + i)
		}
		if p.i < p.n/len(chain) {
			p.sample(7, chain...)
		}
	}),
	tracecmdOf("tracecmd-sched", 1, func(p *page, i int) { p.add(6, i, 120, uint64(0), i+1, 100) }),
	tracecmdOf("tracecmd-marks", 1, func(p *page, i int) { p.add(5, 11, uint64(0), fmt.Sprintf("B|11|%d\n\x00", i)) }),
	tracecmdOf("tracecmd-threads", 1, func(p *page, i int) { p.add(5, 11+i, uint64(0), "B|11|n\n\x00") }),
	tracecmdOf("tracecmd-formats", 50_000, func(p *page, i int) { p.add(uint16(7+i), 11, 5) }),
	ctfOf("ctf-texts", func(c *stream, n int) {
		for i := range n {
			c.event(0, "t"+strconv.Itoa(i))
		}
		c.packet()
	}),
	ctfOf("ctf-packets", func(c *stream, n int) {
		for range n {
			c.event(0, "t")
			c.packet()
		}
	}),
	ctfOf("ctf-events", func(c *stream, n int) {
		var types strings.Builder
		for i := range n {
			fmt.Fprintf(&types, "event { name = \"e%d\"; id = %d; stream_id = 0; fields := struct { string s; }; };\n", i, i+1)
			c.event(i+1, "t")
		}
		c.types = types.String()
		c.packet()
	}),
	ctfOf("ctf-fields", func(c *stream, n int) {
		c.types = "event { name = \"e\"; id = 1; stream_id = 0; fields := struct { " + fields(n) + "}; };\n"
		c.event(1, strings.Repeat("a", n-1))
		c.packet()
	}),
	ctfOf("ctf-shared-context", func(c *stream, n int) {
		c.types = "stream { id = 1; packet.context := struct { u64 content_size; u64 packet_size; " + fields(n) + "}; event.header := struct { u32 id; u64_clock timestamp; }; };\n" +
			"event { name = \"e\"; id = 0; stream_id = 1; fields := struct { string s; }; };\n"
		for range n {
			c.event(0, "t")
		}
		c.packetOf(1, make([]byte, n))
	}),
	ctfOf("ctf-array", func(c *stream, n int) {
		c.types = fmt.Sprintf("event { name = \"e\"; id = 1; stream_id = 0; fields := struct { u8 a[%d]; }; };\n", n)
		c.event(1, strings.Repeat("a", n-1))
		c.packet()
	}),
	ctfOf("ctf-labels", func(c *stream, n int) {
		var labels strings.Builder
		for i := range n {
			fmt.Fprintf(&labels, "l%d = %d, ", i, i)
		}
		c.types = "event { name = \"e\"; id = 1; stream_id = 0; fields := struct { enum : u32 { " + labels.String() + "} a; }; };\n"
		for i := range n {
			c.event(1, string(little(nil, i)[:3])) // and the 0 behind the text
		}
		c.packet()
	}),
	ctfOf("ctf-options", func(c *stream, n int) {
		var labels, options strings.Builder
		for i := range n {
			fmt.Fprintf(&labels, "o%d = %d, ", i, i)
			fmt.Fprintf(&options, "struct { } o%d; ", i)
		}
		c.types = "event { name = \"e\"; id = 1; stream_id = 0; fields := struct { enum : u32 { " + labels.String() + "} tag; variant <tag> { " + options.String() + "} v; }; };\n"
		for i := range n {
			c.event(1, string(little(nil, i)[:3]))
		}
		c.packet()
	}),
	ctfOf("ctf-streams", func(c *stream, n int) {
		for range n {
			c.event(0, "t")
			c.packet()
			c.file()
		}
	}),
}

// fields declares n fields of a byte.
func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "u8 f%d; ", i)
	}
	return b.String()
}

// perf builds the records of a perf.data stream for the i-th of n things.
type perf struct {
	b    []byte
	i, n int
}

// little appends numbers in little-endian order, and texts.
func little(b []byte, fields ...any) []byte {
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			b = append(b, f...)
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(f))
		default:
			b, _ = binary.Append(b, binary.LittleEndian, f)
		}
	}
	return b
}

func (p *perf) add(kind uint32, misc uint16, fields ...any) {
	body := little(nil, fields...)
	p.b = append(little(p.b, kind, misc, uint16(8+len(body))), body...)
}

// id is the thread and time at the end of a record.
func (p *perf) id() []byte { return little(nil, 7, 7, uint64(p.i)) }

func (p *perf) sample(tid int, chain ...uint64) {
	const inUser = ^uint64(511)
	p.add(9, 2, chain[0], uint32(tid), uint32(tid), uint64(p.i), uint64(1+len(chain)), inUser, chain)
}

func perfOf(name string, each func(p *perf)) Format {
	const sampleType, sampleIDAll = 1 | 2 | 4 | 32, 1 << 18
	head := perf{b: little([]byte("PERFILE2"), uint64(16))}
	head.add(64, 0, 1, 112, uint64(0), uint64(4000), uint64(sampleType), uint64(0), uint64(sampleIDAll), make([]byte, 64))
	return Format{Name: name, head: string(head.b), each: func(b []byte, i, n int) []byte {
		p := perf{b, i, n}
		each(&p)
		return p.b
	}}
}

// page builds pages of a trace.dat file.
type page struct {
	pages, records []byte
	time           uint64
}

const pageSize = 4096

// add appends an event with an id, some ns after the one before.
func (p *page) add(id uint16, pid int, fields ...any) {
	data := little(nil, id, uint16(0), pid)
	data = little(data, fields...)
	data = append(data, make([]byte, -len(data)&3)...)
	if len(p.records)+4+len(data) > pageSize-16 {
		p.end()
	}
	p.time += 10
	p.records = append(little(p.records, uint32(10<<5|len(data)/4)), data...)
}

func (p *page) end() {
	b := append(little(nil, p.time, uint64(len(p.records))), p.records...)
	p.pages = append(p.pages, append(b, make([]byte, pageSize-len(b))...)...)
	p.records = nil
}

// tracecmdOf is a trace of one CPU with up to so many formats of events of its own.
func tracecmdOf(name string, formats int, each func(p *page, i int)) Format {
	describe := func(name string, id int, fields string) string {
		return fmt.Sprintf("name: %s\nID: %d\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: \"\"\n", name, id, fields)
	}
	long := func(text string) []byte { return little(nil, uint64(len(text)), text) }
	return Format{Name: name, whole: func(_ []byte, n int) []byte {
		var p page
		for i := range n {
			if formats > 1 {
				i %= min(n, formats)
			}
			each(&p, i)
		}
		p.end()
		b := little([]byte("\x17\x08\x44tracing6\x00\x00\x08"), pageSize, "header_page\x00",
			long("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"),
			"header_event\x00", long("# compressed entry header\n"))
		b = little(b, 1, long(describe("print", 5, "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n")))
		more := min(n, formats)
		b = little(b, 1, "all\x00", 1+more, long(describe("sched_switch", 6, "\tfield:int prev_prio;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:long prev_state;\toffset:12;\tsize:8;\tsigned:1;\n"+
			"\tfield:pid_t next_pid;\toffset:20;\tsize:4;\tsigned:1;\n\tfield:int next_prio;\toffset:24;\tsize:4;\tsigned:1;\n")))
		for i := range more {
			b = little(b, long(describe("e"+strconv.Itoa(i), 7+i, "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n")))
		}
		b = little(b, 0, 0, long("11 app\n"), 1, "options  \x00", uint16(0))
		const table = 10 + 16
		at := (len(b) + table + pageSize - 1) &^ (pageSize - 1)
		b = little(b, "flyrecord\x00", uint64(at), uint64(len(p.pages)))
		return append(append(b, make([]byte, at-len(b))...), p.pages...)
	}}
}

// stream builds the files of a CTF trace.
type stream struct {
	types           string
	events, packets []byte
	files           [][]byte
	time            uint64
}

// event appends an event with a text.
func (c *stream) event(id int, text string) {
	c.time++
	c.events = little(c.events, id, c.time, text, "\x00")
}

// packet puts the events in a packet.
func (c *stream) packet() { c.packetOf(0, nil) }

// packetOf is packet for a stream whose context has more.
func (c *stream) packetOf(stream int, context []byte) {
	const head = 4 + 4 + 8 + 8
	bits := uint64(8 * (head + len(context) + len(c.events)))
	c.packets = append(append(little(c.packets, uint32(0xc1fc1fc1), stream, bits, bits), context...), c.events...)
	c.events = nil
}

// file puts the packets in a file.
func (c *stream) file() {
	c.files = append(c.files, c.packets)
	c.packets = nil
}

const ctfHead = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = "monotonic"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := u64_clock;
stream { id = 0; packet.context := struct { u64 content_size; u64 packet_size; }; event.header := struct { u32 id; u64_clock timestamp; }; };
event { name = "a"; id = 0; stream_id = 0; fields := struct { string s; }; };
`

func ctfOf(name string, things func(c *stream, n int)) Format {
	return Format{Name: name, whole: func(_ []byte, n int) []byte {
		var c stream
		things(&c, n)
		if len(c.packets) > 0 {
			c.file()
		}
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		add := func(name string, data []byte) {
			w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644})
			w.Write(data)
		}
		add("metadata", []byte(ctfHead+c.types))
		for i, f := range c.files {
			add("s_"+strconv.Itoa(i), f)
		}
		w.Close()
		return b.Bytes()
	}}
}
