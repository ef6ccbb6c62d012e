package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// Fields of TracePacket, and those of CompactSched for switches and wakeups.
const (
	packetFtrace     = 1
	packetTrackEvent = 11
	packetInterned   = 12
	packetService    = 69
)

var (
	switchColumns = []int{1, 2, 3, 4, 6}
	wakingColumns = []int{7, 8, 9, 10, 11, 12}
)

func TestTraced(t *testing.T) {
	trace := generate(t, "ftrace-proto", 8_000_000)
	packets := map[uint32]int{}
	events := map[uint32]int{}
	last := map[uint64]uint64{} // time of a CPU's last event
	steps := []uint32{}
	for packet := wire.Read(trace); packet.Next(); {
		for f := wire.Read(packet.Bytes()); f.Next(); {
			packets[f.Number]++
			switch f.Number {
			case packetFtrace:
				checkBundle(t, f.Bytes(), last, events)
			case packetService:
				step := wire.Read(f.Bytes())
				step.Next()
				steps = append(steps, step.Number)
			}
		}
	}
	for _, field := range []uint32{2, 6, 9, 33, 34, 35, 45} { // processes and their memory, clocks, the setup and counts
		if packets[field] == 0 {
			t.Errorf("no packet of field %d", field)
		}
	}
	const schedSwitch, schedWaking = 4, 20
	for _, number := range []uint32{3, schedSwitch, 11, 13, 16, 18, schedWaking, 50, 51, 313, 323, 327} {
		if n := events[number]; n < 100 {
			t.Errorf("%d events of field %d", n, number)
		}
	}
	checkSteps(t, steps)
}

// checkSteps checks what the service says of itself: that it starts, flushes and writes by turns, and stops.
func checkSteps(t *testing.T, steps []uint32) {
	t.Helper()
	n := len(steps)
	if n < 6 || steps[0] != 2 || steps[1] != 1 || steps[n-1] != 5 {
		t.Fatalf("steps %d", steps)
	}
	for i, step := range steps[2 : n-1] {
		if want := []uint32{3, 4}[i%2]; step != want {
			t.Errorf("step %d is %d, want %d", i, step, want)
		}
	}
}

// checkBundle counts the events of a bundle by tracepoint.
func checkBundle(t *testing.T, bundle []byte, last map[uint64]uint64, events map[uint32]int) {
	var cpu, end uint64
	times := func(from, at uint64) uint64 {
		if at < from {
			t.Fatalf("an event of CPU %d is of %d, after one of %d", cpu, at, from)
		}
		end = max(end, at)
		return at
	}
	begin := uint64(0)
	for f := wire.Read(bundle); f.Next(); {
		switch f.Number {
		case 1:
			cpu = f.Uint64()
			begin = last[cpu]
		case 2:
			event := wire.Read(f.Bytes())
			event.Next()
			begin = times(begin, event.Uint64())
			for event.Next() {
				if event.Type == wire.Bytes {
					events[event.Number]++
				}
			}
		case 4:
			columns := map[uint32][]uint64{}
			comms := uint64(0)
			for c := wire.Read(f.Bytes()); c.Next(); {
				if c.Number == 5 {
					comms++
				} else {
					columns[c.Number] = slices.Collect(c.Varints)
				}
			}
			for number, fields := range map[int][]int{4: switchColumns, 20: wakingColumns} {
				n := len(columns[uint32(fields[0])])
				events[uint32(number)] += n
				at := uint64(0)
				for _, d := range columns[uint32(fields[0])] {
					at = times(max(at, last[cpu]), at+d)
				}
				for _, field := range fields {
					if len(columns[uint32(field)]) != n {
						t.Errorf("%d values in column %d, want %d", len(columns[uint32(field)]), field, n)
					}
				}
			}
			for _, field := range []uint32{6, 11} {
				for _, i := range columns[field] {
					if i >= comms {
						t.Fatalf("comm %d of %d", i, comms)
					}
				}
			}
		}
	}
	last[cpu] = max(last[cpu], end)
}

var ftraceLine = regexp.MustCompile(`^ *(\S.*)-(\d+) +\((?: *\d+|-+)\) \[00[0-7]\] d\.\.2 (\d+\.\d{6}): (\w+): (.+)$`)

func TestFtrace(t *testing.T) {
	const size = 300_000
	text := generate(t, "ftrace", size)
	events, depths, last := map[string]int{}, map[string]int{}, ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := ftraceLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[3] < last {
			t.Fatalf("%q after %s", line, last)
		}
		last = m[3]
		event, mark, tid := m[4], m[5], m[2]
		switch {
		case event != "tracing_mark_write":
		case mark[0] == 'B':
			depths[tid]++
		case mark[0] == 'E':
			depths[tid]--
		}
		if depths[tid] < 0 {
			t.Fatalf("%q ends what did not begin", line)
		}
		events[event]++
	}
	for _, event := range []string{"sched_switch", "sched_waking", "tracing_mark_write", "cpu_idle", "cpu_frequency", "binder_transaction"} {
		if events[event] < 20 {
			t.Errorf("%d of %s", events[event], event)
		}
	}
}
