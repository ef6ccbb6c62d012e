// Package clock relates clocks by snapshots, in which several were read at the same moment.
package clock

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Clock identifies a clock of a trace.
type Clock struct {
	ID       uint32
	Sequence uint32 // packet sequence the clock is local to, 0 for a clock of the machine

	File    table.ID[schema.TraceFile] // that owns the clock, plus one; 0 for a clock shared by files
	Machine table.ID[schema.Machine]
}

func compare(a, b Clock) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Sequence, b.Sequence),
		cmp.Compare(a.File, b.File), cmp.Compare(a.Machine, b.Machine))
}

// Reading is the value of a clock in a snapshot, in units of Unit ns. Events on an
// incremental clock give the time since the previous event or snapshot.
type Reading struct {
	Clock       Clock
	Value       int64
	Unit        int64
	Incremental bool
}

// Graph leads from a clock to all others that occur in one snapshot with it. Snapshots
// of the same clocks are of one kind. A conversion takes the shortest path through the
// graph, and on each edge the latest snapshot of the edge's kind that is not after the
// event. A snapshot may have very many clocks, so edges are not stored.
type Graph struct {
	Trace     Clock // the clock of the tables; only readings in ns that ascend are valid
	Snapshots int64 // added so far, also invalid ones
	Searches  int64 // conversions that no route was known for

	nodes  map[Clock]*node
	kinds  map[string]int
	clocks [][]Clock // by kind, in order; none if all its snapshots are invalid
	routes [8]route  // the latest conversions
	oldest int       // index in routes of the one to replace next
	hints  [16]uint8 // index of the route used last, by a hash of the clock
}

type node struct {
	unit         int64
	incremental  bool
	last         int64    // latest value in ns, to which an incremental clock adds
	nonMonotonic bool     // the clock went back, so its times may be ambiguous
	kinds        []int    // of the snapshots that it occurs in, in order
	series       []series // of each of the kinds
	joined       *node    // see root
}

// root returns a node that stands for all clocks that snapshots connect, directly or not.
func (n *node) root() *node {
	for n.joined != nil {
		if n.joined.joined != nil {
			n.joined = n.joined.joined
		}
		n = n.joined
	}
	return n
}

// shared returns the first kind of snapshots with both clocks.
func (n *node) shared(other *node) (kind int, ok bool) {
	few, many := n, other
	if len(few.kinds) > len(many.kinds) {
		few, many = many, few
	}
	for _, kind := range few.kinds {
		if many.of(kind) != nil {
			return kind, true
		}
	}
	return 0, false
}

// Edge leads to another clock.
type Edge struct {
	To   Clock
	Kind int // of the snapshots with both clocks
}

// The reasons why a conversion fails.
var (
	ErrUnknownSource = errors.New("the clock is in no snapshot")
	ErrUnknownTarget = errors.New("the clock to convert to is in no snapshot")
	ErrNoPath        = errors.New("no snapshots lead from one clock to the other")
)

// of returns the series of a kind of snapshots, or nil if the clock does not occur in them.
func (n *node) of(kind int) series {
	if at, ok := slices.BinarySearch(n.kinds, kind); ok {
		return n.series[at]
	}
	return nil
}

// series has the readings of a clock in the snapshots of one kind, in order.
type series []nodeReading

type nodeReading struct{ snapshot, ns int64 }

// compareSnapshots orders a reading and a snapshot.
func compareSnapshots(r nodeReading, snapshot int64) int { return cmp.Compare(r.snapshot, snapshot) }

// route is a conversion that is valid for times from min up to max.
type route struct {
	from, to     Clock
	node         *node
	min, max, by int64
}

// NewGraph returns a graph without snapshots.
func NewGraph(trace Clock) *Graph {
	return &Graph{Trace: trace, nodes: map[Clock]*node{}, kinds: map[string]int{}}
}

func (n *node) ns(value int64) int64 {
	if !n.incremental {
		return value * n.unit
	}
	n.last += value * n.unit
	return n.last
}

// Convert converts a time of a clock, in its unit, to ns of another.
func (g *Graph) Convert(from Clock, value int64, to Clock) (int64, error) {
	if from == to {
		return value, nil
	}
	var ns int64
	known := false
	hint := &g.hints[(from.Sequence+from.ID)%uint32(len(g.hints))]
	for i := range g.routes {
		// Try the hinted route first: it swaps places with route 0.
		switch {
		case i == 0:
			i = int(*hint)
		case i == int(*hint):
			i = 0
		}
		route := &g.routes[i]
		if route.node == nil || route.from != from || route.to != to {
			continue
		}
		if !known {
			ns, known = route.node.ns(value), true
		}
		if ns >= route.min && ns < route.max {
			*hint = uint8(i)
			return ns + route.by, nil
		}
	}
	g.Searches++
	path := g.Path(from, to)
	switch {
	case path != nil:
	case g.nodes[from] == nil:
		return 0, ErrUnknownSource
	case g.nodes[to] == nil:
		return 0, ErrUnknownTarget
	default:
		return 0, ErrNoPath
	}
	node := g.nodes[from]
	if !known {
		ns = node.ns(value)
	}
	route := route{from: from, to: to, node: node, min: math.MinInt64, max: math.MaxInt64}
	at := node
	for _, edge := range path {
		series := at.of(edge.Kind)
		i := max(0, sort.Search(len(series), func(i int) bool { return series[i].ns > ns+route.by })-1)
		if i > 0 {
			route.min = max(route.min, series[i].ns-route.by)
		}
		if i+1 < len(series) {
			route.max = min(route.max, series[i+1].ns-route.by)
		}
		next := g.nodes[edge.To]
		other := next.of(edge.Kind)
		if j, ok := slices.BinarySearchFunc(other, series[i].snapshot, compareSnapshots); ok {
			route.by += other[j].ns - series[i].ns
		}
		at = next
	}
	g.routes[g.oldest] = route
	g.oldest = (g.oldest + 1) % len(g.routes)
	return ns + route.by, nil
}

