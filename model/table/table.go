package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
)

// DefaultChunkRows is the default number of rows per chunk. A chunk becomes a Parquet row
// group.
const DefaultChunkRows = 256 << 10

const firstCapacity = 64

// chunkText is the maximum number of bytes of large texts in a chunk, not counting its last
// row.
const chunkText = 8 << 20

// Table is embedded in the declaration of every table. It counts rows and passes them in chunks
// to the sink.
//
// Rows are appended at the end and may be changed until their chunk is sealed. A chunk is
// sealed once it is full, none of its rows is pinned and all earlier chunks are sealed. Tables
// with Schema.Held are sealed only at the end.
type Table struct {
	schema    *Schema
	columns   []storage
	ids       Int64 // row ids of child and sparse tables; in other tables the row number is the id
	rows      int64 // number of rows ever appended
	base      int64 // first row of the open chunk
	room      int64 // first row for which the open chunk has no room
	capacity  int   // rows for which it has memory
	chunkRows int
	text      int64                 // bytes of text in the open chunk, see Weigh
	large     map[StringID]struct{} // large texts in the open chunk
	raw       *StringPool           // values of Bytes columns in the open chunk, nil if there are none
	pins      int                   // pinned rows of the open chunk
	closed    []*Chunk              // full but not sealed, in order
	sets      bool                  // whether it has a SetRef
	sink      *sink
}

// Sink receives sealed chunks. It may keep a chunk as long as it needs, and calls Release when
// it is done. An error ends the conversion.
type Sink interface {
	Chunk(*Chunk) error
}

// sink is the store's sink together with its first error.
type sink struct {
	to      Sink
	strings *StringPool
	view    func() StringView // returns the strings that rows refer to
	pool    *pool
	parking parking
	settle  func() // sets the values of SetRefs that wait
	unset   func(table, column string)
	err     error
}

// Chunk is a run of rows of one table that do not change any more. One goroutine at a time may
// read it. The ids of its texts are
// valid only in its own Strings; another chunk may have other ids for the same text.
type Chunk struct {
	Schema  *Schema
	Base    int64 // row number of the first row
	Rows    int
	Text    int64 // approximate bytes of its large texts
	Strings StringView

	vectors []Vector
	raw     *StringPool // instead of Strings, until it is sealed
	size    int64       // bytes of the vectors when the chunk was closed
	parked  *parked     // location of the columns if they are not in memory
	pins    int
	table   *Table
	once    sync.Once
}

// NewChunk returns a chunk that no table made, of a schema from Schema.WithColumns.
func NewChunk(s *Schema, rows int, columns []Vector, strings StringView) *Chunk {
	c := &Chunk{Schema: s, Rows: rows, Strings: strings, vectors: columns}
	c.size = c.bytes()
	return c
}

// Column returns the values of the schema's column i. Id columns have none if their values are
// Base, Base+1, ...
func (c *Chunk) Column(i int) Vector {
	stored := c.Schema.Columns[i].stored
	switch {
	case stored < 0:
		return Vector{}
	case c.parked != nil:
		return c.parked.read(stored, c.Rows)
	}
	return c.vectors[stored]
}

// Drop tells the chunk that the schema's column i is not needed for now. It may be read again.
func (c *Chunk) Drop(i int) {
	if stored := c.Schema.Columns[i].stored; stored >= 0 && c.parked != nil {
		c.parked.drop(stored)
	}
}

// Err returns the first error of reading columns from a temporary file.
func (c *Chunk) Err() error {
	if c.parked != nil {
		return c.parked.err
	}
	return nil
}

// Size returns the bytes of the columns in memory. A chunk that waited in a temporary file stays there.
func (c *Chunk) Size() int64 {
	if c.parked != nil {
		return 0
	}
	return c.size
}

// Edit lets edit change the values of the schema's columns in place, and gives the chunk the strings that edit returns. A chunk in a
// temporary file is read first.
func (c *Chunk) Edit(edit func(columns []*Vector) StringView) error {
	if p := c.parked; p != nil {
		vectors := make([]Vector, len(p.vectors))
		for i := range vectors {
			vectors[i] = p.read(i, c.Rows)
		}
		if p.err != nil {
			return p.err
		}
		p.file.release()
		c.vectors, c.parked = vectors, nil
	}
	columns := make([]*Vector, len(c.Schema.Columns))
	for i, column := range c.Schema.Columns {
		columns[i] = &Vector{}
		if column.stored >= 0 {
			columns[i] = &c.vectors[column.stored]
		}
	}
	c.Strings = edit(columns)
	return nil
}

// Release returns the chunk's memory to the pool.
func (c *Chunk) Release() {
	c.once.Do(func() {
		if c.parked != nil {
			for i := range c.parked.columns {
				c.parked.drop(i)
			}
			c.parked.file.release()
			c.parked = nil
			return
		}
		if c.table != nil {
			c.table.recycle(c.vectors)
		}
		c.vectors = nil
	})
}

// recycle keeps the memory of a chunk's columns for reuse.
func (t *Table) recycle(vectors []Vector) {
	for _, v := range vectors {
		t.sink.pool.put(v.Values)
	}
}

