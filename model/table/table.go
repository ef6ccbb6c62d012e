package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
)

// DefaultChunkRows is how many rows a chunk has unless told otherwise. A chunk
// becomes a Parquet row group.
const DefaultChunkRows = 256 << 10

const firstCapacity = 64

// chunkText is how many bytes of large texts a chunk has at most, but for its last
// row.
const chunkText = 8 << 20

// Table is embedded in the declaration of every table. It counts rows and
// moves them in chunks to the sink.
//
// Rows are appended at the end and may be changed until their chunk is sealed.
// A chunk is sealed once it is full, no row in it is pinned and every chunk
// before it is sealed; the tables of Schema.Held seal at the end only.
type Table struct {
	schema    *Schema
	columns   []storage
	ids       Int64 // ids of the rows of children and sparse tables; of others they are the row numbers
	rows      int64 // appended ever
	base      int64 // first row of the open chunk
	room      int64 // row that the open chunk has no room for
	capacity  int   // rows that it has memory for
	chunkRows int
	text      int64                 // bytes of text of the open chunk that Weigh was told of
	large     map[StringID]struct{} // large texts of it
	pins      int                   // pinned rows of the open chunk
	closed    []*Chunk              // full, not sealed, in order
	sink      *sink
	spare     chan []Vector
}

// Sink takes sealed chunks. It may keep a chunk as long as it wants and calls
// Release when it is done. An error ends the conversion.
type Sink interface {
	Chunk(*Chunk) error
}

// sink is the store's sink and the first error that it returned.
type sink struct {
	to      Sink
	strings *StringPool
	view    func() StringView // of strings, with all that rows refer to
	parking parking
	err     error
}

// Chunk is a run of rows of one table that will not change any more. The ids of
// its text are those of Strings; another chunk may have others for the same text.
type Chunk struct {
	Schema  *Schema
	Base    int64 // row number of the first row
	Rows    int
	Text    int64 // bytes of its large texts, about
	Strings StringView

	vectors []Vector
	size    int64   // of the vectors when the chunk was closed, bytes
	parked  *parked // where the columns are if they are not in memory
	pins    int
	table   *Table
	once    sync.Once
}

// Column returns the values of the schema's column i. The columns of ids have
// none: their values are Base, Base+1, ...
func (c *Chunk) Column(i int) Vector {
	if stored := c.Schema.Columns[i].stored; stored >= 0 {
		return c.vectors[stored]
	}
	return Vector{}
}

// Release gives the chunk's memory back to its table.
func (c *Chunk) Release() {
	c.once.Do(func() {
		c.table.recycle(c.vectors)
		c.vectors = nil
	})
}

// recycle keeps the memory of a chunk's columns for another chunk.
func (t *Table) recycle(vectors []Vector) {
	select {
	case t.spare <- vectors:
	default:
	}
}

func (t *Table) bind(s *Schema, chunkRows int, to *sink) {
	t.schema, t.chunkRows, t.sink = s, chunkRows, to
	t.spare = make(chan []Vector, 1)
}

// Schema returns the table's declaration.
func (t *Table) Schema() *Schema { return t.schema }

// Err is the first error of the table's sink.
func (t *Table) Err() error { return t.sink.err }

// Rows is how many rows were appended.
func (t *Table) Rows() int64 { return t.rows }

// Append adds a row of NULLs and zeros and returns its number, which is also
// its id, except in a child table, where SetID sets it.
func (t *Table) Append() int64 {
	row := t.rows
	if row == t.room {
		t.extend()
	}
	t.rows++
	return row
}

// AppendRows is Append for up to n rows, as many as there is room for in the open
// chunk, one at least. It returns the first and how many there are.
func (t *Table) AppendRows(n int) (row int64, added int) {
	row = t.Append()
	added = int(min(int64(n), t.room-row))
	t.rows = row + int64(added)
	return row, added
}

// SetID sets the id of a row of a sparse table or, the id of its row in the parent, of a child.
func (t *Table) SetID(row, id int64) { t.ids.Set(row, id) }

// extend makes room for a row: more memory for the open chunk, or a new one.
func (t *Table) extend() {
	if t.schema.Abstract {
		t.room = math.MaxInt64
		return
	}
	if t.capacity < t.chunkRows && t.text < chunkText {
		t.capacity = min(t.chunkRows, max(firstCapacity, 4*t.capacity))
		t.room = t.base + int64(t.capacity)
		for _, c := range t.columns {
			c.resize(t.capacity)
		}
		return
	}
	t.Cut()
}

