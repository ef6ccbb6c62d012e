package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// heap is a graph of objects, of which 0 is the root. Object i has i + 1 bytes and the class i % 5.
type heap [][]int // the objects that each keeps

const objects = 80

// snapshot is the heap as V8 writes it, with weak references that keep nothing.
func (h heap) snapshot(r *rand.Rand) string {
	var nodes, edges []string
	for i, kept := range h {
		nodes = append(nodes, fmt.Sprintf("0,%d,%d,%d,%d", i%5, 2*i+1, i+1, len(kept)+1))
		for _, to := range kept {
			edges = append(edges, fmt.Sprintf("0,0,%d", 5*to))
		}
		edges = append(edges, fmt.Sprintf("1,0,%d", 5*r.IntN(len(h))))
	}
	return fmt.Sprintf(`{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count"],
"node_types":[["object"],"string","number","number","number"],
"edge_fields":["type","name_or_index","to_node"],"edge_types":[["property","weak"],"string_or_number","node"]},"node_count":%d,"edge_count":%d},
"nodes":[%s],"edges":[%s],"strings":["a","b","c","d","e"]}`, len(nodes), len(edges), strings.Join(nodes, ","), strings.Join(edges, ","))
}

// reached says what the root keeps without some objects.
func (h heap) reached(without func(int) bool) []bool {
	seen := make([]bool, len(h))
	for todo := []int{0}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[at] && !without(at) {
			seen[at] = true
			todo = append(todo, h[at]...)
		}
	}
	return seen
}

// kept returns how many of the reachable objects are not without some, and their bytes.
func (h heap) kept(without func(int) bool) (count, bytes int) {
	all, left := h.reached(func(int) bool { return false }), h.reached(without)
	for i := range h {
		if all[i] && !left[i] {
			count, bytes = count+1, bytes+i+1
		}
	}
	return count, bytes
}

// An object keeps what cannot be reached without it.
func TestRetained(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		h := make(heap, objects)
		for i := 1; i < objects; i++ {
			if r.IntN(10) > 0 { // others are garbage
				from := r.IntN(i)
				h[from] = append(h[from], i)
			}
			if r.IntN(3) == 0 {
				h[i] = append(h[i], r.IntN(objects))
			}
		}
		dir := folder(t, map[string]string{"h.heapsnapshot": h.snapshot(r)})
		var want strings.Builder
		fmt.Fprintln(&want, `"id","retained_objects","retained_bytes"`)
		all := h.reached(func(int) bool { return false })
		for i := range h {
			if all[i] {
				count, bytes := h.kept(func(at int) bool { return at == i })
				fmt.Fprintf(&want, "%d,%d,%d\n", i, count, bytes)
			}
		}
		const module = "INCLUDE PERFETTO MODULE tpconvert.heap; "
		if got := rowsOf(t, dir, "h.heapsnapshot", module+"SELECT id, retained_objects, retained_bytes FROM heap_retained ORDER BY id", "--perfetto"); got != want.String() {
			t.Errorf("%v\n%swant\n%s", h, got, &want)
		}
		// Of a class, each object counts once, with all that it keeps: in the sum over those that no other of the class dominates.
		want.Reset()
		fmt.Fprintln(&want, `"class","count","bytes","retained_objects","retained_bytes"`)
		for class := range 5 {
			count, bytes, retained, retainedBytes := 0, 0, 0, 0
			for i := class; i < objects; i += 5 {
				if !all[i] {
					continue
				}
				count, bytes = count+1, bytes+i+1
				inside := false
				for other := class; other < objects; other += 5 {
					inside = inside || other != i && all[other] && !h.reached(func(at int) bool { return at == other })[i]
				}
				if !inside {
					n, b := h.kept(func(at int) bool { return at == i })
					retained, retainedBytes = retained+n, retainedBytes+b
				}
			}
			fmt.Fprintf(&want, "\"%c\",%d,%d,%d,%d\n", 'a'+class, count, bytes, retained, retainedBytes)
		}
		if got := rowsOf(t, dir, "h.heapsnapshot", module+"SELECT class, count, bytes, retained_objects, retained_bytes FROM heap_class ORDER BY class", "--perfetto"); got != want.String() {
			t.Errorf("%v\n%swant\n%s", h, got, &want)
		}
		garbage := 0
		for _, reached := range all {
			if !reached {
				garbage++
			}
		}
		rows := rowsOfPage(reported(t, dir, "h.heapsnapshot"))
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, fmt.Sprintf("|%d|(unreachable)", garbage)) }) {
			t.Errorf("%v: the report has not %d unreachable objects: %s", h, garbage, rows)
		}
	}
}
