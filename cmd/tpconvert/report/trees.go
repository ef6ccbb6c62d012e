package report

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/stacks"
)

const (
	maxTrees = 8
	maxNodes = 40_000  // of all trees
	maxData  = 7 << 18 // bytes that the script draws
)

// tree is a flame graph. A node is at the same place in all lists, after its parent.
type tree struct {
	Title  string    `json:"title"`
	Unit   string    `json:"unit"`
	Total  float64   `json:"total"`
	Cut    int       `json:"cut"`   // nodes that are left out because they are small
	Least  float64   `json:"least"` // the greatest value of those
	Owners []string  `json:"owners"`
	Parent []int32   `json:"parent"` // -1 for the outermost function
	Owner  []int32   `json:"owner"`
	Name   []int     `json:"name"`
	Value  []float64 `json:"value"` // with all that it calls
}

// encode returns what the script draws as JSON, with as many nodes of flame graphs as fit.
func (m *maker) encode() ([]byte, error) {
	d := &m.page.data
	for nodes := maxNodes; ; nodes /= 2 {
		names := map[string]int{}
		d.Names, d.Trees = []string{}, []tree{}
		for _, p := range d.profiles {
			d.Trees = append(d.Trees, m.tree(p, nodes/len(d.profiles), names))
		}
		text, err := json.Marshal(d)
		if err != nil || len(text) <= maxData || nodes < 100 {
			return text, err
		}
	}
}

// tree returns the heaviest nodes of a profile.
func (m *maker) tree(p *stacks.Profile, most int, names map[string]int) tree {
	t := tree{Title: m.text(p.Scope) + ": " + m.text(p.Metric), Unit: unitOf(p), Total: p.Total, Cut: p.Cut}
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
	at := make([]int32, len(p.Nodes))
	for i, n := range p.Nodes {
		if !kept[i] || n.Parent >= 0 && at[n.Parent] < 0 {
			at[i] = -1
			if n.Total != 0 {
				t.Cut++
				t.Least = max(t.Least, n.Total)
			}
			continue
		}
		at[i] = int32(len(t.Parent))
		parent := int32(-1)
		if n.Parent >= 0 {
			parent = at[n.Parent]
		}
		text := m.text(n.Function)
		name, ok := names[text]
		if !ok {
			name = len(m.page.data.Names)
			names[text] = name
			m.page.data.Names = append(m.page.data.Names, text)
		}
		t.Parent = append(t.Parent, parent)
		t.Owner = append(t.Owner, n.Owner)
		t.Name = append(t.Name, name)
		t.Value = append(t.Value, n.Total)
	}
	return t
}

// joined names a thread of a process.
func joined(process, thread string) string {
	if process != "" && thread != "" {
		return process + " / " + thread
	}
	return process + thread
}
