package functions

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
)

// gpuStep finds the critical path of a step, backward from its end.
type gpuStep struct {
	*gpuTrace
	from, to int64
	utid     int64                // of the thread that ends the path
	end      int64                // of the path, but for work that goes on after it
	work     []int32              // launched in the step, in order of launch
	awaited  map[int32]gpuAwaited // by the work that had to wait
	syncs    map[int64][]gpuSync  // by utid, in order of until
	leaves   map[int64][]gpuLeaf  // by utid
	parts    []gpuPart
}

// gpuAwaited is work of another stream, up to whose end a stream had to wait.
type gpuAwaited struct {
	work int32
	end  int64
}

// gpuSync is a call that work kept from returning.
type gpuSync struct {
	call, until int64
	work        int32
}

// gpuLeaf is a time for which a slice is the innermost one of a thread. Its row is -1 for none.
type gpuLeaf struct {
	from, to int64
	row      int
}

type gpuPart struct {
	from, to int64
	kind     string
	row      int // of a slice, -1 for none
	utid     int64
	stream   gpuStream
}

func (p *gpuPart) write(b *dataframe.Builder, t *gpuTrace) {
	b.Int(0, p.from)
	b.Int(1, p.to-p.from)
	b.Text(2, p.kind)
	if p.row < 0 {
		b.Null(3)
		b.Null(4)
	} else {
		b.Int(3, t.byID.ID.Int(p.row))
		if t.name.IsNull(p.row) {
			b.Null(4)
		} else {
			b.Text(4, t.name.Text(p.row))
		}
	}
	for i, v := range []int64{p.utid, p.stream.device, p.stream.stream} {
		if v == unknown {
			b.Null(5 + i)
		} else {
			b.Int(5+i, v)
		}
	}
}

// path returns the parts of the critical path of a step, in order of time. The step is a slice of a thread.
func (t *gpuTrace) path(row int, utid int64) []gpuPart {
	if t.dur.Int(row) < 0 {
		return nil
	}
	s := &gpuStep{gpuTrace: t, from: t.ts.Int(row), to: t.end(row), utid: utid, awaited: map[int32]gpuAwaited{},
		syncs: map[int64][]gpuSync{}, leaves: map[int64][]gpuLeaf{}}
	calls := within(t.calls, s.from, s.to, func(c gpuCall) int64 { return c.ts })
	s.end = s.to
	// A slice of another kind, such as that of the whole profile, ends with its last call.
	if len(calls) > 0 && !slices.ContainsFunc(calls, func(c gpuCall) bool { return c.utid == utid }) {
		last := slices.MaxFunc(calls, func(a, b gpuCall) int { return cmp.Compare(a.end, b.end) })
		s.utid, s.end = last.utid, last.end
	}
	s.work = s.launchedFrom(t.launched, s.from, s.to)
	s.findAwaited()
	s.findSyncs(calls)
	s.walk()
	slices.SortStableFunc(s.parts, func(a, b gpuPart) int { return cmp.Compare(a.from, b.from) })
	return s.parts
}

// launchedFrom returns the part of a list of work, in order of launch, that was launched within a time.
func (t *gpuTrace) launchedFrom(list []int32, from, to int64) []int32 {
	return within(list, from, to, func(i int32) int64 { return t.gpuWork[i].at })
}

// findAwaited finds the first work after a stream was told to wait, and the last work before the event was recorded.
func (s *gpuStep) findAwaited() {
	for _, w := range within(s.waits, s.from, s.to, func(w gpuWait) int64 { return w.ts }) {
		before := s.launchedFrom(s.streams[w.source], s.from, w.eventTS)
		after := s.launchedFrom(s.streams[w.recorded], w.ts, s.to)
		if w.eventTS < s.from || w.eventTS > s.to || len(before) == 0 || len(after) == 0 {
			continue
		}
		last := before[len(before)-1]
		if end := s.gpuWork[last].end; s.awaited[after[0]] == (gpuAwaited{}) || end > s.awaited[after[0]].end {
			s.awaited[after[0]] = gpuAwaited{last, end}
		}
	}
}

// findSyncs finds the calls that work kept from returning.
func (s *gpuStep) findSyncs(calls []gpuCall) {
	endOf := func(i int32) int64 { return s.gpuWork[i].end }
	byEnd := slices.Clone(s.work)
	slices.SortStableFunc(byEnd, func(a, b int32) int { return cmp.Compare(endOf(a), endOf(b)) })
	for _, c := range calls {
		var during []int32
		if c.synchronize {
			during = within(byEnd, c.ts+1, c.end, endOf)
		} else if c.copies {
			for _, i := range s.launchedFrom(s.work, c.ts, c.ts) {
				if s.gpuWork[i].launch == c.id && endOf(i) > c.ts && endOf(i) <= c.end {
					during = append(during, i)
				}
			}
		}
		if len(during) > 0 {
			last := slices.MaxFunc(during, func(a, b int32) int { return cmp.Compare(endOf(a), endOf(b)) })
			s.syncs[c.utid] = append(s.syncs[c.utid], gpuSync{c.id, c.end, last})
		}
	}
	for _, list := range s.syncs {
		slices.SortStableFunc(list, func(a, b gpuSync) int { return cmp.Compare(a.until, b.until) })
	}
}

