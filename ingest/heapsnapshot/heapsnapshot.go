// Package heapsnapshot reads V8's heap snapshots (.heapsnapshot), which Chrome's and Node.js' developer tools write: JSON with
// lists of numbers. Each node of the graph takes a few numbers in one list, each edge in another, in the order of the nodes
// that they come from. Names are places in a list of strings, which comes last.
package heapsnapshot

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
)

// Format is the format of V8's heap snapshots.
var Format = &format.Format{Name: "heapsnapshot", Title: "V8 heap snapshot", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1037, model.StatInfo{
	Name: "heap_snapshot_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Nodes, edges and strings of V8's heap snapshots that cannot be read.",
})

// sniff accepts an object that begins with the layout of the nodes.
func sniff(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	if c, err := l.Space(); err != nil || c != '{' {
		return false
	}
	l.Pos++
	key, err := l.Key()
	return err == nil && string(key) == "snapshot" && bytes.Contains(head, []byte(`"node_fields"`))
}

type reader struct {
	jsonlex.Reader
	in    *format.Input
	dump  *heap.Dump
	nodes *spill.List[node]

	node, edge       layout
	kinds, edgeKinds []string // types of nodes and edges
	classes          index[heap.ClassNumber]
	fields           index[heap.FieldNumber]
	strings          []model.StringID
	wantNodes        int64 // as the snapshot states them
	wantEdges        int64
	edges            int64

	hasNodes, hasEdges, hasStrings bool
}

// node is what an object of the dump needs besides.
type node struct{ kind, name, edges int32 }

// key identifies a class or a field: its type, and its name's place among the strings, its index, or none.
type key struct{ kind, name int64 }

const none = -1

// index has the numbers of classes or fields.
type index[N ~int32] map[key]N

// sorted returns the keys in the order of their numbers.
func (x index[N]) sorted() []key {
	keys := make([]key, len(x))
	for k, number := range x {
		keys[number] = k
	}
	return keys
}

// layout is the order of the numbers of a node or edge.
type layout []string

// of returns the place of a number, or none.
func (l layout) of(name string) int { return slices.Index(l, name) }

func read(in *format.Input) error {
	r := &reader{Reader: jsonlex.NewReader(in), in: in, dump: heap.NewDump(in.Store, in.Machine.Process(0), 0),
		nodes: spill.NewList[node](in.Store.Space), classes: index[heap.ClassNumber]{}, fields: index[heap.FieldNumber]{}, wantNodes: none, wantEdges: none}
	defer r.nodes.Free()
	_, err := r.Peek()
	if err == nil {
		err = r.EachMember(r.member)
	}
	damage := err == jsonlex.ErrSyntax || err == jsonlex.ErrTooLarge
	switch {
	case err == jsonlex.ErrTruncated && r.nodes.Len() == 0:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "cut off before its nodes")
	case err == jsonlex.ErrTruncated:
		in.File.LogAt(model.StatTruncatedInput, r.Base+int64(len(r.Buf)), nil)
	case damage && r.nodes.Len() == 0:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%v: %s, got %s", err, r.Why, r.Glimpse())
	case damage:
		r.damaged()
	case err != nil:
		return err
	case r.nodes.Len() == 0:
		return format.Errorf(format.ErrNoEvents, -1, "a heap snapshot without nodes")
	case int64(r.nodes.Len()) != r.wantNodes || r.edges != r.wantEdges || !r.hasStrings:
		r.damaged()
	}
	r.write(err != nil)
	return nil
}

// damaged counts a damaged part at the position.
func (r *reader) damaged() { r.in.File.LogAt(statParseErrors, r.Offset(), nil) }

func (r *reader) member(key []byte) error {
	switch first, name := r.Buf[r.Pos], string(key); {
	case name == "snapshot" && first == '{' && r.node == nil:
		return r.EachMember(r.snapshot)
	case name == "nodes" && first == '[' && r.node != nil && !r.hasNodes:
		r.hasNodes = true
		return r.rows(len(r.node), r.nodeReader())
	case name == "edges" && first == '[' && r.hasNodes && !r.hasEdges:
		r.hasEdges = true
		return r.rows(len(r.edge), r.edgeReader())
	case name == "strings" && first == '[' && !r.hasStrings:
		r.hasStrings = true
		return r.EachElement(func() error {
			v, err := r.ReadValue()
			if err != nil {
				return err
			}
			if v.Kind != jsonlex.Text {
				r.damaged()
			}
			r.strings = append(r.strings, r.in.Store.Strings.InternBytes(v.Raw))
			return nil
		})
	case name == "nodes" || name == "edges" || name == "strings":
		r.damaged()
		return r.Skip()
	}
	start, noun := r.Offset(), string(key)+" member"
	err := r.Skip()
	if r.Offset()-start > int64(len("[]")) {
		r.in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(start)
	}
	return err
}

