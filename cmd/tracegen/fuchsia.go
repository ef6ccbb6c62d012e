package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/template"
)

// fuchsiaComponents are kinds of events of three programs: phases, category, name, and args with a type and a value.
var fuchsiaComponents = []struct {
	name  string
	kinds [][4]string
}{
	{"scenic.cm", [][4]string{
		{"X", "gfx", "RenderFrame", "frame_number u64 i/18, target i64 i"},
		{"X", "gfx", "scenic_impl::display::Compositor::DrawFrame", "frame_number u64 i/18, layers i32 r%12"},
		{"X", "gfx", "Vulkan submit", "queue pointer r%4, wait bool r%2"},
		{"X", "magma", "Connection::ExecuteCommandBuffer", "id koid r%64, semaphores u32 r%4"},
	}},
	{"workstation_session.cm", [][4]string{
		{"X", "flutter", "Animator::BeginFrame", "frame_number u64 i/18"},
		{"X", "dart", "HandleMessage", "isolate string root|service|worker, mode string AOT|JIT"},
		{"X", "dart", "CollectNewGeneration", "usedBefore u64 r%512, reason string full|idle|promotion"},
		{"X", "flutter", "Layout", "dirty u32 r%40, ratio double r%100"},
	}},
	{"blobfs.cm", [][4]string{
		{"X", "blobfs", "Blob::Read", "offset u64 r%4096, length u32 r%16"},
		{"X", "storage", "txn", "operation string read|write|flush|trim, blocks i32 r%64"},
		{"X", "minfs", "Minfs::BeginTransaction", "reserve u32 r%8, inode u64 r%300"},
	}},
}

// fuchsiaOthers are kinds of events that all of them have.
var fuchsiaOthers = [][4]string{
	{"BE", "app", "wait", ""},
	{"I", "app", "task_start", "posted bool r%2"},
	{"C", "memory", "heap", "used u64 r%5000, load double r%400"},
	{"bne", "fidl", "fuchsia.ui.composition/Flatland.Present", ""},
	{"sf", "async", "dispatch", ""},
}

// fuchsiaArgs are templates of args by their type, for the reference to a name and a value.
var fuchsiaArgs = map[string]string{
	"i32": "8:0x11|%d<<16|(%s)<<32 ", "u32": "8:0x12|%d<<16|(%s)<<32 ", "i64": "8:0x23|%d<<16 8:%s ", "u64": "8:0x24|%d<<16 8:%s ",
	"double": "8:0x25|%d<<16 8:0x3ff0000000000000+(%s)<<40 ", "string": "8:0x16|%d<<16|(%s)<<32 ", "pointer": "8:0x27|%d<<16 8:%s ",
	"koid": "8:0x28|%d<<16 8:%s ", "bool": "8:0x19|%d<<16|(%s)<<32 ",
}

// fuchsiaTrace collects the strings that each provider registers.
type fuchsiaTrace struct{ strings []string }

// ref returns a reference to a string.
func (f *fuchsiaTrace) ref(s string) int {
	if !slices.Contains(f.strings, s) {
		f.strings = append(f.strings, s)
	}
	return 1 + slices.Index(f.strings, s)
}

// fuchsia is a trace as a trace manager writes it: sections of a provider each, which are the kernel and three components with 6 threads.
func fuchsia() format {
	var f fuchsiaTrace
	var components []template.Shape
	for i, c := range fuchsiaComponents {
		kinds := slices.Concat(c.kinds, fuchsiaOthers)
		task := tasks(func(ph string, begin, end int) template.Shape { return f.event(ph, begin, end, kinds) })
		components = append(components, template.Join(section(i+2), task))
	}
	// A CPU runs four of the threads in turn. i counts switches, and n sections.
	const at, cpu, from, to = startTime + "+n*33333+i*10000", "n%4", "(n%4+i%4*4)", "(n%4+(i+1)%4*4)"
	wake := fmt.Sprintf("8:8|4<<4|1<<16|(%s)<<20|2<<60 8:%s 8:%s 8:1|1<<4|%d<<16|3122<<32 ", cpu, at, koid(to), f.ref("weight"))
	run := fmt.Sprintf("8:8|6<<4|2<<16|(%s)<<20|3<<36|1<<60 8:%s+2000 8:%s 8:%s 8:1|1<<4|%d<<16|3122<<32 8:1|1<<4|%d<<16|3122<<32 ", cpu, at, koid(from), koid(to),
		f.ref("outgoing_weight"), f.ref("incoming_weight"))
	kernel := template.Join(section(1), template.Little("*8["+wake+run+"]"))
	process := f.ref("process")
	head := []string{"8:0x0016547846040010 ", f.provider(1, "ktrace")}
	for i, c := range fuchsiaComponents {
		koid := 2000 + 100*i
		head = append(head, f.provider(i+2, c.name), fuchsiaRecord(7|1<<16|inlined(c.name)<<24, fmt.Sprintf("8:%d ", koid)+padded(c.name)))
		for t := range 6 {
			name := fmt.Sprint("worker-", t)
			head = append(head,
				fuchsiaRecord(7|2<<16|inlined(name)<<24|1<<40, fmt.Sprintf("8:%d %s 8:8|2<<4|%d<<16 8:%d ", koid+1+t, padded(name), process, koid)),
				fuchsiaRecord(3|(t+1)<<16, fmt.Sprintf("8:%d 8:%d ", koid, koid+1+t)))
		}
	}
	return format{
		head: template.Little(strings.Join(head, "")),
		each: func(b []byte, i, n int) []byte {
			return kernel(components[i%3](b, i, n), i, n)
		},
		tail: template.Join(),
	}
}

