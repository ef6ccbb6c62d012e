package model

import "math/bits"

// StackTree numbers stacks. A stack is a frame on top of another stack, its parent;
// equal stacks have the same number. Frames are arbitrary numbers.
type StackTree struct {
	stacks []treeStack
	slots  []int32 // hash table with open addressing: numbers plus one; its length is a power of two
}

type treeStack struct{ parent, frame int32 }

// EmptyStack is the parent of the outermost frames.
const EmptyStack int32 = -1

// Push returns the number of a stack; added says whether it is new.
func (t *StackTree) Push(parent, frame int32) (stack int32, added bool) {
	if 2*len(t.stacks) >= len(t.slots) {
		t.grow()
	}
	key := treeStack{parent, frame}
	mask := uint64(len(t.slots) - 1)
	for slot := key.hash() & mask; ; slot = (slot + 1) & mask {
		switch at := t.slots[slot]; {
		case at == 0:
			t.stacks = append(t.stacks, key)
			t.slots[slot] = int32(len(t.stacks))
			return int32(len(t.stacks) - 1), true
		case t.stacks[at-1] == key:
			return at - 1, false
		}
	}
}

// Len returns the number of stacks. They are numbered from 0, parents before
// children.
func (t *StackTree) Len() int { return len(t.stacks) }

// Stack returns the parent and the frame of a stack.
func (t *StackTree) Stack(stack int32) (parent, frame int32) {
	return t.stacks[stack].parent, t.stacks[stack].frame
}

func (k treeStack) hash() uint64 {
	hi, lo := bits.Mul64(uint64(uint32(k.parent))<<32|uint64(uint32(k.frame))^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

func (t *StackTree) grow() {
	t.slots = make([]int32, max(1024, 4*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for i, key := range t.stacks {
		slot := key.hash() & mask
		for t.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.slots[slot] = int32(i + 1)
	}
}
