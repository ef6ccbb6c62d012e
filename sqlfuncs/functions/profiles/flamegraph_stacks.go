package profiles

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
)

// addStacks adds a node for each function of each callsite, and returns the node of each callsite's innermost function.
func (g *flamegraph) addStacks(t *callsiteTable, lines *lineTable, ts int64) ([]int, error) {
	nodes := make([]int, t.byID.Rows)
	for row := range nodes {
		parent := -1
		if above := t.parentOf(row); above >= row {
			return nil, errors.New("a callsite comes before its parent")
		} else if above >= 0 {
			parent = nodes[above]
		}
		frame := t.frames.Find(t.of.Int(row))
		if frame < 0 {
			return nil, errors.New("a callsite has no frame")
		}
		file := ""
		if m := t.mappings.Find(t.mapping.Int(frame)); m >= 0 {
			file = t.file.Text(m)
		}
		var functions []sourceLine
		nameless := false
		if !t.symbols.IsNull(frame) {
			functions = lines.symbols[t.symbols.Int(frame)]
		}
		if functions == nil {
			name := t.function
			if !t.deobfuscated.IsNull(frame) {
				name = t.deobfuscated
			}
			nameless = name.IsNull(frame)
			functions = []sourceLine{{function: name.Text(frame)}}
		}
		for _, f := range slices.Backward(functions) { // the outermost first
			n, made := g.node(flameKey{f.function, file, nameless, parent}, ts)
			if made {
				g.nodes[n].source = f.file
				if f.known {
					g.nodes[n].line = f.line
				}
			}
			parent = n
		}
		nodes[row] = parent
	}
	return nodes, nil
}

// nativeFlamegraph adds up the allocations of a process until a time.
func nativeFlamegraph(d *define.Definer, t *callsiteTable, lines *lineTable, r flameRequest) (*flamegraph, error) {
	var ts, upid, callsite, count, size dataframe.Reader
	f, err := define.Columns(d.Tables, "heap_profile_allocation", define.Readers{
		"ts": &ts, "upid": &upid, "callsite_id": &callsite, "count": &count, "size": &size,
	})
	if err != nil {
		return nil, err
	}
	g := &flamegraph{profile: "native", upid: r.upid}
	nodes, err := g.addStacks(t, lines, r.ts.(int64))
	if err != nil {
		return nil, err
	}
	found := false
	for row := range f.Rows {
		if upid.Int(row) != r.upid.(int64) || ts.Int(row) > r.ts.(int64) {
			continue
		}
		found = true
		at := t.byID.Find(callsite.Int(row))
		if at < 0 {
			return nil, errors.New("an allocation has no callsite")
		}
		c, s := count.Int(row), size.Int(row)
		g.nodes[nodes[at]].self.add(flameValues{c, s, max(c, 0), max(s, 0)})
	}
	if !found {
		return nil, errors.New("the process has no allocations until then")
	}
	return g, nil
}

// perfFlamegraph counts the samples of processes.
func perfFlamegraph(d *define.Definer, t *callsiteTable, lines *lineTable, r flameRequest) (*flamegraph, error) {
	utids, err := threadsOf(d.Tables, r)
	if err != nil {
		return nil, err
	}
	contexts := define.RowsByID{}
	var utid, ts, context, callsite dataframe.Reader
	f, err := define.Columns(d.Tables, "profiler_task_context", define.Readers{"id": &contexts.ID, "utid": &utid})
	if err != nil {
		return nil, err
	}
	contexts.Rows = f.Rows
	f, err = define.Columns(d.Tables, "profiler_sample", define.Readers{"ts": &ts, "task_context_id": &context, "callsite_id": &callsite})
	if err != nil {
		return nil, err
	}
	g := &flamegraph{profile: "perf", upid: r.upid, group: r.group}
	nodes, err := g.addStacks(t, lines, r.anyTime())
	if err != nil {
		return nil, err
	}
samples:
	for row := range f.Rows {
		if callsite.IsNull(row) || context.IsNull(row) {
			continue
		}
		for _, b := range r.bounds {
			if !b.holds(ts.Int(row)) {
				continue samples
			}
		}
		c := contexts.Find(context.Int(row))
		if c < 0 || utid.IsNull(c) || !utids[utid.Int(c)] {
			continue
		}
		at := t.byID.Find(callsite.Int(row))
		if at < 0 {
			return nil, errors.New("a sample has no callsite")
		}
		n := &g.nodes[nodes[at]]
		n.self.add(flameValues{count: 1, size: 1})
		n.ts = ts.Int(row)
	}
	return g, nil
}

// anyTime returns a time that the conditions let through, for functions without samples.
func (r flameRequest) anyTime() int64 {
	if len(r.bounds) == 0 {
		return 0
	}
	switch b := r.bounds[0]; b.op {
	case ">":
		return b.ts + 1
	case "<":
		return b.ts - 1
	default:
		return b.ts
	}
}

// threadsOf returns the utids of the processes that are asked for.
func threadsOf(tables dataframe.Source, r flameRequest) (map[int64]bool, error) {
	upids := map[int64]bool{}
	if r.upid != nil {
		upids[r.upid.(int64)] = true
	} else {
		for item := range strings.SplitSeq(r.group.(string), ",") {
			if id, err := strconv.ParseUint(strings.TrimSpace(item), 10, 32); err == nil {
				upids[int64(id)] = true
			}
		}
	}
	var id, upid dataframe.Reader
	f, err := define.Columns(tables, "thread", define.Readers{"id": &id, "upid": &upid})
	if err != nil {
		return nil, err
	}
	utids := map[int64]bool{}
	for row := range f.Rows {
		if !upid.IsNull(row) && upids[upid.Int(row)] {
			utids[id.Int(row)] = true
		}
	}
	return utids, nil
}
