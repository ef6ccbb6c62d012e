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
	threads        table[int] // by index, their numbers
	meaning        uint64     // identifies the current meaning of the indexes, unique among providers
	meanings       *uint64    // the last meaning given to any provider
}

func newProvider(meanings *uint64) *provider {
	p := &provider{ticksPerSecond: nsPerSecond, meanings: meanings}
	p.change()
	return p
}

// change gives the indexes a new meaning.
func (p *provider) change() {
	*p.meanings++
	p.meaning = *p.meanings
}

// define sets the meaning of an index in one of the provider's tables.
func define[T comparable](p *provider, t *table[T], index uint64, v T) {
	if _, ok := t.at(index); ok {
		p.change()
	}
	t.set(index, v)
}

// table has values by index, and the zero value for missing ones. Trace
// managers assign indexes in ascending order.
type table[T comparable] struct {
	dense  []T
	sparse map[uint64]T // for indexes far above the others
}

// gap is how far above the others an index may be to go into dense.
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

// at returns the value at an index, and false if there is none.
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

// nanoseconds converts a time from ticks to ns. It returns false on overflow.
func (p *provider) nanoseconds(ticks uint64) (int64, bool) {
	if p.ticksPerSecond == nsPerSecond { // the usual case, and division is slow
		return int64(ticks), ticks <= math.MaxInt64
	}
	hi, lo := bits.Mul64(ticks, nsPerSecond)
	if hi >= p.ticksPerSecond {
		return 0, false
	}
	ns, _ := bits.Div64(hi, lo, p.ticksPerSecond)
	return int64(ns), ns <= math.MaxInt64
}
