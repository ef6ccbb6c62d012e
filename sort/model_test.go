package sort

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/internal/fuzz"
)

// modelEvent is an event of the reference model. Its index in model.staged
// before any delivery is its order of arrival.
type modelEvent struct {
	stream  int
	arrival int
	ts      int64
	payload []byte
}

func (e modelEvent) String() string {
	return fmt.Sprintf("{%d #%d ts=%d len=%d}", e.stream, e.arrival, e.ts, len(e.payload))
}

// model is a reference for the sorter: plain slices that are sorted again for
// every delivery.
type model struct {
	streams    []modelStream
	arrivals   int
	delivered  []modelEvent
	last       int64
	outOfOrder int64
}

type modelStream struct {
	staged  []modelEvent
	tie     func([]byte) int64
	max     int64
	tieFrom int64
}

func newModel(streams int) *model {
	m := &model{streams: make([]modelStream, streams), last: math.MinInt64}
	for i := range m.streams {
		m.streams[i].max, m.streams[i].tieFrom = math.MinInt64, math.MaxInt64
	}
	return m
}

func (m *model) push(stream int, ts int64, payload []byte) {
	st := &m.streams[stream]
	st.staged = append(st.staged, modelEvent{stream, m.arrivals, ts, payload})
	m.arrivals++
	if ts < st.max || ts == st.max && st.tie != nil {
		st.tieFrom = min(st.tieFrom, ts)
	}
	st.max = max(st.max, ts)
}

func (m *model) release(mark int) {
	for i := range m.streams {
		st := &m.streams[i]
		slices.SortFunc(st.staged, func(a, b modelEvent) int {
			if c := cmp.Compare(a.ts, b.ts); c != 0 {
				return c
			}
			if st.tie != nil && a.ts >= st.tieFrom {
				if c := cmp.Compare(st.tie(a.payload), st.tie(b.payload)); c != 0 {
					return c
				}
			}
			return cmp.Compare(a.arrival, b.arrival)
		})
	}
	var next *modelStream
	for {
		// The stream that delivered last continues unless another has an
		// earlier event; otherwise the first stream with the earliest event
		// delivers.
		if next != nil && (len(next.staged) == 0 || next.staged[0].arrival >= mark) {
			next = nil
		}
		for i := range m.streams {
			if st := &m.streams[i]; len(st.staged) > 0 && (next == nil || st.staged[0].ts < next.staged[0].ts) {
				next = st
			}
		}
		if next == nil || next.staged[0].arrival >= mark {
			return
		}
		e := next.staged[0]
		next.staged = next.staged[1:]
		if len(next.staged) == 0 {
			next.max, next.tieFrom = math.MinInt64, math.MaxInt64
		}
		if e.ts < m.last {
			m.outOfOrder++
			continue
		}
		m.last = e.ts
		m.delivered = append(m.delivered, e)
	}
}

func (m *model) flush() {
	m.release(math.MaxInt)
	m.last = math.MinInt64
}

// recorder records the events that a stream delivers.
type recorder struct {
	stream int
	events *[]modelEvent
}

func (r recorder) Event(ts int64, payload []byte) error {
	*r.events = append(*r.events, modelEvent{stream: r.stream, ts: ts, payload: bytes.Clone(payload)})
	return nil
}

func firstByte(p []byte) int64 { return int64(p[0]) % 4 }

func randomPayload(rng *rand.Rand, size int) []byte {
	payload := make([]byte, 1+rng.IntN(size))
	if rng.IntN(500) == 0 {
		payload = make([]byte, 1+rng.IntN(20000))
	}
	for i := range payload {
		payload[i] = byte(rng.Uint32())
	}
	return payload
}

