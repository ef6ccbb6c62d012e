package protovm

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// state is a message that is changed in place, as a tree. A message stays bytes until a field of it is entered.
type state struct {
	root  node
	size  int64 // of what the root refers to, in bytes
	limit int64
}

// nodeSize is what ProtoVM counts for a node, and again for its place in another one.
const nodeSize = 48

type nodeKind uint8

const (
	empty nodeKind = iota // what was entered but not set
	bytesNode
	scalarNode
	messageNode // its fields by number
	indexedNode // elements of a repeated field by index
	mappedNode  // the same by key
)

type node struct {
	kind     nodeKind
	merged   bool // by the merge that is under way
	scalar   scalar
	bytes    []byte
	children []child // by key, ascending
}

type child struct {
	key  uint64
	node *node
}

// scalar is a number as it is encoded.
type scalar struct {
	wire  wire.Type
	value uint64
}

func scalarOf(f *wire.Field) scalar { return scalar{f.Type, f.Uint64()} }

// take counts n more bytes.
func (s *state) take(n int64) error {
	if s.size+n > s.limit {
		return ErrAborted
	}
	s.size += n
	return nil
}

// free gives back the memory of what a node refers to.
func (s *state) free(n *node) {
	s.size -= int64(len(n.bytes))
	for _, c := range n.children {
		s.drop(c.node)
		s.size -= nodeSize
	}
}

// drop gives back the memory of a node.
func (s *state) drop(n *node) {
	s.free(n)
	s.size -= nodeSize
}

func (n *node) place(key uint64) (int, bool) {
	return slices.BinarySearchFunc(n.children, key, func(c child, key uint64) int {
		switch {
		case c.key < key:
			return -1
		case c.key > key:
			return 1
		}
		return 0
	})
}

func (n *node) child(key uint64) *node {
	if i, ok := n.place(key); ok {
		return n.children[i].node
	}
	return nil
}

// add adds a node whose memory is counted already. Its key must be new.
func (n *node) add(s *state, key uint64, added *node) error {
	i, exists := n.place(key)
	if exists || s.take(nodeSize) != nil {
		s.drop(added)
		return ErrAborted
	}
	n.children = slices.Insert(n.children, i, child{key, added})
	return nil
}

// remove removes a child and gives back its memory.
func (n *node) remove(s *state, key uint64) {
	if i, ok := n.place(key); ok {
		s.drop(n.children[i].node)
		s.size -= nodeSize
		n.children = slices.Delete(n.children, i, i+1)
	}
}

// newNode returns a node for a field of a message.
func (s *state) newNode(f *wire.Field) (*node, error) {
	n := &node{kind: scalarNode, scalar: scalarOf(f)}
	if f.Type == wire.Bytes {
		n = &node{kind: bytesNode, bytes: slices.Clone(f.Bytes())}
	}
	return n, s.take(nodeSize + int64(len(n.bytes)))
}

// newEmpty returns a node that is to be set.
func (s *state) newEmpty() (*node, error) { return &node{}, s.take(nodeSize) }

// setBytes replaces a message or text.
func (n *node) setBytes(s *state, data []byte) error {
	if n == nil || n.kind != empty && n.kind != bytesNode && n.kind != messageNode {
		return ErrAborted
	}
	if err := s.take(int64(len(data))); err != nil {
		return err
	}
	s.free(n)
	*n = node{kind: bytesNode, bytes: slices.Clone(data), merged: n.merged}
	return nil
}

func (n *node) setScalar(v scalar) error {
	if n == nil || n.kind != empty && n.kind != scalarNode {
		return ErrAborted
	}
	n.kind, n.scalar = scalarNode, v
	return nil
}

func (n *node) asScalar() (scalar, bool) {
	if n == nil || n.kind != scalarNode {
		return scalar{}, false
	}
	return n.scalar, true
}

// toMessage makes the fields of a message nodes.
func (n *node) toMessage(s *state) error {
	switch {
	case n == nil:
		return ErrAborted
	case n.kind == messageNode:
		return nil
	case n.kind == empty:
		n.kind = messageNode
		return nil
	case n.kind != bytesNode:
		return ErrAborted
	}
	m := node{kind: messageNode, merged: n.merged}
	for f := wire.Read(n.bytes); f.Next(); {
		if err := m.addField(s, &f.Field); err != nil {
			s.free(&m)
			return err
		}
	}
	s.free(n)
	*n = m
	return nil
}

