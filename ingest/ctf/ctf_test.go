package ctf_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/internal/ingesttest"
)

// folder returns an archive of a folder with a trace.
func folder(t testing.TB, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Size: int64(len(f[1])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUST compares the events of a recording by LTTng with what babeltrace2 shows.
func TestUST(t *testing.T) {
	data, err := os.ReadFile("../../testdata/ust.ctf.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../testdata/record/ust/ust.ctf.txt")
	if err != nil {
		t.Fatal(err)
	}
	tables := ingesttest.MustRead(t, "ust.ctf.tar.gz", data)
	compare(t, "ust", eventsOf(tables), shown(string(text), kernelNames(tables)))
	tables.Want(t, "thread", "tid|name", "0|NULL", "25031|demo", "25034|till")
	tables.Want(t, "process", "pid|name", "0|NULL", "25031|demo")
	tables.Want(t, "stats", "name|value", "clock_sync_cache_miss|1")
	if at := tables.Rows("clock_snapshot", "clock_name", "clock_value"); len(at) != 2 {
		t.Errorf("clocks: %v", at)
	}
}

// TestSamples compares traces of others, archives in the folder ctf of FORMAT_SAMPLES, with what babeltrace2 shows of them:
//
//	babeltrace2 --no-delta --clock-seconds --fields=callsite FOLDER >NAME.tar.txt
func TestSamples(t *testing.T) {
	ingesttest.Samples(t, "ctf/*.tar", func(file string, data []byte) {
		text, err := os.ReadFile(file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		tables, err := ingesttest.Read(t, ingesttest.File{Name: "trace", Reader: bytes.NewReader(data)})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			return
		}
		compare(t, filepath.Base(file), eventsOf(tables), shown(string(text), kernelNames(tables)))
		if got, want := ran(tables), switches(string(text)); !maps.Equal(got, want) {
			t.Errorf("%s: threads ran for %v, want %v", filepath.Base(file), got, want)
		}
		t.Logf("%s: %d threads ran, %v", filepath.Base(file), len(ran(tables)), tables.Rows("stats", "name", "value"))
	})
}

// ran returns how long each thread ran, in ns by tid.
func ran(tables *ingesttest.Tables) map[string]int64 {
	sums := map[string]int64{}
	tids := tables.Rows("thread", "tid")
	for _, row := range tables.Rows("sched_slice", "utid", "dur") {
		utid, text, _ := strings.Cut(row, "|")
		i, _ := strconv.Atoi(utid)
		if dur, _ := strconv.ParseInt(text, 10, 64); dur >= 0 {
			sums[tids[i]] += dur
		}
	}
	return sums
}

var switchLine = regexp.MustCompile(`^\[(\d+)\.(\d+)\] (?:sched:)?sched_switch: .*\b(?:cpu_id|perf_cpu) = (\d+)\b.*next_(?:tid|pid) = (\d+)`)

// switches returns how long each thread ran, from the switches in the text of babeltrace2.
func switches(text string) map[string]int64 {
	type running struct {
		tid   string
		since int64
	}
	cpus := map[string]running{}
	sums := map[string]int64{}
	for l := range strings.Lines(text) {
		m := switchLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		now, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
		if last, ok := cpus[m[3]]; ok {
			sums[last.tid] += now - last.since
		}
		cpus[m[3]] = running{m[4], now}
	}
	return sums
}

// compare compares events, each on a line. Their order is that of the lines, because events of the same time have no other.
func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	differences := 0
	for i, j := 0, 0; (i < len(got) || j < len(want)) && differences < 10; {
		switch {
		case i < len(got) && j < len(want) && same(got[i], want[j]):
			i, j = i+1, j+1
		case j == len(want) || i < len(got) && got[i] < want[j]:
			t.Errorf("%s: there is %.600s", name, got[i])
			i, differences = i+1, differences+1
		default:
			t.Errorf("%s: missing is %.600s", name, want[j])
			j, differences = j+1, differences+1
		}
	}
	t.Logf("%s: %d events, of %d", name, len(got), len(want))
}

// same compares two events. babeltrace2 2.0.4 shows an empty text as the last one that was not.
func same(got, want string) bool {
	return got == want || strings.Contains(got, `""`) &&
		regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(got), `""`, `"[^"]*"`)+"$").MatchString(want)
}

