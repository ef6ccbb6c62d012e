package export

import (
	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/model/table"
)

// SpooledRows are the rows of a table of the current trace in a spool, until Keep or Drop ends it.
type SpooledRows struct {
	spool  *Spool
	pieces []piece
}

// Rows returns the rows of a table of the current trace, or nil if there are none.
func (s *Spool) Rows(table string) (*SpooledRows, error) {
	pieces := s.pieces[table]
	if len(pieces) == 0 {
		return nil, nil
	}
	if err := s.buffer.Flush(); err != nil {
		return nil, s.failed(err)
	}
	return &SpooledRows{s, pieces}, nil
}

// Len returns the number of rows.
func (r *SpooledRows) Len() (n int) {
	for _, p := range r.pieces {
		n += p.rows
	}
	return n
}

// Has reports whether there is a column.
func (r *SpooledRows) Has(column string) bool { return r.pieces[0].schema.Column(column) >= 0 }

// Read reads the first rows of a column, all if there are fewer.
func (r *SpooledRows) Read(column string, rows int, to parquet.Target) error {
	for i := range r.pieces {
		p := &r.pieces[i]
		n := min(rows, p.rows)
		parts, err := r.spool.readColumn(p, p.schema.Column(column))
		if err != nil {
			return err
		}
		p.read(p.schema.Column(column), n, parts, to)
		if rows -= n; rows == 0 {
			break
		}
	}
	return nil
}

// Bytes returns a value of a column of text or bytes, nil for NULL.
func (r *SpooledRows) Bytes(column string, row int) ([]byte, error) {
	for i := range r.pieces {
		p := &r.pieces[i]
		if row < 0 || row >= p.rows {
			row -= p.rows
			continue
		}
		parts, err := r.spool.readColumn(p, p.schema.Column(column))
		numbers := valuesIn[int32](parts[0])
		if err != nil || len(numbers) == 0 || numbers[row] == 0 {
			return nil, err
		}
		text := parts[3]
		for n, size := range valuesIn[int64](parts[2]) {
			if n == int(numbers[row])-1 {
				return text[:size], nil
			}
			text = text[size:]
		}
	}
	return nil, nil
}

// readColumn returns the parts of a column of a piece.
func (s *Spool) readColumn(p *piece, column int) (parts [4][]byte, err error) {
	at, size := p.offset, 0
	for i := range column + 1 {
		at += int64(size)
		size = p.columns[i].size()
	}
	b := memoryOf(make([]int64, size/8))
	if _, err := s.file.ReadAt(b, at); err != nil {
		return parts, s.failed(err)
	}
	parts, _ = p.columns[column].divide(b)
	return parts, nil
}

// read hands over the first rows of a column, which has these parts.
func (p *piece) read(column, rows int, parts [4][]byte, to parquet.Target) {
	c := &p.schema.Columns[column]
	values, valid := parts[0], func(row int) bool { return parts[1][row>>3]>>(row&7)&1 != 0 }
	if !c.Nullable {
		valid = func(int) bool { return true }
	}
	switch {
	case c.Row:
		numbers := make([]int64, rows)
		for i := range numbers {
			numbers[i] = p.base + int64(i)
		}
		to.Ints(numbers)
	case len(values) == 0:
		to.Nulls(rows)
	case c.Type == table.TypeInt64:
		handOver(valuesIn[int64](values)[:rows], valid, to.Ints, to.Nulls)
	case c.Type == table.TypeInt32:
		handOver(widened(valuesIn[int32](values)[:rows]), valid, to.Ints, to.Nulls)
	case c.Type == table.TypeFloat64:
		handOver(valuesIn[float64](values)[:rows], valid, to.Reals, to.Nulls)
	case c.Type == table.TypeBool:
		handOver(widened(values[:rows]), valid, to.Ints, to.Nulls)
	default:
		words, text := []uint32{0}, parts[3]
		for _, size := range valuesIn[int64](parts[2]) {
			words, text = append(words, to.Number(text[:size])), text[size:]
		}
		numbers := valuesIn[int32](values)
		texts := make([]uint32, rows)
		for i := range texts {
			texts[i] = words[numbers[i]]
		}
		handOver(texts, func(row int) bool { return numbers[row] != 0 }, to.Texts, to.Nulls)
	}
}

// widened returns integers, or flags as 0 or 1.
func widened[T int32 | byte](values []T) []int64 {
	all := make([]int64, len(values))
	for i, v := range values {
		all[i] = int64(v)
	}
	return all
}

// handOver adds the values that are valid, and NULL in place of the others.
func handOver[T any](values []T, valid func(row int) bool, add func([]T), null func(rows int)) {
	for from, to := 0, 0; from < len(values); from = to {
		some := valid(from)
		for to = from + 1; to < len(values) && valid(to) == some; {
			to++
		}
		if some {
			add(values[from:to])
		} else {
			null(to - from)
		}
	}
}
