package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/internal/count"
)

// progress is the progress of a run.
type progress struct {
	read, total       int64 // bytes of input; total is 0 if unknown
	staged, delivered int64 // events read before the latest sorting began, and events written
	rows              int64 // on their way to files
	done, of          int   // traces
	elapsed           time.Duration
}

// fraction returns the finished part of the work. Reading events takes about as long
// as making rows of them. Some formats only make rows after all events are read.
func (p progress) fraction() float64 {
	read := min(1, float64(p.read)/float64(p.total))
	if p.staged == 0 {
		return read / 2
	}
	return read * (1 + min(1, float64(p.delivered)/float64(p.staged))) / 2
}

// String describes the progress in at most 79 columns.
func (p progress) String() string {
	var b strings.Builder
	if p.of > 1 {
		fmt.Fprintf(&b, "%s/%s traces  ", count.String(p.done), count.String(p.of))
	}
	if p.total > 0 {
		fmt.Fprintf(&b, "%3.0f%%  ", 100*p.fraction())
	}
	rate := float64(p.read) / max(p.elapsed.Seconds(), 1e-3)
	fmt.Fprintf(&b, "%s  %.0f MB/s  %s rows", formatBytes(p.read), rate/1e6, count.String(p.rows))
	if f := p.fraction(); p.total > 0 && f > 0 && p.elapsed > time.Second {
		left := time.Duration(float64(p.elapsed) * (1 - f) / f)
		fmt.Fprintf(&b, "  %s left", left.Round(time.Second))
	}
	return b.String()
}
