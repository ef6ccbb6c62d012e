package profile

import (
	"math/rand/v2"
	"testing"
)

func TestStackTreeNumbersEachStackOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tree StackTree
	numbers := map[treeStack]StackNumber{}
	var at StackNumber
	for range 50_000 {
		// Deep chains, and some stacks with many on top of them.
		switch r.IntN(8) {
		case 0:
			at = EmptyStack
		case 1:
			at = StackNumber(r.IntN(tree.Len()+1)) - 1
		}
		key := treeStack{at, r.Int32N(4)}
		want, known := numbers[key]
		if !known {
			want = StackNumber(len(numbers))
			numbers[key] = want
		}
		got, added := tree.Push(key.parent, key.frame)
		if got != want || added == known {
			t.Fatalf("stack %v has number %d, added %t; want %d, %t", key, got, added, want, !known)
		}
		if parent, frame := tree.Stack(got); parent != key.parent || frame != key.frame {
			t.Fatalf("stack %d is frame %d on %d; want %v", got, frame, parent, key)
		}
		at = got
	}
	if tree.Len() != len(numbers) {
		t.Errorf("%d stacks, want %d", tree.Len(), len(numbers))
	}
}
