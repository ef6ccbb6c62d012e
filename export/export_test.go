package export

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// keep collects chunks, so that they can be written more than once.
type keep []*table.Chunk

func (k *keep) Chunk(c *table.Chunk) error {
	*k = append(*k, c)
	return nil
}

// sliceChunks returns the chunks of a slice table that resembles an app trace:
// n nested slices on 40 threads, with 3000 names, a few of them frequent.
func sliceChunks(n int) keep {
	var all keep
	store := model.NewStore(model.Options{Sink: &all})
	context := store.NewFile("trace", nil).Context(0)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.3, 4, 2999)
	type thread struct {
		track model.TrackID
		stack []model.StringID
	}
	threads := make([]thread, 40)
	for i := range threads {
		threads[i].track = context.Tracks.Thread(context.Machine.ThreadOf(int64(100+i), int64(10+i/8)))
	}
	categories := []model.StringID{store.Strings.Intern("toplevel"), store.Strings.Intern("cc"), store.Strings.Intern("blink"), store.Strings.Intern("v8")}
	// A function mostly calls the same functions each time.
	callees := map[model.StringID][]model.StringID{}
	name := func(caller model.StringID) model.StringID {
		for len(callees[caller]) < 6 {
			callees[caller] = append(callees[caller], store.Strings.Intern(fmt.Sprintf("Function::Number%d", zipf.Uint64())))
		}
		return callees[caller][min(random.IntN(6), random.IntN(6), random.IntN(6))]
	}
	ts := int64(1_234_567_890_123)
	for begun := 0; begun < n; {
		t := &threads[random.IntN(len(threads))]
		for range 1 + random.IntN(12) {
			ts += int64(random.ExpFloat64() * 2000)
			if depth := len(t.stack); depth > 0 && random.IntN(8) < depth {
				context.Slices.End(ts, t.track, 0, t.stack[depth-1], nil)
				t.stack = t.stack[:depth-1]
				continue
			}
			var caller model.StringID
			if len(t.stack) > 0 {
				caller = t.stack[len(t.stack)-1]
			}
			callee := name(caller)
			var args model.ArgSource
			if random.IntN(3) == 0 {
				args = model.ArgFunc(func(s *model.ArgSet) { s.Add(callee, model.IntArg(random.Int64N(5000))) })
			}
			context.Slices.Begin(ts, t.track, categories[int(callee)%len(categories)], callee, args)
			t.stack = append(t.stack, callee)
			begun++
		}
	}
	if err := store.Finish(); err != nil {
		panic(err)
	}
	var slices keep
	for _, c := range all {
		if c.Schema.Name == "slice" {
			slices = append(slices, c)
		}
	}
	return slices
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

// BenchmarkParquetSlices encodes a million slices on one core.
func BenchmarkParquetSlices(b *testing.B) {
	chunks := sliceChunks(1_000_000)
	for _, name := range []string{"zstd", "zstd:3", "snappy", "none"} {
		b.Run(name, func(b *testing.B) {
			compression, err := ParseCompression(name)
			if err != nil {
				b.Fatal(err)
			}
			s := &parquet.Scratch{}
			o := Options{Compression: compression}
			options, err := o.parquet(chunks[0].Schema)
			if err != nil {
				b.Fatal(err)
			}
			rows, size := 0, int64(0)
			for b.Loop() {
				var to counting
				f, err := parquet.New(&to, chunks[0].Schema, options, chunks[0])
				if err != nil {
					b.Fatal(err)
				}
				for _, c := range chunks {
					if err := errors.Join(f.Encode(c, s), f.Append(c, s)); err != nil {
						b.Fatal(err)
					}
					rows += c.Rows
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
				size += to.n
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/float64(rows), "B/row")
		})
	}
}
