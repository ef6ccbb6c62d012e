package spans

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// spanCursor walks through the spans of both sides.
type spanCursor struct {
	join      *spanJoin
	sides     [2]*spanQuery
	next      *spanQuery // the one that goes on from here
	partition int64      // the one that the unpartitioned side was run for, if only one side is partitioned
}

func newSpanCursor(j *spanJoin) *spanCursor {
	c := &spanCursor{join: j, partition: math.MinInt64}
	for i, s := range j.sides {
		c.sides[i] = &spanQuery{side: s, db: j.db}
	}
	return c
}

func (c *spanCursor) Filter(_ int, text string, args []sqlite.Value) error {
	first, second, _ := strings.Cut(text, "\x01")
	for i, query := range []string{first, second} {
		q := c.sides[i]
		if err := q.start(query, args); err != nil {
			return err
		}
		mixed := c.join.partitioning == onePartitioned && q.side.partition != ""
		if q.state == atEnd && q.side.shadows != noShadows && !mixed {
			q.state = missingShadow
		}
	}
	return c.find()
}

func (c *spanCursor) Next() error {
	if err := c.next.next(); err != nil {
		return err
	}
	return c.find()
}

func (c *spanCursor) EOF() bool { return c.sides[0].state == atEnd || c.sides[1].state == atEnd }

func (c *spanCursor) Rowid() int64 { return sqlite.NoRowid }

func (c *spanCursor) Close() {
	for _, q := range c.sides {
		q.close()
	}
}

func (c *spanCursor) Column(to sqlite.Context, i int) error {
	a, b := c.sides[0], c.sides[1]
	switch {
	case i == 0:
		to.Int(max(a.ts, b.ts))
	case i == 1:
		to.Int(min(a.end, b.end) - max(a.ts, b.ts))
	case i == 2 && c.join.partition != "":
		switch {
		case c.join.partitioning == onePartitioned:
			to.Int(c.partition)
		case a.state == realSpan:
			to.Int(a.partition)
		default:
			to.Int(b.partition)
		}
	default:
		column := c.join.column(i)
		if q := c.sides[column.side]; q.state == realSpan {
			to.Value(q.stmt.Value(column.column))
		}
	}
	return nil
}

// find goes to the next row, unless it is there.
func (c *spanCursor) find() error {
	for {
		if c.join.partitioning == onePartitioned {
			with, without := c.sides[0], c.sides[1]
			if with.side.partition == "" {
				with, without = without, with
			}
			if with.state == atEnd {
				return nil
			}
			if c.partition != with.partition { // the other side starts anew
				if err := without.rewind(); err != nil {
					return err
				}
				c.partition = with.partition
			}
		} else if c.EOF() {
			return nil
		}
		c.next = c.earlier()
		if c.overlap() {
			return nil
		}
		if err := c.next.next(); err != nil {
			return err
		}
	}
}

// overlap reports whether the spans of both sides have a time in common, and one of them is no shadow.
func (c *spanCursor) overlap() bool {
	a, b := c.sides[0], c.sides[1]
	if a.state == atEnd || b.state == atEnd || a.state != realSpan && b.state != realSpan {
		return false
	}
	if c.join.partitioning == bothPartitioned && (a.firstPartition() > b.lastPartition() || b.firstPartition() > a.lastPartition()) {
		return false
	}
	return a.ts == b.ts && a.state == realSpan && b.state == realSpan ||
		a.ts >= b.ts && a.ts < b.realEnd() ||
		b.ts >= a.ts && b.ts < a.realEnd()
}

// earlier returns the side whose span ends first: by partition, then by time, shadows first.
func (c *spanCursor) earlier() *spanQuery {
	a, b := c.sides[0], c.sides[1]
	switch c.join.partitioning {
	case onePartitioned:
		if a.state == atEnd {
			return b
		}
		if b.state == atEnd {
			return a
		}
	case bothPartitioned:
		if x, y := a.lastPartition(), b.lastPartition(); x < y {
			return a
		} else if x > y {
			return b
		}
	}
	if x, y := a.realEnd(), b.realEnd(); x < y || x == y && a.state != realSpan && b.state == realSpan {
		return a
	}
	return b
}

// spanState says what a side is at.
type spanState int

const (
	realSpan      spanState = iota // a row of the table
	gapShadow                      // the time between two spans of a partition, before the first or after the last
	missingShadow                  // all partitions between two that have spans
	atEnd
)

