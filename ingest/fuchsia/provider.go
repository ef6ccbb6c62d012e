package fuchsia

import (
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/model"
)

// provider is the state of one source of records.
type provider struct {
	ticksPerSecond uint64
	strings        map[uint64]model.StringID
	threads        map[uint64]int // numbers
}

func newProvider() *provider {
	return &provider{
		ticksPerSecond: nsPerSecond,
		strings:        map[uint64]model.StringID{},
		threads:        map[uint64]int{},
	}
}

const nsPerSecond = 1e9

// nanoseconds converts a time in ticks, unless that is beyond the range of ns.
func (p *provider) nanoseconds(ticks uint64) (int64, bool) {
	hi, lo := bits.Mul64(ticks, nsPerSecond)
	if hi >= p.ticksPerSecond {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, p.ticksPerSecond)
	return int64(ns), ns <= math.MaxInt64
}
