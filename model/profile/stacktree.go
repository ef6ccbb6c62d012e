package profile

import (
	"github.com/tpconvert/tpconvert/internal/paged"
)

// StackTree numbers stacks. A stack is a frame on top of another stack, its parent;
// equal stacks have the same number. Frames are arbitrary numbers.
//
// Most stacks are the first one on top of their parent, and get the number after it. They
// are found by that number, the others by a hash table.
type StackTree struct {
	stacks paged.List[treeStack]
	slots  []StackNumber // hash table with open addressing: numbers plus one; the length is a power of two
	hashed int           // used slots
}

// StackNumber is the number of a stack in a tree, from 0.
type StackNumber int32

type treeStack struct {
	parent StackNumber
	frame  int32
}

// EmptyStack is the parent of the outermost frames.
const EmptyStack StackNumber = -1

// Push returns the number of a stack; added reports whether it is new.
func (t *StackTree) Push(parent StackNumber, frame int32) (stack StackNumber, added bool) {
	key := treeStack{parent, frame}
	next := parent + 1
	if int(next) == t.stacks.Len() { // no other stack is on top of the last one yet
		t.stacks.Append(key)
		return next, true
	}
	if *t.stacks.At(int(next)) == key {
		return next, false
	}
	if 2*t.hashed >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for slot := key.hash() & mask; ; slot = (slot + 1) & mask {
		switch at := t.slots[slot]; {
		case at == 0:
			stack = StackNumber(t.stacks.Append(key))
			t.slots[slot] = stack + 1
			t.hashed++
			return stack, true
		case *t.stacks.At(int(at - 1)) == key:
			return at - 1, false
		}
	}
}

// Len returns the number of stacks. They are numbered from 0, parents before
// children.
func (t *StackTree) Len() int { return t.stacks.Len() }

// Stack returns the parent and the frame of a stack.
func (t *StackTree) Stack(stack StackNumber) (parent StackNumber, frame int32) {
	at := t.stacks.At(int(stack))
	return at.parent, at.frame
}

func (k treeStack) hash() uint64 {
	return paged.Mix(uint64(uint32(k.parent)), uint64(uint32(k.frame)))
}

func (t *StackTree) grow() {
	old := t.slots
	t.slots = make([]StackNumber, max(1024, 2*len(old)))
	mask := uint64(len(t.slots) - 1)
	for _, at := range old {
		if at == 0 {
			continue
		}
		slot := t.stacks.At(int(at-1)).hash() & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = at
	}
}
