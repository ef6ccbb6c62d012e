package tracecmd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// layout is a variant of the file format.
type layout struct {
	version     string
	order       binary.AppendByteOrder
	compression string
}

var layouts = []layout{
	{"6", binary.LittleEndian, "none"}, {"6", binary.BigEndian, "none"},
	{"7", binary.LittleEndian, "none"}, {"7", binary.BigEndian, "zlib"}, {"7", binary.LittleEndian, "zstd"}, {"7", binary.BigEndian, "zstd"},
}

func (l layout) String() string {
	return fmt.Sprint("version ", l.version, ", ", l.order, ", ", l.compression)
}

// w encodes fields: numbers in the layout's byte order, texts as they are.
func (l layout) w(fields ...any) (b []byte) {
	for _, f := range fields {
		switch v := f.(type) {
		case byte:
			b = append(b, v)
		case int:
			b = l.order.AppendUint32(b, uint32(v))
		case uint16:
			b = l.order.AppendUint16(b, v)
		case uint32:
			b = l.order.AppendUint32(b, v)
		case uint64:
			b = l.order.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

func (l layout) long(text string) []byte { return l.w(uint64(len(text)), text) }

func (l layout) compress(data []byte) []byte {
	var out bytes.Buffer
	switch l.compression {
	case "zlib":
		z := zlib.NewWriter(&out)
		_, _ = z.Write(data)
		_ = z.Close()
	case "zstd":
		z, _ := zstd.NewWriter(&out)
		_, _ = z.Write(data)
		_ = z.Close()
	}
	return out.Bytes()
}

const (
	pageSize   = 4096
	headerPage = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
		"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
	headerEvent = "# compressed entry header\n"
	common      = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" +
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)

func description(name string, id int, fields ...string) string {
	text := fmt.Sprintf("name: %s\nID: %d\nformat:\n%s", name, id, common)
	for _, f := range fields {
		words := strings.Split(f, "|")
		text += fmt.Sprintf("\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n", words[0], words[1], words[2], words[3])
	}
	return text + "\nprint fmt: \"\"\n"
}

const (
	idPrint = 5 + iota
	idBputs
	idBprint
	idSwitch
	idIRQ
	idWork
	idEnter
	idOwn
)

var ftraceFormats = []string{
	description("print", idPrint, "unsigned long ip|8|8|0", "char buf[]|16|0|0"),
	description("bputs", idBputs, "unsigned long ip|8|8|0", "const char * str|16|8|0"),
	description("bprint", idBprint, "unsigned long ip|8|8|0", "const char * fmt|16|8|0", "u32 buf[]|24|0|0"),
}

var formats = []string{
	description("sched_switch", idSwitch, "char prev_comm[16]|8|16|0", "pid_t prev_pid|24|4|1", "int prev_prio|28|4|1", "long prev_state|32|8|1",
		"char next_comm[16]|40|16|0", "pid_t next_pid|56|4|1", "int next_prio|60|4|1"),
	description("irq_handler_entry", idIRQ, "int irq|8|4|1", "__data_loc char[] name|12|4|0"),
	description("workqueue_execute_start", idWork, "void * work|8|8|0", "void * function|16|8|0"),
	description("sys_enter", idEnter, "long id|8|8|1", "unsigned long args[6]|16|48|0"),
	description("my_event", idOwn, "dev_t dev|8|4|0", "s16 small|12|2|1", "u8 flags|14|1|0", "__rel_loc char[] name|16|4|0", "__data_loc u32[] list|20|4|0"),
}

func pad(text string, size int) string { return text + strings.Repeat("\x00", size-len(text)) }

// record returns an event in a page, some ns after the previous record.
func (l layout) record(delta uint32, data []byte) []byte {
	for len(data)%4 != 0 {
		data = append(data, 0)
	}
	return l.w(l.head(uint32(len(data)/4), delta), data)
}

func (l layout) head(kind, delta uint32) uint32 {
	if l.order == binary.AppendByteOrder(binary.BigEndian) {
		return kind<<27 | delta
	}
	return delta<<5 | kind
}

func (l layout) common(id uint16, pid int) []byte { return l.w(id, byte(1), byte(0), pid) }

func (l layout) sched(prev string, pid int, state uint64, next string, nextPID int) []byte {
	return l.w(l.common(idSwitch, pid), pad(prev, 16), pid, 120, state, pad(next, 16), nextPID, 100)
}

func (l layout) page(time uint64, flags uint64, records ...[]byte) []byte {
	data := bytes.Join(records, nil)
	page := l.w(time, uint64(len(data))|flags, data)
	if flags&(1<<30) != 0 {
		page = l.w(page, uint64(25)) // how many events were lost before
	}
	return []byte(pad(string(page), pageSize))
}

// pages returns the pages of two CPUs in the top buffer, and of CPU 1 in an instance.
func (l layout) pages() [][]byte {
	const farAhead = 1 << 27
	long := l.w(l.common(idPrint, 11), uint64(0xffffffff81000010), "B|11|"+strings.Repeat("x", 200)+"\n\x00")
	for len(long)%4 != 0 {
		long = append(long, 0)
	}
	return [][]byte{
		append(l.page(1000, 0,
			l.record(10, l.sched("swapper/0", 0, 0, "app", 11)),
			l.record(10, l.w(l.common(idPrint, 11), uint64(0xffffffff81000010), "B|11|draw\n\x00")),
			l.w(l.head(29, 1), 16, "discarded..."),
			l.record(10, l.w(l.common(idIRQ, 11), 7, uint32(5<<16|16), "eth0\x00")),
			l.w(l.head(30, 5), 1), // 2^27 + 5 ns more
			l.record(10, l.w(l.common(idPrint, 11), uint64(0xffffffff81000010), "E|11\n\x00")),
			l.w(l.head(29, 0), "beyond")),
			l.page(2*farAhead, 1<<31|1<<30,
				l.record(0, l.sched("app", 11, 1, "swapper/0", 0)),
				l.w(l.head(0, 5), len(long)+4, long))...),
		l.page(1005, 0,
			l.record(10, l.w(l.common(idWork, 12), uint64(0x1234), uint64(0xffffffff81000120))),
			l.record(10, l.w(l.common(idEnter, 12), uint64(3), uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6))),
			l.w(l.head(31, 100), 1), // at 2^27 + 100 ns
			l.record(0, l.w(l.common(idOwn, 12), 8<<20|300, uint16(0xffff), byte(7), byte(0), uint32(4<<16|4), uint32(8<<16|28), "own\x00", 5, 6))),
		l.page(3000, 0, l.record(0, l.w(l.common(idBputs, 12), uint64(0xffffffff81000010), uint64(0xffffffff82000000))),
			l.record(10, l.w(l.common(idBprint, 12), uint64(0xffffffff81000010), uint64(0xffffffff82000010),
				-7, uint64(1<<40), byte('c'), "text\x00", uint16(65535), byte(200), byte(0), byte(0), byte(0), uint64(0xffffffff81000104), "192.0.2.1\x00\x00\x00", 6, 15)),
			l.record(10, l.w(l.common(idBprint, 12), uint64(0xffffffff81000010), uint64(0xffffffff82000010), -7))),
	}
}

var (
	kallsymsText = "0000000000000000 A fixed_percpu\nffffffff81000000 T _text\nffffffff81000100 t do_work\t[mod]\n"
	printkText   = "0xffffffff82000000 : \"constant\\n\"\n" +
		"0xffffffff82000010 : \"%d %lu %c %-6s|%hu %hhu %pS %pI4 %*x 100%%\\n\"\n"
	cmdlineText = "11 app\n12 worker one\n"
)

func (l layout) formats() (ftraces, events []byte) {
	ftraces = l.w(len(ftraceFormats))
	for _, f := range ftraceFormats {
		ftraces = l.w(ftraces, l.long(f))
	}
	events = l.w(1, "all\x00", len(formats))
	for _, f := range formats {
		events = l.w(events, l.long(f))
	}
	return ftraces, events
}

func (l layout) option(id uint16, data []byte) []byte { return l.w(id, len(data), data) }

func (l layout) options() []byte {
	return l.w(l.option(4, []byte("local [mono] boot\x00")), l.option(5, []byte("Linux host 6.1.0 x86_64\x00")), l.option(7, []byte("1000000\x00")),
		l.option(1, []byte("0x10\x00")), l.option(2, []byte("CPU: 0\nentries: 0\noverrun: 3\nread events: 7\n\x00")), l.option(8, l.w(2)), l.option(10, []byte("11 0 app\n\x00")))
}

func (l layout) file() []byte {
	endian := byte(0)
	if l.order == binary.AppendByteOrder(binary.BigEndian) {
		endian = 1
	}
	b := l.w("\x17\x08\x44tracing"+l.version+"\x00", endian, byte(8), pageSize)
	ftraces, events := l.formats()
	pages := l.pages()
	header := l.w("header_page\x00", l.long(headerPage), "header_event\x00", l.long(headerEvent))
	if l.version == "6" {
		b = l.w(b, header, ftraces, events, len(kallsymsText), kallsymsText, len(printkText), printkText, l.long(cmdlineText), 2)
		b = l.w(b, "options  \x00", l.options())
		const tables, data = 10 + 2*16, 3 * pageSize // bytes of each buffer's table; offset of the first page
		instance := len(b) + (2 + 4 + 8 + 5) + 2 + tables
		b = l.w(b, l.option(3, l.w(uint64(instance), "inst\x00")), uint16(0))
		b = l.w(b, "flyrecord\x00", uint64(data), uint64(2*pageSize), uint64(data+2*pageSize), uint64(pageSize))
		b = l.w(b, "flyrecord\x00", uint64(0), uint64(0), uint64(data+3*pageSize), uint64(pageSize))
		return l.w(pad(string(b), data), pages[0], pages[1], pages[2])
	}
	name, version := l.compression, "1"
	if name == "none" {
		version = ""
	}
	b = l.w(b, name+"\x00"+version+"\x00")
	first := len(b)
	b = l.w(b, uint64(0)) // offset of the options
	places := map[uint16]uint64{}
	section := func(id uint16, data []byte) {
		places[id] = uint64(len(b))
		flags := uint16(0)
		if id != 0 && name != "none" {
			packed := l.compress(data)
			flags, data = 1, l.w(len(packed), len(data), packed)
		}
		b = l.w(b, id, flags, 0, uint64(len(data)), data)
	}
	section(16, header)
	section(17, ftraces)
	section(18, events)
	section(19, l.w(len(kallsymsText), kallsymsText))
	section(20, l.w(len(printkText), printkText))
	section(21, l.long(cmdlineText))
	buffer := func(name string, cpus map[uint32][]byte) []byte {
		at := len(b)
		flags := uint16(0)
		if l.compression != "none" {
			flags = 1
		}
		b = l.w(b, uint16(3), flags, 0, uint64(0))
		option := l.w(uint64(at), name+"\x00mono\x00", pageSize, len(cpus))
		for cpu := range uint32(2) {
			data, ok := cpus[cpu]
			if !ok {
				continue
			}
			size := len(data)
			if flags == 1 { // a chunk for each page
				chunks := l.w(len(data) / pageSize)
				for ; len(data) > 0; data = data[pageSize:] {
					packed := l.compress(data[:pageSize])
					chunks = l.w(chunks, len(packed), pageSize, packed)
				}
				data, size = chunks, len(chunks)-4
			}
			option = l.w(option, cpu, uint64(len(b)), uint64(size))
			b = l.w(b, data)
		}
		return l.option(3, option)
	}
	b = l.w(pad(string(b), (len(b)/pageSize+1)*pageSize-16))
	top := buffer("", map[uint32][]byte{0: pages[0], 1: pages[1]})
	inst := buffer("inst", map[uint32][]byte{1: pages[2]})
	options := l.options()
	for id := uint16(16); id <= 21; id++ {
		options = l.w(options, l.option(id, l.w(places[id])))
	}
	at := len(b)
	section(0, l.w(options, l.option(0, l.w(uint64(len(b)+16+len(options)+14)))))
	section(0, l.w(top, inst, l.option(0, l.w(uint64(0)))))
	copy(b[first:], l.w(uint64(at)))
	return b
}

func TestLayouts(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.String(), func(t *testing.T) {
			tables := ingesttest.MustRead(t, "trace.dat", l.file())
			// The option adds a millisecond to all times.
			tables.Want(t, "sched_slice", "ts|dur|cpu|end_state|priority", "1001010|268434446|0|S|100", "269435456|-1|0|NULL|100")
			tables.Want(t, "slice", "ts|dur|name", "1001015|-1|do_work", "1001020|134217754|draw", "1001025|-1|sys_close", "1001031|-1|IRQ (eth0)",
				"269435461|-1|"+strings.Repeat("x", 200))
			tables.Want(t, "ftrace_event", "ts|name|cpu|common_flags|utid", "1001010|sched_switch|0|0|0", "1001015|workqueue_execute_start|1|1|2",
				"1001020|print|0|1|1", "1001025|sys_enter|1|1|2", "1001031|irq_handler_entry|0|1|1", "1003000|bputs|1|1|2", "1003010|bprint|1|1|2", "1003020|bprint|1|1|2", "135217828|my_event|1|1|2",
				"135218774|print|0|1|1", "269435456|sched_switch|0|0|1", "269435461|print|0|1|1")
			tables.Want(t, "thread", "tid|name", "0|swapper", "11|app", "12|worker one")
			tables.Want(t, "clock_snapshot", "clock_name|clock_value", "MONOTONIC|0", "REALTIME|16000")
			tables.Want(t, "stats", "name|value|description", "ftrace_cpu_overrun_end|3|Events of a CPU overwritten in the ftrace buffer when tracing ended.", "ftrace_cpu_read_events_end|7|Events read from the ftrace buffer of a CPU when tracing ended.", "ftrace_cpu_has_data_loss|1|1 if the kernel overwrote ftrace events of a CPU that were not read yet. A larger ftrace buffer or fewer events help.",
				"clock_sync_cache_miss|1|Conversions of times that needed a search for the clock snapshot.", "unread_fact|1|process memory map is not read",
				"trace_cmd_parse_errors|1|CPUs, pages and events of trace-cmd files that cannot be read.",
				"ftrace_events_lost|25|Events of a CPU that the kernel overwrote before the recorder read them, where the trace says how many.")
			args := strings.Join(tables.Rows("args", "key", "int_value", "string_value"), " ")
			for _, want := range []string{"dev|1050668|NULL small|-1|NULL flags|7|NULL name|NULL|own list[0]|5|NULL list[1]|6|NULL", "str|NULL|constant",
				"buf|NULL|-7 1099511627776 c text  |65535 200 do_work 192.0.2.1      f 100%", "function|NULL|do_work",
				"id|3|NULL args[0]|1|NULL args[1]|2|NULL args[2]|3|NULL args[3]|4|NULL args[4]|5|NULL args[5]|6|NULL", "args[0]|1|NULL args[1]|2|NULL args[2]|3|NULL args[3]|4|NULL args[4]|5|NULL args[5]|6|NULL"} {
				if !strings.Contains(args, want) {
					t.Errorf("%s is not among %s", want, args)
				}
			}
		})
	}
}

