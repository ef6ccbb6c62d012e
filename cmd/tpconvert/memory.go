package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/cmd/internal/reading"
)

// defaultMemory is the default memory budget for sorting, in bytes.
const defaultMemory = 128 << 20

// memoryError is the failure of a trace that needs more than --max-memory, in bytes.
type memoryError int64

func (e memoryError) Error() string {
	most := byteSize(e)
	return fmt.Sprintf("this needs more than --max-memory=%s", &most)
}

// errPutOff ends a conversion that will be repeated when no other one runs.
var errPutOff = errors.New("postponed")

// memoryGuard ends conversions that take too much memory. If several run, it postpones the
// one that began last, so a trace only fails if it takes too much on its own.
type memoryGuard struct {
	most int64 // bytes; 0 is no limit

	mu    sync.Mutex
	begun []*guarded
}

// guarded is a conversion that the guard can end.
type guarded struct {
	end    context.CancelCauseFunc
	again  bool // it can be repeated
	ending bool
}

// add guards a conversion until done is called.
func (g *memoryGuard) add(again bool, end context.CancelCauseFunc) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &guarded{end: end, again: again}
	g.begun = append(g.begun, c)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.begun = slices.DeleteFunc(g.begun, func(other *guarded) bool { return other == c })
	}
}

// ending reports whether a conversion is being ended.
func (g *memoryGuard) ending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.begun, func(c *guarded) bool { return c.ending })
}

// endOne ends the latest conversion that can be repeated, or the first one if none can.
func (g *memoryGuard) endOne() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last *guarded
	for _, c := range g.begun {
		if last == nil || c.again {
			last = c
		}
	}
	if last == nil {
		return
	}
	last.ending = true
	if len(g.begun) > 1 && last.again {
		last.end(errPutOff)
	} else {
		last.end(memoryError(g.most))
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

// watch guards the conversions until the context is done.
func (g *memoryGuard) watch(ctx context.Context) {
	if g.most == 0 {
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
		used, recently := reading.MemoryInUse(), time.Since(since) < freeInterval
		switch {
		case used <= g.most-g.most/8 || g.ending():
		case used > g.most+overshoot, used > g.most && !freeing && recently:
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
