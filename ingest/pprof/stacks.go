package pprof

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/profile"
)

// stacks sums samples by their stacks of locations while they are read, because
// most profiles have many samples of the same stack, and stacks share outer
// frames.
type stacks struct {
	locations locationNumbers
	tree      profile.StackTree // of location numbers
	sums      sums              // by stack plus one, 0 being the empty stack

	// Of the previous sample, outermost first: the next one often begins with
	// the same locations.
	path  []uint64
	nodes []profile.StackNumber
}

// add adds a sample and returns the number of its stack plus one. locations are
// innermost first.
func (s *stacks) add(locations, values []uint64) int64 {
	at, same := profile.EmptyStack, true
	for i := range locations {
		location := locations[len(locations)-1-i]
		if same = same && i < len(s.path) && s.path[i] == location; same {
			at = s.nodes[i]
			continue
		}
		at, _ = s.tree.Push(at, s.locations.of(location))
		s.path, s.nodes = append(s.path[:i], location), append(s.nodes[:i], at)
	}
	s.sums.add(int64(at)+1, values)
	return int64(at) + 1
}

// locationNumbers numbers the ids of locations in order of appearance.
type locationNumbers struct {
	low   paged.Sparse[int32] // plus one, by id
	high  paged.Map[int32]
	count int32
}

// Most tools assign ids in ascending order, so ids may be used as indices: those below fewIDs
// always, and those below lowIDs while there are at most indicesPerID indices for each id.
const (
	lowIDs       = 1 << 28
	fewIDs       = 1 << 16
	indicesPerID = 16
)

// of returns the number of an id.
func (l *locationNumbers) of(id uint64) int32 {
	if id < lowIDs {
		if number := l.low.Get(int(id)); number != 0 {
			return number - 1
		}
	}
	if number := l.high.Get(id); number != nil {
		return *number
	}
	number := l.next()
	if id < lowIDs && (id < fewIDs || l.low.Made() < indicesPerID*int(l.count)) {
		*l.low.At(int(id)) = number + 1
	} else {
		l.high.Add(id, number)
	}
	return number
}

func (l *locationNumbers) next() int32 {
	l.count++
	return l.count - 1
}

// sums adds up values by key. Keys are small numbers.
type sums struct {
	groups paged.List[sumGroup] // in the order in which the keys were first added
	byKey  paged.List[int32]    // indices of groups, plus one
	block  []uint64             // memory of the latest groups
}

// sumGroup has the sums of a key.
type sumGroup struct {
	key  int64
	sums []uint64
}

// add adds values to a key's sums, which may have fewer elements so far.
func (s *sums) add(key int64, values []uint64) {
	s.byKey.Extend(int(key) + 1)
	group := s.byKey.At(int(key))
	if *group == 0 {
		*group = int32(s.groups.Append(sumGroup{key: key})) + 1
	}
	g := s.groups.At(int(*group - 1))
	if len(g.sums) < len(values) {
		longer := s.take(len(values))
		copy(longer, g.sums)
		g.sums = longer
	}
	for i, v := range values {
		g.sums[i] += v
	}
}

// A profile may be tiny, and there may be very many in an archive.
const (
	firstBlock = 64
	mostBlock  = 8 << 10
)

// take returns memory for n sums.
func (s *sums) take(n int) []uint64 {
	if n > cap(s.block)-len(s.block) {
		s.block = make([]uint64, 0, max(n, min(max(2*cap(s.block), firstBlock), mostBlock)))
	}
	from := len(s.block)
	s.block = s.block[:from+n]
	return s.block[from : from+n : from+n]
}

// of returns the sums of a key, or nil if it has none.
func (s *sums) of(key int64) []uint64 {
	if key >= int64(s.byKey.Len()) || *s.byKey.At(int(key)) == 0 {
		return nil
	}
	return s.groups.At(int(*s.byKey.At(int(key)) - 1)).sums
}