// kernelNames returns the names in ftrace_event, or nil if it is empty.
func kernelNames(tables *ingesttest.Tables) (names map[string]bool) {
	for _, name := range tables.Rows("ftrace_event", "name") {
		if names == nil {
			names = map[string]bool{}
		}
		names[name] = true
	}
	return names
}

// eventsOf returns the events in slice and ftrace_event.
func eventsOf(tables *ingesttest.Tables) (all []string) {
	sets := map[string][]string{}
	for _, row := range tables.Rows("args", "arg_set_id", "key", "value_type", "int_value", "real_value", "string_value") {
		v := strings.SplitN(row, "|", 6)
		value := v[3]
		switch v[2] {
		case "string":
			value = strconv.Quote(v[5])
			if v[5] == "NULL" {
				value = `""`
			}
		case "real":
			n, _ := strconv.ParseFloat(v[4], 64)
			value = fmt.Sprintf("%.6g", n)
		}
		key := v[1]
		if field, ok := strings.CutPrefix(key, "packet."); ok { // babeltrace2 does not tell which context it is
			key = "context." + field
		}
		sets[v[0]] = append(sets[v[0]], key+"="+value)
	}
	event := func(ts int64, name, set string, names bool) {
		args := sets[set]
		if name == "sched_switch" {
			args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !switched.MatchString(a) })
		}
		if !names {
			args = valuesOf(args)
		}
		all = append(all, fmt.Sprintf("%d.%09d %s %s", ts/1e9, ts%1e9, name, strings.Join(args, " ")))
	}
	kernel := tables.Rows("ftrace_event", "ts", "name", "arg_set_id")
	for _, row := range kernel {
		v := strings.Split(row, "|")
		ts, _ := strconv.ParseInt(v[0], 10, 64)
		event(ts, v[1], v[2], false)
	}
	if len(kernel) > 0 {
		return all
	}
	for _, row := range tables.Rows("slice", "ts", "dur", "name", "category", "arg_set_id") {
		v := strings.Split(row, "|")
		ts, _ := strconv.ParseInt(v[0], 10, 64)
		dur, _ := strconv.ParseInt(v[1], 10, 64)
		if v[3] == "ros2" && !strings.HasPrefix(v[2], "ros2:") { // a callback
			event(ts, "ros2:callback_start", v[4], true)
			sets["end"] = slices.DeleteFunc(slices.Clone(sets[v[4]]), func(a string) bool { return !strings.HasPrefix(a, "callback=") })
			event(ts+dur, "ros2:callback_end", "end", true)
			continue
		}
		if !strings.HasPrefix(v[3], "lttng_ust_cyg_profile") {
			event(ts, v[2], v[4], true)
			continue
		}
		event(ts, v[3]+":func_entry", v[4], true)
		exit := v[4]
		if strings.HasSuffix(v[3], "_fast") { // which has no fields then
			exit = ""
		}
		if dur >= 0 {
			event(ts+dur, v[3]+":func_exit", exit, true)
		}
	}
	return all
}

func valuesOf(args []string) (values []string) {
	for _, a := range args {
		values = append(values, a[strings.IndexByte(a, '=')+1:])
	}
	slices.Sort(values)
	return values
}

var (
	line = regexp.MustCompile(`^(?:\[([0-9.]+)\] )?(.*?): (\{.*\})$`)
	// The thread is in the table thread, the CPU in a column, and the length of a sequence is that of its elements.
	elsewhere = regexp.MustCompile(`^(context\.(cpu_id|vtid|vpid|tid|pid|procname)|_.*_length|perf_(cpu|tid|pid)|common_.*)=`)
	switched  = regexp.MustCompile(`^(prev|next)_(comm|tid|pid)`) // priority and state are as ftrace shows them
	subsystem = regexp.MustCompile(`^(.*:|irq_|timer_|power_|kmem_)`)
	ranges    = regexp.MustCompile(`^(other|RANGE.*)$`)
)

