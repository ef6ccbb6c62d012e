package export

import (
	"math/bits"

	"github.com/tpconvert/tpconvert/model/table"
)

// scratch is what one encoder at work needs and the next can use again. It
// grows to the largest chunk seen.
type scratch struct {
	ids      []int64
	levels   []int16
	indices  []int32
	valid    []byte
	int64s   []int64
	int32s   []int32
	float64s []float64
	bools    []bool
	words    dictionary
}

// grow returns a slice of n elements with the memory of *s if it suffices.
// What is in it is undefined.
func grow[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// rowIDs returns the ids of n rows from base on.
func (s *scratch) rowIDs(base int64, n int) []int64 {
	ids := grow(&s.ids, n)
	for i := range ids {
		ids[i] = base + int64(i)
	}
	return ids
}

// present returns how many of the first n bits are set.
func present(valid []byte, n int) int {
	count := 0
	for _, b := range valid[:n/8] {
		count += bits.OnesCount8(b)
	}
	if n%8 != 0 {
		count += bits.OnesCount8(valid[n/8] << (8 - n%8))
	}
	return count
}

// compact returns the values whose bit is set, in memory of *to or, if all
// are, values itself.
func compact[T any](to *[]T, values []T, valid []byte) []T {
	count := present(valid, len(values))
	if count == len(values) {
		return values
	}
	out := grow(to, count+1)
	n := 0
	for i, v := range values {
		// Storing first and counting after spares an unpredictable branch.
		out[n] = v
		n += int(valid[i>>3] >> (i & 7) & 1)
	}
	return out[:n]
}

// definition are the definition levels of eight rows by their validity bits.
var definition = func() (levels [256][8]int16) {
	for b := range levels {
		for i := range levels[b] {
			levels[b][i] = int16(b >> i & 1)
		}
	}
	return levels
}()

// definitionLevels returns the levels of n rows with these bits, of which nil
// means none is set.
func (s *scratch) definitionLevels(valid []byte, n int) []int16 {
	levels := grow(&s.levels, (n+7)&^7)
	if valid == nil {
		clear(levels)
		return levels[:n]
	}
	for i := range (n + 7) / 8 {
		copy(levels[8*i:], definition[valid[i]][:])
	}
	return levels[:n]
}

// dictionary numbers strings in order of first use.
type dictionary struct {
	entries []entry // by string id
	round   uint32
	words   []table.StringID // in order
}

type entry struct {
	round uint32 // in which index was given out
	index int32
}

// reset forgets all strings.
func (d *dictionary) reset() {
	d.words = d.words[:0]
	d.round++
	if d.round == 0 {
		clear(d.entries)
		d.round = 1
	}
}

// encode stores the numbers of the strings in indices and sets the bits of
// those that are not NULL in valid. It returns how many these are.
func (d *dictionary) encode(ids []table.StringID, view table.StringView, indices []int32, valid []byte) int {
	if len(d.entries) < view.Len() {
		d.entries = append(d.entries, make([]entry, view.Len()-len(d.entries))...)
	}
	clear(valid)
	count := 0
	for i, id := range ids {
		if id == 0 {
			indices[i] = 0
			continue
		}
		e := &d.entries[id]
		if e.round != d.round {
			*e = entry{d.round, int32(len(d.words))}
			d.words = append(d.words, id)
		}
		indices[i] = e.index
		valid[i>>3] |= 1 << (i & 7)
		count++
	}
	return count
}
