package ninja

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	fewJobs     = 24  // that insertion sorts, less than that
	manyJobs    = 128 // more than that have a pivot of nine
	patience    = 8   // moves after which insertion gives up
	tinyPartial = 5   // jobs for which it never does
)

// sortJobs puts jobs in the order of their start.
//
// The worker that a job is put on depends on the order of jobs that start at the
// same time, which the log does not tell. Trace Processor takes the one in which
// std::sort of libc++ leaves them: an introsort after Orson Peters'
// pattern-defeating quicksort, which is not stable. So that the rows are the same,
// this one takes the same steps:
//
//  1. Few jobs are sorted by insertion.
//  2. The pivot is the median of three jobs, or of three such medians if there are
//     many. It goes first.
//  3. If the job before the range is equal to the pivot, the pivot is the least:
//     all that are equal to it go left, and the rest is sorted.
//  4. Else what is less than the pivot goes left. If everything was there already,
//     the order may be nearly right, and insertion is tried on both sides until it
//     has moved too many jobs.
//  5. What is not sorted by then is sorted in the same way.
func sortJobs(jobs []job) {
	if n := len(jobs); n > 0 {
		order(jobs).sort(0, n, 2*(bits.Len(uint(n))-1), true)
	}
}

func byStart(a, b job) int { return cmp.Compare(a.start, b.start) }

type order []job

func (o order) less(i, j int) bool { return o[i].start < o[j].start }

func (o order) swap(i, j int) { o[i], o[j] = o[j], o[i] }

// sort sorts a range, which is the leftmost one or has a job before it that is not
// greater than any in it. If the pivots are too bad for the depth, the order of
// equal jobs is that of the log.
func (o order) sort(from, to, depth int, leftmost bool) {
	for ; to-from >= fewJobs; depth-- {
		if depth == 0 {
			slices.SortStableFunc(o[from:to], byStart)
			return
		}
		o.choosePivot(from, to)
		pivot := o[from].start
		if !leftmost && !o.less(from-1, from) {
			at, _ := o.partition(from, to, func(j *job) bool { return j.start <= pivot })
			from = at + 1
			continue
		}
		at, ordered := o.partition(from, to, func(j *job) bool { return j.start < pivot })
		if ordered {
			left, right := o.insert(from, at, patience), o.insert(at+1, to, patience)
			switch {
			case left && right:
				return
			case right:
				to = at
				continue
			case left:
				from = at + 1
				continue
			}
		}
		o.sort(from, at, depth-1, leftmost)
		from, leftmost = at+1, false
	}
	o.insert(from, to, fewJobs)
}

// insert sorts a range by insertion. It returns false if it gave up after so many
// moves, in which the first three jobs do not count.
func (o order) insert(from, to, moves int) bool {
	for i := from + 1; i < to; i++ {
		at := i
		for ; at > from && o.less(at, at-1); at-- {
			o.swap(at, at-1)
		}
		if at < i && i >= from+3 && to-from > tinyPartial {
			if moves--; moves == 0 {
				return i+1 == to
			}
		}
	}
	return true
}

// choosePivot moves the pivot to the front.
func (o order) choosePivot(from, to int) {
	middle := from + (to-from)/2
	if to-from <= manyJobs {
		o.sortThree(middle, from, to-1)
		return
	}
	o.sortThree(from, middle, to-1)
	o.sortThree(from+1, middle-1, to-2)
	o.sortThree(from+2, middle+1, to-3)
	o.sortThree(middle-1, middle, middle+1)
	o.swap(from, middle)
}

// sortThree sorts the jobs at three places, equal ones by their place in the call.
func (o order) sortThree(a, b, c int) {
	switch {
	case !o.less(b, a) && !o.less(c, b):
	case !o.less(b, a):
		o.swap(b, c)
		if o.less(b, a) {
			o.swap(a, b)
		}
	case o.less(c, b):
		o.swap(a, c)
	default:
		o.swap(a, b)
		if o.less(c, b) {
			o.swap(b, c)
		}
	}
}

// partition moves the jobs of a range that belong to the left of its pivot, the
// first job, there, and the pivot between them and the rest. It returns the
// pivot's place, and whether nothing but the pivot had to move.
func (o order) partition(from, to int, left func(*job) bool) (at int, ordered bool) {
	i, j := from+1, to
	for i < to && left(&o[i]) {
		i++
	}
	for i < j {
		if j--; left(&o[j]) {
			break
		}
	}
	ordered = i >= j
	for i < j {
		o.swap(i, j)
		for i++; left(&o[i]); i++ {
		}
		for j--; !left(&o[j]); j-- {
		}
	}
	o.swap(from, i-1)
	return i - 1, ordered
}