// shown returns the events in the text of babeltrace2. Fields of the kernel's events have no names, because those of ftrace are others.
func shown(text string, kernel map[string]bool) (all []string) {
	for l := range strings.Lines(text) {
		m := line.FindStringSubmatch(strings.TrimSuffix(l, "\n"))
		if m == nil {
			all = append(all, "?"+l)
			continue
		}
		p := &printed{rest: m[3]}
		var args []string
		for p.rest != "" {
			p.args = nil
			p.value("")
			more := strings.HasPrefix(p.rest, ", ")
			p.rest = strings.TrimPrefix(p.rest, ", ")
			for _, a := range p.args {
				if more {
					a = "context." + a
				}
				if !elsewhere.MatchString(a) {
					args = append(args, a)
				}
			}
		}
		name := m[2]
		if kernel != nil {
			if short := subsystem.ReplaceAllString(name, ""); !kernel[name] && kernel[short] {
				name = short
			}
			if name == "sched_switch" {
				args = slices.DeleteFunc(args, func(a string) bool { return !switched.MatchString(a) })
			}
			args = valuesOf(args)
		}
		ts := m[1]
		if ts == "" {
			ts = fmt.Sprintf("0.%09d", len(all)+1)
		}
		all = append(all, ts+" "+name+" "+strings.Join(args, " "))
	}
	return all
}

// printed is text of babeltrace2.
type printed struct {
	rest string
	args []string
}

// value parses a value with the key.
func (p *printed) value(key string) {
	switch {
	case strings.HasPrefix(p.rest, "{"), strings.HasPrefix(p.rest, "["):
		p.list(key)
	case strings.HasPrefix(p.rest, "("):
		var label, number string
		if end := strings.Index(p.rest, " : container = "); p.rest[2] == '"' {
			label = p.text(2)
			p.rest = p.rest[strings.Index(p.rest, " : container = ")+len(" : container = "):]
		} else {
			p.rest = p.rest[end+len(" : container = "):]
		}
		number, p.rest, _ = strings.Cut(p.rest, " )")
		if label == "" || ranges.MatchString(label) {
			p.add(key, number)
		} else {
			p.add(key, strconv.Quote(label))
		}
	case strings.HasPrefix(p.rest, `"`):
		p.add(key, strconv.Quote(p.text(0)))
	default:
		n := strings.IndexAny(p.rest, " ,")
		if n < 0 {
			n = len(p.rest)
		}
		number := p.rest[:n]
		p.rest = p.rest[n:]
		if hex, err := strconv.ParseUint(number, 0, 64); err == nil {
			number = strconv.FormatInt(int64(hex), 10) // as in the column int_value
		}
		p.add(key, number)
	}
}

func (p *printed) add(key, value string) { p.args = append(p.args, key+"="+value) }

