package memory

import (
	"context"
	"testing"
)

// Above the limit, the last of several that can be repeated is postponed. One that is alone, or cannot be repeated, fails.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		again []bool // of the work, in the order of its beginning
		ended int
		cause error
	}{
		{[]bool{true, true, true}, 2, ErrPostponed},
		{[]bool{true, true, false}, 1, ErrPostponed},
		{[]bool{true}, 0, ErrLimit},
		{[]bool{false, false}, 0, ErrLimit},
	} {
		g := &Guard{Most: 1}
		all := make([]context.Context, len(c.again))
		for i, again := range c.again {
			ctx, end := context.WithCancelCause(t.Context())
			defer g.Add(again, end)()
			all[i] = ctx
		}
		watching, stop := context.WithCancel(t.Context())
		go g.Watch(watching)
		<-all[c.ended].Done()
		stop()
		for i, ctx := range all {
			want := error(nil)
			if i == c.ended {
				want = c.cause
			}
			if got := context.Cause(ctx); got != want {
				t.Errorf("%v: work %d ended by %v, want %v", c.again, i, got, want)
			}
		}
	}
}