// TestZeroSize reads events whose arrays at the end have no size and no brackets in the description.
func TestZeroSize(t *testing.T) {
	l := layouts[0]
	data := bytes.ReplaceAll(l.file(), []byte("field:char buf[];"), []byte("field:  char buf;"))
	data = bytes.ReplaceAll(data, []byte("field:u32 buf[];"), []byte("field:  u32 buf;"))
	if bytes.Equal(data, l.file()) {
		t.Fatal("the file is unchanged")
	}
	tables, want := ingesttest.MustRead(t, "trace.dat", data), ingesttest.MustRead(t, "trace.dat", l.file())
	tables.Want(t, "slice", "ts|dur|name", want.Rows("slice", "ts", "dur", "name")...)
	tables.Want(t, "args", "key|int_value|string_value", want.Rows("args", "key", "int_value", "string_value")...)
	tables.Want(t, "stats", "name|value", want.Rows("stats", "name", "value")...)
}

// TestTimestampCounter converts readings of the timestamp counter to ns as trace-cmd does, which leaves the offset out.
func TestTimestampCounter(t *testing.T) {
	l := layouts[0]
	uname, clock := l.option(5, []byte("Linux host 6.1.0 x86_64\x00")), "local [mono] boot"
	data := bytes.Replace(l.file(), uname, l.option(14, l.w(1<<20, 21, uint64(1e12), uint64(0))), 1)
	data = bytes.Replace(data, []byte(clock), []byte(pad("mono [x86-tsc]", len(clock))), 1)
	tables := ingesttest.MustRead(t, "trace.dat", data)
	tables.Want(t, "sched_slice", "ts|dur", "1000505|134217223", "135217728|-1")
}

