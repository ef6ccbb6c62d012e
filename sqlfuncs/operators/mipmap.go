package operators

import (
	"errors"
	"fmt"
	"math/bits"
	"sort"

	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// A mipmap draws a track at any resolution in a time that depends on the size of the picture, not of the track:
//
//	CREATE VIRTUAL TABLE m USING __intrinsic_counter_mipmap((SELECT ts, value FROM ...));
//	SELECT * FROM m(start, end, step)
//
// It reads the query once, and answers from aggregates of ever longer ranges of its rows.

// forest has aggregates of values by position, in the layout of https://thume.ca/2021/03/14/iforests: values are at even
// positions, and between them the aggregates of the 2, 4, 8 ... values around.
type forest[T any] struct {
	nodes []T
	merge func(a, b T) T // of values next to each other
}

func (f *forest[T]) push(v T) {
	f.nodes = append(f.nodes, v)
	n := len(f.nodes)
	levels := bits.TrailingZeros(^uint(n)) - 1
	at := n - 1
	for level := range levels {
		higher := at - 1<<level
		f.nodes[higher] = f.merge(f.nodes[higher], f.nodes[at])
		at = higher
	}
	f.nodes = append(f.nodes, f.nodes[n-1<<levels])
}

func (f *forest[T]) len() int { return len(f.nodes) / 2 }

func (f *forest[T]) at(i int) T { return f.nodes[2*i] }

// query returns the aggregate of the values from start up to, without, end, which is greater.
func (f *forest[T]) query(start, end int) T {
	i, to := uint(2*start), uint(2*end)
	var all T
	for first := true; i < to; first = false {
		step := i | 1<<(bits.Len(to-i)-1)
		step &= -step // the largest aggregate that begins at i and does not pass the end
		v := f.nodes[i+step/2-1]
		if first {
			all = v
		} else {
			all = f.merge(all, v)
		}
		i += step
	}
	return all
}

// steps calls f with the range of rows of each step of a window that has some. The first range also has the row before the
// window if reaches says so of the first row in it.
func steps(ts []int64, window [3]int64, reaches func(row int) bool, f func(from, to int)) {
	start, step := window[0], uint64(window[2])
	if start >= window[1] {
		return
	}
	last := (uint64(window[1]) - uint64(start) - 1) / step
	stepOf := func(row int) uint64 {
		if ts[row] < start {
			return 0
		}
		return (uint64(ts[row]) - uint64(start)) / step
	}
	from := sort.Search(len(ts), func(i int) bool { return ts[i] >= start })
	if from > 0 && (from == len(ts) || ts[from] != start && reaches(from)) {
		from--
	}
	for from < len(ts) {
		n := stepOf(from)
		if n > last {
			return
		}
		to := from + 1 + sort.Search(len(ts)-from-1, func(i int) bool { return stepOf(from+1+i) > n })
		f(from, to)
		from = to
	}
}

// mipmap is a virtual table of a picture. The arguments are hidden columns before the others.
type mipmap[R any] struct {
	name    string
	results func(window [3]int64, to []R) []R
	column  func(c sqlite.Context, r *R, i int)
}

const windowArgs = "CREATE TABLE x(in_window_start BIGINT HIDDEN, in_window_end BIGINT HIDDEN, in_window_step BIGINT HIDDEN, "

func (m *mipmap[R]) Destroy() {}

func (m *mipmap[R]) Open() (sqlite.Cursor, error) { return &mipmapCursor[R]{of: m}, nil }

func (m *mipmap[R]) Best(x *sqlite.Index) error {
	var seen [3]bool
	n := 0
	for i, c := range x.Constraints {
		if !c.Usable || c.Column < 0 || c.Column >= len(seen) || c.Op != sqlite.EQ || seen[c.Column] {
			return sqlite.ErrNoPlan
		}
		seen[c.Column] = true
		x.Use(i, c.Column, true)
		n++
	}
	if n != len(seen) {
		return sqlite.ErrNoPlan
	}
	return nil
}

type mipmapCursor[R any] struct {
	of      *mipmap[R]
	results []R
	row     int
}

func (c *mipmapCursor[R]) Filter(_ int, _ string, args []sqlite.Value) error {
	window := [3]int64{args[0].Int(), args[1].Int(), args[2].Int()}
	if window[0] < window[1] && window[2] <= 0 {
		return fmt.Errorf("%s: the step is %d, but has to be positive", c.of.name, window[2])
	}
	c.results, c.row = c.of.results(window, c.results[:0]), 0
	return nil
}

func (c *mipmapCursor[R]) Next() error {
	c.row++
	return nil
}

func (c *mipmapCursor[R]) EOF() bool { return c.row >= len(c.results) }

func (c *mipmapCursor[R]) Rowid() int64 { return sqlite.NoRowid }

func (c *mipmapCursor[R]) Close() {}

func (c *mipmapCursor[R]) Column(to sqlite.Context, i int) error {
	if i < 3 {
		return errors.New(c.of.name + ": the arguments cannot be read")
	}
	c.of.column(to, &c.results[c.row], i-3)
	return nil
}

// read calls f at each row of the one query that a module got as its argument.
func (o *operators) read(name, columns string, args []string, f func(*sqlite.Stmt) error) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: want one table or query, not %d", name, len(args))
	}
	s, _, err := o.db.Prepare("SELECT " + columns + " FROM " + args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		row, err := s.Step()
		if err != nil || !row {
			return err
		}
		if err := f(s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// counterRange is the lowest and highest value of a range of a counter's.
type counterRange struct{ min, max float64 }

func mergeRanges(a, b counterRange) counterRange {
	if b.min < a.min {
		a.min = b.min
	}
	if b.max > a.max {
		a.max = b.max
	}
	return a
}

// counterStep is what a step of a counter shows.
type counterStep struct {
	counterRange
	ts   int64 // of the last value
	last float64
}

func (o *operators) counterMipmap() sqlite.Module {
	const name = "__intrinsic_counter_mipmap"
	return sqlite.Module{Create: func(_ string, args []string) (sqlite.Table, string, error) {
		var ts []int64
		values := forest[counterRange]{merge: mergeRanges}
		err := o.read(name, "ts, value", args, func(s *sqlite.Stmt) error {
			ts = append(ts, s.Int(0))
			v := s.Float(1)
			values.push(counterRange{v, v})
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		m := &mipmap[counterStep]{
			name: name,
			results: func(window [3]int64, to []counterStep) []counterStep {
				before := func(int) bool { return true } // a counter keeps its value
				steps(ts, window, before, func(from, end int) {
					to = append(to, counterStep{values.query(from, end), ts[end-1], values.at(end - 1).min})
				})
				return to
			},
			column: func(c sqlite.Context, r *counterStep, i int) {
				switch i {
				case 0:
					c.Float(r.min)
				case 1:
					c.Float(r.max)
				case 2:
					c.Int(r.ts)
				case 3:
					c.Float(r.last)
				}
			},
		}
		return m, windowArgs + "min_value DOUBLE, max_value DOUBLE, last_ts BIGINT, last_value DOUBLE, PRIMARY KEY(last_ts)) WITHOUT ROWID", nil
	}}
}

// longest is the longest of a range of slices.
type longest struct {
	dur   int64
	row   uint32
	count uint32 // of slices in the range
}

func mergeLongest(a, b longest) longest {
	count := a.count + b.count
	if a.dur < b.dur {
		a = b
	}
	a.count = count
	return a
}

// slicesAt are the slices of a depth.
type slicesAt struct {
	ts     []int64
	ids    []uint32
	slices forest[longest]
}

// sliceStep is what a step of slices of one depth shows.
type sliceStep struct {
	longest
	ts    int64
	id    uint32
	depth int
}

func (o *operators) sliceMipmap() sqlite.Module {
	const (
		name     = "__intrinsic_slice_mipmap"
		maxDepth = 1 << 20
	)
	return sqlite.Module{Create: func(_ string, args []string) (sqlite.Table, string, error) {
		var depths []*slicesAt
		err := o.read(name, "*", args, func(s *sqlite.Stmt) error {
			id, depth := s.Int(0), s.Int(3)
			if id != int64(uint32(id)) {
				return fmt.Errorf("the id %d does not fit into 32 bits", id)
			}
			if depth < 0 || depth > maxDepth {
				return fmt.Errorf("the depth %d is not between 0 and %d", depth, maxDepth)
			}
			for int64(len(depths)) <= depth {
				depths = append(depths, &slicesAt{slices: forest[longest]{merge: mergeLongest}})
			}
			d := depths[depth]
			d.slices.push(longest{s.Int(2), uint32(d.slices.len()), 1})
			d.ts, d.ids = append(d.ts, s.Int(1)), append(d.ids, uint32(id))
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		m := &mipmap[sliceStep]{
			name: name,
			results: func(window [3]int64, to []sliceStep) []sliceStep {
				for depth, d := range depths {
					// As in Trace Processor, the length of the first slice in the window decides.
					reaches := func(row int) bool { return d.ts[row]+d.slices.at(row).dur > window[0] }
					steps(d.ts, window, reaches, func(from, end int) {
						of := d.slices.query(from, end)
						to = append(to, sliceStep{of, d.ts[of.row], d.ids[of.row], depth})
					})
				}
				return to
			},
			column: func(c sqlite.Context, r *sliceStep, i int) {
				switch i {
				case 0:
					c.Int(r.ts)
				case 1:
					c.Int(int64(r.id))
				case 2:
					c.Int(int64(r.count))
				case 3:
					c.Int(r.dur)
				case 4:
					c.Int(int64(r.depth))
				}
			},
		}
		return m, windowArgs + "ts BIGINT, id BIGINT, count INTEGER, dur BIGINT, depth INTEGER, PRIMARY KEY(id)) WITHOUT ROWID", nil
	}}
}
