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
type mipmap struct {
	name string
	draw func(p *picture, window [3]int64)
}

// picture has the rows of a window.
type picture struct {
	rows    int
	columns [5]sqlite.Vector
}

// ints adds integers to the columns from the first on.
func (p *picture) ints(first int, values ...int64) {
	for i, v := range values {
		c := &p.columns[first+i]
		c.Int64 = append(c.Int64, v)
	}
}

// floats adds real numbers.
func (p *picture) floats(first int, values ...float64) {
	for i, v := range values {
		c := &p.columns[first+i]
		c.Float = append(c.Float, v)
	}
}

const windowArgs = "CREATE TABLE x(in_window_start BIGINT HIDDEN, in_window_end BIGINT HIDDEN, in_window_step BIGINT HIDDEN, "

func (m *mipmap) Destroy() {}

func (m *mipmap) Open() (sqlite.Cursor, error) { return &mipmapCursor{mipmap: m}, nil }

func (m *mipmap) Best(x *sqlite.Index) error {
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

type mipmapCursor struct {
	mipmap *mipmap
	*picture
	row int
}

func (c *mipmapCursor) Filter(_ int, _ string, args []sqlite.Value) error {
	window := [3]int64{args[0].Int(), args[1].Int(), args[2].Int()}
	if window[0] < window[1] && window[2] <= 0 {
		return fmt.Errorf("%s: the step is %d, but has to be positive", c.mipmap.name, window[2])
	}
	c.picture, c.row = &picture{}, 0
	c.mipmap.draw(c.picture, window)
	return nil
}

func (c *mipmapCursor) Next() error {
	c.row++
	return nil
}

func (c *mipmapCursor) EOF() bool { return c.row >= c.rows }

func (c *mipmapCursor) Rowid() int64 { return sqlite.NoRowid }

func (c *mipmapCursor) Close() {}

func (c *mipmapCursor) Column(to sqlite.Context, i int) error {
	if i < 3 {
		return errors.New(c.mipmap.name + ": the arguments cannot be read")
	}
	if v := &c.columns[i-3]; v.Float != nil {
		to.Float(v.Float[c.row])
	} else {
		to.Int(v.Int64[c.row])
	}
	return nil
}

// Rows returns the rows from the present one on.
func (c *mipmapCursor) Rows() sqlite.Rows {
	return sqlite.Rows{Of: c.picture, From: c.row, To: c.rows}
}

// GoTo goes to a row.
func (c *mipmapCursor) GoTo(row, _ int64) { c.row = int(row) }

// Vector returns the values of a column that is no argument.
func (c *mipmapCursor) Vector(i int) (*sqlite.Vector, error) {
	if i < 3 {
		return nil, nil
	}
	return &c.columns[i-3], nil
}

// read calls f at each row of the one query that a module got as its argument. Columns are read
// as integers, unless they are real numbers.
func (o *operators) read(name, columns string, args []string, f func(*sqlite.Stmt) error) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: want one table or query, not %d", name, len(args))
	}
	s, _, err := o.db.Prepare("SELECT " + columns + " FROM " + args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	s.ReadIntegers()
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

func (o *operators) counterMipmap() sqlite.Module {
	const name = "__intrinsic_counter_mipmap"
	return sqlite.Module{Create: func(_ string, args []string) (sqlite.Table, string, error) {
		var ts []int64
		values := forest[counterRange]{merge: mergeRanges}
		err := o.read(name, "ts, CAST(value AS REAL)", args, func(s *sqlite.Stmt) error {
			ts = append(ts, s.Int(0))
			v := s.Float(1)
			values.push(counterRange{v, v})
			return nil
		})
		if err != nil {
			return nil, "", err
		}
		m := &mipmap{name: name, draw: func(p *picture, window [3]int64) {
			before := func(int) bool { return true } // a counter keeps its value
			steps(ts, window, before, func(from, end int) {
				all := values.query(from, end)
				p.floats(0, all.min, all.max)
				p.ints(2, ts[end-1])
				p.floats(3, values.at(end-1).min)
				p.rows++
			})
		}}
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
		m := &mipmap{name: name, draw: func(p *picture, window [3]int64) {
			for depth, d := range depths {
				// As in Trace Processor, the length of the first slice in the window decides.
				reaches := func(row int) bool { return d.ts[row]+d.slices.at(row).dur > window[0] }
				steps(d.ts, window, reaches, func(from, end int) {
					longest := d.slices.query(from, end)
					p.ints(0, d.ts[longest.row], int64(d.ids[longest.row]), int64(longest.count), longest.dur, int64(depth))
					p.rows++
				})
			}
		}}
		return m, windowArgs + "ts BIGINT, id BIGINT, count INTEGER, dur BIGINT, depth INTEGER, PRIMARY KEY(id)) WITHOUT ROWID", nil
	}}
}
