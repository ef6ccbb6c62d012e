package sqlite

import (
	"context"
	"time"
)

// Turns lets only some long statements compute at a time, in turn, so that a short one finds a processor soon.
type Turns struct{ places chan struct{} }

// NewTurns returns turns for as many statements at a time.
func NewTurns(places int) *Turns { return &Turns{make(chan struct{}, places)} }

const (
	instructions = 10_000 // of SQLite between two calls of its progress handler
	short        = 20     // calls after which a call is long: some 4 ms
	turnTime     = 20 * time.Millisecond
)

// Turn is what Turns knows of the statements of a call. One goroutine uses it.
type Turn struct {
	of    *Turns
	long  func()
	calls int
	held  bool
	until time.Time
}

// turnKey is the key of a Turn in a context.
type turnKey struct{}

// Begin returns a turn, and a context in which During takes it. It has to be paused at the end. The function is called once the call is
// long, before it waits.
func (t *Turns) Begin(ctx context.Context, long func()) (*Turn, context.Context) {
	turn := &Turn{of: t, long: long}
	return turn, context.WithValue(ctx, turnKey{}, turn)
}

// Pause lets others compute, until SQLite goes on.
func (t *Turn) Pause() {
	if t.held {
		t.held = false
		<-t.of.places
	}
}

// wait waits for the turn of a long statement.
func (t *Turn) wait(done <-chan struct{}) {
	if t.calls++; t.calls < short || t.held && time.Now().Before(t.until) {
		return
	}
	if t.calls == short {
		t.long()
	}
	t.Pause()
	select {
	case t.of.places <- struct{}{}:
		t.held, t.until = true, time.Now().Add(turnTime)
	case <-done:
	}
}

// takeTurns makes statements wait for the turn in ctx, if there is one, until the function that it returns is called.
func (d *DB) takeTurns(ctx context.Context) (end func()) {
	turn, ok := ctx.Value(turnKey{}).(*Turn)
	if !ok {
		return func() {}
	}
	d.progress = func() { turn.wait(ctx.Done()) }
	d.watchProgress(instructions)
	return func() { d.watchProgress(0) }
}
