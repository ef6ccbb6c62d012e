package dataframe

import "math"

// Description says how Trace Processor would store a column.
type Description struct {
	Type     string // id, uint32, int32, int64, double or string
	Nullable int64  // 0 or 1
	Sorted   int64  // 0 if the values number the rows, 1 if each numbers the first row of its value, 2 if they ascend, or 3
}

// Describe describes a column by its values.
func (f *Frame) Describe(i int) (Description, error) {
	v, err := f.at(i)
	if err != nil {
		return Description{}, err
	}
	d := Description{Type: "double", Sorted: 3}
	if v.kind == Text {
		d.Type = "string"
	}
	if v.nulls != nil {
		d.Nullable = 1
	}
	ascends := v.nulls == nil
	for row := 1; row < v.rows && ascends; row++ {
		switch v.kind {
		case Text:
			ascends = f.Pool.Text(v.texts[row-1]) <= f.Pool.Text(v.texts[row])
		case Real:
			ascends = v.f64[row-1] <= v.f64[row]
		case Integer:
			ascends = v.int(row-1) <= v.int(row)
		}
	}
	if ascends {
		d.Sorted = 2
	}
	if v.kind == Integer {
		v.describe(&d)
	}
	return d, nil
}

// describe describes integers, of which the order is known.
func (v *values) describe(d *Description) {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	ids, sets := d.Sorted == 2, d.Sorted == 2
	for row := range v.rows {
		if v.null(row) {
			continue
		}
		n := v.int(row)
		least, greatest = min(least, n), max(greatest, n)
		ids = ids && n == int64(row)
		sets = sets && (n == int64(row) || row > 0 && n == v.int(row-1))
	}
	switch {
	case ids:
		d.Type, d.Sorted = "id", 0
		return
	case least >= 0 && greatest <= math.MaxUint32:
		d.Type = "uint32"
	case least >= math.MinInt32 && greatest <= math.MaxInt32:
		d.Type = "int32"
	default:
		d.Type = "int64"
	}
	if sets {
		d.Sorted = 1
	}
}
