package ftrace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model"
)

func TestTracepointsHaveHandlersAndFields(t *testing.T) {
	names := map[string]bool{}
	for _, tp := range tracepoints() {
		names[tp.Name] = true
	}
	for name := range handlers {
		if !names[name] {
			t.Errorf("there is no tracepoint %s", name)
		}
	}
	for _, f := range symbolFields {
		if !names[f.tracepoint] {
			t.Errorf("there is no tracepoint %s", f.tracepoint)
		}
	}
	sched := tracepoints()[4]
	if sched.Name != "sched_switch" || sched.Field(6).Name != "next_pid" || sched.Field(8) != nil || sched.Field(0) != nil {
		t.Errorf("sched_switch: %+v", sched)
	}
}

// newParser returns a parser that fills a new store.
func newParser() (*Parser, *model.Store) {
	s := model.NewStore(model.Options{})
	c := s.NewFile("trace", nil).Context(0)
	c.Machine.UseIdleProcess()
	return NewParser(c), s
}

// TestHandlersTakeAnything gives every tracepoint events without fields, and
// events with small numbers and with the largest ones.
func TestHandlersTakeAnything(t *testing.T) {
	p, s := newParser()
	p.Machine.SetSystem("Linux", "", "6.1.0", "aarch64")
	ts := int64(0)
	for i := range p.tracepoints {
		tp := &p.tracepoints[i]
		for _, v := range []uint64{0, 1, 2, 3, ^uint64(0), 1 << 63, 1<<31 - 1} {
			for fields := range 2 {
				ts++
				e := Event{TS: ts, CPU: 1, TID: 7}
				e.Reset(tp)
				for j := range tp.Fields {
					f := &tp.Fields[j]
					if f.Name == "" || fields == 0 {
						continue
					}
					if f.Type == Text {
						e.AddText(f, []byte(fmt.Sprint("C|7|x|", v)))
					} else {
						e.AddInt(f, v)
					}
				}
				p.Record(&e)
				p.Handle(&e)
			}
		}
	}
	p.File.Finish()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if s.Rows()["ftrace_event"] == 0 || s.Rows()["slice"] == 0 || s.Rows()["counter"] == 0 {
		t.Errorf("rows: %v", s.Rows())
	}
}