// text parses a text in quotes from an offset.
func (p *printed) text(at int) string {
	var b strings.Builder
	for i := at + 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String()
		case '\\':
			i++
			if at := strings.IndexByte(`abfnrtv`, p.rest[i]); at >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v"[at])
			} else {
				b.WriteByte(p.rest[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	p.rest = ""
	return b.String()
}

// list parses a structure or an array.
func (p *printed) list(key string) {
	open := p.rest[0]
	p.rest = strings.TrimLeft(p.rest[1:], " ")
	for p.rest[0] != '}' && p.rest[0] != ']' {
		k := key
		switch before, after, ok := strings.Cut(p.rest, " = "); {
		case !ok || strings.ContainsAny(before, `",{}`) && open == '{': // a variant's option
		case open == '[':
			k, p.rest = key+before, after
		case key != "":
			k, p.rest = key+"."+before, after
		default:
			k, p.rest = before, after
		}
		p.value(k)
		p.rest = strings.TrimLeft(p.rest, ", ")
	}
	p.rest = p.rest[1:]
}

// small is the metadata of a kernel's trace, with packets of 32 bytes and more.
const small = `/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 32; align = 8; signed = true; } := pid_t;
trace {
	major = 1; minor = 8; byte_order = ORDER;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env { domain = "kernel"; tracer_name = "lttng-modules"; sysname = "Linux"; kernel_release = "6.1.0"; };
clock { name = "monotonic"; freq = 1000000000; offset_s = 1700000000; offset = 5; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
stream {
	id = 7;
	packet.context := struct { uint64_clock_t timestamp_begin; uint32_t content_size; uint32_t packet_size; uint16_t events_discarded; uint16_t cpu_id; };
	event.header := struct {
		enum : integer { size = 5; align = 1; signed = false; } { compact = 0 ... 30, extended = 31 } id;
		variant <id> {
			struct { uint27_clock_t timestamp; } compact;
			struct { uint32_t id; uint64_clock_t timestamp; } extended;
		} v;
	} align(8);
};
event { name = "sched_switch"; id = 0; stream_id = 7; fields := struct {
	integer { size = 8; align = 8; encoding = UTF8; } _prev_comm[4]; pid_t _prev_tid; uint8_t _prev_prio; uint8_t _prev_state;
	integer { size = 8; align = 8; encoding = UTF8; } _next_comm[4]; pid_t _next_tid; uint8_t _next_prio; }; };
event { name = "syscall_entry_openat"; id = 1; stream_id = 7; fields := struct { string _filename; uint8_t __modes_length; uint16_t _modes[__modes_length]; }; };
event { name = "syscall_exit_openat"; id = 2; stream_id = 7; fields := struct { integer { size = 64; signed = true; } _ret; }; };
event { name = "irq_handler_entry"; id = 3; stream_id = 7; fields := struct { pid_t _irq; string _name; }; };
event { name = "irq_handler_exit"; id = 4; stream_id = 7; fields := struct { pid_t _irq; pid_t _ret; }; };
event { name = "sched_process_fork"; id = 5; stream_id = 7; fields := struct { string _parent_comm; pid_t _parent_tid; pid_t _parent_pid; string _child_comm; pid_t _child_tid; pid_t _child_pid; }; };
event { name = "lttng_statedump_process_state"; id = 6; stream_id = 7; fields := struct { pid_t _tid; pid_t _pid; pid_t _ppid; string _name; }; };
event { name = "bits"; id = 300; stream_id = 7; fields := struct {
	integer { size = 3; } a; integer { size = 7; signed = true; } b; integer { size = 17; } c; integer { size = 60; } d; integer { size = 1; } e;
	floating_point { exp_dig = 8; mant_dig = 24; align = 32; } f; };
};
`

// writer writes packets of the trace small, bit by bit.
type writer struct {
	big  bool
	bits []byte // one each
}

func (w *writer) number(size int, n uint64) {
	for i := range size {
		if w.big {
			i = size - 1 - i
		}
		w.bits = append(w.bits, byte(n>>i&1))
	}
}

func (w *writer) align(to int) {
	for len(w.bits)%to != 0 {
		w.bits = append(w.bits, 0)
	}
}

// fields writes numbers of their types' sizes, and texts.
func (w *writer) fields(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case uint8:
			w.number(8, uint64(v))
		case uint16:
			w.number(16, uint64(v))
		case int32:
			w.number(32, uint64(uint32(v)))
		case uint32:
			w.number(32, uint64(v))
		case uint64:
			w.number(64, v)
		case string:
			for i := range len(v) {
				w.number(8, uint64(v[i]))
			}
		}
	}
}

// event writes the head of an event: compact with the lowest 27 bits of its time, or extended.
func (w *writer) event(id uint32, time uint64, fields ...any) {
	w.align(8)
	if id < 31 {
		w.number(5, uint64(id))
		w.number(27, time&(1<<27-1))
	} else {
		w.number(5, 31)
		w.align(8)
		w.fields(id, time)
	}
	w.fields(fields...)
}

// bytes packs the bits.
func (w *writer) bytes() string {
	w.align(8)
	data := make([]byte, len(w.bits)/8)
	for i, bit := range w.bits {
		at := i % 8
		if w.big {
			at = 7 - at
		}
		data[i/8] |= bit << at
	}
	return string(data)
}

// packet writes a packet of a CPU with some bytes behind its contents.
func packet(big bool, begin uint64, discarded, cpu uint16, events func(*writer)) string {
	const head = 28
	body := &writer{big: big, bits: make([]byte, 8*head)}
	events(body)
	size := uint32(len(body.bits))
	w := &writer{big: big}
	w.fields(uint32(0xc1fc1fc1), uint32(7), begin, size, (size+7)&^7+24, discarded, cpu)
	w.bits = append(w.bits, body.bits[len(w.bits):]...)
	return w.bytes() + "\x00\xff\x00"
}

const wrap = 1 << 27 // ns, when compact times begin again

