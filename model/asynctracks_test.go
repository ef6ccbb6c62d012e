package model

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The first name seen with an id stays, even an empty one, regardless of neighboring ids.
func TestFirstNames(t *testing.T) {
	type key struct{ process, id uint64 }
	var names firstNames
	want := map[key]StringID{}
	for i := range uint64(5000) {
		k := key{i % 3, i * 7 % 1000}
		if i%5 == 0 {
			k.id = -k.id // pointers and hashes are large
		}
		name := StringID(i % 11)
		if _, ok := want[k]; !ok {
			want[k] = name
		}
		if got := names.of(k.process, k.id, name); got != want[k] {
			t.Fatalf("id %d of process %d: name %d, want %d", k.id, k.process, got, want[k])
		}
	}
	if len(want) < 1000 {
		t.Errorf("%d ids", len(want))
	}
}

// A slice goes to the first lane whose open slices it nests in or follows, as a search of all lanes finds it.
func TestNestedLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var lanes nestedLanes
	var open [][]int64
	ts := int64(-50)
	for n := range 5000 {
		ts += random.Int64N(4)
		end := ts + random.Int64N(200)/(random.Int64N(9)+1)
		want := len(open)
		for i, ends := range open {
			for len(ends) > 0 && ends[len(ends)-1] <= ts {
				ends = ends[:len(ends)-1]
			}
			open[i] = ends
			if len(ends) == 0 || end <= ends[len(ends)-1] {
				want = i
				break
			}
		}
		added := want == len(open)
		if added {
			open = append(open, nil)
		}
		open[want] = append(open[want], end)
		if got, isNew := lanes.place(ts, end); got != want || isNew != added {
			t.Fatalf("slice %d from %d to %d: lane %d (new: %t), want %d (new: %t)", n, ts, end, got, isNew, want, added)
		}
	}
	if len(open) < 10 {
		t.Errorf("%d lanes", len(open))
	}
}

// The time for each slice hardly grows with the number of lanes.
func TestManyNestedLanes(t *testing.T) {
	const n = 200_000
	var lanes nestedLanes
	start := time.Now()
	for ts := range int64(n) {
		lanes.place(ts, ts+n)
	}
	if took := time.Since(start); len(lanes.open) != n || took > 5*time.Second {
		t.Errorf("%d lanes in %v", len(lanes.open), took)
	}
}

// Slices without a duration nest in each other while time stands still, so a lane holds only so many.
func TestNestedInstants(t *testing.T) {
	var lanes nestedLanes
	lanes.place(5, 20)
	for n := range 3 * MaxDepth {
		if place, _ := lanes.place(10, 10); place != (n+1)/MaxDepth {
			t.Fatalf("instant %d is on lane %d", n, place)
		}
	}
	if place, _ := lanes.place(11, 11); place != 0 {
		t.Errorf("an instant after the others is on lane %d", place)
	}
}