func (t *Table) bind(s *Schema, chunkRows int, to *sink) {
	t.schema, t.chunkRows, t.sink = s, chunkRows, to
}

// Schema returns the table's declaration.
func (t *Table) Schema() *Schema { return t.schema }

// Err returns the first error of the table's sink.
func (t *Table) Err() error { return t.sink.err }

// Rows returns the number of rows appended.
func (t *Table) Rows() int64 { return t.rows }

// Continue makes the rows follow n rows that are elsewhere. The table must have none yet.
func (t *Table) Continue(n int64) {
	t.rows, t.base, t.room = n, n, n
	for _, c := range t.columns {
		c.reset(n)
	}
}

// Append adds a row of NULLs and zeros and returns its number. The number is also its id,
// except in child and sparse tables, where SetID sets the id.
func (t *Table) Append() int64 {
	row := t.rows
	if row == t.room {
		t.extend()
	}
	t.rows++
	return row
}

// AppendRows appends as many rows as fit in the open chunk, at least one and at most n. It
// returns the first row and the number of rows.
func (t *Table) AppendRows(n int) (row int64, added int) {
	row = t.Append()
	added = int(min(int64(n), t.room-row))
	t.rows = row + int64(added)
	return row, added
}

// SetID sets the id of a row in a sparse or child table. In a child table it is the id of the
// parent's row.
func (t *Table) SetID(row, id int64) { t.ids.Set(row, id) }

// extend makes room for a row: more memory for the open chunk, or a new one.
func (t *Table) extend() {
	if t.schema.Abstract {
		t.room = math.MaxInt64
		return
	}
	if t.capacity < t.chunkRows && t.text < chunkText {
		// Rows that are never used take no memory, those that are copied to larger columns take it twice.
		t.capacity = min(t.chunkRows, max(firstCapacity, 16*t.capacity))
		t.room = t.base + int64(t.capacity)
		for _, c := range t.columns {
			c.resize(t.capacity)
		}
		return
	}
	t.Cut()
}

// Weigh adds the size of new texts to that of the open chunk. A chunk with too much text ends
// early: no further row is added to it.
func (t *Table) Weigh(bytes int64) {
	if t.text += bytes; t.text >= chunkText {
		t.room = t.rows
	}
}

// weighText calls Weigh for a text that is large and new in the chunk.
func (t *Table) weighText(id StringID) {
	size := t.sink.strings.view.Size(id)
	if size < largeText {
		return
	}
	if _, known := t.large[id]; known {
		return
	}
	if t.large == nil {
		t.large = map[StringID]struct{}{}
	}
	t.large[id] = struct{}{}
	t.Weigh(int64(size))
}

// Cut ends the open chunk before it is full, unless it is empty.
func (t *Table) Cut() {
	if t.rows == t.base {
		return
	}
	t.close()
	t.flush()
	t.sink.err = cmp.Or(t.sink.err, t.sink.parking.relieve(t))
}

// settle sets the values of columns with SetRefs that wait, if the table has one.
func (t *Table) settle() {
	if t.sets && t.sink.settle != nil {
		t.sink.settle()
	}
}

// close ends the open chunk and begins the next.
func (t *Table) close() {
	t.settle()
	rows := int(t.rows - t.base)
	chunk := &Chunk{Schema: t.schema, Base: t.base, Rows: rows, Text: t.text, table: t, pins: t.pins, raw: t.raw, vectors: make([]Vector, len(t.columns))}
	t.base, t.pins = t.rows, 0
	t.room = t.base + int64(t.capacity)
	t.text, t.large, t.raw = 0, nil, nil
	for i, c := range t.columns {
		chunk.vectors[i] = c.detach(rows)
		c.reset(t.base)
	}
	t.closed = append(t.closed, chunk)
	chunk.size = chunk.bytes()
	t.sink.parking.waiting += chunk.size
}

// unpark reads the columns of a closed chunk back into memory.
func (t *Table) unpark(c *Chunk) {
	if c.parked == nil {
		return
	}
	if err := t.sink.parking.unpark(c); err != nil {
		t.sink.err = cmp.Or(t.sink.err, err)
	}
}

// flush seals the closed chunks before the first one with a pinned row.
func (t *Table) flush() {
	if t.schema.Held {
		return
	}
	for len(t.closed) > 0 && t.closed[0].pins == 0 {
		t.seal()
	}
}

// seal passes the first closed chunk to the sink.
func (t *Table) seal() {
	t.settle()
	chunk := t.closed[0]
	t.closed = slices.Delete(t.closed, 0, 1)
	t.sink.parking.waiting -= chunk.Size()
	if chunk.parked != nil {
		chunk.parked.file.use()
	}
	if t.sink.unset != nil {
		t.check(chunk)
	}
	if chunk.raw != nil {
		chunk.Strings = chunk.raw.View()
	} else {
		chunk.Strings = t.sink.view()
	}
	if t.sink.to == nil || t.sink.err != nil {
		chunk.Release()
		return
	}
	if err := t.sink.to.Chunk(chunk); err != nil {
		t.sink.err = err
	}
}

