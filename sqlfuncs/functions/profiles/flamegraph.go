package profiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

const flamegraphFunction = "experimental_flamegraph"

var flameColumns = define.Specs(`id, profile_type text, ts_in, ts_constraint text, upid, upid_group text, focus_str text, ts, depth,
	name text, map_name text, count, cumulative_count, size, cumulative_size, alloc_count,
	cumulative_alloc_count, alloc_size, cumulative_alloc_size, parent_id, source_file text, line_number`)

// flamegraph is a tree of functions or classes. Parents come before their children.
type flamegraph struct {
	profile string
	upid    any
	group   any // of upids
	nodes   []flameNode
	byKey   map[flameKey]int
}

// flameNode is what is known of a function below its callers.
type flameNode struct {
	flameKey
	ts, depth  int64
	self, all  flameValues // without and with what is below
	source     string
	line       any
	focused    bool
	descending bool // what is below is focused too
}

// flameKey identifies a node. The parent is -1 for roots.
type flameKey struct {
	name, file string
	nameless   bool // the name is not known
	parent     int
}

// flameValues are counts and sizes in bytes, of what is there and of what was allocated.
type flameValues struct{ count, size, allocCount, allocSize int64 }

func (v *flameValues) add(w flameValues) {
	v.count += w.count
	v.size += w.size
	v.allocCount += w.allocCount
	v.allocSize += w.allocSize
}

// node returns the number of a node, which it makes if needed.
func (g *flamegraph) node(key flameKey, ts int64) (n int, made bool) {
	if n, ok := g.byKey[key]; ok {
		return n, false
	}
	if g.byKey == nil {
		g.byKey = map[flameKey]int{}
	}
	node := flameNode{flameKey: key, ts: ts}
	if key.parent >= 0 {
		node.depth = g.nodes[key.parent].depth + 1
	}
	n = len(g.nodes)
	g.nodes, g.byKey[key] = append(g.nodes, node), n
	return n, true
}

// sum adds up the values of all nodes that are focused, or of all.
func (g *flamegraph) sum(focused bool) {
	for i := range g.nodes {
		g.nodes[i].all = flameValues{}
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		if focused && !n.focused {
			continue
		}
		n.all.add(n.self)
		if n.parent >= 0 {
			g.nodes[n.parent].all.add(n.all)
		}
	}
}

// focus keeps the nodes whose names contain a text in any case, those above and those below.
func (g *flamegraph) focus(text string) {
	text = strings.ToLower(text)
	for i := range g.nodes {
		n := &g.nodes[i]
		switch {
		case strings.Contains(strings.ToLower(n.name), text):
			n.focused, n.descending = true, true
			for at := n.parent; at >= 0 && !g.nodes[at].focused; at = g.nodes[at].parent {
				g.nodes[at].focused = true
			}
		case n.parent >= 0 && g.nodes[n.parent].descending:
			n.focused, n.descending = true, true
		}
	}
	g.sum(true)
	g.group = nil
	kept := g.nodes[:0]
	renumbered := make([]int, len(g.nodes))
	for i, n := range g.nodes {
		if !n.focused {
			continue
		}
		if n.parent >= 0 {
			n.parent = renumbered[n.parent]
		}
		n.source, n.line = "", nil
		renumbered[i] = len(kept)
		kept = append(kept, n)
	}
	g.nodes = kept
}

func (g *flamegraph) frame(pool *dataframe.Pool) (*dataframe.Frame, error) {
	b := dataframe.NewBuilder(pool, flameColumns...)
	for i, n := range g.nodes {
		var parent, name, source any
		if !n.nameless {
			name = n.name
		}
		if n.parent >= 0 {
			parent = int64(n.parent)
		}
		if n.source != "" {
			source = n.source
		}
		for column, v := range []any{
			int64(i), g.profile, nil, nil, g.upid, g.group, nil, n.ts, n.depth, name, n.file, n.self.count, n.all.count, n.self.size, n.all.size,
			n.self.allocCount, n.all.allocCount, n.self.allocSize, n.all.allocSize, parent, source, n.line,
		} {
			if err := b.Any(column, v); err != nil {
				return nil, err
			}
		}
	}
	return b.Frame(), nil
}

