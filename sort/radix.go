package sort

import "math/bits"

const (
	digitBits = 12
	digitMask = 1<<digitBits - 1
	maxDigits = (64 + digitBits - 1) / digitBits
)

// radixSort sorts the entries of src at positions from to to by time, keeping
// the order of equal ones: least significant digit first, only as many digits
// as the times differ in. It uses dst, of the same length, as scratch, and
// returns the pages with the result and the others.
func radixSort(src, dst []*page, from, to int) (sorted, spare []*page) {
	lo, hi := src[from>>pageShift][from&pageMask].ts, int64(0)
	hi = lo
	inOrder := true
	last := lo
	for part := range parts(src, from, to) {
		for i := range part {
			ts := part[i].ts
			inOrder = inOrder && ts >= last
			lo, hi, last = min(lo, ts), max(hi, ts), ts
		}
	}
	if inOrder {
		return src, dst
	}
	digits := (bits.Len64(uint64(hi)-uint64(lo)) + digitBits - 1) / digitBits

	var next [maxDigits][1 << digitBits]int
	for part := range parts(src, from, to) {
		for i := range part {
			key := uint64(part[i].ts) - uint64(lo)
			for d := range digits {
				next[d][key&digitMask]++
				key >>= digitBits
			}
		}
	}
	for d := range digits {
		at := &next[d]
		pos := from
		for v, n := range at {
			at[v] = pos
			pos += n
		}
		shift := uint(d * digitBits)
		for part := range parts(src, from, to) {
			for i := range part {
				e := part[i]
				v := (uint64(e.ts) - uint64(lo)) >> shift & digitMask
				pos := at[v]
				at[v] = pos + 1
				dst[pos>>pageShift][pos&pageMask] = e
			}
		}
		src, dst = dst, src
	}
	return src, dst
}

// parts yields the entries from..to of pages, one page at a time.
func parts(pages []*page, from, to int) func(yield func([]entry) bool) {
	return func(yield func([]entry) bool) {
		for from < to {
			end := min(to, (from|pageMask)+1)
			if !yield(pages[from>>pageShift][from&pageMask : (end-1)&pageMask+1]) {
				return
			}
			from = end
		}
	}
}
