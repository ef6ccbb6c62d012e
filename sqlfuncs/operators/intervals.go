package operators

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// partitions are the intervals of a query in partitions of equal values.
type partitions struct {
	list  []*partition
	keys  []uint64 // of the list: hashes of the values
	byKey map[uint64]*partition
}

// partition has the intervals of a partition in the order of their starts.
type partition struct {
	values    []any // int64, float64, string or nil
	intervals []interval
	overlaps  bool   // two of the intervals do
	end       uint64 // of the last
}

// intervalsAggregate collects intervals: id, ts, dur, and pairs of the name and value of a column of the partition.
type intervalsAggregate struct {
	partitions
	last   uint64 // ts
	values []any
}

const (
	intervalsName    = "__intrinsic_interval_tree_intervals_agg"
	intervalsColumns = 3 // before the pairs
)

func (a *intervalsAggregate) Step(args []sqlite.Value) error {
	if len(args) < intervalsColumns || len(args)%2 != intervalsColumns%2 {
		return errors.New(intervalsName + ": want id, ts, dur, and pairs of names and values")
	}
	ts, dur := args[1].Int(), args[2].Int()
	i := interval{start: uint64(ts), end: uint64(ts) + uint64(dur), id: uint32(args[0].Int())}
	switch {
	case i.start < a.last && ts < 0:
		return errors.New(intervalsName + ": ts is negative")
	case i.start < a.last:
		return fmt.Errorf("%s: intervals have to come sorted by ts: interval %d begins at %d, before the last at %d", intervalsName, i.id, ts, a.last)
	case dur < 0:
		return errors.New(intervalsName + ": dur is negative")
	}
	a.last = i.start
	key, err := a.key(args[intervalsColumns:])
	if err != nil {
		return err
	}
	p := a.byKey[key]
	if p == nil {
		if a.byKey == nil {
			a.byKey = map[uint64]*partition{}
		}
		p = &partition{values: slices.Clone(a.values)}
		a.byKey[key] = p
		a.list, a.keys = append(a.list, p), append(a.keys, key)
	}
	p.intervals = append(p.intervals, i)
	if i.start < p.end {
		p.overlaps = true
	} else {
		p.end = i.end
	}
	return nil
}

// key returns the hash of the values in pairs, and keeps the values.
func (a *intervalsAggregate) key(pairs []sqlite.Value) (uint64, error) {
	a.values = a.values[:0]
	if len(pairs) == 0 {
		return 0, nil
	}
	h := newHasher()
	for ; len(pairs) > 0; pairs = pairs[2:] {
		v := pairs[1]
		// The first number is Trace Processor's of the type.
		switch v.Type() {
		case sqlite.Null:
			h.add(hashInt(0))
			h.add(hashInt(0))
			a.values = append(a.values, nil)
		case sqlite.Integer:
			h.add(hashInt(1))
			h.add(hashInt(uint64(v.Int())))
			a.values = append(a.values, v.Int())
		case sqlite.Real:
			h.add(hashInt(2))
			h.add(hashFloat(v.Float()))
			a.values = append(a.values, v.Float())
		case sqlite.TextOf:
			h.add(hashInt(3))
			h.add(hashText(v.View()))
			a.values = append(a.values, v.Text())
		default:
			return 0, errors.New(intervalsName + ": a BLOB cannot be a partition")
		}
	}
	return uint64(h), nil
}

func (a *intervalsAggregate) Result(c sqlite.Context) error {
	if a.list != nil {
		c.Pointer(&a.partitions, intervalsPointer)
	}
	return nil
}

const (
	intersectName   = "__intrinsic_interval_intersect"
	intersectTables = 15 // the most tables; each has an id column in the result
	intersectKeys   = 4  // the most columns of the partition
)

// intervalIntersect intersects the intervals of tables in each partition that all have. The last argument has the names of
// the partition's columns: "(a, b)".
func (o *operators) intervalIntersect(c sqlite.Context, args []sqlite.Value) error {
	if len(args) < 2 {
		return errors.New(intersectName + ": want tables and the list of the partition's columns")
	}
	list, args := args[len(args)-1], args[:len(args)-1]
	if len(args) > intersectTables {
		return fmt.Errorf("%s: want at most %d tables, not %d", intersectName, intersectTables, len(args))
	}
	if list.IsNull() {
		return errors.New(intersectName + ": the list of the partition's columns is NULL")
	}
	keys := columnNames(list.Text())
	if len(keys) > intersectKeys {
		return fmt.Errorf("%s: want at most %d columns of the partition, not %d", intersectName, intersectKeys, len(keys))
	}
	x := intersection{operators: o, rows: dataframe.NewBuilder(o.pool, append(integers("ts", "dur"), integers(idNames[:len(args)]...)...)...)}
	kinds := map[int]dataframe.Kind{}
	empty := false
	for _, a := range args {
		p, _ := a.Pointer(intervalsPointer).(*partitions)
		empty = empty || p == nil
		x.tables = append(x.tables, p)
	}
	if !empty {
		if n := len(x.tables[0].list[0].values); n != len(keys) {
			return fmt.Errorf("%s: the partition has %d columns, but %d names: %s", intersectName, n, len(keys), list.Text())
		}
		var err error
		if kinds, err = x.tables[0].kinds(); err != nil {
			return err
		}
	}
	x.keys = dataframe.NewCollector(o.pool, keys, kinds)
	if !empty {
		if err := x.run(); err != nil {
			return err
		}
	}
	f := x.rows.Frame()
	for _, name := range idNames[len(args):] {
		f.Columns = append(f.Columns, dataframe.Lazy(name, dataframe.Integer, func(v *dataframe.Values) error {
			for range f.Rows {
				v.Null()
			}
			return nil
		}))
	}
	f.Columns = append(f.Columns, x.keys.Frame().Columns...)
	numberedTable(c, f)
	return nil
}

