package spill

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

type value struct {
	a int64
	b int32
	c byte
}

// TestList applies the same operations to lists of a small space and to slices.
func TestList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	s := NewSpace(leastFrames*frameBytes, dir)
	defer s.Close()
	lists, want := [3]*List[value]{}, [3][]value{}
	for i := range lists {
		lists[i] = NewList[value](s)
	}
	other := NewList[byte](s)
	for i := range 40_000 {
		k := i % len(lists)
		l := lists[k]
		v := value{random.Int64(), random.Int32(), byte(i)}
		switch {
		case i%15_000 == 14_999:
			l.Free()
			lists[k], want[k] = NewList[value](s), nil
			continue
		case random.IntN(2) == 0 || l.Len() == 0:
			if place := l.Append(v); place != len(want[k]) {
				t.Fatalf("place %d, want %d", place, len(want[k]))
			}
			want[k] = append(want[k], v)
			other.Extend(10 * l.Len())
		default:
			place := random.IntN(l.Len())
			*l.Edit(place), want[k][place] = v, v
		}
		place := random.IntN(l.Len())
		if got := l.Get(place); got != want[k][place] {
			t.Fatalf("after %d operations list %d has %v at %d, want %v", i, k, got, place, want[k][place])
		}
		if got := other.Get(random.IntN(other.Len())); got != 0 {
			t.Fatalf("%d in a list of zeros", got)
		}
	}
	for k, l := range lists {
		for i, v := range want[k] {
			if got := l.Get(i); got != v {
				t.Fatalf("list %d has %v at %d, want %v", k, got, i, v)
			}
		}
		if l.Len() != len(want[k]) {
			t.Errorf("%d values, want %d", l.Len(), len(want[k]))
		}
	}
	if len(s.frames) != leastFrames || !s.full || s.Err() != nil {
		t.Errorf("%d pages in memory, want %d; error %v", len(s.frames), leastFrames, s.Err())
	}
	for _, l := range lists {
		l.Free()
	}
	other.Free()
	if s.frames != nil || s.file != nil {
		t.Error("an empty space holds memory or a file")
	}
	if files, err := os.ReadDir(dir); len(files) > 0 || err != nil {
		t.Errorf("%v is left, %v", files, err)
	}
}

// TestMap applies the same operations to a map in a small space and to a map.
func TestMap(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, spread := range []uint64{1, 8, 1 << 40} {
		s := NewSpace(1, t.TempDir())
		defer s.Close()
		m, want := NewMap[int32](s), map[uint64]int32{}
		if _, ok := m.Find(7); ok {
			t.Fatal("a value in an empty map")
		}
		for i := range int32(10_000) {
			key := random.Uint64N(8_000) * spread
			had := len(want)
			_, known := want[key]
			want[key] = i
			place := m.Add(key, i)
			if !known && place != had {
				t.Fatalf("place %d, want %d", place, had)
			}
			if k, v := m.At(place); k != key || v != i {
				t.Fatalf("%d of %d at place %d, want %d of %d", v, k, place, i, key)
			}
			probe := random.Uint64N(8_000) * spread
			v, ok := want[probe]
			if got, found := m.Find(probe); got != v || found != ok {
				t.Fatalf("%d of %d, %t; want %d, %t", got, probe, found, v, ok)
			}
		}
		if m.Len() != len(want) || !s.full {
			t.Errorf("%d keys, want %d", m.Len(), len(want))
		}
		for key, v := range want {
			place, ok := m.Place(key)
			if *m.Edit(place) != v || !ok {
				t.Fatalf("another value of %d", key)
			}
		}
	}
}

// TestNoFile checks that a space that cannot have a file says so, and goes on without the values.
func TestNoFile(t *testing.T) {
	s := NewSpace(1, filepath.Join(t.TempDir(), "missing"))
	l := NewList[uint64](s)
	l.Extend(1000 * frameWords)
	for i := range l.Len() {
		*l.Edit(i) = 1
	}
	if l.Get(0) != 0 || s.Err() == nil {
		t.Errorf("value %d, error %v", l.Get(0), s.Err())
	}
}
