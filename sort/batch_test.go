package sort

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Batches are delivered in order of time and arrival, however their times lie, and
// whether they were spilled or not.
func TestBatches(t *testing.T) {
	const events = 200
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		name string
		ts   func(batch, event int) int64
	}{
		{"ordered", func(b, e int) int64 { return int64(b*events + e) }},
		{"equal", func(b, e int) int64 { return 7 }},
		{"a little late", func(b, e int) int64 { return int64(b*events+e) - rng.Int64N(2000) }},
		{"all at one time", func(b, e int) int64 { return rng.Int64N(1e6) }},
		{"backwards", func(b, e int) int64 { return int64(-b*events - e) }},
		{"hours apart", func(b, e int) int64 { return rng.Int64N(50) * 3600e9 }},
		{"days apart in turns", func(b, e int) int64 { return int64(e%2)*200*3600e9 + int64(b*events+e) }},
		{"extremes", func(b, e int) int64 {
			return []int64{math.MinInt64, math.MinInt64 + 5, -1, 0, 1, math.MaxInt64 - 5, math.MaxInt64}[rng.IntN(7)]
		}},
	} {
		for memory, batches := range map[int64]int{1: 8, 1 << 20: 600, 1 << 30: 600} {
			t.Run(fmt.Sprintf("%s/%d", test.name, memory), func(t *testing.T) {
				type event struct{ ts, arrival int64 }
				var want, got []event
				s := New(Options{Memory: memory, TempDir: t.TempDir()})
				defer s.Close()
				st := s.NewStream(sinkFunc(func(ts int64, payload []byte) error {
					got = append(got, event{ts, int64(binary.LittleEndian.Uint64(payload))})
					return nil
				}))
				var batch Batch
				for b := range batches {
					batch.Reset()
					for e := range events {
						if e == events/2 && b%3 == 0 {
							batch.Cut()
						}
						ts := test.ts(b, e)
						payload := binary.LittleEndian.AppendUint64(batch.Buffer(), uint64(len(want)))
						if rng.IntN(500) == 0 {
							payload = append(payload, make([]byte, 3000)...)
						}
						batch.Add(ts, payload)
						want = append(want, event{ts, int64(len(want))})
					}
					if batch.Len() != events || batch.Size() < 9*events {
						t.Fatalf("a batch of %d events in %d bytes", batch.Len(), batch.Size())
					}
					if err := st.PushBatch(&batch); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				slices.SortStableFunc(want, func(a, b event) int { return cmp.Compare(a.ts, b.ts) })
				if !slices.Equal(got, want) {
					t.Error("events are out of order")
				}
				if last, ok := s.MaxTimestamp(); !ok || last != want[len(want)-1].ts {
					t.Errorf("MaxTimestamp() = %d, %v", last, ok)
				}
			})
		}
	}
}

// What is spilled of batches that overlap much takes no more memory to read back
// than is allowed: it is merged before.
func TestSpilledBatchesOverlapLittle(t *testing.T) {
	s := New(Options{Memory: 1 << 20, TempDir: t.TempDir()})
	defer s.Close()
	st := s.NewStream(&counter{})
	rng := rand.New(rand.NewPCG(1, 2))
	var batch Batch
	for range 2000 {
		batch.Reset()
		for range 100 {
			batch.Add(rng.Int64N(1e6), append(batch.Buffer(), 1))
		}
		if err := st.PushBatch(&batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	if len(st.segments) == 0 {
		t.Error("nothing was merged")
	}
	byRun := map[*run][]chunk{}
	for _, c := range st.chunks.spilled {
		byRun[c.run] = append(byRun[c.run], c)
	}
	for _, chunks := range byRun {
		if n := depth(chunks); n > maxDepth {
			t.Errorf("%d batches of a run overlap", n)
		}
	}
}

func TestDepth(t *testing.T) {
	for _, test := range []struct {
		times [][2]int64
		want  int
	}{
		{nil, 0},
		{[][2]int64{{1, 1}}, 1},
		{[][2]int64{{1, 2}, {3, 4}}, 1},
		{[][2]int64{{3, 4}, {1, 3}}, 2},
		{[][2]int64{{1, 9}, {2, 3}, {4, 5}, {4, 6}}, 3},
	} {
		var chunks []chunk
		for _, c := range test.times {
			chunks = append(chunks, chunk{ts: c[0], last: c[1]})
		}
		if got := depth(chunks); got != test.want {
			t.Errorf("depth(%v) = %d, want %d", test.times, got, test.want)
		}
	}
}

func TestBatchForStreamWithTie(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	st := s.NewStream(&counter{})
	st.SetTie(firstByte)
	var batch Batch
	batch.Add(1, append(batch.Buffer(), 1))
	if err := st.PushBatch(&batch); err != errBatchTie {
		t.Errorf("PushBatch returned %v", err)
	}
}
