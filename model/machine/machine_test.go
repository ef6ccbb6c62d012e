package machine_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tpconvert/tpconvert/model"
)

// TestWideNumbers finds threads and processes by numbers of which only the upper half, or the
// sign, differs.
func TestWideNumbers(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	m := s.Machine(0)
	numbers := []int64{5, 1<<32 | 5, 7<<32 | 5, -5, 1<<32 - 5, math.MinInt64, math.MaxInt64}
	threads := map[int64]model.UTID{}
	for _, n := range numbers {
		threads[n] = m.ThreadOf(n, n)
	}
	for _, n := range numbers {
		utid := m.ThreadOf(n, n)
		if utid != threads[n] || m.TID(utid) != n || m.PID(m.ProcessOf(utid)) != n {
			t.Errorf("%d is thread %d, then %d, with tid %d and pid %d", n, threads[n], utid, m.TID(utid), m.PID(m.ProcessOf(utid)))
		}
	}
	if rows := s.Rows()["thread"]; rows != int64(len(numbers))+1 {
		t.Errorf("%d threads", rows)
	}
}

// A tid and a pid belong to the last thread and process that began with them.
func TestNumbersAreUsedAgain(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	m := s.Machine(0)
	first := m.ThreadOf(12, 10)
	m.EndThread(5, 10) // the main thread: the process ends with it
	second := m.Thread(12)
	if second == first || m.ProcessOf(second) != model.None {
		t.Errorf("thread %d after the end of the process of thread %d, in process %d", second, first, m.ProcessOf(second))
	}
	if upid := m.Process(10); upid == m.ProcessOf(first) {
		t.Error("the process that ended has its pid still")
	}
	if end, ok := s.Tables.Process.EndTS.Get(int64(m.ProcessOf(first))); !ok || end != 5 {
		t.Errorf("the process ends at %d", end)
	}
}

// Threads known to share a process join it, as do children of threads whose process was unknown.
func TestAssociatedThreads(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	m := s.Machine(0)
	a, b, c := m.Thread(1), m.Thread(2), m.Thread(3)
	m.Associate(a, b, true)
	m.Associate(b, c, true)
	child := m.Process(50)
	m.SetParentThread(child, c)
	upid := m.ProcessOf(m.ThreadOf(1, 1))
	for _, utid := range []model.UTID{a, b, c} {
		if m.ProcessOf(utid) != upid {
			t.Errorf("thread %d is in process %d, want %d", utid, m.ProcessOf(utid), upid)
		}
	}
	if parent, _ := s.Tables.Process.ParentUPID.Get(int64(child)); parent != upid {
		t.Errorf("the parent is %d, want %d", parent, upid)
	}
	if m.Associate(a, m.ThreadOf(60, 50), true) {
		t.Error("threads of two processes share one")
	}
}

func TestKernelAtLeast(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	m := s.Machine(0)
	for release, want := range map[string][3]bool{ // at least 4.14, 5.10, 6.1
		"5.10.107-android13": {true, true, false}, "4.14": {true, false, false}, "6.1.0": {true, true, true}, "": {}, "rolling": {},
	} {
		m.SetSystem("Linux", "", release, "")
		if got := [3]bool{m.KernelAtLeast(4, 14), m.KernelAtLeast(5, 10), m.KernelAtLeast(6, 1)}; got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
	m.SetSystem("Darwin", "", "23.1.0", "")
	if m.KernelAtLeast(4, 14) {
		t.Error("Darwin is no version of Linux")
	}
}

// CPUs have 4096 ids for each machine; other numbers come after all of these.
func TestCPUs(t *testing.T) {
	s := model.NewStore(model.Options{})
	defer s.Close()
	first, second := s.Machine(0), s.Machine(7)
	if a, b := first.CPU(3), second.CPU(3); a != 3 || b != 4096+3 {
		t.Errorf("ids %d and %d", a, b)
	}
	if a, b := first.CPU(-1), first.CPU(5000); a == b || a != first.CPU(-1) || min(a, b) < 1<<40 {
		t.Errorf("ids %d and %d of odd numbers", a, b)
	}
}

// Threads are found by their process as by their tid, which is what happens while the process of a thread is unknown.
func TestThreadsOfManyProcesses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s, other := model.NewStore(model.Options{}), model.NewStore(model.Options{})
	defer s.Close()
	defer other.Close()
	m, byTID := s.Machine(0), other.Machine(0)
	byTID.Thread(1000) // its process is unknown, and its utid comes first
	const first = 1
	for i := range int64(20000) {
		tid, pid := 1+random.Int64N(9), 1+random.Int64N(9)
		switch random.IntN(8) {
		case 0:
			m.StartProcess(&i, model.None, pid, 0, 0)
			byTID.StartProcess(&i, model.None, pid, 0, 0)
		case 1:
			m.EndThread(i, tid)
			byTID.EndThread(i, tid)
		default:
			if got, want := m.ThreadOf(tid, pid), byTID.ThreadOf(tid, pid)-first; got != want {
				t.Fatalf("%d: thread %d of process %d is %d, want %d", i, tid, pid, got, want)
			}
		}
		got, want := m.LiveThread(tid), byTID.LiveThread(tid)
		if want != model.None {
			want -= first
		}
		if got != want {
			t.Fatalf("%d: thread %d is %d, want %d", i, tid, got, want)
		}
	}
}
