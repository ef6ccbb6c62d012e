// Package memory keeps the memory of a process that converts traces small, and measures it.
package memory

import (
	"context"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// The heap may grow by a percentage of the live heap before it is collected. It
// mostly holds large objects without pointers, so collecting costs less than touching
// new memory.
const (
	leastGrowth = 6
	mostGrowth  = 50
	// A large heap may grow by less than leastGrowth: by largeGrowthBytes, but at least by
	// largeGrowth percent.
	largeGrowth      = 5
	largeGrowthBytes = 64 << 20
	// If collecting takes more than gcShare of the CPU time, as with many pointers, the heap may grow by more than that,
	// but by no more than mostForPointers percent.
	gcShare         = 0.12
	mostForPointers = 24
)

// SmallHeap is the usual Limits.Small, in bytes.
const SmallHeap = 24 << 20

// growthAtStart is the growth with which Go does not collect a heap below a size in bytes, however
// little is live. Go's minimum heap is 4 MiB for a growth of 100 %.
func growthAtStart(small int64) int { return int(small * 100 / (4 << 20)) }

// growthFor returns the percentage by which the heap may grow before it is collected. live is the
// latest size of the live heap, target the size to aim for with garbage, and small the size below
// which it is not collected, all in bytes. With forPointers percent, collecting takes gcShare of the time.
func growthFor(live, target, small, forPointers int64) int {
	least := min(max(largeGrowthBytes*100/live, largeGrowth), leastGrowth)
	least = max(least, forPointers)
	growth := int(min(max((target-live)*100/live, least), mostGrowth))
	toSmall := min(int((small-live)*100/live), growthAtStart(small))
	return max(growth, toSmall)
}

// spare is the memory for garbage and everything but sorting to aim for, in bytes.
const spare = 48 << 20

// Limits are sizes in bytes.
type Limits struct {
	Sorting int64 // memory for events
	Most    int64 // memory of the process, or 0 for as much as there is
	// Small is the size of the heap below which collecting costs more time than the saved memory is
	// worth: SmallHeap for a process that ends soon, as touching new memory costs time, too.
	Small int64
}

// Limit sets the garbage collector's limits until the context is done. It aims
// for the memory for sorting plus a constant, if live memory allows that, and never
// exceeds Most or a cgroup's limit.
func Limit(ctx context.Context, l Limits) {
	limit := int64(math.MaxInt64)
	for _, most := range []int64{l.Most, OfCgroup()} {
		if most > 0 {
			limit = min(limit, most-most/10)
		}
	}
	if limit < math.MaxInt64 {
		limit -= max(InUse()-memoryOfGo(), 0) // the program's memory outside Go
	}
	debug.SetMemoryLimit(max(limit, 0))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growthAtStart(l.Small))
		go pace(ctx, l.Sorting+spare, l.Small, max(limit, 0))
	}
}

// paceInterval is the time between two checks of the live heap.
const paceInterval = 20 * time.Millisecond

// pace lets the heap grow less the closer the live heap comes to the target, in bytes. Above the
// target, Go returns freed memory to the system before it takes more. Below small, nothing is
// collected. most is Go's memory limit.
func pace(ctx context.Context, target, small, most int64) {
	tick := time.NewTicker(paceInterval)
	defer tick.Stop()
	growth, limit := growthAtStart(small), most
	var spent collecting
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		live := max(metric("/gc/heap/live:bytes"), 1)
		gc, user := seconds("/cpu/classes/gc/total:cpu-seconds"), seconds("/cpu/classes/user:cpu-seconds")
		if now := growthFor(live, target, small, spent.growth(growth, gc, user)); now != growth {
			growth = now
			debug.SetGCPercent(growth)
		}
		// Go's limit counts more than objects. Without it, a fragmented heap would be collected all the time.
		other := memoryOfGo() - metric("/memory/classes/heap/objects:bytes") - metric("/memory/classes/heap/free:bytes")
		now := min(max(target, live/100*int64(100+growth+leastGrowth/2)+other), most)
		if now > limit || now < limit-limit/32 {
			limit = now
			debug.SetMemoryLimit(limit)
		}
	}
}

// collecting is the CPU time of collections and of everything else until now, in seconds.
type collecting struct {
	gc, user float64
	wanted   float64 // percentage with which collections take gcShare of the time
}

// growth returns the percentage by which the heap has to grow so that collections take gcShare of the time, if it grows by
// growth percent now. The time of a collection depends on what is live, so that the ratio to other work is inverse to the growth.
func (c *collecting) growth(growth int, gc, user float64) int64 {
	if gc > c.gc && user > c.user { // Go counts at the end of a collection
		ratio := (gc - c.gc) / (user - c.user)
		wanted := min(float64(growth)*ratio*(1-gcShare)/gcShare, mostForPointers)
		*c = collecting{gc, user, (c.wanted + wanted) / 2}
	}
	return int64(math.Round(c.wanted))
}

// Peak returns the peak resident memory of the process, in bytes: VmHWM on Linux, and
// the memory that Go took from the system elsewhere.
func Peak() int64 {
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

// OfCgroup returns the lowest memory limit of the process's cgroups, in bytes, or 0 if
// there is none.
func OfCgroup() int64 {
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

// InUse returns the resident memory of the process, in bytes, or on systems other than
// Linux the memory that Go holds.
func InUse() int64 {
	statm, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(statm)); len(fields) > 1 {
		if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	return memoryOfGo()
}

// memoryOfGo returns the memory that Go holds, in bytes.
func memoryOfGo() int64 {
	return metric("/memory/classes/total:bytes") - metric("/memory/classes/heap/released:bytes")
}

// seconds returns a time that the runtime measures.
func seconds(name string) float64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// metric returns a metric of the runtime.
func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
