// Package stacks reads the call stacks of a trace's profiles. It asks in PerfettoSQL, so that it works in every build.
package stacks

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// The kinds of what is no profile, but shown as one: slices of threads, and those of GPUs, which run beside them.
const (
	KindSlices    = "slices"
	KindGPUSlices = "GPU slices"
)

// Profile is what one metric of a profile says: a tree of functions for each thread.
type Profile struct {
	profiles.Measure
	Owners  []Owner
	Nodes   []Node // parents come first
	Total   float64
	Cut     int  // nodes that are left out because others are heavier
	Dropped bool // the file names functions that are left out, with what they call
}

// Owner is the thread of stacks, as far as known. Threads of one name are one.
type Owner struct{ Process, Thread string }

// Node is a function that was called by its parent.
type Node struct {
	Parent   int32 // -1 for the outermost function
	Owner    int32
	Function string
	Self     float64
	Total    float64 // with all that it called
}

// Function is what a profile says of a function in a process.
type Function struct {
	Process, Name string
	Self          float64
	Total         float64 // with all that it called; recursive calls count once
}

// Values are the values at callsites.
const Values = `
SELECT at.scope, at.metric, at.unit, coalesce(process.name, ''), coalesce(thread.name, ''), at.callsite_id, cast(sum(at.value) AS REAL),
  at.kind, min(at.place), max(at.is_default)
FROM _stack_value AS at
LEFT JOIN thread USING (utid)
LEFT JOIN process ON process.upid = coalesce(at.upid, thread.upid)
GROUP BY at.kind, 1, 2, 3, 4, 5, 6
ORDER BY at.kind, 1, 2, 3, 4, 5, 6`

// callsite is a place in a stack.
type callsite struct{ parent, frame int64 }

// noCallsite is the parent of the outermost callsites.
const noCallsite = -1

// place is a node, as its parent and siblings see it.
type place struct {
	parent, owner int32
	function      string
}

// reader builds the tree of a profile.
type reader struct {
	functions map[int64][]string // by frame
	callsites map[int64]callsite
	profile   *Profile
	dropped   *dropped // by the profile, or nil
	owners    map[Owner]int32
	nodes     map[place]int32
	known     map[[2]int64]reached // by owner and callsite
}

// reached is the node of a callsite.
type reached struct {
	node int32
	user bool // functions led to it that are not dropped
	cut  bool // what is called from there is dropped
}

// newReader reads the functions of frames, and the callsites.
func newReader(ctx context.Context, s *session.Session) (*reader, error) {
	r := &reader{functions: map[int64][]string{}, callsites: map[int64]callsite{}}
	err := each(ctx, s, "SELECT frame_id, name FROM _frame_function ORDER BY frame_id, symbol_id", func(v []any) error {
		id, _ := v[0].(int64)
		name, _ := v[1].(string)
		r.functions[id] = append(r.functions[id], name)
		return nil
	})
	if err == nil {
		err = each(ctx, s, "SELECT id, coalesce(parent_id, -1), frame_id FROM stack_profile_callsite", func(v []any) error {
			id, _ := v[0].(int64)
			parent, _ := v[1].(int64)
			frame, _ := v[2].(int64)
			r.callsites[id] = callsite{parent, frame}
			return nil
		})
	}
	return r, err
}

// each calls row with each row of a query.
func each(ctx context.Context, s *session.Session, query string, row func([]any) error) error {
	return s.Each(ctx, query, func(q *session.Query) error { return q.Each(ctx, row) })
}