// koid is the number of one of the 18 threads.
func koid(thread string) string { return "2001+" + thread + "%3*100+" + thread + "/3" }

// provider is the beginning of a provider: its ticks of a second, and its strings.
func (f *fuchsiaTrace) provider(id int, name string) string {
	head := fuchsiaRecord(1<<16|id<<20|len(name)<<52, padded(name)) + fuchsiaRecord(1, "8:1000000000 ")
	for i, s := range f.strings {
		head += fuchsiaRecord(2|(i+1)<<16|len(s)<<32, padded(s))
	}
	return head
}

func section(provider int) template.Shape {
	return template.Little(fuchsiaRecord(2<<16|provider<<20, ""))
}

// fuchsiaRecord is a template of a record, of which the size is in the header. Its type is 0 for metadata, 1 for ticks, 2 for a string, 3 for
// a thread, 4 for an event, 7 for a process or thread with its name, and 8 for scheduling.
func fuchsiaRecord(header int, body string) string {
	size := len(template.Little(body)(nil, 0, 0))/8 + 1
	return fmt.Sprintf("8:%d %s", header|size<<4, body)
}

func inlined(s string) int { return 1<<15 | len(s) }

func padded(s string) string { return fmt.Sprintf(`"%s" *%d[1:0] `, s, -len(s)&7) }

// event is an event of one of the kinds.
func (f *fuchsiaTrace) event(ph string, begin, end int, kinds [][4]string) template.Shape {
	const time = startTime + "+i/18*600000+(%d<<(i*7919%%4))"
	at := func(step int) string { return fmt.Sprintf("8:"+time+" ", 1000*step) }
	var all []template.Shape
	for _, k := range kinds {
		if !strings.Contains(k[0], ph) {
			continue
		}
		args, count := f.args(k[3])
		record := func(kind, count int, body string) string {
			header := 4 | kind<<16 | count<<20 | f.ref(k[1])<<32 | f.ref(k[2])<<48
			return strings.Replace(fuchsiaRecord(header, body), " ", "|(1+i/3%6)<<24 ", 1) // the thread
		}
		kind := strings.Index("ICBEXbnestf", ph)
		switch ph {
		case "X": // or a begin and an end
			all = append(all, template.Little(record(kind, count, at(begin)+args+at(end))), template.Little(record(2, count, at(begin)+args)+record(3, 0, at(end))))
		case "B", "E", "I":
			all = append(all, template.Little(record(kind, count, at(begin)+args)))
		case "C": // of the counter 0
			all = append(all, template.Little(record(kind, count, at(begin)+args+"8:0 ")))
		default:
			all = append(all, template.Little(record(kind, count, at(begin)+args+"8:i ")))
		}
	}
	return template.Pick(at(begin), all)
}

// args returns a template of args, and their number.
func (f *fuchsiaTrace) args(list string) (values string, count int) {
	for arg := range strings.SplitSeq(list, ", ") {
		if arg == "" {
			break
		}
		a := strings.Fields(arg)
		name, value := f.ref(a[0]), a[2]
		if texts := strings.Split(value, "|"); a[1] == "string" {
			value = fmt.Sprintf("%d+r%%%d", f.ref(texts[0]), len(texts))
			for _, text := range texts {
				f.ref(text)
			}
		}
		values += fmt.Sprintf(fuchsiaArgs[a[1]], name, value)
		count++
	}
	return values, count
}
