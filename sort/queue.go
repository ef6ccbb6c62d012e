package sort

import (
	"cmp"
	"slices"
)

// entry is a staged event: its time and the location of its payload.
type entry struct {
	ts  int64
	loc uint64
}

const (
	pageShift = 12
	pageLen   = 1 << pageShift
	pageMask  = pageLen - 1
	pageBytes = pageLen * 16
)

// maxQueue is the number of entries above which a queue is spilled.
const maxQueue = 1 << 30

type page [pageLen]entry

// pagePool hands out pages and takes them back for reuse.
type pagePool struct {
	free   []*page
	bytes  int64      // size of all pages in use
	sorter timeSorter // sorts queues of these pages
}

func (p *pagePool) get() *page {
	p.bytes += pageBytes
	if n := len(p.free); n > 0 {
		pg := p.free[n-1]
		p.free = p.free[:n-1]
		return pg
	}
	return new(page)
}

func (p *pagePool) put(pages ...*page) {
	p.bytes -= pageBytes * int64(len(pages))
	p.free = append(p.free, pages...)
}

// held returns the size in bytes of all pages, in use or not.
func (p *pagePool) held() int64 { return p.bytes + pageBytes*int64(len(p.free)) }

// queue holds the staged entries of one stream at positions head to tail;
// position 0 is the first slot of pages[0].
type queue struct {
	pool       *pagePool
	pages      []*page
	head, tail int

	// While disordered is set, only the entries before position sorted are known
	// to be in order; low is the lowest time of an entry that came too late.
	disordered bool
	sorted     int
	low        int64
}

func (q *queue) empty() bool      { return q.head == q.tail }
func (q *queue) full() bool       { return q.tail == len(q.pages)<<pageShift }
func (q *queue) at(pos int) entry { return q.pages[pos>>pageShift][pos&pageMask] }

func (q *queue) push(e entry) {
	if q.full() {
		q.pages = append(q.pages, q.pool.get())
	}
	q.pages[q.tail>>pageShift][q.tail&pageMask] = e
	q.tail++
}

// disorder records that entries from time ts on need sorting, although those
// before position sorted are in order of time.
func (q *queue) disorder(sorted int, ts int64) {
	if !q.disordered {
		q.disordered, q.sorted, q.low = true, sorted, ts
	}
	q.low = min(q.low, ts)
}

// front returns the entries from head to the end of its page.
func (q *queue) front() []entry {
	if q.empty() {
		return nil
	}
	return q.pages[0][q.head:min(q.tail, pageLen)]
}

// pop removes the first n entries, which must be part of front.
func (q *queue) pop(n int) {
	q.head += n
	switch {
	case q.empty():
		q.reset()
	case q.head == pageLen:
		q.pool.put(q.pages[0])
		q.pages[0] = nil
		q.pages = q.pages[1:]
		q.head, q.tail, q.sorted = 0, q.tail-pageLen, q.sorted-pageLen
	}
}

func (q *queue) reset() {
	q.pool.put(q.pages...)
	*q = queue{pool: q.pool}
}

// from returns the position from which entries need sorting.
func (q *queue) from() int {
	return q.lowerBound(q.head, max(q.sorted, q.head), q.low)
}

// scratch returns the maximum number of bytes that sorting the queue takes.
func (q *queue) scratch() int64 {
	if !q.disordered {
		return 0
	}
	return pageBytes * int64(len(q.pages)-q.from()>>pageShift)
}

// settleLen is the number of unsorted entries from which a queue is sorted early.
const settleLen = 2 * pageLen

// unsettled reports whether enough entries are unsorted, and so little disordered
// that most of them will not have to be sorted again.
func (q *queue) unsettled() bool {
	return q.disordered && q.tail-q.sorted >= settleLen && q.tail-q.from() <= 2*settleLen
}

// sort sorts the entries by (time, tie, arrival), from the earliest one that
// arrived late. Their payloads are in a; tie may be nil.
func (q *queue) sort(a *arena, tie func(payload []byte) int64) {
	if !q.disordered {
		return
	}
	q.disordered = false
	from := q.from()
	q.sortByTime(from)
	if tie != nil {
		q.sortTies(from, a, tie)
	}
}

// lowerBound finds the first entry in the sorted range [from, to) whose time is
// at least ts.
func (q *queue) lowerBound(from, to int, ts int64) int {
	for from < to {
		mid := int(uint(from+to) / 2)
		if q.at(mid).ts < ts {
			from = mid + 1
		} else {
			to = mid
		}
	}
	return from
}

// sortByTime sorts the entries from position from to the end by time and
// arrival.
func (q *queue) sortByTime(from int) {
	if from>>pageShift == (q.tail-1)>>pageShift {
		last := q.pages[from>>pageShift][from&pageMask : (q.tail-1)&pageMask+1]
		slices.SortFunc(last, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.loc, b.loc))
		})
		return
	}
	base := from &^ pageMask
	src := q.pages[base>>pageShift:]
	dst := make([]*page, len(src))
	for i := range dst {
		dst[i] = q.pool.get()
	}
	*dst[0] = *src[0] // keep the entries before from
	sorted, spare := q.pool.sorter.sort(src, dst, from-base, q.tail-base)
	q.pool.put(spare...)
	q.pages = append(q.pages[:base>>pageShift], sorted...)
}

// sortTies orders entries of equal time by tie and arrival.
func (q *queue) sortTies(from int, a *arena, tie func(payload []byte) int64) {
	type tied struct {
		tie int64
		entry
	}
	var group []tied
	for from < q.tail {
		ts := q.at(from).ts
		to := from + 1
		for to < q.tail && q.at(to).ts == ts {
			to++
		}
		if to-from > 1 {
			group = group[:0]
			for i := from; i < to; i++ {
				e := q.at(i)
				group = append(group, tied{tie(a.payload(e.loc)), e})
			}
			slices.SortFunc(group, func(x, y tied) int {
				return cmp.Or(cmp.Compare(x.tie, y.tie), cmp.Compare(x.loc, y.loc))
			})
			for i, t := range group {
				pos := from + i
				q.pages[pos>>pageShift][pos&pageMask] = t.entry
			}
		}
		from = to
	}
}