// compare runs random operations on a sorter and on the model, and compares the
// delivered events.
func compare(t *testing.T, rng *rand.Rand, o Options, operations int) {
	t.Helper()
	var got []modelEvent
	s := New(o)
	defer s.Close()
	streams := make([]*Stream, 1+rng.IntN(5))
	m := newModel(len(streams))
	for i := range streams {
		streams[i] = s.NewStream(recorder{i, &got})
	}
	type mark struct {
		sorter Mark
		model  int
	}
	marks := []mark{{}}
	spread := int64(1) << rng.IntN(20)
	shuffle := rng.IntN(3)
	releases := rng.IntN(2)
	sizes := 1 + rng.IntN(300)
	now := int64(rng.IntN(1000)) - 500
	for range rng.IntN(operations) {
		i, op := rng.IntN(len(streams)), rng.IntN(400)
		switch {
		case op < 2*releases:
			marks = append(marks, mark{s.Mark(), m.arrivals})
		case op < 4*releases:
			to := marks[max(0, len(marks)-1-rng.IntN(2))]
			if err := s.Release(to.sorter); err != nil {
				t.Fatal(err)
			}
			m.release(to.model)
		case op == 5 && rng.IntN(4) == 0:
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			m.flush()
		case op == 6:
			streams[i].SetTie(firstByte)
			m.streams[i].tie = firstByte
		default:
			ts := now
			now += rng.Int64N(4)
			if rng.IntN(10) < 4*shuffle {
				ts += rng.Int64N(spread) - spread/2
			}
			payload := randomPayload(rng, sizes)
			if rng.IntN(2) == 0 {
				if err := streams[i].Push(ts, payload); err != nil {
					t.Fatal(err)
				}
			} else {
				buf, err := streams[i].Reserve(ts, len(payload))
				if err != nil {
					t.Fatal(err)
				}
				copy(buf, payload)
			}
			m.push(i, ts, payload)
		}
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	m.flush()
	if len(got) != len(m.delivered) {
		t.Fatalf("delivered %d events, want %d", len(got), len(m.delivered))
	}
	for i, want := range m.delivered {
		g := got[i]
		if g.stream != want.stream || g.ts != want.ts || !bytes.Equal(g.payload, want.payload) {
			t.Fatalf("event %d of %d is %v, want %v", i, len(got), g, want)
		}
	}
	if s.OutOfOrder() != m.outOfOrder {
		t.Fatalf("OutOfOrder() = %d, want %d", s.OutOfOrder(), m.outOfOrder)
	}
}

func TestSorterAgreesWithModel(t *testing.T) {
	for _, test := range []struct {
		memory            int64
		seeds, operations int
	}{
		{memory: 1, seeds: 8, operations: 1000},   // a run every KiB
		{memory: 1, seeds: 2, operations: 10_000}, // merges runs again
		{memory: 1 << 20, seeds: 2, operations: 20_000},
		{memory: 0, seeds: 16, operations: 2000},
		{memory: 0, seeds: 2, operations: 50_000}, // queues of several pages
	} {
		t.Run(fmt.Sprintf("memory=%d/operations=%d", test.memory, test.operations), func(t *testing.T) {
			dir := t.TempDir()
			if testing.Short() {
				test.seeds = max(1, test.seeds/10)
			}
			for seed := range uint64(test.seeds) {
				compare(t, rand.New(rand.NewPCG(seed, 0)), Options{Memory: test.memory, TempDir: dir}, test.operations)
			}
			if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
				t.Errorf("%d temporary files left, %v", len(files), err)
			}
		})
	}
}

func FuzzSorter(f *testing.F) {
	f.Add(uint64(0), int64(1), uint16(2000))
	f.Add(uint64(1), int64(0), uint16(1500))
	f.Add(uint64(2), int64(400_000), uint16(2000))
	fuzz.Run(f, func(t *testing.T, seed uint64, memory int64, operations uint16) {
		compare(t, rand.New(rand.NewPCG(seed, 0)), Options{Memory: memory, TempDir: t.TempDir()}, 1+int(operations)%512)
	})
}
