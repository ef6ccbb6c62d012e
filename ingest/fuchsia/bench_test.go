package fuchsia_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// events returns a trace of n groups of slices with args, an async slice, a
// flow, a counter and scheduling records.
func events(n int) trace {
	f := scheduling()
	f.text(1, "cat")
	f.text(2, "name")
	f.text(3, "arg")
	f.text(4, "value")
	f.text(5, "incoming_weight")
	f.thread(1, 10, 11)
	event := func(kind, ts, args uint64, rest ...uint64) {
		f.record(4|kind<<16|args<<20|1<<24|1<<32|2<<48, append([]uint64{ts}, rest...)...)
	}
	for i := range uint64(n) {
		ts := 1000 * i
		f.record(8|1<<16|blocked<<36|1<<60, ts, 12, 11, 1|1<<4|5<<16|20<<32)
		event(begin, ts+100, 2, 4|2<<4|3<<16, i%100, 6|1<<4|4<<16|2<<32)
		event(complete, ts+200, 1, 1|1<<4|3<<16|(i%50)<<32, ts+300)
		event(flowBegin, ts+210, 0, i)
		event(flowEnd, ts+220, 0, i)
		event(asyncBegin, ts+310, 0, i)
		event(counter, ts+320, 1, 2|1<<4|3<<16|i<<32, 0)
		event(asyncEnd, ts+330, 0, i)
		event(end, ts+400, 0)
		f.record(8|1<<16|blocked<<36|1<<60, ts+900, 11, 12, 1|1<<4|5<<16|20<<32)
		f.record(8|2<<60, ts+950, 11)
	}
	return *f
}

const perGroup = 11

func read(tb testing.TB, data trace, slices int64) {
	store := model.NewStore(model.Options{})
	if err := ingest.Read(store, "a.fxt", bytes.NewReader(data), ingest.Options{}); err != nil && (slices > 0 || !errors.Is(err, format.ErrNoEvents)) {
		tb.Fatal(err)
	}
	if got := store.Rows()["slice"]; got != slices {
		tb.Fatalf("%d slices, want %d", got, slices)
	}
}

// TestAllocations checks that events reuse the memory of earlier ones.
func TestAllocations(t *testing.T) {
	mallocs := func(groups int) int64 {
		data := events(groups)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(t, data, 3*int64(groups))
		runtime.ReadMemStats(&after)
		return int64(after.Mallocs - before.Mallocs)
	}
	const groups = 20_000
	mallocs(1) // what is made once in a process
	few, many := mallocs(groups/10), mallocs(groups)
	if more := many - few; more > groups*perGroup/100 {
		t.Errorf("%d objects for %d events", more, groups*perGroup*9/10)
	}
}

// TestManyProviders reads a trace that names many providers, each in a record of
// 24 bytes, and defines high indexes of each.
func TestManyProviders(t *testing.T) {
	const providers = 20_000
	f := newTrace()
	for id := range uint64(providers) {
		f.record(1<<16|(id+1)<<20|1<<52, 'p')
		f.text(0x7fff, "")
		f.thread(255, 1, 1)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read(t, *f, 0)
	runtime.ReadMemStats(&after)
	if size := after.TotalAlloc - before.TotalAlloc; size > providers*1000 {
		t.Errorf("%d bytes for %d providers", size, providers)
	}
}

// BenchmarkRead reads a trace into a store without a sink.
func BenchmarkRead(b *testing.B) {
	const groups = 20_000
	data := events(groups)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, data, 3*groups)
	}
}
