package table

// Setter sets the values of a column whose type is known only when the program runs. Only one of its functions is not nil.
type Setter struct {
	Int   func(row, v int64) // integers, ids and flags
	Float func(row int64, v float64)
	Text  func(row int64, v StringID)
}

// Setter returns the functions of the schema's column i, which must not be one of bytes or repeat the row's id.
func (t *Table) Setter(i int) Setter {
	switch c := t.columns[t.schema.Columns[i].stored].(type) {
	case *String:
		return Setter{Text: c.Set}
	case interface{ inner() *column[float64] }:
		return Setter{Float: c.inner().Set}
	case interface{ inner() *column[int32] }:
		return Setter{Int: func(row, v int64) { c.inner().Set(row, int32(v)) }}
	case interface{ inner() *column[bool] }:
		return Setter{Int: func(row, v int64) { c.inner().Set(row, v != 0) }}
	case interface{ inner() *column[int64] }:
		return Setter{Int: c.inner().Set}
	}
	return Setter{}
}
