package model

import "testing"

// What is open on a track is forgotten once nothing can concern it any more, and
// only then.
func TestSlicesOfManyTracks(t *testing.T) {
	s := NewStore(Options{})
	c := s.NewFile("a", nil).Context(0)
	name := s.Strings.Intern("name")
	track := func(tid int64) TrackID { return c.Tracks.Thread(c.Machine.ThreadOf(tid, 1)) }
	open := c.Slices.Begin(0, track(1), 0, name, nil)
	long := c.Slices.Scoped(1, 1<<40, track(2), 0, name, nil)
	const tracks = 10 * fewTracks
	for i := range int64(tracks) {
		if id := c.Slices.Scoped(10*i+10, 5, track(i+3), 0, name, nil); id == None {
			t.Fatalf("slice %d was dropped", i)
		}
	}
	if n := len(c.Slices.active); n > 2*fewTracks {
		t.Errorf("%d of %d tracks are in use", n, tracks)
	}
	if got, _ := c.Slices.Top(track(2)); got != long {
		t.Errorf("slice %d is open, want %d", got, long)
	}
	if got := c.Slices.End(20*tracks, track(1), 0, name, nil); got != open {
		t.Errorf("End = %d, want %d", got, open)
	}
	if id := c.Slices.Scoped(20*tracks, 1, track(3), 0, name, nil); id == None {
		t.Error("no slice on a track that was forgotten")
	}
	if depth, _ := s.Slice.Depth.Get(s.Slice.Rows() - 1); depth != 0 {
		t.Errorf("depth %d", depth)
	}
}
