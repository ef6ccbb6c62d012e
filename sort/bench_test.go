package sort

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
)

// counter is a Sink that reads its events.
type counter struct {
	events, sum int64
}

func (c *counter) Event(ts int64, payload []byte) error {
	c.events++
	c.sum += int64(payload[0])
	return nil
}

func benchmarkFlush(b *testing.B, streams int, times []int64) {
	b.ReportAllocs()
	s := New(Options{Memory: 1 << 30})
	defer s.Close()
	var sink counter
	var st []*Stream
	for range streams {
		st = append(st, s.NewStream(&sink))
	}
	pick := make([]uint8, len(times))
	for i := range pick {
		pick[i] = uint8(rand.IntN(streams))
	}
	var payload [16]byte
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
	b.ReportMetric(float64(sink.events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

// ordered returns n times about 1 µs apart, in ns.
func ordered(n int) []int64 {
	times := make([]int64, n)
	for i := range times {
		times[i] = 1e15 + int64(i)*1013
	}
	return times
}

// sections returns n times in runs of 200, each from one of six sources with
// about the same time, as Fuchsia's providers write them.
func sections(n int) []int64 {
	now := [6]int64{}
	times := make([]int64, 0, n)
	for len(times) < n {
		i := 0
		for j := range now {
			if now[j] < now[i] {
				i = j
			}
		}
		for range 200 {
			now[i] += rand.Int64N(12_000)
			times = append(times, 1e15+now[i])
		}
	}
	return times[:n]
}

func shuffled(n int) []int64 {
	times := ordered(n)
	rand.Shuffle(n, func(i, j int) { times[i], times[j] = times[j], times[i] })
	return times
}

func BenchmarkOrdered(b *testing.B)  { benchmarkFlush(b, 1, ordered(4<<20)) }
func BenchmarkShuffled(b *testing.B) { benchmarkFlush(b, 1, shuffled(4<<20)) }
func BenchmarkSections(b *testing.B) { benchmarkFlush(b, 1, sections(4<<20)) }
func BenchmarkMerge8(b *testing.B)   { benchmarkFlush(b, 8, ordered(4<<20)) }

// BenchmarkSort50M sorts 50 million events with random times in 256 MiB. It fails
// if the process takes more than a quarter above that from the system.
func BenchmarkSort50M(b *testing.B) {
	const events, memory = 50_000_000, 256 << 20
	// Like the command, which lets the heap grow less the closer it comes to the memory it aims for.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(sysMemory() + memory + memory/8))
	var peak int64
	for b.Loop() {
		debug.FreeOSMemory() // neither count nor reuse the memory of the previous run
		base := sysMemory()
		s := New(Options{Memory: memory, TempDir: b.TempDir()})
		var n, last int64
		st := s.NewStream(sinkFunc(func(ts int64, payload []byte) error {
			if ts < last {
				b.Fatalf("time %d after %d", ts, last)
			}
			last = ts
			if n++; n%(1<<18) == 0 {
				peak = max(peak, sysMemory()-base)
			}
			return nil
		}))
		rng := rand.New(rand.NewPCG(1, 2))
		var payload [16]byte
		for i := range events {
			if err := st.Push(rng.Int64N(100e9), payload[:]); err != nil {
				b.Fatal(err)
			}
			if i%(1<<18) == 0 {
				peak = max(peak, sysMemory()-base)
			}
		}
		if err := s.Flush(); err != nil {
			b.Fatal(err)
		}
		if n != events {
			b.Fatalf("delivered %d events", n)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	if peak > memory+memory/4 {
		b.Errorf("took %d bytes from the system, more than a quarter above %d", peak, memory)
	}
}

// sysMemory returns the number of bytes that the process took from the system.
func sysMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}
