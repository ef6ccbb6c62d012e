package lanes

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const depth = 512

// A span goes to the first lane whose open spans it nests in or follows, as a search of all lanes finds it.
func TestNestedLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	lanes := Nested{MaxDepth: depth}
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
		if got, isNew := lanes.Place(ts, end); got != want || isNew != added {
			t.Fatalf("span %d from %d to %d: lane %d (new: %t), want %d (new: %t)", n, ts, end, got, isNew, want, added)
		}
	}
	if len(open) < 10 {
		t.Errorf("%d lanes", len(open))
	}
}

// What encloses a time is what a search of all spans finds, those that end at it included.
func TestEnclosingLanes(t *testing.T) {
	type spanOnLane struct{ start, end, place int64 }
	random := rand.New(rand.NewPCG(3, 4))
	lanes := Nested{MaxDepth: depth}
	var all []spanOnLane
	ts, found, none := int64(-50), 0, 0
	for range 5000 {
		ts += random.Int64N(3)
		if random.IntN(2) == 0 {
			end := ts + random.Int64N(30)*random.Int64N(3)
			place, _ := lanes.Place(ts, end)
			all = append(all, spanOnLane{ts, end, int64(place)})
			if got, ok := lanes.Placed(ts, end); !ok || got != place {
				t.Fatalf("placed from %d to %d on lane %d, found on %d, %t", ts, end, place, got, ok)
			}
			continue
		}
		start, places := int64(math.MinInt64), map[int64]bool{}
		for _, s := range all {
			if s.end < ts || s.start < start {
				continue
			}
			if s.start > start {
				start, places = s.start, map[int64]bool{}
			}
			places[s.place] = true
		}
		got, ok := lanes.Enclosing(ts)
		if ok != (len(places) > 0) || ok && !places[int64(got)] {
			t.Fatalf("at %d: lane %d, %t, want one of %v", ts, got, ok, places)
		}
		if ok {
			found++
		} else {
			none++
		}
	}
	if found < 1000 || none < 10 {
		t.Errorf("%d enclosed times, %d others", found, none)
	}
}

// The time for each span hardly grows with the number of lanes.
func TestManyNestedLanes(t *testing.T) {
	place := func(n int64) time.Duration {
		lanes := Nested{MaxDepth: depth}
		begun := time.Now()
		for ts := range n {
			lanes.Place(ts, ts+n)
		}
		if len(lanes.open) != int(n) {
			t.Errorf("%d lanes, want %d", len(lanes.open), n)
		}
		return time.Since(begun)
	}
	few, many := place(20_000), place(200_000)
	if many > 40*few {
		t.Errorf("10 times the spans take %v after %v", many, few)
	}
}

// Spans without a duration nest in each other while time stands still, so a lane holds only so many.
func TestNestedInstants(t *testing.T) {
	lanes := Nested{MaxDepth: depth}
	lanes.Place(5, 20)
	for n := range 3 * depth {
		if place, _ := lanes.Place(10, 10); place != (n+1)/depth {
			t.Fatalf("instant %d is on lane %d", n, place)
		}
	}
	if place, _ := lanes.Place(11, 11); place != 0 {
		t.Errorf("an instant after the others is on lane %d", place)
	}
}
