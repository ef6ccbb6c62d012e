package dataframe

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// sortKey is a column to sort by.
type sortKey struct {
	values *values
	desc   bool
	ranks  *ranks // of texts, which are sorted by their numbers in the pool without
}

// sort puts the rows of a selection in order. Equal rows keep theirs; NULL comes first.
func (f *Frame) sort(s *selection, orders []orderBy) error {
	keys := make([]sortKey, len(orders))
	for i, o := range orders {
		v, err := f.at(o.column)
		if err != nil {
			return err
		}
		keys[i] = sortKey{values: v, desc: o.desc}
	}
	if s.len() < 2 {
		return nil
	}
	if k := keys[0]; k.values.sorted && (len(keys) == 1 || k.values.unique) {
		if k.desc {
			s.reverse(k.values)
		}
		return nil
	}
	for len(keys) > 1 && keys[len(keys)-1].values.sorted && !keys[len(keys)-1].desc {
		keys = keys[:len(keys)-1] // rows are in this order already
	}
	s.set(s.listed())
	for i := range keys {
		if keys[i].values.kind == Text {
			keys[i].ranks = f.rank(s, keys[i].values)
		}
	}
	if len(s.rows) < radixFrom {
		slices.SortStableFunc(s.rows, func(a, b uint32) int {
			for i := range keys {
				if c := keys[i].compare(int(a), int(b)); c != 0 {
					return c
				}
			}
			return 0
		})
		return nil
	}
	sortRows(s.rows, keys...)
	return nil
}

// reverse turns rows in the order of a sorted column around; equal ones keep their order.
func (s *selection) reverse(v *values) {
	rows := make([]uint32, 0, s.len())
	for end := s.len(); end > 0; {
		begin := end - 1
		for begin > 0 && v.same(s.at(begin-1), s.at(begin)) {
			begin--
		}
		for i := begin; i < end; i++ {
			rows = append(rows, uint32(s.at(i)))
		}
		end = begin
	}
	s.set(rows)
}

func (v *values) same(a, b int) bool {
	if v.kind == Real {
		return v.f64[a] == v.f64[b]
	}
	return v.int(a) == v.int(b)
}

// ranks are the places of texts in their order, by number in the pool from first on.
type ranks struct {
	first uint32
	of    []int32
	texts int // how many there are
}

func (r *ranks) at(id uint32) int32 { return r.of[id-r.first] }

