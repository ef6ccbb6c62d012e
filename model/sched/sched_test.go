package sched_test

import (
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/sched"
	"github.com/tpconvert/tpconvert/model/table"
)

// collect keeps the sealed chunks, by table.
type collect map[string][]*table.Chunk

func (c collect) Chunk(chunk *table.Chunk) error {
	c[chunk.Schema.Name] = append(c[chunk.Schema.Name], chunk)
	return nil
}

// ints returns the values of a column from all sealed rows of a table.
func (c collect) ints(name, column string) []int64 {
	var all []int64
	for _, chunk := range c[name] {
		all = append(all, chunk.Column(chunk.Schema.Column(column)).Values.([]int64)...)
	}
	return all
}

// texts is ints for text columns.
func (c collect) texts(s *model.Store, name, column string) []string {
	var all []string
	for _, chunk := range c[name] {
		values, _ := chunk.Column(chunk.Schema.Column(column)).Values.([]table.StringID)
		for i := range chunk.Rows {
			if values == nil {
				all = append(all, "")
			} else {
				all = append(all, s.Strings.Get(values[i]))
			}
		}
	}
	return all
}

func TestThreadStates(t *testing.T) {
	const hardIRQ = 0x08 // TRACE_FLAG_HARDIRQ of include/linux/trace_events.h
	sealed := collect{}
	s := model.NewStore(model.Options{ChunkRows: 1, Sink: sealed})
	c := s.NewFile("trace", nil).Context(0)
	c.Machine.UseIdleProcess()
	idle, a, b := c.Machine.Thread(0), c.Machine.Thread(1), c.Machine.Thread(2)
	sleeping, disk := s.Strings.Intern("S"), s.Strings.Intern("D")

	c.Threads.Switch(10, 3, idle, s.Strings.Intern("R"), a)
	c.Threads.Switch(20, 3, a, disk, b)
	c.Threads.Wake(30, a, sched.Wakeup{Waker: b, Flags: hardIRQ})
	c.Threads.Wake(31, a, sched.Wakeup{Waker: b, Flags: model.None}) // already runnable
	c.Threads.Block(a, true, s.Strings.Intern("wait"))               // arrives after the wakeup
	if len(sealed["thread_state"]) != 1 {
		t.Errorf("%d states sealed, want the first of a only", len(sealed["thread_state"]))
	}
	c.Threads.Switch(40, 3, b, sleeping, a)
	c.File.Finish()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if !slices.Equal(got.([]string), want.([]string)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	check("states", sealed.texts(s, "thread_state", "state"), []string{"Running", "D", "Running", "R", "S", "Running"})
	check("functions", sealed.texts(s, "thread_state", "blocked_function"), []string{"", "wait", "", "", "", ""})
	if got, want := sealed.ints("thread_state", "dur"), []int64{10, 10, 20, 10, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("durs %v, want %v", got, want)
	}
	runnable := sealed["thread_state"][3]
	if got := runnable.Column(runnable.Schema.Column("waker_id")).Values.([]int64)[0]; got != 2 {
		t.Errorf("waker_id %d, want the state in which b ran, 2", got)
	}
	if got := sealed.ints("spurious_sched_wakeup", "thread_state_id"); !slices.Equal(got, []int64{3}) {
		t.Errorf("spurious wakeups during %v, want [3]", got)
	}
}

func TestSchedLeavesLostSpansOpen(t *testing.T) {
	sealed := collect{}
	s := model.NewStore(model.Options{Sink: sealed})
	c := s.NewFile("trace", nil).Context(0)
	c.Sched.End(5, 1, 0) // nothing began
	c.Sched.Begin(10, 1, c.Machine.Thread(1), 120)
	c.Sched.Begin(15, 1, c.Machine.Thread(2), 100)
	c.Sched.End(25, 1, s.Strings.Intern("S"))
	c.File.Finish()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	if got, want := sealed.ints("sched_slice", "dur"), []int64{-1, 10}; !slices.Equal(got, want) {
		t.Errorf("durs %v, want %v", got, want)
	}
}
