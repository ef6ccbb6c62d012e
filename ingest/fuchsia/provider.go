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
	threads        []int            // numbers by index, likewise
	meaning        uint64           // of the indexes, of which no two providers have the same
	meanings       *uint64          // the last one of any provider
}

func newProvider(meanings *uint64) *provider {
	p := &provider{ticksPerSecond: nsPerSecond, meanings: meanings}
	p.change()
	return p
}

// change gives indexes another meaning.
func (p *provider) change() {
	*p.meanings++
	p.meaning = *p.meanings
}

// defineString sets the string of an index.
func (p *provider) defineString(index uint64, id model.StringID) { define(p, &p.strings, index, id) }

// defineThread sets the number of the thread of an index.
func (p *provider) defineThread(index uint64, number int) { define(p, &p.threads, index, number) }

func define[T comparable](p *provider, table *[]T, index uint64, v T) {
	var none T
	for uint64(len(*table)) <= index {
		*table = append(*table, none)
	}
	if (*table)[index] != none {
		p.change()
	}
	(*table)[index] = v
}

// lookUp returns what an index of a table means. It returns false if that is not
// defined.
func lookUp[T comparable](table []T, index uint64) (v T, ok bool) {
	var none T
	if index < uint64(len(table)) {
		v = table[index]
	}
	return v, v != none
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