// TestSwitchWithoutPID reads switches whose description lacks a pid: they name no thread, not the idle one.
func TestSwitchWithoutPID(t *testing.T) {
	data := bytes.ReplaceAll(layouts[0].file(), []byte("pid_t next_pid;"), []byte("pid_t next_xxx;"))
	tables := ingesttest.MustRead(t, "trace.dat", data)
	tables.Want(t, "sched_slice", "ts")
	if stats := strings.Join(tables.Rows("stats", "name", "value"), " "); !strings.Contains(stats, "ftrace_bundle_tokenizer_errors|2") {
		t.Error(stats)
	}
}

var reported = regexp.MustCompile(`\[(\d+)\] +(\d+)\.(\d+): (\w+):`)

// TestTraceCmd compares our events with trace-cmd's, where trace-cmd is installed.
func TestTraceCmd(t *testing.T) {
	path, err := exec.LookPath("trace-cmd")
	if err != nil {
		t.Skip("trace-cmd is not installed")
	}
	for _, l := range layouts {
		if l.compression == "zlib" {
			continue // packaged versions of trace-cmd lack zlib
		}
		file := filepath.Join(t.TempDir(), "trace.dat")
		if err := os.WriteFile(file, l.file(), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(path, "report", "-t", "-N", "-i", file).Output()
		if err != nil {
			t.Fatalf("%s: %v", l, err)
		}
		var want []string
		for _, m := range reported.FindAllStringSubmatch(string(out), -1) {
			cpu, _ := strconv.Atoi(m[1])
			ns, _ := strconv.ParseInt(m[2]+m[3], 10, 64)
			want = append(want, fmt.Sprintf("%d|%s|%d", ns-16_000, m[4], cpu)) // trace-cmd shows the time of day
		}
		ingesttest.MustRead(t, "trace.dat", l.file()).Want(t, "ftrace_event", "ts|name|cpu", want...)
	}
}

func TestCutAnywhere(t *testing.T) {
	for _, l := range []layout{layouts[0], layouts[4]} {
		data := l.file()
		for n := len("\x17\x08\x44tracing"); n < len(data); n += 1 + n/16 {
			tables, err := ingesttest.Read(t, ingesttest.File{Name: "trace.dat", Reader: bytes.NewReader(data[:n])})
			switch {
			case err != nil && !format.BadInput(err):
				t.Fatalf("%s, %d bytes: %v", l, n, err)
			case err == nil && len(tables.Rows("import_log", "name")) == 0:
				t.Fatalf("%s, %d bytes: not logged", l, n)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, l := range layouts {
		f.Add(l.file())
	}
	fuzz.Run(f, func(t *testing.T, data []byte) {
		if _, err := ingesttest.Read(t, ingesttest.File{Name: "trace.dat", Reader: bytes.NewReader(data)}); err != nil && !format.BadInput(err) {
			t.Error(err)
		}
	})
}
