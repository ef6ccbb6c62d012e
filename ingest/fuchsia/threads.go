package fuchsia

import "github.com/tpconvert/tpconvert/model"

// koids identify a thread and its process.
type koids struct{ process, thread uint64 }

// thread is a thread that a trace names.
type thread struct {
	koids
	utid    model.UTID
	changes int // count of the machine's thread changes when utid was looked up
}

// threads numbers threads, starting at 1. The small numbers keep tokens short.
type threads[Name comparable] struct {
	numbers map[Name]int
	all     []thread // by number
}

func newThreads[Name comparable]() threads[Name] {
	return threads[Name]{numbers: map[Name]int{}, all: make([]thread, 1)}
}

// add returns the number of a thread.
func (t *threads[Name]) add(name Name, ids koids) int {
	number, ok := t.numbers[name]
	if !ok {
		number = len(t.all)
		t.numbers[name] = number
		t.all = append(t.all, thread{koids: ids, changes: -1})
	}
	return number
}

// utid returns the machine's id of a thread, whose koids are the tid and pid.
func (p *parser) utid(t *thread) model.UTID {
	if t.changes != p.Machine.ThreadChanges() {
		t.utid = p.Machine.ThreadOf(int64(t.thread), int64(t.process))
		t.changes = p.Machine.ThreadChanges()
	}
	return t.utid
}