// spanQuery walks through the spans of a side, and the shadows between them.
type spanQuery struct {
	side *spanSide
	db   *sqlite.DB
	stmt *sqlite.Stmt
	text string
	done bool // the statement has no more rows

	state     spanState
	ts, end   int64
	last      bool  // the gap goes on to the end of the partition
	partition int64 // of a span or a gap
	from, to  int64 // partitions of missingShadow, without the last
}

func (q *spanQuery) close() {
	if q.stmt != nil {
		q.stmt.Close()
		q.stmt = nil
	}
}

// start runs a query, whose parameters are the arguments, and goes to the first span or shadow.
func (q *spanQuery) start(query string, args []sqlite.Value) error {
	if q.stmt == nil || q.text != query {
		q.close()
		var err error
		if q.stmt, _, err = q.db.Prepare(query); err != nil {
			return fmt.Errorf("SPAN_JOIN: %w", err)
		}
		q.stmt.ReadAhead()
		q.text = query
	}
	q.stmt.Reset()
	for i := range min(len(args), q.stmt.Parameters()) {
		if err := q.stmt.Bind(i+1, args[i]); err != nil {
			return err
		}
	}
	return q.rewind()
}

// rewind goes to the first span or shadow.
func (q *spanQuery) rewind() error {
	q.stmt.Reset()
	if err := q.step(); err != nil {
		return err
	}
	q.state, q.ts, q.end = missingShadow, 0, math.MaxInt64
	q.from = math.MinInt64
	switch {
	case q.done:
		q.to = math.MaxInt64
	case q.side.partition != "":
		q.to = q.rowPartition()
	default:
		q.to = math.MinInt64
	}
	return q.skip()
}

// next goes to the next span or shadow.
func (q *spanQuery) next() error {
	if err := q.advance(); err != nil {
		return err
	}
	return q.skip()
}

// skip leaves out shadows that are empty or that the side does not have.
func (q *spanQuery) skip() error {
	for {
		var skipped bool
		switch q.state {
		case gapShadow:
			skipped = q.side.shadows == noShadows || q.ts == q.end
		case missingShadow:
			skipped = q.side.shadows != allShadows || q.ts == q.end || q.from == q.to
		}
		if !skipped {
			return nil
		}
		if err := q.advance(); err != nil {
			return err
		}
	}
}

// advance goes to the next span or shadow, also empty ones: after each span comes a gap, and after the last gap of a partition
// the partitions up to the next.
func (q *spanQuery) advance() error {
	switch q.state {
	case realSpan:
		if err := q.step(); err != nil {
			return err
		}
		q.state, q.ts = gapShadow, q.realEnd()
		q.last = q.done || q.side.partition != "" && q.partition != q.rowPartition()
		q.end = math.MaxInt64
		if !q.last {
			q.end = q.rowTS()
		}
	case gapShadow:
		if q.last {
			q.state, q.ts, q.end = missingShadow, 0, math.MaxInt64
			q.from, q.to = max(q.partition, q.partition+1), math.MaxInt64 // without overflow
			if !q.done {
				q.to = q.rowPartition()
			}
			return nil
		}
		q.state, q.ts = realSpan, q.rowTS()
		q.end = q.ts
		if q.side.dur >= 0 {
			q.end += q.stmt.Int(q.side.dur)
		}
	case missingShadow:
		if q.done {
			q.state = atEnd
			return nil
		}
		q.state, q.ts, q.end, q.last, q.partition = gapShadow, 0, q.rowTS(), false, q.to
	}
	return nil
}

// step goes to the next row of the statement that has a partition.
func (q *spanQuery) step() error {
	for {
		row, err := q.stmt.Step()
		q.done = !row
		if err != nil || !row || q.side.partition == "" {
			return err
		}
		switch q.stmt.Type(q.side.key) {
		case sqlite.Integer:
			return nil
		case sqlite.Null:
		default:
			return errors.New("SPAN_JOIN: the partition " + q.side.partition + " of table " + q.side.table + " is not an integer")
		}
	}
}

func (q *spanQuery) rowTS() int64 { return q.stmt.Int(q.side.ts) }

func (q *spanQuery) rowPartition() int64 { return q.stmt.Int(q.side.key) }

// realEnd is the end of a span; one that has not ended ends where it begins.
func (q *spanQuery) realEnd() int64 {
	if q.end-q.ts == -1 {
		return q.ts
	}
	return q.end
}

func (q *spanQuery) firstPartition() int64 {
	if q.state == missingShadow {
		return q.from
	}
	return q.partition
}

func (q *spanQuery) lastPartition() int64 {
	if q.state == missingShadow {
		return q.to - 1
	}
	return q.partition
}
