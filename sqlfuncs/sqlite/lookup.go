package sqlite

// Found are the values of a Lookup under one text: for integers in ascending order, the row of one of the vectors.
type Found struct {
	Integers []uint32
	Rows     []uint32
	Which    []uint8 // of the vectors
	Vectors  [3]*Vector
}

// Lookup defines a function of an integer, of which 32 bits count, and a text; that of NULL is NULL. Where SQLite can read Found
// without a call of Go, and the text is a constant, find is called once for it. It may return nil. Other calls are those of f.
func (d *DB) Lookup(name string, find func(text string) (*Found, error), f Scalar) error {
	return d.add(name, 2, &callable{db: d, scalar: f, flags: Deterministic, find: find})
}

func (f *Found) bytes() int64 { return int64(len(f.Integers)) * (4 + 4 + 1) }