// addField adds a field of a message. A field that the message has becomes repeated.
func (n *node) addField(s *state, f *wire.Field) error {
	value, err := s.newNode(f)
	if err != nil {
		return err
	}
	before := n.child(uint64(f.Number))
	if before == nil {
		return n.add(s, uint64(f.Number), value)
	}
	if err := before.toIndexed(s); err != nil {
		s.drop(value)
		return err
	}
	return before.add(s, uint64(len(before.children)), value)
}

// wrap makes a node the only element of a repeated field.
func (n *node) wrap(s *state, kind nodeKind, key uint64) error {
	element, err := s.newEmpty()
	if err != nil {
		return err
	}
	*element = *n
	element.merged = false
	*n = node{kind: kind, merged: n.merged}
	return n.add(s, key, element)
}

// toIndexed makes a field a repeated one whose elements are found by index.
func (n *node) toIndexed(s *state) error {
	switch n.kind {
	case indexedNode:
		return nil
	case mappedNode:
		return ErrAborted
	case empty:
		n.kind = indexedNode
		return nil
	}
	return n.wrap(s, indexedNode, 0)
}

// toMapped makes a field a repeated one whose elements are found by the value of one of their fields.
func (n *node) toMapped(s *state, keyField uint32) error {
	switch n.kind {
	case mappedNode:
		return nil
	case empty:
		n.kind = mappedNode
		return nil
	case bytesNode, messageNode:
		key, err := n.key(keyField)
		if err != nil {
			return err
		}
		return n.wrap(s, mappedNode, key)
	case indexedNode:
		mapped := node{kind: mappedNode, merged: n.merged}
		for _, e := range n.children {
			key, err := e.node.key(keyField)
			if err != nil {
				return err
			}
			if i, exists := mapped.place(key); exists { // the first counts
				s.drop(e.node)
				s.size -= nodeSize
			} else {
				mapped.children = slices.Insert(mapped.children, i, child{key, e.node})
			}
		}
		*n = mapped
		return nil
	}
	return ErrAborted
}

// key returns the value of an element's field.
func (n *node) key(field uint32) (uint64, error) {
	switch n.kind {
	case bytesNode:
		if f, ok := wire.Find(n.bytes, field); ok && f.Type != wire.Bytes {
			return f.Uint64(), nil
		}
	case messageNode:
		if v, ok := n.child(uint64(field)).asScalar(); ok {
			return v.value, nil
		}
	}
	return 0, ErrAborted
}

// cursor is a place in the state. It has no node once that was deleted.
type cursor struct {
	node   *node
	parent *node  // nil for the root, and for elements that are visited one by one
	key    uint64 // of the node in its parent
}

// enter moves to a field. If the message does not have it, it is created or the patch does not fit.
func (c *cursor) enter(s *state, field uint32, create bool) error {
	if err := c.require(s, field, create); err != nil {
		return err
	}
	to, err := c.node.childOrEmpty(s, uint64(field))
	if err != nil {
		return err
	}
	if to.kind == indexedNode || to.kind == mappedNode {
		return ErrAborted
	}
	*c = cursor{to, c.node, uint64(field)}
	return nil
}

// require checks that the message has a field, unless it may be created.
func (c *cursor) require(s *state, field uint32, create bool) error {
	if err := c.node.toMessage(s); err != nil {
		return err
	}
	if !create && c.node.child(uint64(field)) == nil {
		return ErrNoPatch
	}
	return nil
}

func (n *node) childOrEmpty(s *state, key uint64) (*node, error) {
	if known := n.child(key); known != nil {
		return known, nil
	}
	added, err := s.newEmpty()
	if err != nil {
		return nil, err
	}
	return added, n.add(s, key, added)
}

// enterIndex moves to an element of a repeated field. One more than there are is created.
func (c *cursor) enterIndex(s *state, field, index uint32) error {
	if err := c.node.toMessage(s); err != nil {
		return err
	}
	list, err := c.node.childOrEmpty(s, uint64(field))
	if err != nil {
		return err
	}
	if err := list.toIndexed(s); err != nil {
		return err
	}
	if list.child(uint64(index)) == nil && int(index) > len(list.children) {
		return ErrAborted
	}
	return c.enterElement(s, list, uint64(index))
}

