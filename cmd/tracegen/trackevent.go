package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
)

// trackWriter is a thread that writes track events with Perfetto's SDK: packets
// of a sequence, with times as differences and interned names.
type trackWriter struct {
	sequence uint64
	pid, tid uint64
	uuid     uint64
	now      uint64 // ns
	depth    int
	events   int
	fresh    bool // interned data must be written anew
	names    map[uint64]bool
}

const (
	trackEventWriters = 24
	statePeriod       = 20_000 // events between which interned data is kept
	sequenceClock     = 64
	boottime          = 6
)

var trackEventNames = []string{
	"ThreadControllerImpl::RunTask", "Scheduler::BeginFrame", "Graphics.Pipeline", "Blink.Style.UpdateTime",
	"LocalFrameView::layout", "V8.CompileCode", "MessageLoop::PostTask", "SimpleURLLoader::Start", "GPUTask", "Decode Image",
}

var (
	annotationNames = []string{"src_file", "src_func", "frame_id", "sequence", "url", "elapsed_ms"}
	sourceFiles     = []string{
		"third_party/blink/renderer/core/frame/local_frame_view.cc", "cc/scheduler/scheduler.cc",
		"base/task/thread_pool/worker_thread.cc", "content/browser/renderer_host/render_process_host_impl.cc",
	}
)

// writeTrackEvents writes a trace of track events alone.
func writeTrackEvents(w *bufio.Writer, size int64, rng *rand.Rand) error {
	const start = 1_000_000_000_000
	var writers []*trackWriter
	for i := range uint64(trackEventWriters) {
		writers = append(writers, &trackWriter{sequence: i + 2, pid: 1000 + i/6*100, tid: 1000 + i/6*100 + i%6,
			uuid: 0x9e3779b97f4a7c15 * (i + 1), now: start, fresh: true})
	}
	o := &output{w: w, left: size}
	clock := func(id, value uint64) message { return message{}.number(1, id).number(2, value) }
	snapshot := message{}.bytes(1, clock(boottime, start)).bytes(1, clock(3, start-5e9)).bytes(1, clock(1, 1.7e18)).number(2, boottime)
	o.packet(message{}.number(8, start).number(10, 1).bytes(6, snapshot))
	var flows []uint64
	for o.wantsMore() {
		t := writers[rng.IntN(len(writers))]
		// A thread writes its packets in chunks.
		for range 20 + rng.IntN(100) {
			if t.events%statePeriod == 0 {
				t.fresh = true
			}
			if t.fresh {
				for _, p := range t.begin() {
					o.packet(p)
				}
			}
			o.packet(t.event(rng, &flows))
		}
	}
	return o.err
}

// begin returns the packets that a sequence begins with, each time that it
// starts anew.
func (t *trackWriter) begin() []message {
	t.fresh, t.names = false, map[uint64]bool{}
	clocks := message{}.
		bytes(1, message{}.number(1, boottime).number(2, t.now)).
		bytes(1, message{}.number(1, sequenceClock).number(2, t.now).number(3, 1))
	defaults := message{}.number(58, sequenceClock).bytes(11, message{}.number(11, t.uuid))
	process := message{}.number(1, t.pid*7919).bytes(3, message{}.number(1, t.pid).bytes(6, fmt.Append(nil, "app-", t.pid)))
	thread := message{}.number(1, t.uuid).number(5, t.pid*7919).
		bytes(4, message{}.number(1, t.pid).number(2, t.tid).bytes(5, fmt.Append(nil, "worker-", t.tid)))
	return []message{
		message{}.number(10, t.sequence).number(13, 1).bytes(59, defaults).bytes(6, clocks),
		message{}.number(10, t.sequence).number(13, 2).number(8, 0).bytes(60, process),
		message{}.number(10, t.sequence).number(13, 2).number(8, 0).bytes(60, thread),
	}
}

// event returns a packet with an event: a slice begins or ends, or it is an
// instant.
func (t *trackWriter) event(rng *rand.Rand, flows *[]uint64) message {
	t.events++
	step := uint64(rng.IntN(30_000))
	t.now += step
	packet := message{}.number(8, step).number(10, t.sequence).number(13, 2)
	if t.depth > 0 && (t.depth > 12 || rng.IntN(2) == 0) {
		t.depth--
		return packet.bytes(11, message{}.number(9, 2))
	}
	kind := uint64(1)
	if rng.IntN(10) == 0 {
		kind = 3
	} else {
		t.depth++
	}
	var interned message
	intern := func(field int, iid uint64, text string) {
		if key := uint64(field)<<32 | iid; !t.names[key] {
			t.names[key] = true
			interned = interned.bytes(field, message{}.number(1, iid).bytes(2, []byte(text)))
		}
	}
	name := uint64(rng.IntN(400))
	intern(2, name+1, fmt.Sprint(trackEventNames[name%uint64(len(trackEventNames))], name))
	intern(1, name%5+1, "category"+fmt.Sprint(name%5))
	event := message{}.number(9, kind).number(10, name+1).number(3, name%5+1)
	for range rng.IntN(4) {
		i := uint64(rng.IntN(len(annotationNames)))
		intern(3, i+1, annotationNames[i])
		a := message{}.number(1, i+1)
		switch i {
		case 0:
			a = a.bytes(6, []byte(sourceFiles[rng.IntN(len(sourceFiles))]))
		case 1:
			a = a.bytes(6, fmt.Append(nil, "Function", rng.IntN(100)))
		case 4:
			a = a.bytes(6, fmt.Append(nil, "https://example.com/", rng.IntN(5000)))
		default:
			a = a.number(4, rng.Uint64N(1<<20))
		}
		event = event.bytes(4, a)
	}
	switch rng.IntN(12) {
	case 0:
		*flows = append(*flows, rng.Uint64())
		event = event.fixed64(47, (*flows)[len(*flows)-1])
	case 1:
		if n := len(*flows); n > 0 {
			event = event.fixed64(48, (*flows)[n-1])
			*flows = (*flows)[:n-1]
		}
	}
	packet = packet.bytes(11, event)
	if interned != nil {
		packet = packet.bytes(12, interned)
	}
	return packet
}