// check calls unset for each column that has no value in a row although it may not be NULL.
func (t *Table) check(c *Chunk) {
	t.unpark(c)
	for i, column := range t.columns {
		if column.complete(&c.vectors[i], c.Rows) {
			continue
		}
		for _, declared := range t.schema.Columns {
			if declared.stored == i {
				t.sink.unset(t.schema.Name, declared.Name)
			}
		}
	}
}

// finish seals every row, including those of the derived tables. The column type names the
// derived table that a row is in.
func (t *Table) finish(derived []*Table) {
	if t.rows > t.base {
		t.close()
	}
	all := make([]derivation, len(derived))
	for i, d := range derived {
		all[i] = derive(d, t)
	}
	for len(t.closed) > 0 {
		chunk := t.closed[0]
		if len(all) > 0 {
			t.unpark(chunk)
			t.derive(all, chunk.Base, chunk.Base+int64(chunk.Rows))
		}
		t.seal()
	}
	for _, d := range derived {
		d.finish(nil)
	}
}

// derive copies the rows from first to end to the derived tables they belong to, and sets their
// type to the last of these.
func (t *Table) derive(all []derivation, first, end int64) {
	types := t.columns[t.schema.stored("type")].(*String)
	own := t.sink.strings.Intern(t.schema.Name)
	for row := first; row < end; row++ {
		name := own
		for i := range all {
			if all[i].has(row) {
				name = all[i].name
			}
		}
		types.Set(row, name)
		for i := range all {
			if all[i].has(row) {
				all[i].copy(row)
			}
		}
	}
}

// derivation copies the rows that belong to a derived table.
type derivation struct {
	to      *Table
	name    StringID
	tests   []rowTest
	sources []storage // source of each column of to, nil if there is none
}

// rowTest is a Condition bound to a column.
type rowTest struct {
	column storage
	values []StringID
}

func derive(to, from *Table) derivation {
	d := derivation{to: to, name: to.sink.strings.Intern(to.schema.Name), sources: make([]storage, len(to.columns))}
	for _, where := range to.schema.Where {
		test := rowTest{column: from.columns[from.schema.stored(where.Column)]}
		for _, v := range where.Values {
			test.values = append(test.values, to.sink.strings.Intern(v))
		}
		d.tests = append(d.tests, test)
	}
	for _, c := range to.schema.Columns {
		if i := from.schema.stored(cmp.Or(c.From, c.Name)); i >= 0 && c.stored >= 0 {
			d.sources[c.stored] = from.columns[i]
		}
	}
	return d
}

func (t *rowTest) holds(row int64) bool {
	if t.values == nil {
		return t.column.has(row)
	}
	v, _ := t.column.(*String).Get(row)
	return slices.Contains(t.values, v)
}

// has reports whether every test holds for a row.
func (d *derivation) has(row int64) bool {
	for i := range d.tests {
		if !d.tests[i].holds(row) {
			return false
		}
	}
	return true
}

func (d *derivation) copy(row int64) {
	to := d.to.Append()
	d.to.SetID(to, row)
	for i, source := range d.sources {
		if source != nil {
			d.to.columns[i].copyFrom(source, to, row)
		}
	}
}

// Inherit copies the columns of the parent's row with this id to a child's row. Neither row may
// be sealed.
func (t *Table) Inherit(row int64, parent *Table, id int64) {
	parent.settle()
	t.SetID(row, id)
	for i, c := range parent.schema.Columns {
		if c.stored >= 0 {
			t.columns[t.schema.Columns[i].stored].copyFrom(parent.columns[c.stored], row, id)
		}
	}
}

// Pin keeps the row's chunk from being sealed until Unpin.
func (t *Table) Pin(row int64) {
	if row >= t.base {
		t.pins++
		return
	}
	t.closedChunk(row).pins++
}

// Unpin reverts one Pin of the row.
func (t *Table) Unpin(row int64) {
	if row >= t.base {
		t.pins--
		return
	}
	chunk := t.closedChunk(row)
	chunk.pins--
	if chunk.pins == 0 && chunk == t.closed[0] {
		t.flush()
	}
}

// closedChunk returns the chunk of a row that is neither open nor sealed. Any other row is a
// bug in a tracker, never the fault of the input.
func (t *Table) closedChunk(row int64) *Chunk {
	if len(t.closed) == 0 || row < t.closed[0].Base {
		panic(fmt.Sprintf("table: row %d of %s is sealed", row, t.schema.Name))
	}
	// All chunks that were not cut have the same number of rows.
	if i := (row - t.closed[0].Base) / int64(t.chunkRows); i < int64(len(t.closed)) && t.closed[i].has(row) {
		return t.closed[i]
	}
	i := sort.Search(len(t.closed), func(i int) bool { return t.closed[i].Base > row })
	return t.closed[i-1]
}

func (c *Chunk) has(row int64) bool { return c.Base <= row && row < c.Base+int64(c.Rows) }
