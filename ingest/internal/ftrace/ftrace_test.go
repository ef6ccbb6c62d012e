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
