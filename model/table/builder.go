package table

// Builder makes chunks of values, also of those that tables do not store. Each column gets a value for each row. Texts may be any bytes.
type Builder struct {
	schema  *Schema
	most    int // rows of a chunk
	columns []built
	strings *StringPool
	text    int64 // bytes of texts, each as often as rows have it
}

// built is a column so far. One of the slices has the values, with zeros for NULL.
type built struct {
	rows   int
	ints   []int64
	floats []float64
	ids    []StringID
	valid  []byte
}

// NewBuilder returns a builder of chunks of a table, which are full with a number of rows.
func NewBuilder(s *Schema, rows int) *Builder {
	return &Builder{schema: s.WithColumns(s.Columns), most: rows, columns: make([]built, len(s.Columns)), strings: NewRawPool()}
}

// Int adds an integer to a column or, as 0 or 1, a flag.
func (b *Builder) Int(column int, v int64) {
	c := &b.columns[column]
	c.ints = append(c.ints, v)
	c.add(true)
}

// Bool adds a flag to a column.
func (b *Builder) Bool(column int, v bool) {
	if v {
		b.Int(column, 1)
	} else {
		b.Int(column, 0)
	}
}

// Float adds a real number to a column.
func (b *Builder) Float(column int, v float64) {
	c := &b.columns[column]
	c.floats = append(c.floats, v)
	c.add(true)
}

// Text adds a text to a column.
func (b *Builder) Text(column int, s string) { b.intern(column, b.strings.Intern(s), len(s)) }

// Bytes adds bytes to a column.
func (b *Builder) Bytes(column int, v []byte) { b.intern(column, b.strings.InternBytes(v), len(v)) }

func (b *Builder) intern(column int, id StringID, bytes int) {
	b.text += int64(bytes)
	c := &b.columns[column]
	c.ids = append(c.ids, id)
	c.add(true)
}

// Null adds NULL to a column.
func (b *Builder) Null(column int) {
	c := &b.columns[column]
	switch t := b.schema.Columns[column].Type; {
	case t.Interned():
		c.ids = append(c.ids, 0)
	case t == TypeFloat64:
		c.floats = append(c.floats, 0)
	default:
		c.ints = append(c.ints, 0)
	}
	c.add(false)
}

// add counts a row of a column.
func (c *built) add(valid bool) {
	if c.rows&7 == 0 {
		c.valid = append(c.valid, 0)
	}
	if valid {
		c.valid[c.rows>>3] |= 1 << (c.rows & 7)
	}
	c.rows++
}

// Rows returns the number of rows so far.
func (b *Builder) Rows() int { return b.columns[0].rows }

// TextBytes returns the bytes of the texts so far. Each counts once.
func (b *Builder) TextBytes() int64 { return b.strings.Size() }

// Full reports whether the chunk has all rows that it may have, or much text. Each counts as often as rows have it, because some
// formats write it so.
func (b *Builder) Full() bool { return b.Rows() >= b.most || b.text >= chunkText }

// Chunk returns the rows, nil if there are none, and begins the next chunk.
func (b *Builder) Chunk() *Chunk {
	rows := b.Rows()
	if rows == 0 {
		return nil
	}
	vectors := make([]Vector, len(b.columns))
	for i, c := range b.columns {
		column := b.schema.Columns[i]
		switch column.Type {
		case TypeString, TypeBytes:
			vectors[i].Values = c.ids
			continue
		case TypeFloat64:
			vectors[i].Values = c.floats
		case TypeInt32:
			vectors[i].Values = convert(c.ints, func(v int64) int32 { return int32(v) })
		case TypeBool:
			vectors[i].Values = convert(c.ints, func(v int64) bool { return v != 0 })
		default:
			vectors[i].Values = c.ints
		}
		if column.Nullable {
			vectors[i].Valid = c.valid
		}
	}
	chunk := NewChunk(b.schema, rows, vectors, b.strings.View())
	chunk.Text = b.TextBytes()
	*b = *NewBuilder(b.schema, b.most)
	return chunk
}

func convert[T, U any](values []T, to func(T) U) []U {
	all := make([]U, len(values))
	for i, v := range values {
		all[i] = to(v)
	}
	return all
}
