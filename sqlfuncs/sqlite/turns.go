package sqlite

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"time"
)

// Turns lets as many calls compute at a time as there are places. Those that have computed least go first, so that a short one is done
// soon, whatever the others do.
type Turns struct {
	mu      sync.Mutex
	free    int
	holders []*Turn
	waiting [lastLevel + 1][]*Turn // by level, the newest last
	given   int                    // how many places were given
	watched bool                   // watch has started a timer
}

const (
	instructions = 10_000 // of SQLite between two calls of its progress handler: some 0.2 ms
	longCalls    = 8      // of the progress handler, after which a call is long
	lastLevel    = 8      // of calls that have computed for some 25 ms, which take turns
	lastShare    = 4      // each place of this number goes to one of the last level, even if others wait
	turnTime     = 20 * time.Millisecond
)

// NewTurns returns turns for as many calls at a time.
func NewTurns(places int) *Turns { return &Turns{free: places} }

// Turn is what Turns knows of a call. One goroutine uses it.
type Turn struct {
	Long func() // is called once the call is long, unless it is nil

	of    *Turns
	calls int           // of the progress handler
	given chan struct{} // tells a call that waits that it has a place

	// Guarded by of.mu.
	held        bool
	since, seen time.Time // when it was given the place, and when it was last seen to compute there
}

// turnKey is the key of a Turn in a context.
type turnKey struct{}

// New returns a turn, which has to be paused at the end.
func (t *Turns) New() *Turn { return &Turn{of: t, given: make(chan struct{}, 1)} }

// Of returns a context in which During takes the turn.
func (t *Turn) Of(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// level is 0 for a call that has not computed yet, and grows each time that it has computed twice as much.
func (t *Turn) level() int { return min(bits.Len(uint(t.calls)), lastLevel) }

// spend adds calls of the progress handler.
func (t *Turn) spend(calls int) {
	before := t.calls
	if t.calls += calls; before < longCalls && t.calls >= longCalls && t.Long != nil {
		t.Long()
	}
}

// Lengthen makes the call long.
func (t *Turn) Lengthen() { t.spend(longCalls) }

// Expect says that the call will compute for some milliseconds: it comes after short ones, and before long ones.
func (t *Turn) Expect() { t.calls = max(t.calls, longCalls-1) }

// Pause lets others compute, until SQLite goes on.
func (t *Turn) Pause() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.release(t)
}

// Take waits for a place, unless the call has one that no other call should have first. It gives up when done is closed.
func (t *Turn) Take(done <-chan struct{}) {
	t.of.mu.Lock()
	if t.held && !t.of.better(t) {
		t.seen = time.Now()
		t.of.mu.Unlock()
		return
	}
	level := t.level()
	t.of.waiting[level] = append(t.of.waiting[level], t)
	t.of.release(t)
	t.of.give()
	t.of.watch()
	t.of.mu.Unlock()
	select {
	case <-t.given:
	case <-done:
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		if i := slices.Index(t.of.waiting[level], t); i >= 0 {
			t.of.waiting[level] = slices.Delete(t.of.waiting[level], i, i+1)
		} else {
			<-t.given
		}
	}
}

// better reports whether a call that waits should have the place of another. t.mu is locked.
func (t *Turns) better(than *Turn) bool {
	level := than.level()
	for _, waiting := range t.waiting[:level] {
		if len(waiting) > 0 {
			return true
		}
	}
	return level == lastLevel && len(t.waiting[lastLevel]) > 0 && time.Since(than.since) > turnTime
}

// release takes the place of a call that has one. t.mu is locked.
func (t *Turns) release(turn *Turn) {
	if !turn.held {
		return
	}
	turn.held = false
	t.holders = slices.DeleteFunc(t.holders, func(other *Turn) bool { return other == turn })
	t.free++
	t.give()
}

// give gives the places that are free. t.mu is locked.
func (t *Turns) give() {
	for t.free > 0 {
		next := t.next()
		if next == nil {
			return
		}
		t.free--
		next.held, next.since = true, time.Now()
		next.seen = next.since
		t.holders = append(t.holders, next)
		next.given <- struct{}{}
	}
}

// next removes the call that gets the next place: the newest of those that have computed least, for it may be the only one whose client
// still waits. Those of the last level take turns. t.mu is locked.
func (t *Turns) next() *Turn {
	t.given++
	last := t.waiting[lastLevel]
	if len(last) == 0 || t.given%lastShare != 0 {
		for level, waiting := range t.waiting[:lastLevel] {
			if n := len(waiting); n > 0 {
				t.waiting[level] = waiting[:n-1]
				return waiting[n-1]
			}
		}
	}
	if len(last) == 0 {
		return nil
	}
	t.waiting[lastLevel] = last[1:]
	return last[0]
}

// watch makes others compute in place of calls that have not been seen for a while, because they are in a function that takes long.
// t.mu is locked.
func (t *Turns) watch() {
	if t.watched {
		return
	}
	t.watched = true
	time.AfterFunc(turnTime, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watched = false
		for _, turn := range slices.Clone(t.holders) {
			if time.Since(turn.seen) > turnTime {
				t.release(turn)
			}
		}
		if slices.ContainsFunc(t.waiting[:], func(waiting []*Turn) bool { return len(waiting) > 0 }) {
			t.watch()
		}
	})
}

// takeTurns makes statements wait for the turn in ctx, if there is one, until the function that it returns is called.
func (d *DB) takeTurns(ctx context.Context) (end func()) {
	turn, ok := ctx.Value(turnKey{}).(*Turn)
	if !ok {
		return func() {}
	}
	d.progress = func() {
		turn.spend(1)
		turn.Take(ctx.Done())
	}
	d.watchProgress(instructions)
	return func() { d.watchProgress(0) }
}
