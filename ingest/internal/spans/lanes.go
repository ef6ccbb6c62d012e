package spans

import (
	"container/heap"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/model"
)

// laneSets has the lanes of each trace in each process. It forgets those that were not used lately, whose spans then lie
// on further tracks.
type laneSets struct {
	context       *model.Context
	recent, older map[uint64]*laneSet
}

// maxRecent is how many sets one generation of laneSets has.
const maxRecent = 16 << 10

func (s *laneSets) of(traceID []byte, upid model.UPID) *laneSet {
	key := xxh3.HashSeed(traceID, uint64(upid))
	if set := s.recent[key]; set != nil {
		return set
	}
	if s.recent == nil || len(s.recent) == maxRecent {
		for _, set := range s.older {
			set.release(s.context.Slices)
		}
		s.recent, s.older = map[uint64]*laneSet{}, s.recent
	}
	set := s.older[key]
	if set == nil {
		set = &laneSet{group: s.context.Store.NewTrackGroup(), events: model.None, open: map[uint64]*lane{}}
	}
	delete(s.older, key)
	s.recent[key] = set
	return set
}

// laneSet has the tracks of one trace in one process, as a heap by when they are free.
type laneSet struct {
	lanes  []*lane
	open   map[uint64]*lane // by key of the open spans
	group  int32
	events model.TrackID // of the events, or None
}

// lane is a track of spans that nest.
type lane struct {
	track model.TrackID // or None
	index int
	place int // in the heap
	open  []openSpan
}

// release forgets the slices on the tracks.
func (s *laneSet) release(slices *model.Slices) {
	for _, l := range s.lanes {
		slices.Release(l.track)
	}
	if s.events != model.None {
		slices.Release(s.events)
	}
}

type openSpan struct {
	key     uint64
	ts, end int64 // ns
}

// over reports whether the span has ended for one that begins at ts.
func (o openSpan) over(ts, dur int64) bool {
	return o.end < ts || o.end == ts && (o.ts != ts || dur != 0)
}

// place returns the lane for a span: that of its parent, the first of the candidates that is open, if it is inside of it and of no
// sibling, or else a free one. Calls must have ascending ts.
func (s *laneSet) place(key uint64, parents []uint64, ts, dur int64) (l *lane, nested bool) {
	end := ts + max(dur, 0)
	for _, parent := range parents {
		if l = s.open[parent]; l != nil {
			s.close(l, ts, dur)
			n := len(l.open)
			nested = n > 0 && l.open[n-1].key == parent && end <= l.open[n-1].end
			break
		}
	}
	if !nested {
		l = nil
		if len(s.lanes) > 0 && (len(s.lanes[0].open) == 0 || s.lanes[0].open[0].over(ts, dur)) {
			l = s.lanes[0]
			s.close(l, ts, dur)
		}
		if l == nil {
			l = &lane{track: model.None, index: len(s.lanes)}
			heap.Push(s, l)
		}
	}
	l.open = append(l.open, openSpan{key, ts, end})
	s.open[key] = l
	heap.Fix(s, l.place)
	return l, nested
}

// close removes the spans of a lane that have ended.
func (s *laneSet) close(l *lane, ts, dur int64) {
	for n := len(l.open); n > 0 && l.open[n-1].over(ts, dur); n-- {
		if key := l.open[n-1].key; s.open[key] == l {
			delete(s.open, key)
		}
		l.open = l.open[:n-1]
	}
	heap.Fix(s, l.place)
}

// end returns when the lane is free.
func (l *lane) end() int64 {
	if len(l.open) == 0 {
		return math.MinInt64
	}
	return l.open[0].end
}

// The methods of heap.Interface.
func (s *laneSet) Len() int { return len(s.lanes) }

func (s *laneSet) Less(i, j int) bool {
	a, b := s.lanes[i], s.lanes[j]
	return a.end() < b.end() || a.end() == b.end() && a.index < b.index
}

func (s *laneSet) Swap(i, j int) {
	s.lanes[i], s.lanes[j] = s.lanes[j], s.lanes[i]
	s.lanes[i].place, s.lanes[j].place = i, j
}

func (s *laneSet) Push(x any) {
	l := x.(*lane)
	l.place = len(s.lanes)
	s.lanes = append(s.lanes, l)
}

func (s *laneSet) Pop() any {
	last := len(s.lanes) - 1
	l := s.lanes[last]
	s.lanes = s.lanes[:last]
	return l
}