// snapshot reads a member that describes the snapshot. Facts become metadata.
func (r *reader) snapshot(key []byte) error {
	if string(key) == "meta" {
		return r.meta()
	}
	name := string(key)
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	switch name {
	case "node_count":
		r.wantNodes = v.Int
	case "edge_count":
		r.wantEdges = v.Int
	}
	if fact, ok := v.Fact(r.in.Store.Strings); ok {
		r.in.File.SetMetadata("heapsnapshot."+name, fact)
	}
	return nil
}

// meta reads the layout of nodes and edges.
func (r *reader) meta() error {
	at := r.Offset()
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	l := jsonlex.Lexer{Buf: v.Raw}
	err = l.Members(func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "node_fields":
			r.node = texts(v)
		case "edge_fields":
			r.edge = texts(v)
		case "node_types":
			r.kinds = firstTexts(v)
			if n := len(r.kinds); n == 12 && r.kinds[n-1] == "sliced string" {
				r.kinds = append(r.kinds, "symbol") // V8 wrote symbols for years before its list named them: kSymbol in v8-profiler.h
			}
		case "edge_types":
			r.edgeKinds = firstTexts(v)
		}
	})
	if err != nil {
		return format.Errorf(format.ErrCorrupt, at, "the layout of its nodes is damaged")
	}
	for _, needed := range []struct {
		layout
		name string
	}{{r.node, "type"}, {r.node, "name"}, {r.node, "self_size"}, {r.node, "edge_count"}, {r.edge, "type"}, {r.edge, "name_or_index"}, {r.edge, "to_node"}} {
		if needed.of(needed.name) == none {
			return format.Errorf(format.ErrUnsupported, at, "nodes or edges without %s", needed.name)
		}
	}
	return nil
}

// texts returns the texts in a list.
func texts(v jsonlex.Value) (all []string) {
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind == jsonlex.Array {
		_ = l.Elements(func(v jsonlex.Value) { all = append(all, string(v.Raw)) })
	}
	return all
}

// firstTexts returns the texts in the list that a list begins with.
func firstTexts(v jsonlex.Value) (first []string) {
	l := jsonlex.Lexer{Buf: v.Raw}
	n := 0
	if v.Kind == jsonlex.Array {
		_ = l.Elements(func(v jsonlex.Value) {
			if n++; n == 1 {
				first = texts(v)
			}
		})
	}
	return first
}

// rows calls f with each row of numbers in the list at the position.
func (r *reader) rows(size int, f func(row []int64)) error {
	row := make([]int64, 0, size)
	err := r.EachElement(func() error {
		v, err := r.ReadValue()
		if err != nil {
			return err
		}
		if v.Kind != jsonlex.Integer {
			return r.Fail("expected a whole number")
		}
		if row = append(row, v.Int); len(row) == size {
			f(row)
			row = row[:0]
		}
		return nil
	})
	if err == nil && len(row) > 0 {
		r.damaged()
	}
	return err
}

// nodeReader returns a function that adds a node.
func (r *reader) nodeReader() func(row []int64) {
	kind, name, size, edges := r.node.of("type"), r.node.of("name"), r.node.of("self_size"), r.node.of("edge_count")
	detachedness := r.node.of("detachedness")
	return func(row []int64) {
		n := node{int32(row[kind]), int32(row[name]), int32(row[edges])}
		if row[kind] < 0 || row[kind] >= int64(len(r.kinds)) || row[name] < 0 || row[name] > math.MaxInt32 || row[edges] < 0 || row[edges] > math.MaxInt32 || row[size] < 0 {
			r.damaged()
			n, row[size] = node{none, none, max(n.edges, 0)}, max(row[size], 0)
		}
		if detachedness != none && row[detachedness] != 0 {
			r.in.File.Unread(model.StatUnreadFact, model.None, "detachedness value").AddAt(r.Offset())
		}
		r.nodes.Append(n)
		o := r.dump.AddObject()
		class := r.class(n)
		to := r.dump.Edit(o)
		to.SelfSize, to.Class = row[size], class
	}
}