// Leads reports whether times of a clock can be converted to another.
func (g *Graph) Leads(from, to Clock) bool {
	_, err := g.Convert(from, 0, to)
	return err == nil
}

// maxClockHops is the most snapshots that one conversion may go through.
const maxClockHops = 4

// Path finds the shortest way from one clock to another. Of several it takes the one
// whose clocks, then kinds, come first.
func (g *Graph) Path(from, to Clock) []Edge {
	target := g.nodes[to]
	if g.nodes[from] == nil || target == nil || g.nodes[from].root() != target.root() {
		return nil
	}
	type step struct {
		clock Clock
		via   Edge
		back  int
		hops  int
	}
	queue := []step{{clock: from, back: -1}}
	seen := map[Clock]bool{from: true}
	left := map[int]bool{} // kinds all of whose clocks were seen
	for i := 0; i < len(queue); i++ {
		if queue[i].hops == maxClockHops {
			break
		}
		node := g.nodes[queue[i].clock]
		if node.nonMonotonic {
			continue
		}
		if kind, ok := node.shared(target); ok {
			path := []Edge{{to, kind}}
			for at := i; at > 0; at = queue[at].back {
				path = append(path, queue[at].via)
			}
			slices.Reverse(path)
			return path
		}
		first := len(queue)
		for _, kind := range node.kinds {
			if left[kind] {
				continue
			}
			left[kind] = true
			for _, clock := range g.clocks[kind] {
				if !seen[clock] {
					seen[clock] = true
					queue = append(queue, step{clock: clock, via: Edge{clock, kind}, back: i, hops: queue[i].hops + 1})
				}
			}
		}
		slices.SortFunc(queue[first:], func(a, b step) int { return compare(a.clock, b.clock) })
	}
	return nil
}

// valid reports whether a snapshot agrees with itself and with the earlier ones.
func (g *Graph) valid(readings []Reading, kind int) bool {
	clocks := sortedClocks(readings)
	for i := 1; i < len(clocks); i++ {
		if clocks[i] == clocks[i-1] {
			return false
		}
	}
	for _, r := range readings {
		if node := g.nodes[r.Clock]; node == nil {
			if r.Incremental && r.Clock.Sequence == 0 {
				return false // only clocks of a sequence can be incremental
			}
		} else if node.unit != r.Unit || node.incremental != r.Incremental {
			return false
		} else if series := node.of(kind); r.Clock == g.Trace && series != nil && r.Value*r.Unit < series[len(series)-1].ns {
			return false
		}
		if r.Clock == g.Trace && r.Unit != 1 {
			return false
		}
	}
	return true
}

// Add adds a snapshot and returns its kind, a number that counts up from 0, and whether the snapshot is valid. One that is
// not relates nothing.
func (g *Graph) Add(readings []Reading) (kind int, ok bool) {
	snapshot := g.Snapshots
	g.Snapshots++
	g.routes = [len(g.routes)]route{}
	var name []byte
	for _, r := range readings {
		name = binary.AppendUvarint(name, uint64(r.Clock.ID))
		name = binary.AppendUvarint(name, uint64(r.Clock.Sequence))
		name = binary.AppendUvarint(name, uint64(r.Clock.File))
		name = binary.AppendUvarint(name, uint64(r.Clock.Machine))
	}
	kind, seen := g.kinds[string(name)]
	if !seen {
		kind = len(g.kinds)
		g.kinds[string(name)] = kind
		g.clocks = append(g.clocks, nil)
	}
	if !g.valid(readings, kind) {
		return kind, false
	}
	for _, r := range readings {
		clock := g.nodes[r.Clock]
		if clock == nil {
			clock = &node{unit: r.Unit, incremental: r.Incremental}
			g.nodes[r.Clock] = clock
		}
		clock.last = r.Value * r.Unit
		at, ok := slices.BinarySearch(clock.kinds, kind)
		if !ok {
			clock.kinds = slices.Insert(clock.kinds, at, kind)
			clock.series = slices.Insert(clock.series, at, nil)
		}
		series := &clock.series[at]
		if n := len(*series); n > 0 && clock.last < (*series)[n-1].ns {
			// A wall clock may be set back. Other clocks can still be converted to it, but
			// it can no longer be converted to them.
			clock.nonMonotonic = true
		}
		*series = append(*series, nodeReading{snapshot, clock.last})
	}
	if g.clocks[kind] == nil {
		g.clocks[kind] = sortedClocks(readings)
		for _, clock := range g.clocks[kind] {
			g.join(clock, g.clocks[kind][0])
		}
	}
	return kind, true
}

// join notes that snapshots connect two clocks.
func (g *Graph) join(a, b Clock) {
	if from, to := g.nodes[a].root(), g.nodes[b].root(); from != to {
		from.joined = to
	}
}

func sortedClocks(readings []Reading) []Clock {
	clocks := make([]Clock, len(readings))
	for i, r := range readings {
		clocks[i] = r.Clock
	}
	slices.SortFunc(clocks, compare)
	return clocks
}
