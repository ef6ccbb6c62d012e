package main

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/wire"
)

func TestTraced(t *testing.T) {
	const size = 60_000_000
	trace := generate(t, "ftrace-proto", size, 7)
	if !bytes.Equal(trace, generate(t, "ftrace-proto", size, 7)) {
		t.Error("two runs differ")
	}
	if n := len(trace); n < size || n > size+size/200 {
		t.Errorf("%d bytes", n)
	}
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
	for _, field := range []uint32{packetClocks, packetConfig, packetFtraceStats, packetProcessStats, packetProcessTree, packetSystemInfo, packetTraceStats} {
		if packets[field] == 0 {
			t.Errorf("no packet of field %d", field)
		}
	}
	for _, p := range []*tracepoint{tracePrint, schedSwitch, cpuFrequency, cpuIdle, clockSetRate, schedBlockedReason, schedWaking, softirqEntry,
		softirqExit, softirqRaise, irqHandlerEntry, irqHandlerExit, binderTransaction, binderReceived, schedWakeupNew, taskNewtask, taskRename,
		schedProcessExit, schedProcessFree, rssStat, driverMark, gpuJob, binderAllocBuf, oomScoreAdjUpdate} {
		if n := events[uint32(p.number)]; n < 100 {
			t.Errorf("%d of %s", n, p.name)
		}
	}
	if n := len(steps); n < 8 || steps[0] != tracingStarted || steps[1] != sourcesStarted || steps[n-1] != tracingDisabled {
		t.Fatalf("steps %d", steps)
	}
	for i, step := range steps[2 : len(steps)-1] {
		if want := []uint32{sourcesFlushed, buffersRead}[i%2]; step != want {
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
			for number, fields := range map[int][]int{schedSwitch.number: switchColumns, schedWaking.number: wakingColumns} {
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
