package table

import "reflect"

// Type is the type of a column, as listed in the dataset contract.
type Type uint8

// The types of columns.
const (
	TypeInt64 Type = iota
	TypeInt32
	TypeFloat64
	TypeBool
	TypeString
	TypeBytes
)

var typeNames = [...]string{"int64", "int32", "float64", "bool", "string", "bytes"}

func (t Type) String() string { return typeNames[t] }

// Interned reports whether the values are in a StringPool, where id zero is NULL.
func (t Type) Interned() bool { return t == TypeString || t == TypeBytes }

// The columns of a table are fields of these types in its declaration.
type (
	// Int64 is a column of 64-bit integers.
	Int64 struct{ column[int64] }
	// Ref is a column that refers to rows of the table that T declares. Whoever imports a declaration compiles all methods of each Ref in
	// it, so it has few, and its column is not embedded.
	Ref[T any] struct{ ids Int64 }
	// Time is a column with the times at which rows happen or begin, in ns of the trace clock. A table that has one can be cut.
	Time struct{ column[int64] }
	// Dur is a column with the times that rows last, in ns from their Time: -1 if they do not end. Rows without one are moments.
	Dur struct{ column[int64] }
	// SetRef is a column that refers to sets of rows of the table that T declares.
	SetRef[T any] struct{ ids Int64 }
	// Int32 is a column of 32-bit integers.
	Int32 struct{ column[int32] }
	// Float64 is a column of doubles.
	Float64 struct{ column[float64] }
	// Bool is a column of flags.
	Bool struct{ column[bool] }
	// String is a column of interned text; id zero is NULL.
	String struct {
		column[StringID]
		weighs bool // whether the bytes of its texts count towards the chunk's size; set once there are large texts
	}
	// Bytes is a column of bytes. Each chunk has a pool of its own for them, so a table with such a column has none with
	// text. Their size counts towards the chunk's.
	Bytes struct{ column[StringID] }
	// RowID is a column that repeats the row's id under another name, without
	// storage.
	RowID struct{}
)

// Vector is one column of a chunk. Values is a []int64, []int32, []float64,
// []bool or []StringID with the chunk's rows, or nil if every row is NULL. Valid
// has one bit per row, least significant first, which is set if there is a
// value; it is nil if the column is not nullable. Nullable columns of text or bytes
// have no bits: NULL is string id zero.
type Vector struct {
	Values any
	Valid  []byte
}

// column is the storage of one column: the vector of the table's open chunk.
// Values of closed chunks are in the chunks.
type column[T int64 | int32 | float64 | bool | StringID] struct {
	table    *Table
	position int // index in the table's stored columns
	nullable bool
	required bool  // nullable only to find rows without a value
	base     int64 // row of values[0]
	values   []T
	valid    []byte
}

// storage is the interface of columns of any type to their table.
type storage interface {
	kind() Type
	bind(t *Table, position int, nullable bool)
	resize(rows int)
	detach(rows int) Vector
	reset(base int64)
	has(row int64) bool
	copyFrom(source storage, to, from int64)
	weigh()
	require()
	complete(v *Vector, rows int) bool
}

// storageOf returns the storage of a column, nil if it has none.
func storageOf(column any) storage {
	switch c := column.(type) {
	case storage:
		return c
	case interface{ storage() storage }:
		return c.storage()
	}
	return nil
}

func (c *column[T]) kind() Type {
	switch any(*new(T)).(type) {
	case int64:
		return TypeInt64
	case int32:
		return TypeInt32
	case float64:
		return TypeFloat64
	case bool:
		return TypeBool
	}
	return TypeString
}

func (c *Bytes) kind() Type { return TypeBytes }

func (c *column[T]) bind(t *Table, position int, nullable bool) {
	c.table, c.position, c.nullable = t, position, nullable
}

// Set stores the value of a row.
func (c *column[T]) Set(row int64, v T) {
	i := row - c.base
	if uint64(i) >= uint64(len(c.values)) {
		c.setSlow(row, v)
		return
	}
	c.values[i] = v
	if c.valid != nil {
		c.valid[i>>3] |= 1 << (i & 7)
	}
}

// Fill returns the values of the n rows that AppendRows added last, for the
// caller to set.
func (c *column[T]) Fill(row int64, n int) []T {
	if c.values == nil {
		c.allocate()
	}
	i := int(row - c.base)
	if c.valid != nil {
		setBits(c.valid, i, i+n)
	}
	return c.values[i : i+n : i+n]
}

// setBits sets the bits from..to, at least one.
func setBits(b []byte, from, to int) {
	first, last := from>>3, (to-1)>>3
	low, high := byte(0xff)<<(from&7), byte(0xff)>>(7-(to-1)&7)
	if first == last {
		b[first] |= low & high
		return
	}
	b[first] |= low
	for i := first + 1; i < last; i++ {
		b[i] = 0xff
	}
	b[last] |= high
}

// setSlow handles columns that have no values in the open chunk so far, and rows
// of closed chunks that are not sealed yet.
func (c *column[T]) setSlow(row int64, v T) {
	if row >= c.base {
		c.allocate()
		c.Set(row, v)
		return
	}
	chunk := c.table.closedChunk(row)
	i := row - chunk.Base
	if chunk.parked != nil && chunk.parked.vectors[c.position].values > 0 {
		chunk.parked.change(c.position, i, bitsOf(v))
		return
	}
	c.table.unpark(chunk)
	vec := &chunk.vectors[c.position]
	if vec.Values == nil {
		vec.Values = make([]T, chunk.Rows)
		vec.Valid = c.bits(chunk.Rows)
	}
	vec.Values.([]T)[i] = v
	if vec.Valid != nil {
		vec.Valid[i>>3] |= 1 << (i & 7)
	}
}

