package netlog

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tpconvert/tpconvert/model"
)

// TestOpenEvents begins and ends events at random, and compares with lists that are searched.
func TestOpenEvents(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, names := range []int{2, 10, 1000} {
		open, lists := newOpenEvents(), map[int64][]model.StringID{}
		for i := range 20_000 {
			source, name := int64(random.IntN(3)), model.StringID(1+random.IntN(names))
			if random.IntN(100) < 50+10*(i/4000%2) { // first as many end as begin, then fewer
				open.begin(source, name)
				lists[source] = append(lists[source], name)
				continue
			}
			if of := lists[source]; random.IntN(2) == 0 && len(of) > 0 {
				name = of[0] // the outermost
			}
			begun, innermost := open.end(source, name)
			of := lists[source]
			at := len(of) - 1
			for at >= 0 && of[at] != name {
				at--
			}
			if begun != (at >= 0) || begun && innermost != (at == len(of)-1) {
				t.Fatalf("event %d: begun %v, innermost %v; it is number %d of %d", i, begun, innermost, at, len(of))
			}
			if at >= 0 {
				lists[source] = slices.Delete(of, at, at+1)
			}
		}
		for source, of := range lists {
			if s := open.of[source]; s != nil && len(s.events)-s.ended != len(of) || s == nil && len(of) > 0 {
				t.Errorf("source %d: %+v, want %d open", source, s, len(of))
			}
		}
	}
}
