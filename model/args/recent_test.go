package args

import (
	"math/rand/v2"
	"testing"

	"github.com/tpconvert/tpconvert/internal/paged"
)

func TestRecentIDs(t *testing.T) {
	var r recentIDs
	hashOf := func(i int64) uint64 { return paged.Mix(uint64(i), 7) | 1 }
	for i := range int64(maxRecent) {
		if id, added := r.insert(hashOf(i), i); id != i || !added {
			t.Fatalf("hash %d is new: %d, %v", i, id, added)
		}
	}
	for range 1000 {
		i := rand.Int64N(maxRecent)
		if id, added := r.insert(hashOf(i), -1); id != i || added {
			t.Fatalf("hash %d is known: %d, %v", i, id, added)
		}
	}
	// A hash that is used stays, regardless of how many others come.
	for i := int64(maxRecent); i < 5*maxRecent; i++ {
		if _, added := r.insert(hashOf(i), i); !added {
			t.Fatalf("hash %d is new", i)
		}
		if id, added := r.insert(hashOf(3), -1); id != 3 || added {
			t.Fatalf("hash 3 is forgotten after %d", i)
		}
	}
	for _, i := range []int64{5*maxRecent - 1, 4*maxRecent + 10, 4*maxRecent + 2} {
		if id, added := r.insert(hashOf(i), -1); id != i || added {
			t.Errorf("hash %d is forgotten", i)
		}
	}
	if n := len(r.slots); n > 4*maxRecent {
		t.Errorf("%d slots", n)
	}
	if _, added := r.insert(hashOf(5), 5); !added {
		t.Error("hash 5 is remembered forever")
	}
}

func BenchmarkRecentIDs(b *testing.B) {
	var r recentIDs
	var i int64
	for b.Loop() {
		r.insert(paged.Mix(uint64(i), 7)|1, i)
		i++
	}
}
