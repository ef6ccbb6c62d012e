package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// defaultMemory is the memory for sorting unless told otherwise, in bytes.
const defaultMemory = 128 << 20

// limitMemory tells the garbage collector how much memory the run may take
// when that much is for sorting. What the heap holds is large and without
// pointers, so that collecting costs less than touching new memory does: by
// default it is done once the heap has grown by half.
func limitMemory(sorting int64) {
	debug.SetMemoryLimit(sorting + 384<<20)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
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
