package sort

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

type nullSink struct{ n, sum int64 }

func (k *nullSink) Event(ts int64, p []byte) error { k.n++; k.sum += int64(p[0]); return nil }

func benchmarkFlush(b *testing.B, streams int, times []int64) {
	b.ReportAllocs()
	var payload [16]byte
	s := New(Options{Memory: 1 << 30})
	defer s.Close()
	sink := &nullSink{}
	var st []*Stream
	for range streams {
		st = append(st, s.NewStream(sink))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := make([]uint8, len(times))
	for i := range pick {
		pick[i] = uint8(rng.IntN(streams))
	}
	for b.Loop() {
		for i, ts := range times {
			binary.LittleEndian.PutUint64(payload[:], uint64(i))
			if err := st[pick[i]].Push(ts, payload[:]); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(sink.n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func ordered(n int) []int64 {
	t := make([]int64, n)
	for i := range t {
		t[i] = 1_000_000_000_000 + int64(i)*1013
	}
	return t
}

func shuffled(n int) []int64 {
	t := ordered(n)
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { t[i], t[j] = t[j], t[i] })
	return t
}

func BenchmarkOrdered(b *testing.B)  { benchmarkFlush(b, 1, ordered(4<<20)) }
func BenchmarkShuffled(b *testing.B) { benchmarkFlush(b, 1, shuffled(4<<20)) }
func BenchmarkMerge8(b *testing.B)   { benchmarkFlush(b, 8, ordered(4<<20)) }
