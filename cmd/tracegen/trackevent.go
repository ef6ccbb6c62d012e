package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// trackEvents records an application's track events: Perfetto's SDK writes them, in one
// sequence per thread, and traced streams them.
type trackEvents struct {
	service
	rng     *rand.Rand
	threads []*trackThread
	flows   []uint64 // open ones
	left    int64    // bytes to record
}

// trackThread is a thread that writes track events, with delta times and interned names.
type trackThread struct {
	sequence uint64
	pid, tid uint64
	uuid     uint64
	now      int64 // ns, of boottime
	depth    int
	events   int
	names    map[uint64]bool // interned ones
	packets  []pb.Message    // to write
}

const (
	trackEventThreads = 24
	threadsOfProcess  = 6
	statePeriod       = 20_000 // events until interned data is cleared
	eventPeriod       = 200e3  // ns between two events of a thread, on average
	sequenceClock     = 64
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

// writeTrackEvents writes a trace of only track events.
func writeTrackEvents(w *bufio.Writer, size int64, rng *rand.Rand) error {
	now := int64(1_000_000_000_000)
	t := &trackEvents{service: service{&output{w: w}}, rng: rng, left: size}
	for i := range uint64(trackEventThreads) {
		pid := 1000 + i/threadsOfProcess*100
		t.threads = append(t.threads, &trackThread{sequence: serviceSequence + 1 + i, pid: pid, tid: pid + i%threadsOfProcess,
			uuid: 0x9e3779b97f4a7c15 * (i + 1), now: now + rng.Int64N(eventPeriod)})
	}
	t.begin(now, "track_event")
	for t.left > 0 && t.out.err == nil {
		now = t.record(now + writePeriod)
		t.flushed(now)
		for _, thread := range t.threads {
			t.sequence(producer{systemUID + thread.pid, thread.pid}, thread.sequence, thread.packets)
			thread.packets = thread.packets[:0]
		}
		t.event(now, buffersRead)
	}
	t.end(now)
	return t.out.err
}

// record runs the threads up to a time, or until the trace is large enough, and returns
// the time reached.
func (t *trackEvents) record(end int64) int64 {
	for t.left > 0 {
		thread := slices.MinFunc(t.threads, func(a, b *trackThread) int { return cmp.Compare(a.now, b.now) })
		if thread.now >= end {
			return end
		}
		first := len(thread.packets)
		if thread.events%statePeriod == 0 {
			thread.begin()
		}
		thread.event(t.rng, &t.flows)
		for _, m := range thread.packets[first:] {
			t.left -= int64(len(m)) + packetHead
		}
	}
	return end
}

// packetHead is the approximate number of bytes that the service adds to a packet.
const packetHead = 11

// begin starts the sequence anew.
func (t *trackThread) begin() {
	t.names = map[uint64]bool{}
	clocks := pb.Message{}.
		Bytes(1, pb.Message{}.Number(1, boottime).Number(2, uint64(t.now))).
		Bytes(1, pb.Message{}.Number(1, sequenceClock).Number(2, uint64(t.now)).Number(3, 1))
	defaults := pb.Message{}.Number(packetClock, sequenceClock).Bytes(packetTrackEvent, pb.Message{}.Number(11, t.uuid))
	process := pb.Message{}.Number(1, t.pid*7919).Bytes(3, pb.Message{}.Number(1, t.pid).Bytes(6, fmt.Append(nil, "app-", t.pid)))
	thread := pb.Message{}.Number(1, t.uuid).Number(5, t.pid*7919).
		Bytes(4, pb.Message{}.Number(1, t.pid).Number(2, t.tid).Bytes(5, fmt.Append(nil, "worker-", t.tid)))
	t.packets = append(t.packets,
		pb.Message{}.Number(packetFlags, clearedState).Bytes(packetDefaults, defaults).Bytes(packetClocks, clocks),
		pb.Message{}.Number(packetFlags, needsState).Number(packetTime, 0).Bytes(packetTrack, process),
		pb.Message{}.Number(packetFlags, needsState).Number(packetTime, 0).Bytes(packetTrack, thread))
}

// event adds a packet with an event: the begin or end of a slice, or an instant.
func (t *trackThread) event(rng *rand.Rand, flows *[]uint64) {
	t.events++
	step := rng.Int64N(2 * eventPeriod)
	t.now += step
	packet := pb.Message{}.Number(packetTime, uint64(step)).Number(packetFlags, needsState)
	if t.depth > 0 && (t.depth > 12 || rng.IntN(2) == 0) {
		t.depth--
		t.packets = append(t.packets, packet.Bytes(packetTrackEvent, pb.Message{}.Number(9, 2)))
		return
	}
	kind := uint64(1)
	if rng.IntN(10) == 0 {
		kind = 3
	} else {
		t.depth++
	}
	var interned pb.Message
	intern := func(field int, iid uint64, text string) {
		if key := uint64(field)<<32 | iid; !t.names[key] {
			t.names[key] = true
			interned = interned.Bytes(field, pb.Message{}.Number(1, iid).Bytes(2, []byte(text)))
		}
	}
	name := uint64(rng.IntN(400))
	intern(2, name+1, fmt.Sprint(trackEventNames[name%uint64(len(trackEventNames))], name))
	intern(1, name%5+1, "category"+fmt.Sprint(name%5))
	event := pb.Message{}.Number(9, kind).Number(10, name+1).Number(3, name%5+1)
	for range rng.IntN(4) {
		i := uint64(rng.IntN(len(annotationNames)))
		intern(3, i+1, annotationNames[i])
		a := pb.Message{}.Number(1, i+1)
		switch i {
		case 0:
			a = a.Bytes(6, []byte(sourceFiles[rng.IntN(len(sourceFiles))]))
		case 1:
			a = a.Bytes(6, fmt.Append(nil, "Function", rng.IntN(100)))
		case 4:
			a = a.Bytes(6, fmt.Append(nil, "https://example.com/", rng.IntN(5000)))
		default:
			a = a.Number(4, rng.Uint64N(1<<20))
		}
		event = event.Bytes(4, a)
	}
	switch rng.IntN(12) {
	case 0:
		*flows = append(*flows, rng.Uint64())
		event = event.Fixed64(47, (*flows)[len(*flows)-1])
	case 1:
		if n := len(*flows); n > 0 {
			event = event.Fixed64(48, (*flows)[n-1])
			*flows = (*flows)[:n-1]
		}
	}
	packet = packet.Bytes(packetTrackEvent, event)
	if interned != nil {
		packet = packet.Bytes(packetInterned, interned)
	}
	t.packets = append(t.packets, packet)
}