// lastSync returns the last such call that returned up to a time, of a thread or that of the step, or nil.
func (s *gpuStep) lastSync(at, utid int64) (last *gpuSync) {
	for _, list := range [][]gpuSync{s.syncs[utid], s.syncs[s.utid]} {
		i := sort.Search(len(list), func(i int) bool { return list[i].until > at }) - 1
		if i >= 0 && (last == nil || list[i].until > last.until) {
			last = &list[i]
		}
	}
	return last
}

// walk goes from the end to the begin, each time to what ended last of all that the part before waited for.
func (s *gpuStep) walk() {
	at, next := s.end, int32(-1)
	for _, i := range s.work {
		if w := s.gpuWork[i]; w.end >= s.end && (next < 0 || w.end > at) {
			at, next = w.end, i
		}
	}
	if next < 0 {
		at, next = s.cpu(s.end, s.utid)
	}
	visited := map[int32]bool{}
	for next >= 0 && !visited[next] {
		i, w := next, s.gpuWork[next]
		if w.utid == unknown || w.at < s.from || w.at > s.to {
			return
		}
		visited[i] = true
		s.addWork(w.ts, at, s.kinds.Text(int(i)), w.id, w.stream)
		ready := w.at
		if w.before >= 0 {
			ready = max(ready, s.gpuWork[w.before].end)
		}
		switch awaited, waits := s.awaited[i]; {
		case waits && awaited.end <= w.ts && awaited.end > ready:
			s.addWork(awaited.end, w.ts, "wait", unknown, w.stream)
			at, next = awaited.end, awaited.work
		case w.before < 0 || s.gpuWork[w.before].end < w.at:
			s.addWork(w.at, w.ts, "launch", w.launch, w.stream)
			at, next = s.cpu(w.at, w.utid)
		case s.gpuWork[w.before].at >= s.from:
			at, next = min(s.gpuWork[w.before].end, w.ts), w.before
			s.addWork(at, w.ts, "gap", unknown, w.stream)
		default:
			s.addWork(s.from, w.ts, "earlier", unknown, w.stream)
			return
		}
	}
}

func (s *gpuStep) addWork(from, to int64, kind string, id int64, stream gpuStream) {
	row := -1
	if id != unknown {
		row = s.byID.Find(id)
	}
	s.add(gpuPart{from, to, kind, row, unknown, stream})
}

func (s *gpuStep) add(p gpuPart) {
	if p.to > p.from {
		s.parts = append(s.parts, p)
	}
}

// cpu adds what a thread did up to a time, since a call that work kept from returning. It returns that work and its end, or -1.
func (s *gpuStep) cpu(at, utid int64) (int64, int32) {
	since, work, end := s.from, int32(-1), int64(0)
	if sync := s.lastSync(at, utid); sync != nil {
		since, work, end = sync.until, sync.work, s.gpuWork[sync.work].end
		s.add(gpuPart{end, since, "sync", s.byID.Find(sync.call), utid, gpuStream{unknown, unknown}})
	}
	s.addLeaves(since, at, utid)
	return end, work
}

// addLeaves adds the innermost slices of a thread. While it has nothing to do, the thread of the step does what comes before.
func (s *gpuStep) addLeaves(from, to, utid int64) {
	leaves := s.leavesOf(utid)
	first := sort.Search(len(leaves), func(i int) bool { return leaves[i].to > from })
	for _, l := range leaves[first:] {
		if l.from >= to {
			break
		}
		l.from, l.to = max(l.from, from), min(l.to, to)
		if l.row < 0 && utid != s.utid {
			s.addLeaves(l.from, l.to, s.utid)
		} else {
			s.add(gpuPart{l.from, l.to, "cpu", l.row, utid, gpuStream{unknown, unknown}})
		}
	}
}

// leavesOf returns the innermost slices of a thread over the time of the step.
func (s *gpuStep) leavesOf(utid int64) []gpuLeaf {
	if known, ok := s.leaves[utid]; ok {
		return known
	}
	type edge struct {
		ts     int64
		row    int // of the innermost slice from then on
		starts bool
		depth  int64
	}
	var edges []edge
	slice := func(row int) {
		if ts, dur, depth := s.ts.Int(row), s.dur.Int(row), s.depth.Int(row); dur > 0 && ts+dur > s.from {
			edges = append(edges, edge{ts, row, true, depth}, edge{ts + dur, s.parentOf(row), false, -depth})
		}
	}
	for _, track := range s.tracks[utid] {
		rows := s.onTrack(track)
		first := sort.Search(len(rows), func(i int) bool { return s.ts.Int(int(rows[i])) >= s.from })
		if first > 0 {
			for row := int(rows[first-1]); row >= 0; row = s.parentOf(row) {
				slice(row)
			}
		}
		for _, row := range rows[first:] {
			if s.ts.Int(int(row)) >= s.to {
				break
			}
			slice(int(row))
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := cmp.Compare(a.ts, b.ts); c != 0 {
			return c
		}
		if a.starts != b.starts {
			if b.starts {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.depth, b.depth)
	})
	leaves := []gpuLeaf{{unknown, s.to, -1}}
	for _, e := range edges {
		last := &leaves[len(leaves)-1]
		if last.to = e.ts; last.from >= last.to {
			leaves = leaves[:len(leaves)-1]
		}
		leaves = append(leaves, gpuLeaf{e.ts, max(s.to, e.ts), e.row})
	}
	s.leaves[utid] = leaves
	return leaves
}
