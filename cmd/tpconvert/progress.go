package main

import (
	"fmt"
	"strings"
	"time"
)

// progress is how far a run is.
type progress struct {
	read, total int64 // bytes of input; total is 0 if not known
	rows        int64 // that are on their way to files
	done, of    int   // traces
	elapsed     time.Duration
}

// String tells the state within 79 columns.
func (p progress) String() string {
	var b strings.Builder
	if p.of > 1 {
		fmt.Fprintf(&b, "%d/%d traces  ", p.done, p.of)
	}
	if p.total > 0 {
		fmt.Fprintf(&b, "%3.0f%%  ", 100*min(1, float64(p.read)/float64(p.total)))
	}
	rate := float64(p.read) / max(p.elapsed.Seconds(), 1e-3)
	fmt.Fprintf(&b, "%s  %.0f MB/s  %s rows", formatBytes(p.read), rate/1e6, formatCount(p.rows))
	switch {
	case p.total == 0:
	case p.read >= p.total:
		b.WriteString("  writing")
	case rate > 0 && p.elapsed > time.Second:
		left := time.Duration(float64(p.total-p.read) / rate * float64(time.Second))
		fmt.Fprintf(&b, "  %s left", left.Round(time.Second))
	}
	return b.String()
}
