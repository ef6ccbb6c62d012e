package model

import (
	"maps"
	"slices"
)

// States stores the states of state tracks.
type States struct {
	context *Context
	open    map[TrackID]*openState
}

type openState struct {
	row   int64
	ts    int64
	value StringID
	args  ArgSet
}

// Set puts a track into a state at ts (ns), or into none if value is zero. If the
// track is in that state already, the args are added to it.
func (s *States) Set(ts int64, track TrackID, category, value StringID, args ArgSource) {
	t := &s.context.Store.State
	if now := s.open[track]; now != nil {
		if now.value == value {
			now.add(args)
			return
		}
		t.Dur.Set(now.row, ts-now.ts)
		s.close(track, now)
	}
	if value == 0 {
		return
	}
	row := t.Append()
	t.Pin(row)
	t.TS.Set(row, ts)
	t.Dur.Set(row, pending)
	t.TrackID.Set(row, track)
	t.Category.Set(row, category)
	t.Value.Set(row, value)
	now := &openState{row: row, ts: ts, value: value}
	s.open[track] = now
	now.add(args)
}

func (o *openState) add(args ArgSource) {
	if args != nil {
		args.AddArgs(&o.args)
	}
}

// close ends a state: it stores its args and releases its row.
func (s *States) close(track TrackID, o *openState) {
	t := &s.context.Store.State
	s.context.Store.SetArgs(&t.ArgSetID, o.row, &o.args)
	t.Unpin(o.row)
	delete(s.open, track)
}

// flush stores the args of the states still open at the end.
func (s *States) flush() {
	for _, track := range slices.Sorted(maps.Keys(s.open)) {
		s.close(track, s.open[track])
	}
}
