package memorygraph

import (
	"cmp"
	"slices"
)

// attribute calculates each node's size and effective size. Effective sizes split memory among its owners.
//
//  1. A node's size is the largest of its reported size, the sum of its children, and the size of its largest owner.
//     What the children do not account for becomes an additional child.
//  2. For each size, calculate the part that owns nothing and the part that nobody owns.
//  3. The owners of a node share it: the highest priority first, equal priorities equally. One coefficient says how
//     much of its size an owner gets, another how much is left to the node.
//  4. Coefficients multiply along parents and owned nodes.
//  5. A leaf's effective size is its size times its coefficients; other nodes sum their children.
func (g *graph) attribute() {
	g.upwards((*node).calculateSize)
	g.upwards((*node).calculateParts)
	g.upwards((*node).share)
	g.downwards((*node).accumulate)
	g.upwards((*node).calculateEffectiveSize)
}

// total adds up sizes, some of which may be unknown.
type total struct {
	size  uint64
	known bool
}

func (t *total) add(other total) {
	t.size += other.size
	t.known = t.known || other.known
}

func (n *node) calculateSize() {
	own, known := n.size()
	var children total
	for _, child := range n.children {
		children.add(child.sizeWithin(n))
	}
	var owner total
	for _, e := range n.ownedBy {
		size, ok := e.source.size()
		owner.size, owner.known = max(owner.size, size), owner.known || ok
	}
	delete(n.entries, sizeName)
	if !known && !children.known && !owner.known {
		return
	}
	size := max(own, children.size, owner.size)
	n.add(entry{name: sizeName, number: size, unit: bytesUnit})
	if rest := size - children.size; rest > 0 && len(n.children) > 0 {
		n.child("<unspecified>").add(entry{name: sizeName, number: rest, unit: bytesUnit})
	}
}

// sizeWithin returns what a node adds to an ancestor's size: nothing if it owns memory of a node below that ancestor.
func (n *node) sizeWithin(above *node) total {
	if n.owns != nil && n.owns.target.isWithin(above) {
		return total{0, true}
	}
	if len(n.children) == 0 {
		size, _ := n.size()
		return total{size, true}
	}
	var sum total
	for _, child := range n.children {
		sum.add(child.sizeWithin(above))
	}
	return sum
}

func (n *node) isWithin(above *node) bool {
	for ; n != nil; n = n.parent {
		if n == above {
			return true
		}
	}
	return false
}

func (n *node) calculateParts() {
	size, ok := n.size()
	if !ok {
		return
	}
	if len(n.children) == 0 {
		n.notOwning, n.notOwned = n.notOwning+size, n.notOwned+size
		return
	}
	for _, child := range n.children {
		if child.owns == nil {
			n.notOwning += child.notOwning
		}
		if len(child.ownedBy) == 0 {
			n.notOwned += child.notOwned
			continue
		}
		var largest uint64
		for _, e := range child.ownedBy {
			owner, _ := e.source.size()
			largest = max(largest, owner)
		}
		size, _ := child.size()
		n.notOwned += size - largest
	}
}

func (n *node) share() {
	if _, ok := n.size(); !ok || len(n.ownedBy) == 0 {
		return
	}
	owners := slices.SortedStableFunc(slices.Values(n.ownedBy), func(a, b *edge) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.source.notOwning, b.source.notOwning))
	})
	var given uint64
	for len(owners) > 0 {
		equals := slices.IndexFunc(owners, func(e *edge) bool { return e.priority < owners[0].priority })
		if equals < 0 {
			equals = len(owners)
		}
		part := 0.0
		for i, e := range owners[:equals] {
			size := e.source.notOwning
			if size > given {
				part += float64(size-given) / float64(equals-i)
				given = size
			}
			if size != 0 {
				e.source.owning = part / float64(size)
			}
		}
		owners = owners[equals:]
	}
	if n.notOwned != 0 {
		n.owned = float64(n.notOwned-given) / float64(n.notOwned)
	}
}

func (n *node) accumulate() {
	if _, ok := n.size(); !ok {
		return
	}
	n.cumulativeOwned = n.owned
	if n.parent != nil {
		n.cumulativeOwned *= n.parent.cumulativeOwned
	}
	switch {
	case n.owns != nil:
		n.cumulative = n.owning * n.owns.target.cumulative
	case n.parent != nil:
		n.cumulative = n.parent.cumulative
	default:
		n.cumulative = 1
	}
}

func (n *node) calculateEffectiveSize() {
	size, ok := n.size()
	if !ok {
		delete(n.entries, effectiveSizeName)
		return
	}
	var effective uint64
	if len(n.children) == 0 {
		effective = uint64(float64(size) * n.cumulative * n.cumulativeOwned)
	} else {
		for _, child := range n.children {
			if _, ok := child.size(); ok {
				effective += child.entries[effectiveSizeName].number
			}
		}
	}
	n.add(entry{name: effectiveSizeName, number: effective, unit: bytesUnit})
}
