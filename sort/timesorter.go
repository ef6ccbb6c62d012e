package sort

import "math/bits"

const (
	digitBits = 12
	digitMask = 1<<digitBits - 1
	maxDigits = (64 + digitBits - 1) / digitBits

	// The number of buckets is chosen for about two events in each.
	perBucket  = 2
	bucketBits = 20
	maxBucket  = 32 * perBucket
)

// timeSorter sorts entries by time.
type timeSorter struct {
	digits  [maxDigits][1 << digitBits]int32
	buckets []int32
}

// sort sorts the entries of src at positions [from, to) by time, keeping the
// order of equal ones. It uses dst, which has the same length, as scratch, and
// returns first the pages with the result and then the other ones.
func (s *timeSorter) sort(src, dst []*page, from, to int) (sorted, spare []*page) {
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
	width := bits.Len64(uint64(hi) - uint64(lo))
	switch {
	case inOrder:
		return src, dst
	case s.bucketSort(src, dst, from, to, lo, width):
		return dst, src
	}
	return s.radixSort(src, dst, from, to, lo, width)
}

// bucketSort distributes entries to narrow ranges of time and sorts each range by
// insertion. It returns false if one range has too many entries.
func (s *timeSorter) bucketSort(src, dst []*page, from, to int, lo int64, width int) bool {
	count := min(bits.Len(uint(to-from)/perBucket), bucketBits)
	shift := uint(max(0, width-count)) & 63
	if len(s.buckets) < 1<<count {
		s.buckets = make([]int32, 1<<count)
	}
	at := s.buckets[:1<<count]
	clear(at)
	for part := range parts(src, from, to) {
		for i := range part {
			at[(uint64(part[i].ts)-uint64(lo))>>shift]++
		}
	}
	pos := int32(from)
	for v, n := range at {
		if n > maxBucket {
			return false
		}
		at[v] = pos
		pos += n
	}
	for part := range parts(src, from, to) {
		for _, e := range part {
			v := (uint64(e.ts) - uint64(lo)) >> shift
			pos := at[v]
			at[v] = pos + 1
			dst[pos>>pageShift][pos&pageMask] = e
		}
	}
	insertionSort(dst, from, to)
	return true
}

// insertionSort sorts entries that are close to their final positions.
func insertionSort(pages []*page, from, to int) {
	pos := from
	last := pages[from>>pageShift][from&pageMask].ts
	for part := range parts(pages, from, to) {
		for _, e := range part {
			if e.ts >= last {
				last = e.ts
				pos++
				continue
			}
			i := pos
			for ; i > from; i-- {
				before := pages[(i-1)>>pageShift][(i-1)&pageMask]
				if before.ts <= e.ts {
					break
				}
				pages[i>>pageShift][i&pageMask] = before
			}
			pages[i>>pageShift][i&pageMask] = e
			pos++
		}
	}
}

// radixSort sorts by the digits of the time, least significant first. It skips the
// leading digits that are equal in all times.
func (s *timeSorter) radixSort(src, dst []*page, from, to int, lo int64, width int) (sorted, spare []*page) {
	digits := (width + digitBits - 1) / digitBits
	next := s.digits[:digits]
	for d := range next {
		clear(next[d][:])
	}
	for part := range parts(src, from, to) {
		for i := range part {
			key := uint64(part[i].ts) - uint64(lo)
			for d := range next {
				next[d][key&digitMask]++
				key >>= digitBits
			}
		}
	}
	for d := range next {
		at := &next[d]
		pos := int32(from)
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

// parts yields the entries [from, to) of pages, one page at a time.
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