// Get returns the value of a row that is not sealed yet, and whether there is
// one.
func (c *column[T]) Get(row int64) (T, bool) {
	values, valid, i := c.values, c.valid, row-c.base
	if i < 0 {
		chunk := c.table.closedChunk(row)
		c.table.unpark(chunk)
		vec := chunk.vectors[c.position]
		values, _ = vec.Values.([]T)
		valid, i = vec.Valid, row-chunk.Base
	}
	if i >= int64(len(values)) {
		var zero T
		return zero, c.required
	}
	return values[i], valid == nil || valid[i>>3]&(1<<(i&7)) != 0 || c.required
}

// require makes the column keep which rows have a value, if all must have one.
func (c *column[T]) require() {
	var zero T
	_, text := any(zero).(StringID) // whose NULL is a value
	c.required = !c.nullable && !text
	c.nullable = c.nullable || c.required
}

// complete makes the values of a column that require was called for what they are without that, and reports whether each row had one.
func (c *column[T]) complete(v *Vector, rows int) bool {
	if !c.required {
		return true
	}
	all := v.Values != nil
	for row := 0; all && row < rows; row++ {
		all = v.Valid[row>>3]&(1<<(row&7)) != 0
	}
	if v.Valid = nil; v.Values == nil {
		v.Values = make([]T, rows)
	}
	return all
}

// has reports whether the row has a value.
func (c *column[T]) has(row int64) bool {
	v, ok := c.Get(row)
	if id, text := any(v).(StringID); text {
		return id != 0
	}
	return ok
}

// ID is the id of a row of the table that T declares.
type ID[T any] int64

// None is the id of nothing.
const None = -1

// SetID is the number that several rows of the table that T declares have in common.
type SetID[T any] int64

// Set stores the value of a row.
func (c *Ref[T]) Set(row int64, id ID[T]) { c.ids.Set(row, int64(id)) }

// Get returns the value of a row that is not sealed yet, and whether there is one.
func (c *Ref[T]) Get(row int64) (ID[T], bool) {
	id, ok := c.ids.Get(row)
	return ID[T](id), ok
}

// referred is the type of a declaration.
func (c *Ref[T]) referred() reflect.Type { return reflect.TypeFor[T]() }

func (c *Ref[T]) storage() storage { return &c.ids }

// Set stores the value of a row.
func (c *SetRef[T]) Set(row int64, id SetID[T]) { c.ids.Set(row, int64(id)) }

// Fill returns the values of the n rows that AppendRows added last, for the caller to set.
func (c *SetRef[T]) Fill(row int64, n int) []int64 { return c.ids.Fill(row, n) }

// Get returns the value of a row that is not sealed yet, and whether there is one.
func (c *SetRef[T]) Get(row int64) (SetID[T], bool) {
	id, ok := c.ids.Get(row)
	return SetID[T](id), ok
}

// sets is the type of the declaration of the table with the sets.
func (c *SetRef[T]) sets() reflect.Type { return reflect.TypeFor[T]() }

func (c *SetRef[T]) storage() storage { return &c.ids }

// Set stores the value of a row.
func (c *String) Set(row int64, id StringID) {
	if c.weighs {
		c.table.weighText(id)
	}
	c.column.Set(row, id)
}

// Set stores the value of the row that was appended last.
func (c *Bytes) Set(row int64, b []byte) {
	t := c.table
	if t.raw == nil {
		t.raw = NewRawPool()
	}
	c.column.Set(row, t.raw.InternBytes(b))
	t.Weigh(int64(len(b)))
}

func (c *String) weigh() { c.weighs = true }

func (c *String) copyFrom(source storage, to, from int64) {
	if id, ok := source.(*String).Get(from); ok {
		c.Set(to, id)
	}
}

func (c *column[T]) weigh() {}

// inner lets copyFrom see through the named column types.
func (c *column[T]) inner() *column[T] { return c }

func (c *column[T]) copyFrom(source storage, to, from int64) {
	if v, ok := source.(interface{ inner() *column[T] }).inner().Get(from); ok {
		c.Set(to, v)
	}
}

func (c *column[T]) bits(rows int) []byte {
	var zero T
	if _, text := any(zero).(StringID); text || !c.nullable {
		return nil
	}
	return make([]byte, (rows+7)/8)
}

func (c *column[T]) allocate() {
	n := c.table.capacity
	c.values = values(of[T](c.table.sink.pool), n)
	c.valid = c.bits(n)
}

// lazy reports whether the column takes no memory in chunks where it has no
// values.
func (c *column[T]) lazy() bool {
	var zero T
	_, text := any(zero).(StringID)
	return text || c.nullable
}

func (c *column[T]) resize(rows int) {
	switch {
	case c.values != nil:
		c.values = append(make([]T, 0, rows), c.values...)[:rows]
		if c.valid != nil {
			c.valid = append(make([]byte, 0, (rows+7)/8), c.valid...)[:(rows+7)/8]
		}
	case !c.lazy():
		c.allocate()
	}
}

func (c *column[T]) detach(rows int) Vector {
	if c.values == nil {
		return Vector{}
	}
	v := Vector{Values: c.values[:rows]}
	if c.valid != nil {
		v.Valid = c.valid[:(rows+7)/8]
	}
	return v
}

func (c *column[T]) reset(base int64) {
	c.base, c.values, c.valid = base, nil, nil
	if !c.lazy() && c.table.capacity > 0 {
		c.allocate()
	}
}