func TestParseMark(t *testing.T) {
	for text, want := range map[string]string{
		"B|12|name|with bars\n":         "B 12 name|with bars  0",
		"B|12|":                         "B 12 [empty slice name]  0",
		"B||x":                          "bad",
		"E|12":                          "E 12   0",
		"E":                             "E 0   0",
		"S|1|a|9":                       "S 1 a  9",
		"F|1|a|":                        "bad",
		"C|3|n|-5|Blob":                 "C 3 n  -5",
		"C|3|n|x":                       "bad",
		"I|3|n":                         "I 3 n  0",
		"N|3|track|n":                   "N 3 n track 0",
		"G|3|track|n|4\x00":             "G 3 n track 4",
		"H|3|track|n|4":                 "H 3  track 4",
		"H|3|track|4":                   "H 3  track 4",
		"hello":                         "bad",
		"":                              "bad",
		"trace_event_clock_sync: a=1.0": "other",
	} {
		m, ok, known := parseMark([]byte(text))
		got := fmt.Sprintf("%c %d %s %s %d", m.phase, m.tgid, m.name, m.track, m.value)
		switch {
		case !known:
			got = "other"
		case !ok:
			got = "bad"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzParseMark(f *testing.F) {
	f.Add([]byte("G|3|track|n|4\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, ok, _ := parseMark(text)
		if ok && len(m.name) > max(len(text), len(unnamedMark)) {
			t.Errorf("name %q of %q", m.name, text)
		}
	})
}

func TestTaskStateName(t *testing.T) {
	kernel := func(major, minor int) func(int, int) bool {
		return func(a, b int) bool { return major > a || major == a && minor >= b }
	}
	for _, c := range []struct {
		raw          uint16
		major, minor int
		want         string
	}{
		{0, 5, 10, "R"}, {1, 5, 10, "S"}, {0x100, 5, 10, "R+"}, {0x80, 5, 10, "I"}, {0x40, 5, 10, "P"}, {0x200, 5, 10, ""},
		{0x102, 5, 10, "D"}, {0x800, 0, 0, "R+"}, {0x1000, 4, 9, "R+"}, {0x402, 0, 0, "I"}, {0x42, 0, 0, "Dx"},
		{0x80 | 2, 4, 9, "DK"}, {0x3f, 0, 0, "SDT"},
		{0xffff, 0, 0, ""},
	} {
		if got := taskStateName(c.raw, kernel(c.major, c.minor)); got != c.want {
			t.Errorf("%#x on Linux %d.%d: %q, want %q", c.raw, c.major, c.minor, got, c.want)
		}
	}
}

func TestParseTaskState(t *testing.T) {
	old := func(int, int) bool { return false }
	for text, want := range map[string]string{
		"R": "R", "R+": "R+", "S": "S", "D": "D", "D|K": "DK", "DK": "DK", "x": "x", "X": "X", "I": "I", "D|N": "I",
		"t|P": "tP", "S+": "S", "0": "R", "1": "S", "130": "DK", "2048": "R+",
		"": "", "?": "", "Sq": "", "70000": "", "-1": "",
	} {
		if got := taskStateName(uint16(ParseTaskState([]byte(text))), old); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// send passes an event to the parser, with numeric fields given as name=value.
func send(p *Parser, ts, tid int64, tracepoint string, fields ...string) {
	e := Event{TS: ts, TID: tid}
	e.Reset(p.TracepointNamed(tracepoint))
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		f := e.Tracepoint.FieldNamed(name)
		if f.Type == Text {
			e.AddText(f, []byte(value))
			continue
		}
		var n uint64
		fmt.Sscan(value, &n)
		e.AddInt(f, n)
	}
	p.Record(&e)
	p.Handle(&e)
}

func TestBinderCallAndReply(t *testing.T) {
	p, s := newParser()
	send(p, 10, 1, "binder_transaction", "debug_id=7", "to_thread=0", "reply=0", "flags=16")
	send(p, 12, 2, "binder_transaction_received", "debug_id=7")
	send(p, 20, 2, "binder_transaction", "debug_id=8", "to_thread=1", "reply=1")
	send(p, 22, 1, "binder_transaction_received", "debug_id=8")
	type row struct{ ts, dur int64 }
	var got []row
	for i := range s.Slice.Rows() {
		ts, _ := s.Slice.TS.Get(i)
		dur, _ := s.Slice.Dur.Get(i)
		got = append(got, row{ts, dur})
	}
	if len(got) != 2 || got[0] != (row{10, 12}) || got[1] != (row{12, 8}) {
		t.Errorf("slices %v, want the call from 10 to 22 and the reply from 12 to 20", got)
	}
	out, _ := s.Flow.SliceOut.Get(0)
	in, _ := s.Flow.SliceIn.Get(0)
	if s.Flow.Rows() != 1 || out != 0 || in != 1 {
		t.Errorf("%d flows, from %d to %d", s.Flow.Rows(), out, in)
	}
}

func TestSyscallsAreNamedByArchitecture(t *testing.T) {
	for arch, want := range map[string]string{"x86_64": "sys_write", "aarch64": "sys_io_destroy", "": "sys_1"} {
		p, s := newParser()
		p.Machine.SetSystem("Linux", "", "5.0", arch)
		send(p, 1, 5, "sys_enter", "id=1")
		send(p, 4, 5, "sys_exit", "id=1", "ret=0")
		name, _ := s.Slice.Name.Get(0)
		dur, _ := s.Slice.Dur.Get(0)
		if got := s.Strings.Get(name); got != want || dur != 3 {
			t.Errorf("system call 1 of %q: %s of %d ns", arch, got, dur)
		}
	}
}

func TestGenericTracepointsCanBeTrackEvents(t *testing.T) {
	p, s := newParser()
	tp := p.Generic("my_event", []Field{{}, {Name: "track_event_type", Type: Uint32}, {Name: "slice_name", Type: Text}, {Name: "scope_cpu", Type: Int32}})
	e := Event{TS: 5, TID: 1}
	e.Reset(tp)
	e.AddInt(tp.Field(1), 'I')
	e.AddText(tp.Field(2), []byte("now"))
	p.Handle(&e) // the CPU is missing
	if s.Slice.Rows() != 0 || p.File.Stat(model.StatKernelTrackeventFormatError, model.None) != 1 {
		t.Errorf("%d slices of an event without its scope", s.Slice.Rows())
	}
	e.AddInt(tp.Field(3), 2)
	p.Handle(&e)
	track, _ := s.Slice.TrackID.Get(0)
	cpu, ok := s.Track.CPU.Get(int64(track))
	if s.Slice.Rows() != 1 || !ok || cpu != 2 {
		t.Errorf("%d slices, on the track of CPU %d", s.Slice.Rows(), cpu)
	}
}
