package args

import (
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/model/table"
)

// A set that many rows share has so many args, and so much text.
func TestShare(t *testing.T) {
	var many, long, few Set
	for i := range table.StringID(300) {
		many.Add(i+1, Int(int64(i)))
	}
	for i := range table.StringID(10) {
		long.AddText(i+1, i+1, []byte(strings.Repeat("a", 1000)))
	}
	few.AddText(1, 1, []byte("text"))
	few.Add(2, Int(7))
	for _, test := range []struct {
		set        *Set
		kept, left int
	}{{&many, 256, 44}, {&long, 4, 6}, {&few, 2, 0}} {
		left := test.set.Share()
		var copied Set
		test.set.AddArgs(&copied)
		if left != test.left || copied.Len() != test.kept {
			t.Errorf("%d args kept and %d left out, want %d and %d", copied.Len(), left, test.kept, test.left)
		}
	}
}
