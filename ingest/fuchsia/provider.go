package fuchsia

import (
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/model"
)

// provider is the state of one source of records.
type provider struct {
	ticksPerSecond uint64
	strings        []model.StringID // by index, 0 where there is none
	threads        [256]int         // numbers by index, likewise
	changes        int              // of what an index means, from 1 on
	known          [1 << knownBits]knownForm
}

func newProvider() *provider { return &provider{ticksPerSecond: nsPerSecond, changes: 1} }

// defineString sets the string of an index.
func (p *provider) defineString(index uint64, id model.StringID) {
	for uint64(len(p.strings)) <= index {
		p.strings = append(p.strings, 0)
	}
	if p.strings[index] != 0 {
		p.changes++
	}
	p.strings[index] = id
}

// defineThread sets the number of the thread of an index.
func (p *provider) defineThread(index uint64, number int) {
	if p.threads[index] != 0 {
		p.changes++
	}
	p.threads[index] = number
}

const nsPerSecond = 1e9

// nanoseconds converts a time in ticks, unless that is beyond the range of ns.
func (p *provider) nanoseconds(ticks uint64) (int64, bool) {
	if p.ticksPerSecond == nsPerSecond { // most often, and a division takes long
		return int64(ticks), ticks <= math.MaxInt64
	}
	hi, lo := bits.Mul64(ticks, nsPerSecond)
	if hi >= p.ticksPerSecond {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, p.ticksPerSecond)
	return int64(ns), ns <= math.MaxInt64
}
