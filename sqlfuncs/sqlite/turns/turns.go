// Package turns lets calls that compute for long share the processors with short ones.
package turns

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
	short   time.Time              // when a call that is not long was given a place last
}

const (
	longSteps = 8 // after which a call is long
	lastLevel = 8 // of calls that have computed for some 25 ms, which take turns
	lastShare = 4 // each place of this number goes to one of the last level, even if others wait
	turnTime  = 20 * time.Millisecond
)

// New returns turns for as many calls at a time.
func New(places int) *Turns { return &Turns{free: places} }

// Turn is what Turns knows of a call. One goroutine uses it.
type Turn struct {
	Long func() // is called once the call is long, unless it is nil

	of    *Turns
	steps int           // some 0.2 ms each
	given chan struct{} // tells a call that waits that it has a place

	// Guarded by of.mu.
	held        bool
	since, seen time.Time // when it was given the place, and when it was last seen to compute there
}

// turnKey is the key of a Turn in a context.
type turnKey struct{}

// New returns a turn, which has to be paused at the end.
func (t *Turns) New() *Turn { return &Turn{of: t, given: make(chan struct{}, 1)} }

// Of returns a context in which SQLite takes the turn.
func (t *Turn) Of(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From returns the turn of a context, or nil.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Step says that the call has computed for some 0.2 ms. It takes the turn again.
func (t *Turn) Step(done <-chan struct{}) {
	t.spend(1)
	t.Take(done)
}

// level is 0 for a call that has not computed yet, and grows each time that it has computed twice as much.
func (t *Turn) level() int { return min(bits.Len(uint(t.steps)), lastLevel) }

// spend adds steps.
func (t *Turn) spend(steps int) {
	before := t.steps
	if t.steps += steps; before < longSteps && t.steps >= longSteps && t.Long != nil {
		t.Long()
	}
}

// Lengthen makes the call long.
func (t *Turn) Lengthen() { t.spend(longSteps) }

// Expect says that the call will compute for some milliseconds: it comes after short ones, and before long ones.
func (t *Turn) Expect() { t.steps = max(t.steps, longSteps-1) }

// Quiet waits until no short call has begun for a while, or for as long as most. It returns how long it has waited.
func (t *Turns) Quiet(while, most time.Duration) time.Duration {
	for begun := time.Now(); ; {
		waited := time.Since(begun)
		t.mu.Lock()
		left := min(while-time.Since(t.short), most-waited)
		t.mu.Unlock()
		if left <= 0 {
			return waited
		}
		time.Sleep(left)
	}
}

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
	if !t.held && t.of.free > 0 { // nobody waits
		t.of.given++
		t.of.hold(t)
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
		t.hold(next)
		next.given <- struct{}{}
	}
}

// hold gives a call a place that is free. t.mu is locked.
func (t *Turns) hold(turn *Turn) {
	t.free--
	turn.held, turn.since = true, time.Now()
	turn.seen = turn.since
	if turn.steps < longSteps {
		t.short = turn.since
	}
	t.holders = append(t.holders, turn)
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
