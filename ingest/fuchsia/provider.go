package fuchsia

import (
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/model"
)

// provider is the state of one source of records.
type provider struct {
	ticksPerSecond uint64
	strings        table[model.StringID]
	threads        table[int] // numbers
	meaning        uint64     // of the indexes, of which no two providers have the same
	meanings       *uint64    // the last one of any provider
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

// define sets what an index of one of the provider's tables means.
func define[T comparable](p *provider, t *table[T], index uint64, v T) {
	if _, ok := t.at(index); ok {
		p.change()
	}
	t.set(index, v)
}

// table has values by index, the zero value where there is none. Trace managers
// count indexes up.
type table[T comparable] struct {
	dense  []T
	sparse map[uint64]T // where an index is far above the others
}

// gap is how far above all others an index may be for it to be part of dense.
const gap = 64

func (t *table[T]) set(index uint64, v T) {
	n := uint64(len(t.dense))
	if index >= n+gap {
		if t.sparse == nil {
			t.sparse = map[uint64]T{}
		}
		t.sparse[index] = v
		return
	}
	if index >= n {
		t.dense = append(t.dense, make([]T, index+1-n)...)
	}
	t.dense[index] = v
}

// at returns the value of an index, and false if there is none.
func (t *table[T]) at(index uint64) (v T, ok bool) {
	var none T
	if index < uint64(len(t.dense)) {
		v = t.dense[index]
	}
	if v == none && t.sparse != nil {
		v = t.sparse[index]
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