// Read returns the profiles of a trace, in the order of profiles.Sort. The session runs PerfettoSQL.
func Read(ctx context.Context, s *session.Session) ([]*Profile, error) {
	r, err := newReader(ctx, s)
	var all []*Profile
	var dropped map[string]*dropped
	if err == nil {
		dropped, err = readDropped(ctx, s)
	}
	if err == nil {
		err = each(ctx, s, Values, func(v []any) error {
			var texts [5]string
			for i := range texts {
				texts[i], _ = v[i].(string)
			}
			kind, _ := v[7].(string)
			if p := r.profile; p == nil || p.Kind != kind || p.Scope != texts[0] || p.Metric != texts[1] || p.Unit != texts[2] {
				r.begin(&Profile{Measure: profiles.Measure{Kind: kind, Scope: texts[0], Metric: texts[1], Unit: texts[2], Place: math.MaxInt64}})
				if kind == profiles.KindProfile {
					r.dropped = dropped[texts[0]]
					r.profile.Dropped = r.dropped != nil
				}
				all = append(all, r.profile)
			}
			place, _ := v[8].(int64)
			own, _ := v[9].(int64)
			r.profile.Place = min(r.profile.Place, place)
			r.profile.Own = r.profile.Own || own != 0
			at, known := v[5].(int64)
			if !known {
				at = noCallsite
			}
			value, _ := v[6].(float64)
			r.profile.Measured = r.profile.Measured || value != 0
			return r.add(Owner{texts[3], texts[4]}, at, value)
		})
	}
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		for i := len(p.Nodes) - 1; i >= 0; i-- {
			if n := &p.Nodes[i]; n.Parent >= 0 {
				p.Nodes[n.Parent].Total += n.Total
			}
		}
	}
	profiles.Sort(all, func(p *Profile) profiles.Measure { return p.Measure })
	return all, nil
}

func (r *reader) begin(p *Profile) {
	r.profile, r.dropped, r.owners, r.nodes, r.known = p, nil, map[Owner]int32{}, map[place]int32{}, map[[2]int64]reached{}
}

// owner returns the number of an owner.
func (r *reader) owner(o Owner) int32 {
	owner, ok := r.owners[o]
	if !ok {
		owner = int32(len(r.owners))
		r.owners[o] = owner
		r.profile.Owners = append(r.profile.Owners, o)
	}
	return owner
}

// add adds the value of a callsite.
func (r *reader) add(o Owner, at int64, value float64) error {
	owner := r.owner(o)
	n, err := r.node(owner, at)
	if err != nil {
		return err
	}
	if n < 0 {
		n = r.child(place{-1, owner, "[no stack]"})
	}
	r.profile.Nodes[n].Self += value
	r.profile.Nodes[n].Total += value
	r.profile.Total += value
	return nil
}

// node returns the node of a callsite.
func (r *reader) node(owner int32, at int64) (int32, error) {
	place := reached{node: -1}
	above, err := r.above(at, func(at int64) (known bool) {
		if to, ok := r.known[[2]int64{int64(owner), at}]; ok {
			place, known = to, true
		}
		return known
	})
	for _, id := range slices.Backward(above) {
		place = r.call(place, owner, r.functions[r.callsites[id].frame])
		r.known[[2]int64{int64(owner), id}] = place
	}
	return place.node, err
}

// call returns where functions of a frame lead to, of which the innermost is the first.
func (r *reader) call(from reached, owner int32, functions []string) reached {
	if from.cut {
		return from
	}
	if r.dropped != nil {
		kept, found := r.dropped.cut(functions)
		if from.cut = found && from.user; from.cut || len(kept) > 0 { // as in pprof, something of a stack is always left
			functions = kept
		}
		from.user = from.user || !found
	}
	for _, name := range slices.Backward(functions) {
		from.node = r.child(place{from.node, owner, name})
	}
	return from
}

// path returns the functions that led to a callsite, from the outermost.
func (r *reader) path(at int64) (functions []string, err error) {
	above, err := r.above(at, func(int64) bool { return false })
	for _, id := range slices.Backward(above) {
		for _, name := range slices.Backward(r.functions[r.callsites[id].frame]) {
			functions = append(functions, name)
		}
	}
	return functions, err
}

// above returns a callsite and those that led to it, up to a known one.
func (r *reader) above(at int64, known func(int64) bool) (all []int64, err error) {
	for at != noCallsite && !known(at) {
		if all = append(all, at); len(all) > len(r.callsites) {
			return nil, errors.New("a call stack contains itself")
		}
		c, ok := r.callsites[at]
		if !ok {
			return nil, errors.New("a callsite is missing")
		}
		at = c.parent
	}
	return all, nil
}