// class returns the class of a node.
func (r *reader) class(n node) heap.ClassNumber {
	k := key{int64(n.kind), none}
	if named(r.kind(n)) {
		k.name = int64(n.name)
	}
	class, ok := r.classes[k]
	if !ok {
		class = r.dump.AddClass()
		r.classes[k] = class
	}
	return class
}

// kind returns the type of a node, "" if it is unknown.
func (r *reader) kind(n node) string {
	if n.kind == none {
		return ""
	}
	return r.kinds[n.kind]
}

// named reports whether nodes of the type have the name of their class.
func named(kind string) bool { return kind == "object" || kind == "native" }

// edgeReader returns a function that adds an edge.
func (r *reader) edgeReader() func(row []int64) {
	kind, name, to := r.edge.of("type"), r.edge.of("name_or_index"), r.edge.of("to_node")
	owner, left := none, int32(0)
	return func(row []int64) {
		for left == 0 && owner < r.nodes.Len() {
			if owner++; owner < r.nodes.Len() {
				left = r.nodes.Get(owner).edges
			}
		}
		r.edges++
		if left == 0 {
			return // the number of edges does not match
		}
		left--
		owned := row[to] / int64(len(r.node))
		if row[kind] < 0 || row[kind] >= int64(len(r.edgeKinds)) || row[name] < 0 || row[to] < 0 || row[to]%int64(len(r.node)) != 0 || owned >= int64(r.nodes.Len()) {
			r.damaged()
			return
		}
		r.dump.Refer(heap.ObjectNumber(owner), heap.ObjectNumber(owned), r.field(key{row[kind], row[name]}))
	}
}

// field returns the number of a field.
func (r *reader) field(k key) heap.FieldNumber {
	field, ok := r.fields[k]
	if !ok {
		kind := r.edgeKinds[k.kind]
		field = r.dump.AddField(heap.Field{Type: r.in.Store.Strings.Intern(kind), Weak: kind == "weak"})
		r.fields[k] = field
	}
	return field
}

// classNames are the names of classes of nodes that are not called like their class, as Chrome's developer tools call them.
// Others have the type's name.
var classNames = map[string]string{"hidden": "(system)", "code": "(compiled code)", "closure": "Function", "regexp": "RegExp", "": "(unknown)"}

// write stores the dump, after the strings are known.
func (r *reader) write(truncated bool) {
	store := r.in.Store
	word := store.Strings.Intern
	for number, k := range r.classes.sorted() {
		kind := ""
		if k.kind != none {
			kind = r.kinds[k.kind]
		}
		class := r.dump.Class(heap.ClassNumber(number))
		class.Kind = word(kind)
		if class.Name = r.text(k.name); class.Name == 0 {
			name, ok := classNames[kind]
			if !ok {
				name = "(" + kind + ")"
			}
			class.Name = word(name)
		}
	}
	missing := false
	for number, k := range r.fields.sorted() {
		field := r.dump.Field(heap.FieldNumber(number))
		switch r.edgeKinds[k.kind] {
		case "element", "hidden":
			field.Name = word(fmt.Sprint("[", k.name, "]"))
		default:
			field.Name = r.text(k.name)
			missing = missing || field.Name == 0
		}
	}
	for i := range r.nodes.Len() {
		n := r.nodes.Get(i)
		text := r.text(int64(n.name))
		missing = missing || text == 0
		if text == 0 || named(r.kind(n)) || store.Strings.Get(text) == "" {
			continue
		}
		row := store.HeapGraphObjectData.Append()
		store.HeapGraphObjectData.ValueString.Set(row, text)
		r.dump.Edit(heap.ObjectNumber(i)).Data = heap.DataID(row)
	}
	if missing && !truncated {
		r.damaged()
	}
	r.dump.AddRoot(0, word("synthetic"))
	row := store.HeapGraph.Append()
	store.HeapGraph.TS.Set(row, 0) // the file has no times
	store.HeapGraph.UPID.Set(row, r.dump.UPID)
	store.HeapGraph.Truncated.Set(row, truncated)
	r.dump.Write()
}

// text returns a string, or 0 if it is missing.
func (r *reader) text(place int64) model.StringID {
	if place < 0 || place >= int64(len(r.strings)) {
		return 0
	}
	return r.strings[place]
}
