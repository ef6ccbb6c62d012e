package model

import "testing"

// Resting tracks are restored unchanged.
func TestSlicesOfManyTracks(t *testing.T) {
	s := NewStore(Options{})
	c := s.NewFile("a", nil).Context(0)
	name := s.Strings.Intern("name")
	track := func(tid int64) TrackID { return c.Tracks.Thread(c.Machine.ThreadOf(tid, 1)) }
	open := c.Slices.Begin(0, track(1), 0, name, nil)
	long := c.Slices.Scoped(1, 1<<40, track(2), 0, name, nil)
	outer := c.Slices.Scoped(2, 6, track(0), 0, name, nil)
	inner := c.Slices.Scoped(3, 2, track(0), 0, name, nil)
	const tracks = 10 * fewTracks
	for i := range int64(tracks) {
		if id := c.Slices.Scoped(10*i+10, 5, track(i+3), 0, name, nil); id == None {
			t.Fatalf("slice %d was dropped", i)
		}
	}
	if n := len(c.Slices.active); n > 2*fewTracks {
		t.Errorf("%d of %d tracks are in use", n, tracks)
	}
	if got := c.Slices.Top(track(2)); got != long {
		t.Errorf("slice %d is open, want %d", got, long)
	}
	if got := c.Slices.End(20*tracks, track(1), 0, name, nil); got != open {
		t.Errorf("End = %d, want %d", got, open)
	}
	// A slice that has ended stays on top until the next slice, because flows
	// bind to it.
	if got := c.Slices.Top(track(0)); got != inner {
		t.Errorf("top is %d, want %d", got, inner)
	}
	id := c.Slices.Scoped(6, 1, track(0), 0, name, nil)
	if parent, _ := s.Slice.ParentID.Get(int64(id)); parent != outer {
		t.Errorf("parent %d, want %d", parent, outer)
	}
	if n := c.Slices.resting.Len(); n > int(s.Slice.Rows()) {
		t.Errorf("%d slices rest", n)
	}
	if id := c.Slices.Scoped(20*tracks, 1, track(3), 0, name, nil); id == None {
		t.Error("no slice on a track that was put away")
	}
	if depth, _ := s.Slice.Depth.Get(s.Slice.Rows() - 1); depth != 0 {
		t.Errorf("depth %d", depth)
	}
}
