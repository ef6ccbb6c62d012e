package ranges

import (
	"math/rand/v2"
	"testing"
)

// TestRanges compares ranges and copies of them, each of which changes on its own, with arrays.
func TestRanges(t *testing.T) {
	const addresses = 200
	random := rand.New(rand.NewPCG(1, 2))
	maps, want := []*Map[int]{{}}, []*[addresses]int{{}}
	for n := 1; n < 5000; n++ {
		if n%100 == 0 && len(maps) < 20 {
			from := random.IntN(len(maps))
			copied, array := maps[from].Copy(), *want[from]
			maps, want = append(maps, &copied), append(want, &array)
		}
		i, start, size := random.IntN(len(maps)), random.Uint64N(addresses), random.Uint64N(9)
		end := min(start+size*size/3, addresses)
		maps[i].Set(start, end, n)
		for a := start; a < end; a++ {
			want[i][a] = n
		}
		if n%50 != 0 {
			continue
		}
		for i, m := range maps {
			for a, v := range want[i] {
				if got, ok := m.Find(uint64(a)); ok != (v != 0) || got != v {
					t.Fatalf("after %d: map %d has %d at %d, want %d", n, i, got, a, v)
				}
			}
			from, to, seen := random.Uint64N(addresses), random.Uint64N(addresses), 0
			m.Overlapping(from, to, func(start, end uint64, v int) {
				if start >= to || end <= from {
					t.Fatalf("after %d: map %d has %d to %d in %d to %d", n, i, start, end, from, to)
				}
				for a := max(start, from); a < min(end, to); a++ {
					if want[i][a] != v {
						t.Fatalf("after %d: map %d has %d at %d, want %d", n, i, v, a, want[i][a])
					}
					seen++
				}
			})
			for a := from; a < to; a++ {
				if want[i][a] != 0 {
					seen--
				}
			}
			if seen != 0 {
				t.Fatalf("after %d: map %d has %d addresses too many in %d to %d", n, i, seen, from, to)
			}
			last := uint64(0)
			m.All(func(start, end uint64, _ int) {
				if start < last || end <= start {
					t.Fatalf("after %d: map %d has %d to %d after %d", n, i, start, end, last)
				}
				last = end
			})
		}
	}
}
