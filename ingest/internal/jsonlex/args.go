package jsonlex

import (
	"strconv"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// maxArgDepth is how deep args may be nested. Deeper args are left out.
const maxArgDepth = 256

// ArgWriter flattens values: with root "args", {"a":{"b":[1]}} becomes the arg
// args.a.b[0] with the flat key args.a.b. Members that are null are left out.
type ArgWriter struct {
	strings *table.StringPool
	lexer   Lexer
	stack   []argFrame
	roots   map[string]*argNode
	bytes   int    // about how much memory the roots take
	key     []byte // of an element that has no node
}

// argFrame is an object or array that is being flattened.
type argFrame struct {
	node  *argNode
	next  *follower // of an object, the member that is likely to come next
	close byte
	begun bool // a member or element was read
}

// argNode is a place for args: a root, a member of an object, or an element of an
// array. A writer keeps those it has seen, because most events of a trace have the
// same few keys.
type argNode struct {
	name           string         // in the object
	flatText, text string         // of the flat key and the key
	flat, key      model.StringID // 0 until they are interned
	members        map[string]*argNode
	first          follower   // the member that came first in the last object
	next           follower   // the member that came next in the last object
	elements       []*argNode // the first ones of an array
}

// follower is a member, and the text up to its value from the value before.
type follower struct {
	node *argNode
	lead Lead
}

const (
	// maxNodeBytes is about how much memory the nodes of a writer may take.
	maxNodeBytes = 4 << 20
	// maxElements is how many elements of an array have nodes.
	maxElements = 256
)

// NewArgWriter returns a writer that interns strings in the pool.
func NewArgWriter(strings *table.StringPool) *ArgWriter { return &ArgWriter{strings: strings} }

// Add adds the args in the text of an object or array to the set, with keys that start
// with root. After a syntax error it leaves out the rest, as Trace Processor does, and
// returns false.
func (w *ArgWriter) Add(set *model.ArgSet, root string, text []byte) bool {
	l := &w.lexer
	l.Reset(text)
	w.stack = append(w.stack[:0], newFrame(w.root(root), text[0]))
	l.Pos++
	for len(w.stack) > 0 {
		frame := &w.stack[len(w.stack)-1]
		node := frame.node
		if frame.close == '}' && l.Past(&frame.next.lead) {
			node = frame.next.node
			frame.next = &node.next
		} else {
			from := l.Pos
			if frame.begun {
				if _, err := l.Next(frame.close); err != nil {
					return false
				}
			}
			c, err := l.Space()
			if err != nil {
				return false
			}
			if c == frame.close {
				l.Pos++
				w.stack = w.stack[:len(w.stack)-1]
				continue
			}
			if frame.close == '}' {
				name, err := l.Key()
				if err != nil {
					return false
				}
				frame.next.lead.Set(l, from)
				node = w.member(frame, name)
			}
		}
		frame.begun = true
		c := l.Buf[l.Pos]
		if c == '{' || c == '[' {
			if len(w.stack) == maxArgDepth {
				return false
			}
			if frame.close == ']' {
				node = w.element(node, w.index(set, node))
			}
			w.stack = append(w.stack, newFrame(node, c))
			l.Pos++
			continue
		}
		v, err := l.Value()
		if err != nil {
			return false
		}
		if v.Kind != Null {
			var flat, key model.StringID
			if frame.close == ']' {
				flat, key = w.elementKeys(node, w.index(set, node))
			} else {
				flat, key = w.keys(node)
			}
			if v.Kind > Double {
				set.AddText(flat, key, v.Raw)
			} else {
				set.AddFlat(flat, key, number(v))
			}
		}
	}
	return true
}

func newFrame(node *argNode, open byte) argFrame {
	return argFrame{node: node, next: &node.first, close: open + 2}
}

// Tolerated says what the text that was added last has although it is not JSON.
func (w *ArgWriter) Tolerated() Tolerated { return w.lexer.Tolerated }

func (w *ArgWriter) root(name string) *argNode {
	if w.bytes > maxNodeBytes {
		w.roots, w.bytes = nil, 0
	}
	root := w.roots[name]
	if root == nil {
		if w.roots == nil {
			w.roots = map[string]*argNode{}
		}
		root = &argNode{flatText: name, text: name}
		w.roots[name] = root
	}
	return root
}

// member returns the node of a member of the frame's object. It looks first at the one
// that followed the same member before.
func (w *ArgWriter) member(frame *argFrame, name []byte) *argNode {
	next := frame.next
	if next.node == nil || next.node.name != string(name) {
		if next.node = frame.node.members[string(name)]; next.node == nil {
			next.node = w.newMember(frame.node, string(name))
		}
	}
	frame.next = &next.node.next
	return next.node
}

func (w *ArgWriter) newMember(parent *argNode, name string) *argNode {
	member := &argNode{name: name, text: parent.text + "." + name}
	member.flatText = member.text
	if parent.flatText != parent.text {
		member.flatText = parent.flatText + "." + name
	}
	if w.keep(member) {
		if parent.members == nil {
			parent.members = map[string]*argNode{}
		}
		parent.members[name] = member
	}
	return member
}

// keep reports whether there is memory left to keep the node.
func (w *ArgWriter) keep(n *argNode) bool {
	const node = 400
	w.bytes += node + len(n.name) + len(n.flatText) + len(n.text)
	return w.bytes <= maxNodeBytes
}

// index returns the index of the array's next element.
func (w *ArgWriter) index(set *model.ArgSet, array *argNode) int {
	if array.key == 0 {
		array.key = w.strings.Intern(array.text)
	}
	return set.NextIndex(array.key)
}

// element returns the node of an element.
func (w *ArgWriter) element(array *argNode, index int) *argNode {
	if index < len(array.elements) {
		return array.elements[index]
	}
	e := &argNode{flatText: array.flatText, text: string(w.elementText(array, index))}
	if index == len(array.elements) && index < maxElements && w.keep(e) {
		array.elements = append(array.elements, e)
	}
	return e
}

func (w *ArgWriter) elementText(array *argNode, index int) []byte {
	w.key = append(append(w.key[:0], array.text...), '[')
	w.key = append(strconv.AppendInt(w.key, int64(index), 10), ']')
	return w.key
}

// elementKeys returns the keys of a value in an array.
func (w *ArgWriter) elementKeys(array *argNode, index int) (flat, key model.StringID) {
	if index < maxElements {
		return w.keys(w.element(array, index))
	}
	return w.strings.Intern(array.flatText), w.strings.InternBytes(w.elementText(array, index))
}

func (w *ArgWriter) keys(n *argNode) (flat, key model.StringID) {
	if n.flat == 0 {
		n.flat, n.key = w.strings.Intern(n.flatText), w.strings.Intern(n.text)
	}
	return n.flat, n.key
}

// number returns the value of a number or boolean.
func number(v Value) model.ArgValue {
	switch v.Kind {
	case Boolean:
		return model.BoolArg(v.Int != 0)
	case Integer:
		return model.IntArg(v.Int)
	}
	return model.RealArg(v.Float)
}

// Fact returns a value as metadata, which is an integer or text, or false for null.
func (v Value) Fact(strings *table.StringPool) (model.ArgValue, bool) {
	switch v.Kind {
	case Null:
		return model.ArgValue{}, false
	case Boolean, Integer:
		return model.IntArg(v.Int), true
	}
	return model.StringArg(strings.InternBytes(v.Raw)), true
}
