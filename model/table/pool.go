package table

// pool keeps the values of columns for reuse by other columns of the same type. It is safe for
// concurrent use.
type pool struct {
	int64s   chan []int64
	int32s   chan []int32
	float64s chan []float64
	bools    chan []bool
	texts    chan []StringID
}

// A pool keeps up to 15 MiB of chunks with the default number of rows.
func newPool() *pool {
	return &pool{make(chan []int64, 4), make(chan []int32, 2), make(chan []float64, 1), make(chan []bool, 2), make(chan []StringID, 2)}
}

// put offers the values of a column, a slice, to the pool.
func (p *pool) put(values any) {
	switch v := values.(type) {
	case []int64:
		keep(p.int64s, v)
	case []int32:
		keep(p.int32s, v)
	case []float64:
		keep(p.float64s, v)
	case []bool:
		keep(p.bools, v)
	case []StringID:
		keep(p.texts, v)
	}
}

// minPooled is the number of values from which reuse is worthwhile.
const minPooled = 16 << 10

func keep[T any](in chan []T, values []T) {
	if cap(values) < minPooled {
		return
	}
	select {
	case in <- values:
	default:
	}
}

// values returns n zeros.
func values[T any](from chan []T, n int) []T {
	if n < minPooled {
		return make([]T, n)
	}
	select {
	case v := <-from:
		if n <= cap(v) && cap(v) <= 2*n {
			v = v[:n]
			clear(v)
			return v
		}
		keep(from, v)
	default:
	}
	return make([]T, n)
}

// of returns the part of the pool for values of a type.
func of[T int64 | int32 | float64 | bool | StringID](p *pool) chan []T {
	var from any
	switch any(*new(T)).(type) {
	case int64:
		from = p.int64s
	case int32:
		from = p.int32s
	case float64:
		from = p.float64s
	case bool:
		from = p.bools
	case StringID:
		from = p.texts
	}
	return from.(chan []T)
}

// column returns the values of a column with the given number of rows, all zero, or nil if their
// size is 0 bytes.
func (p *pool) column(kind Type, rows int, size int64) any {
	if size == 0 {
		return nil
	}
	switch kind {
	case TypeInt32:
		return values(p.int32s, rows)
	case TypeFloat64:
		return values(p.float64s, rows)
	case TypeBool:
		return values(p.bools, rows)
	case TypeString:
		return values(p.texts, rows)
	}
	return values(p.int64s, rows)
}
