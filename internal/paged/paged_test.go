package paged

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	var l List[int]
	first := (*int)(nil)
	for i := range 5 * pageLen {
		if place := l.Append(i); place != i {
			t.Fatalf("place %d of value %d", place, i)
		}
		if i == 0 {
			first = l.At(0)
		}
	}
	l.Extend(l.Len() - 1)
	l.Extend(l.Len() + pageLen + 1)
	for i := range l.Len() {
		want := i
		if i >= 5*pageLen {
			want = 0
		}
		if got := *l.At(i); got != want {
			t.Fatalf("%d at %d", got, i)
		}
	}
	if l.Len() != 6*pageLen+1 || first != l.At(0) {
		t.Errorf("%d values, the first of which is at %p, then %p", l.Len(), first, l.At(0))
	}
}

func TestMap(t *testing.T) {
	var m Map[int]
	values := map[uint64]*int{}
	for i := range 3000 {
		key := uint64(i) << 40
		if m.Get(key) != nil {
			t.Fatalf("key %d is there", i)
		}
		values[key] = m.Add(key, i)
	}
	for key, value := range values {
		if got := m.Get(key); got != value || *got != int(key>>40) {
			t.Fatalf("value of %d", key>>40)
		}
	}
}

// TestIndex applies the same operations to an Index and a map. There are few keys,
// so that the index has long runs.
func TestIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, keys := range []uint64{5, 48, 1000} {
		var x Index
		var l List[uint64]
		want := map[uint64]int{}
		keyOf := func(place int) uint64 { return *l.At(place) }
		for range 20 * keys {
			key := random.Uint64N(keys)
			if random.IntN(3) == 0 {
				x.Delete(key, keyOf)
				delete(want, key)
			} else {
				want[key] = l.Append(key)
				x.Set(key, want[key], keyOf)
			}
			for key := range keys {
				place, ok := x.Find(key, keyOf)
				if at, there := want[key]; ok != there || ok && place != at {
					t.Fatalf("of %d keys %d is at %d, %t; want %d, %t", keys, key, place, ok, at, there)
				}
			}
		}
	}
}

func TestSparse(t *testing.T) {
	var s Sparse[int]
	places := []int{5 * sparseLen, 3, 5*sparseLen - 1, 5*sparseLen + 7}
	for _, place := range places {
		if s.Get(place) != 0 {
			t.Errorf("place %d is not zero", place)
		}
		*s.At(place) = place
	}
	if s.Made() != 3*sparseLen || s.Get(4) != 0 || s.Get(100*sparseLen) != 0 {
		t.Errorf("%d values take memory, values %d and %d", s.Made(), s.Get(4), s.Get(100*sparseLen))
	}
	var found []int
	s.Each(func(place int, value *int) {
		if *value != 0 {
			if *value != place || s.Get(place) != place {
				t.Errorf("%d and %d at %d", *value, s.Get(place), place)
			}
			found = append(found, place)
		}
	})
	slices.Sort(places)
	if !slices.Equal(found, places) {
		t.Errorf("places %d, want %d", found, places)
	}
	Clear(&s, 5*sparseLen)
	if s.Get(5*sparseLen) != 0 || s.Get(5*sparseLen+7) == 0 || s.Made() != 3*sparseLen {
		t.Errorf("cleared: %d and %d, %d values take memory", s.Get(5*sparseLen), s.Get(5*sparseLen+7), s.Made())
	}
	Clear(&s, 5*sparseLen+7)
	Clear(&s, 6*sparseLen)
	if s.Made() != 2*sparseLen || s.Get(3) != 3 {
		t.Errorf("a page of zeros takes memory: %d values", s.Made())
	}
}

// TestMapDelete applies the same operations to a Map and a map.
func TestMapDelete(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var m Map[int]
	want := map[uint64]int{}
	for i := range 20_000 {
		key := random.Uint64N(200)
		if _, ok := want[key]; ok && i%3 > 0 {
			m.Delete(key)
			delete(want, key)
		} else if !ok {
			m.Add(key, i)
			want[key] = i
		}
		m.Delete(1000) // which is not there
		probe := random.Uint64N(200)
		value, ok := want[probe]
		if got := m.Get(probe); (got != nil) != ok || ok && *got != value {
			t.Fatalf("after %d operations: value of %d is %v, want %d, %t", i, probe, got, value, ok)
		}
	}
	if m.Len() != len(want) {
		t.Errorf("%d values, want %d", m.Len(), len(want))
	}
	for place := range m.Len() {
		if key, value := m.At(place); want[key] != *value {
			t.Errorf("value %d of %d, want %d", *value, key, want[key])
		}
	}
}