// kernelTrace returns the files of a trace of two CPUs.
func kernelTrace(big bool) [][2]string {
	order := "le"
	if big {
		order = "be"
	}
	begin := uint64(5*wrap - 100)
	cpu0 := packet(big, begin, 0, 0, func(w *writer) {
		w.event(6, begin, int32(12), int32(10), int32(1), "app\x00")
		w.event(1, begin+10, "/etc/x\x00", uint8(2), uint16(3), uint16(500))
		w.event(3, begin+20, int32(9), "eth0\x00")
		w.event(4, begin+30, int32(9), int32(1))
		w.event(2, begin+200, ^uint64(1)) // beyond a multiple of 2^27 ns
		w.event(0, begin+300, "app\x00", int32(12), uint8(20), uint8(1), "sh\x00\x00", int32(20), uint8(21))
		w.event(0, begin+400, "sh\x00\x00", int32(20), uint8(21), uint8(0), "app\x00", int32(12), uint8(20))
	}) + packet(big, begin+wrap, 3, 0, func(w *writer) {
		w.event(300, begin+wrap+7)
		w.align(32) // of the structure, because of its last field
		w.number(3, 5)
		w.number(7, 127-63)
		w.number(17, 1<<17-2)
		w.number(60, 1<<59+1)
		w.number(1, 1)
		w.align(32)
		w.fields(uint32(0x3fc00000))
	})
	cpu1 := packet(big, begin, 1, 1, func(w *writer) {
		w.event(5, begin+50, "app\x00", int32(12), int32(10), "kid\x00", int32(30), int32(30))
		w.event(5, begin+60, "app\x00", int32(12), int32(10), "job\x00", int32(31), int32(30))
	})
	return [][2]string{{"t/metadata", strings.Replace(small, "ORDER", order, 1)}, {"t/c_0", cpu0}, {"t/c_1", cpu1}, {"t/index/c_0.idx", "index"}, {"t/empty", ""}}
}

// TestKernel reads a trace of a kernel in both byte orders. The rows follow from the values written.
func TestKernel(t *testing.T) {
	for _, big := range []bool{false, true} {
		tables := ingesttest.MustRead(t, "t.tar", folder(t, kernelTrace(big)...))
		at := func(ns int) string { return strconv.Itoa(1700000000_000000005 + 5*wrap - 100 + ns) }
		tables.Want(t, "ftrace_event", "ts|name|cpu",
			at(0)+"|lttng_statedump_process_state|0", at(10)+"|syscall_entry_openat|0", at(20)+"|irq_handler_entry|0", at(30)+"|irq_handler_exit|0",
			at(50)+"|sched_process_fork|1", at(60)+"|sched_process_fork|1", at(200)+"|syscall_exit_openat|0", at(300)+"|sched_switch|0", at(400)+"|sched_switch|0",
			at(wrap+7)+"|bits|0")
		tables.Want(t, "slice", "ts|dur|name", at(10)+"|190|sys_openat", at(20)+"|10|IRQ (eth0)")
		tables.Want(t, "sched_slice", "ts|dur|priority|end_state", at(300)+"|100|121|R", at(400)+"|-1|120|NULL")
		tables.Want(t, "process", "pid|name|parent_upid", "0|NULL|NULL", "10|NULL|2", "1|NULL|NULL", "30|kid|1")
		tables.Want(t, "stats", "name|value", "clock_sync_cache_miss|1", "ctf_events_discarded|4")
		var args []string
		for _, row := range tables.Rows("args", "key", "int_value", "real_value", "string_value") {
			args = append(args, strings.ReplaceAll(row, "|NULL", ""))
		}
		for _, want := range []string{"filename|/etc/x", "modes[0]|3", "modes[1]|500", "ret|-2", "a|5", "b|-64", "c|131070", "d|576460752303423489", "e|1", "f|1.5",
			"child_pid|31", "child_tgid|30"} {
			if !slices.Contains(args, want) {
				t.Errorf("big %v: no %s in %v", big, want, args)
			}
		}
	}
}

