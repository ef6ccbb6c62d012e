// Package turns lets statements that compute for long share the processors with short ones.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// slice is for how long a statement computes before others go first. Once it has, it computes only while no new one waits.
	slice = 5 * time.Millisecond
	// longestShare: each place of this number goes to the statement that waits longest.
	longestShare = 4
	// lost is how long a statement may be in a function that takes no turns before another one computes in its place.
	lost = 20 * time.Millisecond
)

// Turns lets as many statements compute at a time as there are places. Those that have not computed for a slice yet go first.
type Turns struct {
	mu      sync.Mutex
	free    int
	holders []*Turn
	first   []*Turn // wait with a part of their first slice left, the one that waits longest first
	again   []*Turn // wait for another slice, the one that waits longest first
	given   int     // how many places were given
	watched bool    // a timer calls watch
}

// New returns turns for as many statements at a time.
func New(places int) *Turns { return &Turns{free: places} }

// Turn is the turn of a statement, or of several that follow one another. One goroutine uses it.
type Turn struct {
	Long func() // is called once the turn has used up a slice or has to Wait, unless it is nil

	of    *Turns
	given chan struct{} // tells one that waits that it has a place

	// Guarded by of.mu.
	held        bool
	spent       time.Duration // in places that it had before
	since, seen time.Time     // when it was given its place, and when it was last seen to compute there
	asked       time.Time     // since when it waits
}

// New returns a turn, which has to be paused at the end.
func (t *Turns) New() *Turn { return &Turn{of: t, given: make(chan struct{}, 1)} }

// turnKey is the key of a Turn in a context.
type turnKey struct{}

// Of returns a context in which statements take the turn.
func (t *Turn) Of(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, t) }

// From returns the turn of a context, or nil.
func From(ctx context.Context) *Turn {
	t, _ := ctx.Value(turnKey{}).(*Turn)
	return t
}

// Pause lets others compute, until Take.
func (t *Turn) Pause() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.release(t)
}

// Wait lets others compute while the turn waits for something else, such as a client.
func (t *Turn) Wait() {
	t.Pause()
	t.lengthen()
}

func (t *Turn) lengthen() {
	if long := t.Long; long != nil {
		t.Long = nil
		long()
	}
}

// Take waits for a place, unless the turn has one and may keep it. It gives up when done is closed.
func (t *Turn) Take(done <-chan struct{}) {
	t.of.mu.Lock()
	if t.held {
		t.seen = time.Now()
		used := t.seen.Sub(t.since)
		long := t.spent+used > slice
		if used <= slice && !(long && len(t.of.first) > 0) {
			t.of.mu.Unlock()
			return
		}
		t.of.release(t)
		t.of.mu.Unlock()
		t.lengthen()
		t.of.mu.Lock()
	}
	if t.of.free > 0 { // nobody waits
		t.of.hold(t)
		t.of.mu.Unlock()
		return
	}
	t.asked = time.Now()
	if t.spent < slice {
		t.of.first = append(t.of.first, t)
	} else {
		t.of.again = append(t.of.again, t)
	}
	t.of.watch()
	t.of.mu.Unlock()
	select {
	case <-t.given:
	case <-done:
		t.of.mu.Lock()
		defer t.of.mu.Unlock()
		if t.held {
			<-t.given
		}
		isTurn := func(other *Turn) bool { return other == t }
		t.of.first, t.of.again = slices.DeleteFunc(t.of.first, isTurn), slices.DeleteFunc(t.of.again, isTurn)
	}
}

// hold gives a turn a place that is free. t.mu is locked.
func (t *Turns) hold(turn *Turn) {
	t.free--
	turn.held, turn.since = true, time.Now()
	turn.seen = turn.since
	t.holders = append(t.holders, turn)
}

// release takes the place of a turn that has one, and gives it to another. t.mu is locked.
func (t *Turns) release(turn *Turn) {
	if !turn.held {
		return
	}
	turn.held = false
	turn.spent += time.Since(turn.since)
	t.holders = slices.DeleteFunc(t.holders, func(other *Turn) bool { return other == turn })
	t.free++
	if next := t.next(); next != nil {
		t.hold(next)
		next.given <- struct{}{}
	}
}

// next removes the turn that gets the next place: the newest of those that have computed least, for it may be the only one whose client still
// waits, or in its turn the one that waits longest. t.mu is locked.
func (t *Turns) next() (turn *Turn) {
	t.given++
	longest := t.given%longestShare == 0
	switch n, more := len(t.first), len(t.again) > 0; {
	case longest && n > 0 && !(more && t.again[0].asked.Before(t.first[0].asked)):
		turn, t.first = t.first[0], t.first[1:]
	case more && (longest || n == 0):
		turn, t.again = t.again[0], t.again[1:]
	case n > 0:
		turn, t.first = t.first[n-1], t.first[:n-1]
	}
	return turn
}

// watch takes the places of turns that are lost while others wait. t.mu is locked.
func (t *Turns) watch() {
	if t.watched {
		return
	}
	t.watched = true
	time.AfterFunc(lost, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watched = false
		for _, turn := range slices.Clone(t.holders) {
			if time.Since(turn.seen) > lost {
				t.release(turn)
			}
		}
		if len(t.first)+len(t.again) > 0 {
			t.watch()
		}
	})
}