// flameRequest are the arguments of the function.
type flameRequest struct {
	ts     any // int64 or nil
	bounds []timeBound
	upid   any // int64 or nil
	group  any // text with upids or nil
}

// timeBound is a condition on timestamps: an operator and a time.
type timeBound struct {
	op string
	ts int64
}

func (b timeBound) holds(ts int64) bool {
	switch b.op {
	case ">=":
		return ts >= b.ts
	case ">":
		return ts > b.ts
	case "<=":
		return ts <= b.ts
	}
	return ts < b.ts
}

// parseBounds reads conditions such as ">=5,<9".
func parseBounds(text string) ([]timeBound, error) {
	var bounds []timeBound
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		number := strings.TrimLeft(item, "<>=")
		b := timeBound{op: item[:len(item)-len(number)]}
		switch b.op {
		case "<", "<=", ">", ">=":
		default:
			return nil, fmt.Errorf("%q is no condition on timestamps", item)
		}
		var err error
		if b.ts, err = strconv.ParseInt(strings.TrimSpace(number), 10, 64); err != nil {
			return nil, fmt.Errorf("%q has no timestamp", item)
		}
		bounds = append(bounds, b)
	}
	return bounds, nil
}

// readFlameRequest checks the arguments after the first.
func readFlameRequest(args []sqlite.Value) (r flameRequest, err error) {
	for i, name := range []string{"profile_type", "ts", "ts_constraint", "upid", "upid_group", "focus_str"} {
		want := sqlite.TextOf
		if name == "ts" || name == "upid" {
			want = sqlite.Integer
		}
		if t := args[i].Type(); t != want && (t != sqlite.Null || i == 0) {
			return r, fmt.Errorf("%s must be %s", name, want)
		}
	}
	r.ts, r.upid, r.group = args[1].Any(), args[3].Any(), args[4].Any()
	if r.ts == nil && args[2].IsNull() {
		return r, errors.New("ts or ts_constraint is needed")
	}
	if r.upid == nil && r.group == nil {
		return r, errors.New("upid or upid_group is needed")
	}
	if !args[2].IsNull() {
		r.bounds, err = parseBounds(args[2].Text())
	}
	return r, err
}

func defineFlamegraph(d *define.Definer, loadCallsites func() (*callsiteTable, error), loadLines func() (*lineTable, error)) {
	rows := func(args []sqlite.Value) (*dataframe.Frame, error) {
		r, err := readFlameRequest(args)
		if err != nil {
			return nil, err
		}
		var g *flamegraph
		switch profile := args[0].Text(); profile {
		case "graph":
			if r.ts == nil || r.upid == nil {
				return nil, errors.New("ts and upid are needed")
			}
			g, err = graphFlamegraph(d, r.upid.(int64), r.ts.(int64))
		case "native", "perf":
			var callsites *callsiteTable
			var lines *lineTable
			if callsites, err = loadCallsites(); err != nil {
				return nil, err
			}
			if lines, err = loadLines(); err != nil {
				return nil, err
			}
			switch {
			case profile == "perf":
				g, err = perfFlamegraph(d, callsites, lines, r)
			case r.ts == nil || r.upid == nil:
				return nil, errors.New("ts and upid are needed")
			default:
				g, err = nativeFlamegraph(d, callsites, lines, r)
			}
		default:
			return nil, fmt.Errorf("there is no profile_type %q", profile)
		}
		if err != nil {
			return nil, err
		}
		g.sum(false)
		if focus := args[5].Text(); focus != "" {
			g.focus(focus)
		}
		return g.frame(d.Tables.Pool())
	}
	d.Rows(&dataframe.Function{Name: flamegraphFunction, Columns: flameColumns,
		Args: []string{"_fn_arg0", "_fn_arg1", "_fn_arg2", "_fn_arg3", "_fn_arg4", "_fn_arg5"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			f, err := rows(args)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", flamegraphFunction, err)
			}
			return f, nil
		}})
}
