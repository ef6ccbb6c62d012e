package machine

import (
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/model/schema"
)

// invented are the processes and threads that the trace names by a text. Their pids and tids are no more than a wish: if a real
// process or thread turns out to have the number, they get another.
type invented struct {
	processes map[schema.UPID]bool
	threads   map[schema.UTID]bool
}

// InventedProcess says that the pid of a process is not the trace's.
func (m *Machine) InventedProcess(upid schema.UPID) {
	if m.invented.processes == nil {
		m.invented.processes = map[schema.UPID]bool{}
	}
	m.invented.processes[upid] = true
}

// InventedThread says that the tid of a thread is not the trace's.
func (m *Machine) InventedThread(utid schema.UTID) {
	if m.invented.threads == nil {
		m.invented.threads = map[schema.UTID]bool{}
	}
	m.invented.threads[utid] = true
}

// renumber gives invented numbers that are also real ones the next numbers that are neither. Equal numbers stay equal.
func (m *Machine) renumber() {
	numbers := map[int64]int64{} // by the invented number
	for upid := range m.invented.processes {
		numbers[m.PID(upid)] = m.PID(upid)
	}
	for utid := range m.invented.threads {
		numbers[m.TID(utid)] = m.TID(utid)
	}
	if len(numbers) == 0 {
		return
	}
	taken := m.realNumbers()
	for _, wish := range slices.Sorted(maps.Keys(numbers)) {
		n := wish
		for taken[n] || n != wish && numbers[n] != 0 {
			n++
		}
		numbers[wish], taken[n] = n, true
	}
	for upid := range m.invented.processes {
		m.all.tables.Process.PID.Set(int64(upid), numbers[m.PID(upid)])
	}
	for utid := range m.invented.threads {
		m.all.tables.Thread.TID.Set(int64(utid), numbers[m.TID(utid)])
	}
}

// realNumbers returns all pids and tids that are not invented.
func (m *Machine) realNumbers() map[int64]bool {
	real := map[int64]bool{}
	for upid := range schema.UPID(m.all.tables.Process.Rows()) {
		if !m.invented.processes[upid] {
			real[m.PID(upid)] = true
		}
	}
	for utid := range schema.UTID(m.all.tables.Thread.Rows()) {
		if !m.invented.threads[utid] {
			real[m.TID(utid)] = true
		}
	}
	return real
}