// enterKey moves to the element of a repeated field that has a key, and creates it if there is none.
func (c *cursor) enterKey(s *state, field, keyField uint32, key uint64, create bool) error {
	if err := c.require(s, field, create); err != nil {
		return err
	}
	list, err := c.node.childOrEmpty(s, uint64(field))
	if err != nil {
		return err
	}
	if err := list.toMapped(s, keyField); err != nil {
		return err
	}
	return c.enterElement(s, list, key)
}

func (c *cursor) enterElement(s *state, list *node, key uint64) error {
	to, err := list.childOrEmpty(s, key)
	if err != nil {
		return err
	}
	*c = cursor{to, list, key}
	return nil
}

// elements returns the elements of a repeated field.
func (c *cursor) elements(s *state, field uint32) ([]child, error) {
	if err := c.node.toMessage(s); err != nil {
		return nil, err
	}
	list := c.node.child(uint64(field))
	if list == nil {
		return nil, nil
	}
	if err := list.toIndexed(s); err != nil {
		return nil, err
	}
	return slices.Clone(list.children), nil
}

// delete deletes the node, and empties a root.
func (c *cursor) delete(s *state) error {
	switch {
	case c.node == nil:
		return ErrAborted
	case c.parent == nil:
		s.free(c.node)
		*c.node = node{}
	default:
		c.parent.remove(s, c.key)
		*c = cursor{}
	}
	return nil
}

type mergeOptions struct {
	keepMessages bool // fields that are nodes of messages stay, because they were merged before
	emptyDeletes bool // an empty message deletes the field
}

// merge replaces the fields that a message has by its own. Submessages are replaced, not merged.
func (c *cursor) merge(s *state, data []byte, o mergeOptions) error {
	n := c.node
	if n == nil || n.kind != empty && n.kind != bytesNode && n.kind != messageNode {
		return ErrAborted
	}
	if len(data) == 0 {
		return nil
	}
	if err := n.toMessage(s); err != nil {
		return err
	}
	for f := wire.Read(data); f.Next(); {
		if err := n.mergeField(s, &f.Field, o); err != nil {
			return err
		}
	}
	for _, c := range n.children {
		c.node.merged = false
	}
	return nil
}

func (n *node) mergeField(s *state, f *wire.Field, o mergeOptions) error {
	key := uint64(f.Number)
	before := n.child(key)
	switch {
	case before != nil && o.emptyDeletes && f.Type == wire.Bytes && len(f.Bytes()) == 0:
		n.remove(s, key)
		return nil
	case before != nil && o.keepMessages && before.kind == messageNode:
		return nil
	}
	value, err := s.newNode(f)
	if err != nil {
		return err
	}
	value.merged = true
	switch {
	case before == nil:
		return n.add(s, key, value)
	case before.kind == mappedNode:
		s.drop(value)
		return ErrAborted
	case before.merged: // the second value of a repeated field
		if err := before.toIndexed(s); err != nil {
			s.drop(value)
			return err
		}
	}
	if before.kind == indexedNode {
		if !before.merged {
			s.free(before)
			before.children, before.merged = nil, true
		}
		value.merged = false
		return before.add(s, uint64(len(before.children)), value)
	}
	s.free(before)
	s.size -= nodeSize
	*before = *value
	return nil
}

// append appends the state's fields in the order of their numbers.
func (s *state) append(b []byte) []byte {
	if s.root.kind == bytesNode {
		return append(b, s.root.bytes...)
	}
	return s.root.appendChildren(b)
}

func (n *node) appendChildren(b []byte) []byte {
	for _, c := range n.children {
		b = c.node.append(b, c.key)
	}
	return b
}

func (n *node) append(b []byte, number uint64) []byte {
	tag := func(t wire.Type) { b = protowire.AppendVarint(b, number<<3|uint64(t)) }
	switch n.kind {
	case bytesNode:
		tag(wire.Bytes)
		b = protowire.AppendBytes(b, n.bytes)
	case scalarNode:
		tag(n.scalar.wire)
		switch n.scalar.wire {
		case wire.Fixed32:
			b = protowire.AppendFixed32(b, uint32(n.scalar.value))
		case wire.Fixed64:
			b = protowire.AppendFixed64(b, n.scalar.value)
		default:
			b = protowire.AppendVarint(b, n.scalar.value)
		}
	case messageNode:
		tag(wire.Bytes)
		b = protowire.AppendBytes(b, n.appendChildren(nil))
	case indexedNode, mappedNode:
		for _, c := range n.children {
			b = c.node.append(b, number)
		}
	}
	return b
}
