package winscope

import "testing"

func TestContains(t *testing.T) {
	round := func(r rect, corner float64) rounded { return rounded{r, radii{corner, corner, corner, corner}} }
	outer := edges(0, 0, 100, 50)
	for _, c := range []struct {
		name  string
		outer rounded
		inner rounded
		want  bool
	}{
		{"itself", round(outer, 0), round(outer, 0), true},
		{"almost", round(outer, 0), round(edges(-0.005, 0, 100, 50), 0), true},
		{"shifted", round(outer, 0), round(edges(1, 0, 101, 50), 0), false},
		{"sharp corners in round ones", round(outer, 10), round(outer, 0), false},
		{"rounder corners", round(outer, 10), round(outer, 12), true},
		{"far inside", round(outer, 10), round(edges(20, 20, 60, 30), 0), true},
		{"near a corner", round(outer, 10), round(edges(4, 4, 60, 30), 0), true},
		{"too near a corner", round(outer, 10), round(edges(1, 1, 60, 30), 0), false},
		{"nothing", round(rect{}, 0), round(rect{}, 0), false},
	} {
		if got := c.outer.contains(c.inner); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestOverlaps(t *testing.T) {
	r := edges(0, 0, 10, 10)
	for _, c := range []struct {
		other rect
		want  bool
	}{
		{r, true}, {edges(9, 9, 20, 20), true}, {edges(10, 0, 20, 10), false}, {edges(0, 10, 10, 20), true},
		{edges(0, 11, 10, 20), false}, {rect{x: 5, y: 5}, false},
	} {
		if got := r.overlaps(c.other); got != c.want {
			t.Errorf("%v: %v", c.other, got)
		}
	}
}

func TestInverse(t *testing.T) {
	m := transform{dsdx: 0, dtdx: -2, tx: 5, dtdy: 4, dsdy: 0, ty: -3}
	if x, y := m.inverse().point(m.point(7, 9)); x != 7 || y != 9 {
		t.Errorf("(7, 9) becomes (%v, %v)", x, y)
	}
	if got := turned(rotates270, 1, 2).rect(edges(0, 0, 10, 20)); got != edges(-19, 2, 1, 12) {
		t.Errorf("turned: %v", got)
	}
	if (transform{dsdx: 1}).invertible() {
		t.Error("a line is invertible")
	}
}