func (r *reader) child(at place) int32 {
	n, ok := r.nodes[at]
	if !ok {
		n = int32(len(r.profile.Nodes))
		r.nodes[at] = n
		r.profile.Nodes = append(r.profile.Nodes, Node{Parent: at.parent, Owner: at.owner, Function: at.function})
	}
	return n
}

// SlicesByStack are the slices of threads and GPUs, by the names of those around them: the stacks that take longest. What did not
// end takes no time, but is there because of what it contains.
const SlicesByStack = `
WITH` + owners + `,
stack AS MATERIALIZED (
  SELECT is_gpu, process, thread, stack_id, parent_stack_id, coalesce(name, '[no name]') AS name, sum(max(dur, 0)) AS dur, min(depth) AS depth, min(dur) < 0 AS open
  FROM dataset_slice AS slice JOIN owner USING (track_id)
  GROUP BY is_gpu, process, thread, stack_id, parent_stack_id, name
)
SELECT is_gpu, process, thread, stack_id, parent_stack_id, name, dur, stacks
FROM (SELECT *, count(*) OVER (PARTITION BY is_gpu) AS stacks FROM stack ORDER BY open DESC, dur DESC, depth LIMIT 1000000)
ORDER BY is_gpu, depth, process, thread, stack_id`

// Slices returns the slices of threads and those of GPUs, which run at the same time, as profiles of their time. The session runs
// PerfettoSQL.
func Slices(ctx context.Context, s *session.Session) (all []*Profile, err error) {
	type stack struct {
		owner int32
		id    int64
	}
	var r reader
	var at map[stack]int32
	last := int64(-1)
	err = each(ctx, s, SlicesByStack, func(v []any) error {
		if gpu, _ := v[0].(int64); gpu != last {
			last = gpu
			m := profiles.Measure{Kind: KindSlices, Scope: "slices of threads", Metric: "time", Unit: "nanoseconds"}
			if gpu != 0 {
				m.Kind, m.Scope = KindGPUSlices, "slices of GPUs"
			}
			r.begin(&Profile{Measure: m})
			all, at = append(all, r.profile), map[stack]int32{}
			stacks, _ := v[7].(int64)
			r.profile.Cut = int(stacks)
		}
		process, _ := v[1].(string)
		thread, _ := v[2].(string)
		id, _ := v[3].(int64)
		above, _ := v[4].(int64)
		name, _ := v[5].(string)
		dur, _ := v[6].(int64)
		owner := r.owner(Owner{process, thread})
		parent, ok := at[stack{owner, above}]
		if !ok {
			parent = -1
		}
		n := r.child(place{parent, owner, name})
		at[stack{owner, id}] = n
		r.profile.Nodes[n].Total += float64(dur)
		r.profile.Cut--
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		p.nest()
	}
	return all, nil
}

// nest counts the own time of each node, whose total is known.
func (p *Profile) nest() {
	inside := make([]float64, len(p.Nodes))
	for i, n := range slices.Backward(p.Nodes) {
		p.Nodes[i].Self = max(n.Total-inside[i], 0)
		p.Nodes[i].Total = max(n.Total, inside[i])
		if n.Parent >= 0 {
			inside[n.Parent] += p.Nodes[i].Total
		} else {
			p.Total += p.Nodes[i].Total
		}
	}
}

// Functions returns the functions, those with the greatest values of their own first.
func (p *Profile) Functions() []Function {
	type key struct{ process, name string }
	at := map[key]int{}
	var all []Function
	for i := range p.Nodes {
		n := &p.Nodes[i]
		k := key{p.Owners[n.Owner].Process, n.Function}
		place, ok := at[k]
		if !ok {
			place = len(all)
			at[k] = place
			all = append(all, Function{Process: k.process, Name: k.name})
		}
		all[place].Self += n.Self
		if !p.recursive(n) {
			all[place].Total += n.Total
		}
	}
	slices.SortStableFunc(all, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// recursive reports whether a node's function is among those that led to it.
func (p *Profile) recursive(n *Node) bool {
	for up := n.Parent; up >= 0; up = p.Nodes[up].Parent {
		if p.Nodes[up].Function == n.Function {
			return true
		}
	}
	return false
}
