package profiles

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
)

// javaHeap is the graph of objects of heap dumps.
type javaHeap struct {
	objects                            define.RowsByID
	upid, ts, size, native, set, class dataframe.Reader // of objects
	rootType, distance                 dataframe.Reader
	classes                            define.RowsByID
	name, deobfuscated, kind           dataframe.Reader // of classes
	owned, field                       dataframe.Reader // of references
	references                         define.Sets
}

func readJavaHeap(tables dataframe.Source) (*javaHeap, error) {
	h := &javaHeap{}
	var set dataframe.Reader
	objects, err := define.Columns(tables, "heap_graph_object", define.Readers{
		"id": &h.objects.ID, "upid": &h.upid, "graph_sample_ts": &h.ts, "self_size": &h.size, "native_size": &h.native,
		"reference_set_id": &h.set, "type_id": &h.class, "root_type": &h.rootType, "root_distance": &h.distance,
	})
	if err != nil {
		return nil, err
	}
	classes, err := define.Columns(tables, "heap_graph_class", define.Readers{
		"id": &h.classes.ID, "name": &h.name, "deobfuscated_name": &h.deobfuscated, "kind": &h.kind,
	})
	if err != nil {
		return nil, err
	}
	references, err := define.Columns(tables, "heap_graph_reference", define.Readers{
		"reference_set_id": &set, "owned_id": &h.owned, "field_name": &h.field,
	})
	if err != nil {
		return nil, err
	}
	h.objects.Rows, h.classes.Rows, h.references = objects.Rows, classes.Rows, define.NewSets(set, references.Rows)
	return h, nil
}

// roots returns the rows of a dump's roots, by class.
func (h *javaHeap) roots(upid, ts int64) []int {
	var roots []int
	for row := range h.objects.Rows {
		if h.upid.Int(row) == upid && h.ts.Int(row) == ts && !h.rootType.IsNull(row) {
			roots = append(roots, row)
		}
	}
	class := func(row int) string { return h.name.Text(max(h.classes.Find(h.class.Int(row)), 0)) }
	slices.SortStableFunc(roots, func(a, b int) int { return cmp.Compare(class(a), class(b)) })
	return roots
}

// children returns the rows of the objects that an object refers to. The referents of weak and similar references are not
// kept alive by them.
func (h *javaHeap) children(row int) []int {
	if h.set.IsNull(row) {
		return nil
	}
	weak := false
	if c := h.classes.Find(h.class.Int(row)); c >= 0 {
		switch h.kind.Text(c) {
		case "KIND_WEAK_REFERENCE", "KIND_FINALIZER_REFERENCE", "KIND_PHANTOM_REFERENCE":
			weak = true
		}
	}
	var found []int
	h.references.Find(h.set.Int(row))
	for i := h.references.From; i < h.references.To; i++ {
		r := h.references.Row(i)
		if h.owned.IsNull(r) || weak && h.field.Text(r) == "java.lang.ref.Reference.referent" {
			continue
		}
		if at := h.objects.Find(h.owned.Int(r)); at >= 0 {
			found = append(found, at)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// label returns the class of an object, and what kind of root it is.
func (h *javaHeap) label(row int) string {
	label := ""
	if c := h.classes.Find(h.class.Int(row)); c >= 0 {
		label = h.name.Text(c)
		if !h.deobfuscated.IsNull(c) {
			label = h.deobfuscated.Text(c)
		}
	}
	if !h.rootType.IsNull(row) {
		label += " [" + h.rootType.Text(row) + "]"
	}
	return label
}

// javaMapping is the map_name of classes.
const javaMapping = "JAVA"

// graphFlamegraph adds up the objects of a heap dump by the classes on the shortest way from a root.
func graphFlamegraph(d *define.Definer, upid, ts int64) (*flamegraph, error) {
	h, err := readJavaHeap(d.Tables)
	if err != nil {
		return nil, err
	}
	roots := h.roots(upid, ts)
	if roots == nil {
		return nil, errors.New("there is no heap dump of this process at this time")
	}
	type visit struct {
		row, parent int
		children    []int
	}
	g := &flamegraph{profile: "graph", upid: upid}
	visited := map[int]bool{}
	var stack []visit
	enter := func(row, parent int) {
		n, _ := g.node(flameKey{name: h.label(row), file: javaMapping, parent: parent}, ts)
		g.nodes[n].self.add(flameValues{count: 1, size: h.size.Int(row)})
		children := h.children(row)
		if native := h.native.Int(row); native != 0 {
			m, _ := g.node(flameKey{name: "[native] " + h.label(row), file: javaMapping, parent: n}, ts)
			g.nodes[m].self.add(flameValues{count: 1, size: native})
		}
		stack = append(stack, visit{row, n, children})
	}
	for _, root := range roots {
		enter(root, -1)
		for steps := 0; len(stack) > 0; steps++ {
			if steps%65536 == 65535 && d.DB.Interrupted() {
				return nil, errors.New("interrupted")
			}
			top := &stack[len(stack)-1]
			if len(top.children) == 0 {
				stack = stack[:len(stack)-1]
				continue
			}
			row, parent, child := top.row, top.parent, top.children[0]
			top.children = top.children[1:]
			if h.distance.Int(child) == h.distance.Int(row)+1 && !visited[child] {
				visited[child] = true
				enter(child, parent)
			}
		}
	}
	return g, nil
}
