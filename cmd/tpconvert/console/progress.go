package console

import (
	"fmt"
	"strings"
	"time"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/human"
)

// Progress is the progress of a conversion.
type Progress api.Progress

// String describes the progress in at most 79 columns.
func (p Progress) String() string {
	var b strings.Builder
	if p.Of > 1 {
		fmt.Fprintf(&b, "%s/%s traces  ", human.Count(p.Done), human.Count(p.Of))
	}
	f := api.Progress(p).Fraction()
	if p.Total > 0 {
		fmt.Fprintf(&b, "%3.0f%%  ", 100*f)
	}
	rate := float64(p.Read) / max(p.Elapsed.Seconds(), 1e-3)
	fmt.Fprintf(&b, "%s  %s/s  %s rows", human.Bytes(p.Read), human.Bytes(int64(rate)), human.Count(p.Rows))
	if p.Total > 0 && f > 0 && p.Elapsed > time.Second {
		left := time.Duration(float64(p.Elapsed) * (1 - f) / f)
		fmt.Fprintf(&b, "  %s left", left.Round(time.Second))
	}
	return b.String()
}