var idNames = func() (names [intersectTables]string) {
	for i := range names {
		names[i] = fmt.Sprintf("id_%d", i)
	}
	return names
}()

// columnNames returns the names in a list such as "(a, b)".
func columnNames(list string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.NewReplacer("(", " ", ")", " ").Replace(list), ",") {
		if name = strings.Trim(name, "\t\n "); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// kinds returns the kinds of the partition's columns that are fixed by their first value. One of integers can still become
// one of real numbers.
func (p *partitions) kinds() (map[int]dataframe.Kind, error) {
	kinds := map[int]dataframe.Kind{}
	for i := range p.list[0].values {
		known := false
		for _, k := range hashOrder(p.keys, partitionSlot) {
			switch p.list[k].values[i].(type) {
			case nil:
				continue
			case float64:
				kinds[i] = dataframe.Real
			case string:
				kinds[i] = dataframe.Text
			}
			known = true
			break
		}
		if !known {
			return nil, fmt.Errorf("%s: column %d of the partition has no value, and so no type", intersectName, i)
		}
	}
	return kinds, nil
}

// partitionSlot is the size of a partition in Trace Processor's hash table, in bytes.
const partitionSlot = 72

type intersection struct {
	*operators
	tables []*partitions
	rows   *dataframe.Builder
	batch  [][]int64 // the next values of the columns of rows
	keys   *dataframe.Collector
	added  int // rows so far
	found  int // overlaps so far, also those of only some of the tables
}

// intersectBatch is how many rows are added at once.
const intersectBatch = 1 << 10

// overlaps are times at which intervals of several tables overlap.
type overlaps struct {
	times []overlap
	ids   []uint32 // of the intervals: for each time, those of all tables
}

type overlap struct{ start, end uint64 }

func (o *overlaps) add(time overlap, ids []uint32) {
	o.times, o.ids = append(o.times, time), append(o.ids, ids...)
}

func (x *intersection) run() error {
	x.batch = make([][]int64, 2+len(x.tables))
	fewest := slices.MinFunc(x.tables, func(a, b *partitions) int { return cmp.Compare(len(a.list), len(b.list)) })
	parts := make([]*partition, len(x.tables))
	for _, k := range hashOrder(fewest.keys, partitionSlot) {
		key := fewest.keys[k]
		if slices.ContainsFunc(x.tables, func(p *partitions) bool { return p.byKey[key] == nil }) {
			continue
		}
		for i, p := range x.tables {
			parts[i] = p.byKey[key]
		}
		before := x.added
		if err := x.intersect(parts); err != nil {
			return err
		}
		for i, v := range parts[0].values {
			if err := x.repeat(i, v, x.added-before); err != nil {
				return fmt.Errorf("%s: %w", intersectName, err)
			}
		}
	}
	x.flush()
	return nil
}

// add adds a row.
func (x *intersection) add(time overlap, ids []uint32) {
	x.batch[0] = append(x.batch[0], int64(time.start))
	x.batch[1] = append(x.batch[1], int64(time.end)-int64(time.start))
	for i, id := range ids {
		x.batch[2+i] = append(x.batch[2+i], int64(id))
	}
	if x.added++; len(x.batch[0]) == intersectBatch {
		x.flush()
	}
}

func (x *intersection) flush() {
	for i, values := range x.batch {
		x.rows.Ints(i, values)
		x.batch[i] = values[:0]
	}
}

// repeat adds a value of the partition for each of its overlaps.
func (x *intersection) repeat(column int, value any, times int) error {
	for range times {
		var err error
		switch v := value.(type) {
		case nil:
			x.keys.Null(column)
		case int64:
			err = x.keys.Int(column, v)
		case float64:
			err = x.keys.Float(column, v)
		case string:
			err = x.keys.Text(column, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// intersect adds the overlaps of one partition of all tables. It begins with the table of the fewest intervals.
func (x *intersection) intersect(parts []*partition) error {
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(parts[a].intervals), len(parts[b].intervals)) })
	ids := make([]uint32, len(parts))
	var before, next overlaps
	for _, i := range parts[order[0]].intervals {
		ids[order[0]] = i.id
		next.add(overlap{i.start, i.end}, ids)
	}
	if len(order) == 1 {
		for at, time := range next.times {
			x.add(time, next.ids[at:at+1])
		}
	}
	var common []interval
	for n, table := range order[1:] {
		before, next = next, overlaps{before.times[:0], before.ids[:0]}
		if len(before.times) == 0 {
			break
		}
		found, last := 0, n+2 == len(order)
		find := newIntersector(parts[table].intervals, parts[table].overlaps, len(before.times))
		for at, v := range before.times {
			copy(ids, before.ids[at*len(ids):])
			common = find.overlaps(common[:0], v.start, v.end)
			for _, i := range common {
				ids[table] = i.id
				if last {
					x.add(overlap{i.start, i.end}, ids)
				} else {
					next.add(overlap{i.start, i.end}, ids)
				}
				if found++; found > math.MaxInt32 {
					return errors.New(intersectName + ": the result is too large")
				}
				if err := x.interrupted(x.found); err != nil {
					return err
				}
				x.found++
			}
		}
	}
	return nil
}
