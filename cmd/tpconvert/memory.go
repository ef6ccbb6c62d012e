package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// defaultMemory is the memory for sorting unless told otherwise, in bytes.
const defaultMemory = 128 << 20

// The heap may grow by so many percent over what is live before it is collected. What
// it holds is large and mostly without pointers, so that collecting costs less than
// touching new memory does.
const (
	leastGrowth = 10
	mostGrowth  = 50
)

// limitMemory tells the garbage collector how much memory the run may take when
// that much is for sorting, until the context is done: a constant more, as far as
// what is live allows that, and never more than a cgroup's limit and most, unless that
// is 0.
func limitMemory(ctx context.Context, sorting, most int64) {
	limit := int64(math.MaxInt64)
	for _, most := range []int64{most, cgroupMemory()} {
		if most > 0 {
			limit = min(limit, most-most/10)
		}
	}
	if limit < math.MaxInt64 {
		limit -= max(memoryInUse()-memoryOfGo(), 0) // of the program itself
	}
	debug.SetMemoryLimit(max(limit, 0))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(mostGrowth)
		go pace(ctx, sorting+112<<20, max(limit, 0))
	}
}

// paceInterval is the time between two looks at how much is live.
const paceInterval = 20 * time.Millisecond

// pace lets the heap grow by less the more of the target, in bytes, is live. Above the
// target, what was freed goes back to the system before more is taken from it. most is
// the limit of Go's memory.
func pace(ctx context.Context, target, most int64) {
	tick := time.NewTicker(paceInterval)
	defer tick.Stop()
	growth, limit := mostGrowth, most
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		live := max(metric("/gc/heap/live:bytes"), 1)
		if now := int(min(max((target-live)*100/live, leastGrowth), mostGrowth)); now != growth {
			growth = now
			debug.SetGCPercent(growth)
		}
		now := min(max(target, live/100*int64(100+growth+leastGrowth/2)), most)
		if now > limit || now < limit-limit/32 {
			limit = now
			debug.SetMemoryLimit(limit)
		}
	}
}

// peakMemory is the most memory that the process had in RAM, in bytes: VmHWM on
// Linux, elsewhere what Go took from the system.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	if _, line, ok := strings.Cut(string(status), "VmHWM:"); ok {
		kib, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(kib, 10, 64); err == nil {
			return n << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// cgroupMemory is the least memory limit of the cgroups that the process is in, in
// bytes, or 0 if there is none.
func cgroupMemory() int64 {
	files := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	own, _ := os.ReadFile("/proc/self/cgroup")
	if _, group, ok := strings.Cut(string(own), "0::"); ok {
		group, _, _ = strings.Cut(group, "\n")
		for ; group != "/" && group != "."; group = path.Dir(group) {
			files = append(files, path.Join("/sys/fs/cgroup", group, "memory.max"))
		}
	}
	var least int64
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// memoryError fails a trace for which --max-memory, in bytes, is too little.
type memoryError int64

func (e memoryError) Error() string {
	most := byteSize(e)
	return fmt.Sprintf("more than --max-memory=%s would be needed", &most)
}

// errPutOff ends a conversion that is to be done again when no other takes memory.
var errPutOff = errors.New("put off")

// memoryGuard ends conversions when they take too much memory. Of several, the one
// that began last is put off, so that only a trace that takes too much alone fails.
type memoryGuard struct {
	most int64 // bytes; 0 is no limit

	mu    sync.Mutex
	begun []*guarded
}

// guarded is a conversion that can be ended.
type guarded struct {
	end    context.CancelCauseFunc
	again  bool // it can be done again
	ending bool
}

// add guards a conversion, until done is called.
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

// ending reports whether a conversion is on its way out.
func (g *memoryGuard) ending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.begun, func(c *guarded) bool { return c.ending })
}

// endOne ends a conversion.
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
	// watchInterval is the time between two looks at the memory in use, as it may
	// grow by several GB in a second.
	watchInterval = 5 * time.Millisecond
	// freeInterval is the time between two attempts to give memory back when it is
	// nearly used up.
	freeInterval = 100 * time.Millisecond
)

// watch looks after the conversions until the context is done.
func (g *memoryGuard) watch(ctx context.Context) {
	if g.most == 0 {
		return
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var freed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		used := memoryInUse()
		if used <= g.most-g.most/8 || used <= g.most && time.Since(freed) < freeInterval || g.ending() {
			continue
		}
		debug.FreeOSMemory()
		freed = time.Now()
		if memoryInUse() > g.most {
			g.endOne()
		}
	}
}

// memoryInUse is what the process has in RAM, in bytes: on Linux all of it, elsewhere
// what Go has of the system's memory.
func memoryInUse() int64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(statm)); len(fields) > 1 {
		if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return memoryOfGo()
}

// memoryOfGo is what Go has of the system's memory, in bytes.
func memoryOfGo() int64 {
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// metric is one of the runtime's metrics.
func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