// TestClockOffsets checks times in cycles that are no whole ns: an offset is in cycles, too, and only the sum is rounded.
func TestClockOffsets(t *testing.T) {
	metadata := "/* CTF 1.8 */ trace { byte_order = le; }; clock { name = c; freq = 3; offset_s = 100; offset = %d; };" +
		"stream { event.header := struct { integer { size = 8; map = clock.c.value; } timestamp; }; }; event { name = e; fields := struct { }; };"
	for offset, want := range map[int][]string{2: {"100666666666", "101333333333", "102333333333"}, -2: {"99333333333", "100000000000", "101000000000"}} {
		tables, _ := ingesttest.MayFail(t, folder(t, [2]string{"metadata", fmt.Sprintf(metadata, offset)}, [2]string{"s", "\x00\x02\x05"}))
		tables.Want(t, "slice", "ts", want...)
	}
}

// TestCallbacks reads callbacks of ROS 2, in the buffers of a process, without a thread and without a clock.
func TestCallbacks(t *testing.T) {
	const metadata = `/* CTF 1.8 */
		trace { major = 1; minor = 8; byte_order = le; };
		env { domain = "ust"; vpid = 77; procname = "talker"; };
		stream { id = 4; event.header := struct { integer { size = 8; } id; }; };
		event { name = "ros2:rclcpp_callback_register"; id = 0; fields := struct { integer { size = 16; base = hex; } _callback; string _symbol; }; };
		event { name = "ros2:callback_start"; id = 1; fields := struct { integer { size = 16; base = hex; } _callback; integer { size = 8; } _intra; }; };
		event { name = "ros2:callback_end"; id = 2; fields := struct { integer { size = 16; base = hex; } _callback; }; };
		event { name = "other"; id = 3; fields := struct { string _text; string _empty; }; };`
	const stream = "\x00\x34\x12void f()\x00" + "\x01\x34\x12\x01" + "\x03x\x00\x00" + "\x02\x34\x12" + "\x01\x35\x12\x00" + "\x02\x35\x12"
	tables := ingesttest.MustRead(t, "t.tar", folder(t, [2]string{"metadata", metadata}, [2]string{"s_0", stream}))
	tables.Want(t, "slice", "ts|dur|name|category|depth", "1|0|ros2:rclcpp_callback_register|ros2|0", "2|2|void f()|ros2|0", "3|0|other|NULL|1", "5|1|callback 0x1235|ros2|0")
	tables.Want(t, "track", "name|type", "s_0|process_track")
	tables.Want(t, "process", "pid|name", "0|NULL", "77|talker")
	tables.Want(t, "stats", "name")
	args := tables.Rows("args", "key", "string_value")
	if !slices.Contains(args, "text|x") || !slices.Contains(args, "empty|") {
		t.Errorf("args: %q", args)
	}
}

// TestCallbacksOfProcesses reads callbacks of two processes that have the same address, which nodes without randomized addresses do.
func TestCallbacksOfProcesses(t *testing.T) {
	const metadata = `/* CTF 1.8 */
		trace { major = 1; minor = 8; byte_order = le; };
		env { domain = "ust"; };
		stream { event.header := struct { integer { size = 8; } id; };
			event.context := struct { integer { size = 8; } _vpid; integer { size = 8; } _vtid; }; };
		event { name = "ros2:rclcpp_callback_register"; id = 0; fields := struct { integer { size = 16; base = hex; } _callback; string _symbol; }; };
		event { name = "ros2:callback_start"; id = 1; fields := struct { integer { size = 16; base = hex; } _callback; integer { size = 8; } _intra; }; };
		event { name = "ros2:callback_end"; id = 2; fields := struct { integer { size = 16; base = hex; } _callback; }; };`
	const stream = "\x00\x07\x07\x34\x12talk()\x00" + "\x00\x08\x08\x34\x12listen()\x00" + "\x01\x07\x09\x34\x12\x00" + "\x02\x07\x09\x34\x12" +
		"\x01\x08\x08\x34\x12\x00" + "\x02\x08\x08\x34\x12" + "\x01\x06\x06\x34\x12\x00" + "\x02\x06\x06\x34\x12"
	tables := ingesttest.MustRead(t, "t.tar", folder(t, [2]string{"metadata", metadata}, [2]string{"s_0", stream}))
	tables.Want(t, "slice", "ts|dur|name", "1|0|ros2:rclcpp_callback_register", "2|0|ros2:rclcpp_callback_register",
		"3|1|talk()", "5|1|listen()", "7|1|callback 0x1234")
}

