package main

import (
	"context"
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
	debug.SetMemoryLimit(limit)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(mostGrowth)
		go pace(ctx, sorting+112<<20)
	}
}

// pace lets the heap grow by less the more of the target, in bytes, is live.
func pace(ctx context.Context, target int64) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	growth := mostGrowth
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

// memoryGuard ends conversions when they take too much memory, the one that began
// first before the others: those that are large take long.
type memoryGuard struct {
	most int64 // bytes; 0 is no limit

	mu    sync.Mutex
	begun []*context.CancelCauseFunc
}

// add guards a conversion, until done is called.
func (g *memoryGuard) add(end context.CancelCauseFunc) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun = append(g.begun, &end)
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.begun = slices.DeleteFunc(g.begun, func(other *context.CancelCauseFunc) bool { return other == &end })
	}
}

// watchInterval is the time between two looks at the memory in use.
const watchInterval = 20 * time.Millisecond

// watch looks after the conversions until the context is done.
func (g *memoryGuard) watch(ctx context.Context) {
	if g.most == 0 {
		return
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var ended *context.CancelCauseFunc
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if memoryInUse() <= g.most {
			continue
		}
		debug.FreeOSMemory()
		if memoryInUse() <= g.most {
			continue
		}
		g.mu.Lock()
		if len(g.begun) > 0 && g.begun[0] != ended { // else it is still on its way out
			ended = g.begun[0]
			(*ended)(memoryError(g.most))
		}
		g.mu.Unlock()
	}
}

// memoryInUse is what Go has of the system's memory, in bytes.
func memoryInUse() int64 {
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// metric is one of the runtime's metrics.
func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
