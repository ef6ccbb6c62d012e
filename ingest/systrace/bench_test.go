package systrace_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/model"
)

// BenchmarkRead reads a trace of scheduler and app events into a store without
// a sink.
func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(header)
	for i := range 100_000 {
		tid := 100 + i/4%50
		fmt.Fprintf(&text, "    RenderThread-%d   (  100) [00%d] d..2 1000.%06d: ", tid, i%8, i*9)
		switch i % 4 {
		case 0:
			fmt.Fprintf(&text, "sched_switch: prev_comm=RenderThread prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=Jit thread pool next_pid=%d next_prio=112\n", tid, 100+(i*7+3)%50)
		case 1:
			fmt.Fprintf(&text, "sched_waking: comm=Jit thread pool pid=%d prio=112 target_cpu=00%d\n", 100+i%47, i%8)
		case 2:
			text.WriteString("tracing_mark_write: B|100|Choreographer#doFrame\n")
		case 3:
			text.WriteString("tracing_mark_write: E|100\n")
		}
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		store := model.NewStore(model.Options{})
		if err := ingest.Read(store, "trace", bytes.NewReader(text.Bytes()), ingest.Options{}); err != nil {
			b.Fatal(err)
		}
		if rows := store.Rows()["sched_slice"]; rows != 25_000 {
			b.Fatalf("%d spans on CPUs", rows)
		}
	}
}
