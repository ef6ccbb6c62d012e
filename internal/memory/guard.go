package memory

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

var (
	// ErrPostponed is the cause with which a Guard ends work that will be repeated when no other runs.
	ErrPostponed = errors.New("postponed")
	// ErrLimit is the cause with which it ends work that needs more than the limit on its own.
	ErrLimit = errors.New("more memory than the limit")
)

// Guard ends conversions that take too much memory. If several run, it postpones the
// one that began last, so a trace only fails if it takes too much on its own.
type Guard struct {
	Most int64 // bytes; 0 is no limit

	mu    sync.Mutex
	begun []*guarded
}

// guarded is a conversion that the guard can end.
type guarded struct {
	end        context.CancelCauseFunc
	repeatable bool // it can be repeated
	ending     bool
}

// Add guards a conversion until done is called. If the guard ended it, done returns once its memory is free: until then no other
// is ended, as it would answer for this one's.
func (g *Guard) Add(repeatable bool, end context.CancelCauseFunc) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &guarded{end: end, repeatable: repeatable}
	g.begun = append(g.begun, c)
	return func() {
		g.mu.Lock()
		ended := c.ending
		g.mu.Unlock()
		if ended {
			debug.FreeOSMemory()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.begun = slices.DeleteFunc(g.begun, func(other *guarded) bool { return other == c })
	}
}

// ending reports whether a conversion is being ended.
func (g *Guard) ending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.begun, func(c *guarded) bool { return c.ending })
}

// endOne ends the latest conversion that can be repeated, or the first one if none can.
func (g *Guard) endOne() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last *guarded
	for _, c := range g.begun {
		if last == nil || c.repeatable {
			last = c
		}
	}
	if last == nil {
		return
	}
	last.ending = true
	if len(g.begun) > 1 && last.repeatable {
		last.end(ErrPostponed)
	} else {
		last.end(ErrLimit)
	}
}

const (
	// watchInterval is the time between two checks of the memory in use, which may grow by
	// several GB in a second.
	watchInterval = 5 * time.Millisecond
	// freeInterval is the time between two attempts to return memory to the system when little is left.
	freeInterval = 100 * time.Millisecond
	// overshoot is the number of bytes by which memory may exceed the limit while such an attempt runs.
	overshoot = 8 << 20
)

// Watch guards the conversions until the context is done.
func (g *Guard) Watch(ctx context.Context) {
	if g.Most == 0 {
		return
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	// Memory may grow a lot during a collection, so that runs in the background.
	freed := make(chan struct{})
	freeing, since := false, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-freed:
			freeing, since = false, time.Now()
		case <-tick.C:
		}
		used, recently := InUse(), time.Since(since) < freeInterval
		switch {
		case used <= g.Most-g.Most/8 || g.ending():
		case used > g.Most+overshoot, used > g.Most && !freeing && recently:
			g.endOne()
		case !freeing && !recently:
			freeing = true
			go func() {
				debug.FreeOSMemory()
				select {
				case freed <- struct{}{}:
				case <-ctx.Done():
				}
			}()
		}
	}
}
