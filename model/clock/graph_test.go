package clock

import (
	"errors"
	"testing"
)

var boot, mono, wall = Clock{ID: 6}, Clock{ID: 3}, Clock{ID: 1}

func reading(c Clock, value int64) Reading { return Reading{Clock: c, Value: value, Unit: 1} }

// A conversion takes the latest snapshot that is not after the event.
func TestConvert(t *testing.T) {
	g := NewGraph(boot)
	g.Add([]Reading{reading(boot, 100), reading(mono, 40)})
	g.Add([]Reading{reading(boot, 200), reading(mono, 130)})
	for value, want := range map[int64]int64{10: 70, 40: 100, 129: 189, 130: 200, 1000: 1070} {
		if got, err := g.Convert(mono, value, boot); got != want || err != nil {
			t.Errorf("%d is %d, %v, want %d", value, got, err, want)
		}
	}
	if got, err := g.Convert(boot, 250, mono); got != 180 || err != nil {
		t.Errorf("back: %d, %v", got, err)
	}
	if got, err := g.Convert(boot, 5, boot); got != 5 || err != nil {
		t.Errorf("itself: %d, %v", got, err)
	}
}

// A path may lead through clocks of several kinds of snapshots.
func TestPath(t *testing.T) {
	g, other := NewGraph(boot), Clock{ID: 9}
	g.Add([]Reading{reading(boot, 1000), reading(wall, 5000)})
	g.Add([]Reading{reading(wall, 5100), {Clock: other, Value: 2, Unit: 1000}})
	if got, err := g.Convert(other, 3, boot); got != 2100 || err != nil {
		t.Errorf("%d, %v, want 2100: 1000 ns after wall clock 5100, which is 1100", got, err)
	}
	if path := g.Path(other, boot); len(path) != 2 || path[0] != (Edge{wall, 1}) || path[1] != (Edge{boot, 0}) {
		t.Errorf("path %v", path)
	}
}

func TestErrors(t *testing.T) {
	g := NewGraph(boot)
	g.Add([]Reading{reading(boot, 1), reading(wall, 2)})
	g.Add([]Reading{reading(mono, 1), reading(Clock{ID: 70}, 2)})
	for _, c := range []struct {
		from, to Clock
		want     error
	}{{Clock{ID: 80}, boot, ErrUnknownSource}, {boot, Clock{ID: 80}, ErrUnknownTarget}, {mono, boot, ErrNoPath}} {
		if _, err := g.Convert(c.from, 5, c.to); !errors.Is(err, c.want) {
			t.Errorf("%v to %v: %v, want %v", c.from, c.to, err, c.want)
		}
	}
	if g.Leads(mono, boot) || !g.Leads(wall, boot) {
		t.Error("Leads differs from Convert")
	}
}

// The trace clock must not go back. A wall clock may be set back, and then leads nowhere.
func TestClocksThatGoBack(t *testing.T) {
	g := NewGraph(boot)
	g.Add([]Reading{reading(boot, 100), reading(wall, 1000)})
	if _, ok := g.Add([]Reading{reading(boot, 90), reading(wall, 1100)}); ok {
		t.Error("the trace clock went back")
	}
	if _, ok := g.Add([]Reading{reading(boot, 300), reading(boot, 301)}); ok {
		t.Error("a clock is twice in a snapshot")
	}
	if _, ok := g.Add([]Reading{reading(boot, 200), reading(wall, 900)}); !ok {
		t.Error("the wall clock may go back")
	}
	if g.Leads(wall, boot) {
		t.Error("the wall clock is ambiguous")
	}
	if got, err := g.Convert(boot, 250, wall); got != 950 || err != nil {
		t.Errorf("to the wall clock: %d, %v", got, err)
	}
}

// Each time of an incremental clock is since the one before.
func TestIncrementalClock(t *testing.T) {
	g, c := NewGraph(boot), Clock{ID: 64, Sequence: 7}
	g.Add([]Reading{reading(boot, 1000), {Clock: c, Value: 10, Unit: 10, Incremental: true}})
	for i, want := range []int64{1050, 1100, 1150} {
		if got, err := g.Convert(c, 5, boot); got != want || err != nil {
			t.Errorf("event %d is at %d, %v, want %d", i, got, err, want)
		}
	}
}
