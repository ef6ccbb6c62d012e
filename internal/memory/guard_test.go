package memory

import (
	"bytes"
	"context"
	"testing"
	"time"
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

// What a conversion held when it was ended does not end those that run beside it or come next.
func TestGuardFrees(t *testing.T) {
	const limit = 64 << 20
	g := &Guard{Most: InUse() + limit}
	go g.Watch(t.Context())
	small, end := context.WithCancelCause(t.Context())
	defer g.Add(false, end)()
	for range 3 {
		large, end := context.WithCancelCause(t.Context())
		done := g.Add(true, end)
		hold(large, 4*limit)
		if context.Cause(large) != ErrPostponed {
			t.Fatalf("the large one ended by %v", context.Cause(large))
		}
		done()
		time.Sleep(10 * watchInterval)
	}
	if small.Err() != nil {
		t.Errorf("the small one ended by %v", context.Cause(small))
	}
}

// hold takes memory until the context is done, or up to a limit in bytes.
func hold(ctx context.Context, most int) {
	const piece = 1 << 20
	for held := make([][]byte, 0, most/piece); len(held) < cap(held) && ctx.Err() == nil; time.Sleep(time.Millisecond / 4) {
		held = append(held, bytes.Repeat([]byte{1}, piece))
	}
}