// Weigh tells the table of bytes of text that are new in the open chunk. A chunk
// with too many ends early: no other row is added to it.
func (t *Table) Weigh(bytes int64) {
	if t.text += bytes; t.text >= chunkText {
		t.room = t.rows
	}
}

// weighText weighs a text if it is large.
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

// Cut ends the open chunk before it is full, if it has rows.
func (t *Table) Cut() {
	if t.rows == t.base {
		return
	}
	t.close()
	t.flush()
	t.sink.err = cmp.Or(t.sink.err, t.sink.parking.relieve(t))
}

// close ends the open chunk and begins the next.
func (t *Table) close() {
	rows := int(t.rows - t.base)
	chunk := &Chunk{Schema: t.schema, Base: t.base, Rows: rows, Text: t.text, table: t, pins: t.pins, vectors: make([]Vector, len(t.columns))}
	var reuse []Vector
	select {
	case reuse = <-t.spare:
	default:
	}
	t.base, t.pins = t.rows, 0
	t.room = t.base + int64(t.capacity)
	t.text, t.large = 0, nil
	for i, c := range t.columns {
		chunk.vectors[i] = c.detach(rows)
		var v Vector
		if reuse != nil {
			v = reuse[i]
		}
		c.reset(t.base, v)
	}
	t.closed = append(t.closed, chunk)
	chunk.size = chunk.bytes()
	t.sink.parking.waiting += chunk.size
}

// unpark brings the columns of a closed chunk back to memory.
func (t *Table) unpark(c *Chunk) {
	if c.parked == nil {
		return
	}
	if err := t.sink.parking.unpark(c); err != nil {
		t.sink.err = cmp.Or(t.sink.err, err)
	}
}

// flush seals the closed chunks up to the first with a pinned row.
func (t *Table) flush() {
	if t.schema.Held {
		return
	}
	for len(t.closed) > 0 && t.closed[0].pins == 0 {
		t.seal()
	}
}

// seal passes the first closed chunk on.
func (t *Table) seal() {
	chunk := t.closed[0]
	t.closed = slices.Delete(t.closed, 0, 1)
	t.unpark(chunk)
	t.sink.parking.waiting -= chunk.size
	chunk.Strings = t.sink.view()
	if t.sink.to == nil || t.sink.err != nil {
		chunk.Release()
		return
	}
	if err := t.sink.to.Chunk(chunk); err != nil {
		t.sink.err = err
	}
}

// finish seals every row, those of the derived tables, too. The column type says
// which of them a row is in.
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
		t.unpark(chunk)
		if len(all) > 0 {
			t.derive(all, chunk.Base, chunk.Base+int64(chunk.Rows))
		}
		t.seal()
	}
	for _, d := range derived {
		d.finish(nil)
	}
}

// derive copies the rows first to end to the derived tables that they belong to, and
// sets their type to the last of these.
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

// derivation copies to a derived table the rows that belong there.
type derivation struct {
	to      *Table
	name    StringID
	tests   []rowTest
	sources []storage // by column of to, nil where there is none
}

// rowTest is a Condition.
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

// Inherit copies to a child's row what the parent has in the row with this id.
// Neither may be sealed.
func (t *Table) Inherit(row int64, parent *Table, id int64) {
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

// Unpin undoes one Pin of the row.
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

// closedChunk returns the chunk of a row that is neither open nor sealed.
// Asking for any other row is a mistake in a tracker, not in the input.
func (t *Table) closedChunk(row int64) *Chunk {
	if len(t.closed) == 0 || row < t.closed[0].Base {
		panic(fmt.Sprintf("table: row %d of %s is sealed", row, t.schema.Name))
	}
	// Chunks that were not cut have as many rows as each other.
	if i := (row - t.closed[0].Base) / int64(t.chunkRows); i < int64(len(t.closed)) && t.closed[i].has(row) {
		return t.closed[i]
	}
	i := sort.Search(len(t.closed), func(i int) bool { return t.closed[i].Base > row })
	return t.closed[i-1]
}

func (c *Chunk) has(row int64) bool { return c.Base <= row && row < c.Base+int64(c.Rows) }
