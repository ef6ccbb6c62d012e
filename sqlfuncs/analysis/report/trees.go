package report

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/stacks"
)

const (
	maxTrees = 8
	maxNodes = 300_000 // of all trees
	maxData  = 7 << 18 // bytes that the script draws, compressed
)

// tree is a flame graph. A node is at the same place in all lists, after its parent. What a node lasts or weighs is its own value
// and those of the nodes below it. Children that are too small to be kept are one node, without a name.
type tree struct {
	Title   string    `json:"title"`
	Unit    string    `json:"unit"`
	Timed   bool      `json:"timed"` // slices, which have times
	Cut     int       `json:"cut"`   // nodes that the reader of the profile left out
	Owners  []string  `json:"owners"`
	Parent  []int32   `json:"parent"` // -1 for the outermost function
	Owner   []int32   `json:"owner"`
	Name    []int     `json:"name"`    // smaller for children that are one node
	Self    []float64 `json:"self"`    // of the function itself
	Smaller []int     `json:"smaller"` // by node without a name, in order: how many functions it stands for
	Charts  []chart   `json:"charts,omitempty"`
}

// chart is a thread in the order of time. A box is at the same place in all lists, after its parent. Those that are too small to be
// kept are one box, without a name.
type chart struct {
	Title   string    `json:"title"`
	Total   float64   `json:"total"`
	Parent  []int32   `json:"parent"` // -1 for the outermost
	Name    []int     `json:"name"`   // smaller for boxes that are one
	Start   []float64 `json:"start"`
	Width   []float64 `json:"width"`
	Value   []float64 `json:"value"`   // by box without a name, in order: the sum of those for which it stands
	Smaller []int     `json:"smaller"` // and how many they are
}

// graph is a profile to draw, with the charts of its threads.
type graph struct {
	*stacks.Profile
	charts []*stacks.Chart
}

// smaller is the name of a node that stands for several.
const smaller = -1

// encode returns what the script draws, as compressed JSON, with as many nodes of flame graphs as fit.
func (m *maker) encode() ([]byte, error) {
	d := &m.page.data
	charts := math.MaxInt
	for nodes := maxNodes; ; nodes /= 2 {
		names := map[string]int{}
		d.Names, d.Places, d.Trees = []string{}, map[string]string{}, []tree{}
		for _, g := range d.graphs {
			t := m.tree(g.Profile, nodes/len(d.graphs), names)
			for _, c := range g.charts[:min(len(g.charts), charts)] {
				t.Charts = append(t.Charts, m.chart(c, names))
			}
			d.Trees = append(d.Trees, t)
		}
		for name := range names {
			if place, ok := m.places[name]; ok {
				d.Places[name] = place
			}
		}
		charts = min(charts, 16) / 2
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		err := cmp.Or(json.NewEncoder(w).Encode(d), w.Close())
		if err != nil || packed.Len() <= maxData || nodes < 100 {
			return packed.Bytes(), err
		}
	}
}

// tree returns the heaviest nodes of a profile.
func (m *maker) tree(p *stacks.Profile, most int, names map[string]int) tree {
	t := tree{Title: m.text(p.Scope) + ": " + m.text(p.Metric), Unit: unitOf(p), Timed: p.Kind == stacks.KindSlices || p.Kind == stacks.KindGPUSlices, Cut: p.Cut}
	for _, o := range p.Owners {
		t.Owners = append(t.Owners, m.text(cmp.Or(joined(o.Process, o.Thread), "all")))
	}
	order := make([]int, len(p.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Nodes[b].Total, p.Nodes[a].Total) }) // parents stay before
	kept := make([]bool, len(p.Nodes))
	for _, i := range order[:min(len(order), most)] {
		kept[i] = p.Nodes[i].Total > 0
	}
	at := make([]int32, len(p.Nodes)) // of a kept node, or of the one that stands for it
	type place struct{ parent, owner int32 }
	rest := map[place]int32{} // nodes that stand for several
	for i, n := range p.Nodes {
		parent := int32(-1)
		if n.Parent >= 0 {
			parent = at[n.Parent]
		}
		switch {
		case kept[i]:
			at[i] = t.add(parent, n.Owner, m.nameOf(n.Function, names), n.Self)
			continue
		case n.Total == 0: // and so have those below it
			continue
		case n.Parent >= 0 && !kept[n.Parent]:
			at[i] = parent
		default:
			node, ok := rest[place{parent, n.Owner}]
			if !ok {
				node = t.add(parent, n.Owner, smaller, 0)
				rest[place{parent, n.Owner}] = node
			}
			at[i] = node
		}
		t.Self[at[i]] += n.Self
		t.Smaller[at[i]]++
	}
	t.Smaller = slices.DeleteFunc(t.Smaller, func(n int) bool { return n == 0 })
	return t
}

// chart returns what the script draws of a chart.
func (m *maker) chart(from *stacks.Chart, names map[string]int) chart {
	c := chart{Title: m.text(cmp.Or(joined(from.Owner.Process, from.Owner.Thread), "all")), Total: from.Total}
	for _, b := range from.Boxes {
		name := smaller
		if b.Smaller > 0 {
			c.Value, c.Smaller = append(c.Value, b.Value), append(c.Smaller, b.Smaller)
		} else {
			name = m.nameOf(b.Function, names)
		}
		c.Parent, c.Name = append(c.Parent, b.Parent), append(c.Name, name)
		c.Start, c.Width = append(c.Start, b.Start), append(c.Width, b.End-b.Start)
	}
	return c
}

// add adds a node.
func (t *tree) add(parent, owner int32, name int, self float64) int32 {
	t.Parent, t.Owner, t.Name = append(t.Parent, parent), append(t.Owner, owner), append(t.Name, name)
	t.Self, t.Smaller = append(t.Self, self), append(t.Smaller, 0)
	return int32(len(t.Parent)) - 1
}

// nameOf returns the number of a function's name.
func (m *maker) nameOf(function string, names map[string]int) int {
	text := m.text(function)
	name, ok := names[text]
	if !ok {
		name = len(m.page.data.Names)
		names[text] = name
		m.page.data.Names = append(m.page.data.Names, text)
	}
	return name
}

// joined names a thread of a process.
func joined(process, thread string) string {
	if process != "" && thread != "" {
		return process + " / " + thread
	}
	return process + thread
}