// rank finds the order of the texts of rows; that of all texts of a column is kept.
func (f *Frame) rank(s *selection, v *values) *ranks {
	if r := v.ranks.Load(); r != nil {
		return r
	}
	all := s.len() > v.rows/8
	rows, at := s.len(), s.at
	if all {
		rows, at = v.rows, func(i int) int { return i }
	}
	least, most := uint32(math.MaxUint32), uint32(0)
	for i := range rows {
		if row := at(i); !v.null(row) {
			least, most = min(least, v.texts[row]), max(most, v.texts[row])
		}
	}
	if least > most {
		return &ranks{}
	}
	r := &ranks{first: least, of: make([]int32, most-least+1)}
	var ids []uint32
	for i := range rows {
		if row := at(i); !v.null(row) {
			if id := v.texts[row]; r.of[id-least] == 0 {
				r.of[id-least] = 1
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(f.Pool.Text(a), f.Pool.Text(b)) })
	for i, id := range ids {
		r.of[id-least] = int32(i)
	}
	r.texts = len(ids)
	if all {
		v.ranks.Store(r)
	}
	return r
}

func (k *sortKey) compare(a, b int) int {
	v := k.values
	c := 0
	switch aNull, bNull := v.null(a), v.null(b); {
	case aNull || bNull:
		switch {
		case aNull && bNull:
		case aNull:
			c = -1
		default:
			c = 1
		}
	case v.kind == Text:
		c = cmp.Compare(k.ranks.at(v.texts[a]), k.ranks.at(v.texts[b]))
	case v.kind == Real:
		c = cmp.Compare(v.f64[a], v.f64[b])
	default:
		c = cmp.Compare(v.int(a), v.int(b))
	}
	if k.desc {
		return -c
	}
	return c
}

// radixFrom is the number of rows from which a sort by digits is faster than one by comparisons.
const radixFrom = 256

// radix sorts rows by one key after the other, the last one first. Each pass keeps the order of equal rows.
type radix struct {
	rows, spareRows []uint32
	keys, spareKeys []uint64
	places          []uint32
}

// keptRoom is for how many rows room is kept.
const keptRoom = 1 << 20

// radixes have the room of earlier sorts.
var radixes = sync.Pool{New: func() any { return new(radix) }}

// sortRows sorts rows by keys.
func sortRows(rows []uint32, keys ...sortKey) {
	n := len(rows)
	r := radixes.Get().(*radix)
	r.rows, r.spareRows = rows, slices.Grow(r.spareRows[:0], n)[:n]
	r.keys, r.spareKeys = slices.Grow(r.keys[:0], n)[:n], slices.Grow(r.spareKeys[:0], n)[:n]
	for _, k := range slices.Backward(keys) {
		if k.ranks != nil && k.ranks.texts < n {
			r.sortTexts(k)
		} else {
			r.sort(k)
		}
	}
	if n > 0 && &r.rows[0] != &rows[0] {
		copy(rows, r.rows)
		r.spareRows = r.rows
	}
	r.rows = nil
	if n <= keptRoom {
		radixes.Put(r)
	}
}

// sortTexts sorts the rows by a key of texts, which are fewer than rows, in one pass.
func (r *radix) sortTexts(k sortKey) {
	v := k.values
	place := func(row uint32) int { // of its text among all, 0 for NULL
		if v.nulls != nil && v.null(int(row)) {
			return 0
		}
		return int(k.ranks.at(v.texts[row])) + 1
	}
	at := slices.Grow(r.places[:0], k.ranks.texts+1)[:k.ranks.texts+1]
	clear(at)
	r.places = at
	for _, row := range r.rows {
		at[place(row)]++
	}
	sum := uint32(0)
	for i := range at {
		if k.desc {
			i = len(at) - 1 - i
		}
		at[i], sum = sum, sum+at[i]
	}
	for _, row := range r.rows {
		p := place(row)
		r.spareRows[at[p]] = row
		at[p]++
	}
	r.rows, r.spareRows = r.spareRows, r.rows
}

// sort sorts the rows by a key, byte by byte. Bytes in which all keys are equal take no pass.
func (r *radix) sort(k sortKey) {
	var same, first uint64
	var nulls []uint32
	n := 0
	v := k.values
	for _, row := range r.rows {
		if v.nulls != nil && v.null(int(row)) {
			nulls = append(nulls, row)
			continue
		}
		key := k.number(int(row))
		if n == 0 {
			first = key
		}
		same |= key ^ first
		r.rows[n], r.keys[n] = row, key
		n++
	}
	rows, keys := r.rows[:n], r.keys[:n]
	for shift := 0; shift < 64; shift += 8 {
		if same>>shift&0xff == 0 {
			continue
		}
		var at [256]int
		for _, key := range keys {
			at[key>>shift&0xff]++
		}
		sum := 0
		for i, c := range at {
			at[i] = sum
			sum += c
		}
		toRows, toKeys := r.spareRows[:n], r.spareKeys[:n]
		for i, key := range keys {
			b := key >> shift & 0xff
			toRows[at[b]], toKeys[at[b]] = rows[i], key
			at[b]++
		}
		r.rows, r.spareRows, r.keys, r.spareKeys = r.spareRows, r.rows, r.spareKeys, r.keys
		rows, keys = toRows, toKeys
	}
	if len(nulls) > 0 {
		all := r.rows
		if k.desc {
			copy(all[n:], nulls)
		} else {
			copy(all[len(nulls):], all[:n])
			copy(all, nulls)
		}
	}
}

// number returns the key of a row that is not NULL as a number that sorts like it.
func (k *sortKey) number(row int) uint64 {
	v := k.values
	var n uint64
	switch {
	case v.i32 != nil:
		n = uint64(int64(v.i32[row])) ^ 1<<63
	case v.i64 != nil:
		n = uint64(v.i64[row]) ^ 1<<63
	case v.kind == Text && k.ranks == nil:
		n = uint64(v.texts[row])
	case v.kind == Text:
		n = uint64(k.ranks.at(v.texts[row]))
	case v.kind == Real:
		n = math.Float64bits(v.f64[row] + 0)
		if n>>63 != 0 {
			n = ^n
		} else {
			n |= 1 << 63
		}
	default:
		n = uint64(v.int(row)) ^ 1<<63
	}
	if k.desc {
		return ^n
	}
	return n
}

// first keeps the first n rows of an order by one column, in order, without sorting the others.
func (f *Frame) first(s *selection, o orderBy, n int) error {
	v, err := f.at(o.column)
	if err != nil {
		return err
	}
	k := sortKey{values: v, desc: o.desc}
	if v.kind == Text {
		k.ranks = f.rank(s, v)
	}
	// The best rows so far, the worst one first; of equal rows the later one is worse.
	worse := func(a, b uint32) bool {
		c := k.compare(int(a), int(b))
		return c > 0 || c == 0 && a > b
	}
	if s.list && !slices.IsSorted(s.rows) {
		return f.sort(s, []orderBy{o})
	}
	best := make([]uint32, 0, n)
	for i := range s.len() {
		row := uint32(s.at(i))
		if len(best) < n {
			best = append(best, row)
			for c := len(best) - 1; c > 0 && worse(best[c], best[(c-1)/2]); c = (c - 1) / 2 {
				best[c], best[(c-1)/2] = best[(c-1)/2], best[c]
			}
			continue
		}
		if !worse(best[0], row) {
			continue
		}
		best[0] = row
		for c := 0; ; {
			next := c
			for child := 2*c + 1; child <= 2*c+2 && child < n; child++ {
				if worse(best[child], best[next]) {
					next = child
				}
			}
			if next == c {
				break
			}
			best[c], best[next] = best[next], best[c]
			c = next
		}
	}
	slices.SortFunc(best, func(a, b uint32) int {
		if worse(a, b) {
			return 1
		}
		return -1
	})
	s.set(append(s.buffer[:0], best...))
	return nil
}

// least puts the first row of an order at the front, for min and max, which look at no other.
func (f *Frame) least(s *selection, o orderBy) (int, error) {
	v, err := f.at(o.column)
	if err != nil {
		return 0, err
	}
	k := sortKey{values: v, desc: o.desc, ranks: v.ranks.Load()}
	best := s.at(0)
	if v.nulls == nil && (v.kind != Text || k.ranks != nil) {
		least := k.number(best)
		for i := 1; i < s.len(); i++ {
			row := s.at(i)
			if n := k.number(row); n < least {
				best, least = row, n
			}
		}
		return best, nil
	}
	for i := 1; i < s.len(); i++ {
		row := s.at(i)
		var c int
		if v.kind == Text && k.ranks == nil && !v.null(row) && !v.null(best) {
			c = cmp.Compare(f.Pool.Text(v.texts[row]), f.Pool.Text(v.texts[best]))
			if o.desc {
				c = -c
			}
		} else {
			c = k.compare(row, best)
		}
		if c < 0 {
			best = row
		}
	}
	return best, nil
}
