package families

import (
	"testing"
)

// Each machine takes memory, so a small file must not name very many.
func TestTooManyMachines(t *testing.T) {
	process := func(machine int64) message {
		return message{}.num(8, machine+1).num(10, 1).num(98, machine).msg(2, message{}.msg(1, message{}.num(1, 5)))
	}
	var trace []message
	for machine := range int64(300) {
		trace = append(trace, process(machine))
	}
	r := readTrace(t, packets(trace...))
	if got := len(r.rows("machine", "id")); got != 256 {
		t.Errorf("%d machines, want 256", got)
	}
	if got := r.stats["too_many_machines"]; got != 44 {
		t.Errorf("%d packets of too many machines, want 44", got)
	}
	// A machine that was there before is still read.
	again := append(trace, message{}.num(8, 1000).num(10, 1).num(98, 3).msg(2, message{}.msg(1, message{}.num(1, 77))))
	r = readTrace(t, packets(again...))
	if got := r.stats["too_many_machines"]; got != 44 {
		t.Errorf("%d packets of too many machines after one of a known machine, want 44", got)
	}
}