// fragments is metadata of version 2, with the roles of fields instead of their names.
func fragments(texts ...string) string {
	all := append([]string{`{"type": "preamble", "version": 2, "uuid": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}`}, texts...)
	return "\x1e" + strings.Join(all, "\n\x1e") + "\n"
}

// integer2 is a field class of version 2. more begins with a comma.
func integer2(bits int, more string) string {
	return fmt.Sprintf(`{"type": "fixed-length-unsigned-integer", "length": %d, "byte-order": "little-endian", "alignment": 8%s}`, bits, more)
}

// structure2 is a structure of version 2, of names and classes.
func structure2(members ...string) string {
	var all []string
	for i := 0; i < len(members); i += 2 {
		all = append(all, fmt.Sprintf(`{"name": %q, "field-class": %s}`, members[i], members[i+1]))
	}
	return `{"type": "structure", "member-classes": [` + strings.Join(all, ", ") + `]}`
}

var version2 = fragments(
	`{"type": "trace-class", "environment": {"hostname": "h", "major": 2}, "packet-header-field-class": `+structure2(
		"a", integer2(32, `, "roles": ["packet-magic-number"]`),
		"b", `{"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}`,
		"c", integer2(8, `, "roles": ["data-stream-class-id"]`))+`}`,
	`{"type": "clock-class", "id": "x", "name": "monotonic", "frequency": 1000000000, "offset-from-origin": {"seconds": 1700000000, "cycles": 5}}`,
	`{"type": "field-class-alias", "name": "octet", "field-class": `+integer2(8, "")+`}`,
	`{"type": "data-stream-class", "id": 7, "default-clock-class-id": "x", "packet-context-field-class": `+structure2(
		"t", integer2(64, `, "roles": ["default-clock-timestamp"]`),
		"s", integer2(32, `, "roles": ["packet-total-length"]`),
		"u", integer2(32, `, "roles": ["packet-content-length"]`))+`, "event-record-header-field-class": `+structure2(
		"n", integer2(8, `, "roles": ["event-record-class-id"]`),
		"o", integer2(16, `, "roles": ["default-clock-timestamp"]`))+`, "event-record-common-context-field-class": `+structure2("vtid", `"octet"`)+`}`,
	`{"type": "event-record-class", "data-stream-class-id": 7, "id": 3, "name": "many", "payload-field-class": `+structure2(
		"level", integer2(8, `, "mappings": {"low": [[1, 1]], "high": [[5, 5]], "wide": [[6, 9]]}`),
		"there", `{"type": "fixed-length-boolean", "length": 8, "byte-order": "little-endian"}`,
		"maybe", `{"type": "optional", "selector-field-location": {"path": ["there"]}, "field-class": {"type": "null-terminated-string"}}`,
		"also", `{"type": "optional", "selector-field-location": {"origin": "event-record-payload", "path": ["level"]}, "selector-field-ranges": [[5, 9]], "field-class": "octet"}`,
		"n", `{"type": "variable-length-unsigned-integer"}`,
		"text", `{"type": "dynamic-length-string", "length-field-location": {"origin": "event-record-payload", "path": ["n"]}}`,
		"inner", structure2(
			"either", `{"type": "variant", "selector-field-location": {"path": [null, "level"]}, "options": [
				{"field-class": {"type": "variable-length-signed-integer"}, "selector-field-ranges": [[0, 4]]},
				{"field-class": {"type": "static-length-string", "length": 4}, "selector-field-ranges": [[5, 255]]}]}`),
		"blob", `{"type": "dynamic-length-blob", "length-field-location": {"path": ["n"]}}`,
		"list", `{"type": "static-length-array", "length": 2, "element-field-class": "octet"}`)+`}`)

// stream2 returns a stream of version2, of two packets with an event each.
func stream2() string {
	packet := func(events string) string {
		head := "\xc1\x1f\xfc\xc1" + strings.Repeat("u", 16) + "\x07"
		size := len(head) + 16 + len(events)
		b := binary.LittleEndian.AppendUint64([]byte(head), 1000)
		b = binary.LittleEndian.AppendUint32(b, uint32(8*size)+64)
		b = binary.LittleEndian.AppendUint32(b, uint32(8*size))
		return string(b) + events + strings.Repeat("p", 8)
	}
	return packet("\x03\xf0\x03\x2a"+"\x05\x01there\x00\x09\x03abcx\x00yz\x01\x02\x03\x0a\x0b") +
		packet("\x03\xf1\x03\x2a"+"\x01\x00\x80\x00\xff\x7e\x0a\x0b")
}

