package perfdata

import (
	"math/rand/v2"
	"testing"
)

// TestRanges compares ranges and copies of them, each of which changes on its own, with arrays.
func TestRanges(t *testing.T) {
	const addresses = 200
	random := rand.New(rand.NewPCG(1, 2))
	maps, want := []*ranges[int]{{}}, []*[addresses]int{{}}
	for n := 1; n < 5000; n++ {
		if n%100 == 0 && len(maps) < 20 {
			from := random.IntN(len(maps))
			copied, array := maps[from].copy(), *want[from]
			maps, want = append(maps, &copied), append(want, &array)
		}
		i, start, size := random.IntN(len(maps)), random.Uint64N(addresses), random.Uint64N(9)
		end := min(start+size*size/3, addresses)
		maps[i].set(start, end, n)
		for a := start; a < end; a++ {
			want[i][a] = n
		}
		if n%50 != 0 {
			continue
		}
		for i, m := range maps {
			for a, v := range want[i] {
				if got, ok := m.find(uint64(a)); ok != (v != 0) || got != v {
					t.Fatalf("after %d: map %d has %d at %d, want %d", n, i, got, a, v)
				}
			}
			last := uint64(0)
			m.root.all(func(start, end uint64, _ int) {
				if start < last || end <= start {
					t.Fatalf("after %d: map %d has %d to %d after %d", n, i, start, end, last)
				}
				last = end
			})
		}
	}
}
