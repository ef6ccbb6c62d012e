package main

import (
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/internal/tracecase"
)

// perfettoSlice returns a Perfetto trace with one slice of a thread, in ns of the boot clock.
func perfettoSlice(t *testing.T, pid, tid int, boottime, monotonic, from, to int64) []byte {
	t.Helper()
	_, data, err := tracecase.Trace(&txtar.File{Name: "a.textproto", Data: fmt.Appendf(nil, `
		packet { clock_snapshot { clocks { clock_id: 6 timestamp: %d } clocks { clock_id: 3 timestamp: %d } } }
		packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 5 thread { pid: %d tid: %d } } }
		packet { timestamp: %d trusted_packet_sequence_id: 1 track_event { type: TYPE_SLICE_BEGIN track_uuid: 5 name: "in Perfetto" } }
		packet { timestamp: %d trusted_packet_sequence_id: 1 track_event { type: TYPE_SLICE_END track_uuid: 5 } }`,
		boottime, monotonic, pid, tid, from, to)})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// chromeSlice returns the same as Chrome JSON, in ns of the monotonic clock.
func chromeSlice(pid, tid int, from, to int64) []byte {
	return fmt.Appendf(nil, `[{"ph": "X", "name": "in JSON", "pid": %d, "tid": %d, "ts": %d.%03d, "dur": %d.%03d}]`,
		pid, tid, from/1000, from%1000, (to-from)/1000, (to-from)%1000)
}