// TestVersion2 reads metadata of version 2, where roles say what fields are, and fields may be missing.
func TestVersion2(t *testing.T) {
	tables := ingesttest.MustRead(t, "t.tar", folder(t, [2]string{"metadata", version2}, [2]string{"s_0", stream2()}))
	tables.Want(t, "slice", "ts|dur|name", "1700000000000001013|0|many", "1700000000000001014|0|many")
	tables.Want(t, "thread", "tid", "0", "42")
	tables.Want(t, "args", "arg_set_id|key|int_value|string_value", "0|utid|1|NULL",
		"1|level|NULL|high", "1|there|1|NULL", "1|maybe|NULL|there", "1|also|9|NULL", "1|n|3|NULL", "1|text|NULL|abc", "1|inner.either|NULL|x",
		"1|blob[0]|1|NULL", "1|blob[1]|2|NULL", "1|blob[2]|3|NULL", "1|list[0]|10|NULL", "1|list[1]|11|NULL",
		"13|level|NULL|low", "13|there|0|NULL", "13|n|0|NULL", "13|text|NULL|", "13|inner.either|-129|NULL", "13|list[0]|10|NULL", "13|list[1]|11|NULL")
	env := tables.Rows("metadata", "name", "int_value", "str_value")
	for _, want := range []string{"ctf_env.hostname|NULL|h", "ctf_env.major|2|NULL"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	tables.Want(t, "stats", "name", "clock_sync_cache_miss")
}

// TestVersion2Refused checks what metadata of version 2 may not have.
func TestVersion2Refused(t *testing.T) {
	event := func(class string) string {
		return fragments(`{"type": "trace-class"}`, `{"type": "data-stream-class"}`, `{"type": "event-record-class", "name": "e", "payload-field-class": `+structure2("f", class)+`}`)
	}
	deep := strings.Repeat(`{"type": "static-length-array", "length": 1, "element-field-class": `, 100) + integer2(8, "") + strings.Repeat("}", 100)
	for metadata, want := range map[string]string{
		"\x1e{\"type\": \"preamble\", \"version\": 3}": "metadata: version 3: not supported",
		event(`"none"`):         `the type "none" is not declared`,
		event(deep):             "types nested more than 64 deep",
		event(integer2(65, "")): "an integer of 65 bits",
		event(integer2(8, `, "bit-order": "last-to-first"`)):                                       "little-endian bytes with bits last-to-first: not supported",
		event(`{"type": "null-terminated-string", "encoding": "utf-16le"}`):                        `texts in "utf-16le": not supported`,
		event(`{"type": "dynamic-length-string", "length-field-location": {"path": ["there"]}}`):   "f refers to there, which is not there",
		event(`{"type": "complex"}`):                                                               `the field class "complex"`,
		event(`{"type": "structure", "minimum-alignment": 3}`):                                     "an alignment of 3 bits",
		fragments(`{"type": "clock-class", "id": "c", "frequency": 0}`, `{"type": "trace-class"}`): "a clock of 0 Hz",
		fragments(`{"type": "trace-class", "environment": 1}`):                                     "cannot unmarshal",
	} {
		_, err := ingesttest.Read(t, ingesttest.File{Name: "t.tar", Reader: bytes.NewReader(folder(t, [2]string{"metadata", metadata}, [2]string{"s_0", "abc"}))})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200q: %v, want %s", metadata, err, want)
		}
	}
}

// unpack returns the files of a compressed archive.
func unpack(t testing.TB, name string) (files [][2]string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, [2]string{h.Name, string(data)})
	}
}

// TestOtherSequences checks that other sequences of JSON are no trace.
func TestOtherSequences(t *testing.T) {
	for text, want := range map[string]bool{
		version2:                true,
		"\x1e\n" + version2[1:]: true,
		"\x1e{\"qlog_version\": \"0.3\"}\n\x1e{\"a\": \"preamble\"}": false,
		"\x1epreamble": false,
	} {
		if f := ingest.Detect([]byte(text)); (f != nil && f.Name == "ctf") != want {
			t.Errorf("%.60q is %+v", text, f)
		}
	}
}
