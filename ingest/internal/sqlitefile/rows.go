package sqlitefile

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"sort"
)

const (
	tableLeaf     = 0x0d
	tableInterior = 0x05
	// maxDepth is more than the depth of any tree of 2^32 pages.
	maxDepth = 40
	// maxRow is the size in bytes up to which a row is read; SQLite's own limit is 1 GB.
	maxRow = 64 << 20
)

// Rows goes through the rows of a table in the order of their ids. A damaged part is reported and skipped.
type Rows struct {
	Row
	Err error // of reading the file

	file     *File
	seen     []uint64 // pages that were read, so that none is read twice; nil for a Lookup
	spare    int64    // bytes of overflow pages that a Lookup may still read
	path     []node   // from the root to the leaf
	overflow []byte
	page     []byte // of overflow
}

// node is a page of the tree, and the next of its cells.
type node struct {
	number uint32
	page   []byte
	header int // offset of the page's header
	cell   int
	cells  int
}

// Rows returns the table's rows.
func (t *Table) Rows() *Rows {
	r := &Rows{Row: Row{table: t}, file: t.file}
	switch {
	case t.root == withoutRowID:
		t.file.Damaged(0, "table "+t.Name+" has no row ids, which is not supported")
	case t.root != 0:
		r.seen = make([]uint64, t.file.pages/64+1)
		r.descend(t.root)
	}
	return r
}

// Next reads the next row, if there is one.
func (r *Rows) Next() bool {
	for len(r.path) > 0 && r.Err == nil {
		n := &r.path[len(r.path)-1]
		if n.cell > n.cells || n.cell == n.cells && n.leaf() {
			r.path = r.path[:len(r.path)-1]
			continue
		}
		at := n.cellAt(n.cell)
		n.cell++
		if !n.leaf() {
			if at+4 > len(n.page) {
				r.damaged(n.number, "a cell outside of its page")
				continue
			}
			r.descend(binary.BigEndian.Uint32(n.page[at:]))
			continue
		}
		if why := r.read(n, at); why != "" {
			r.damaged(n.number, why)
			continue
		}
		return r.Err == nil
	}
	return false
}

// Count returns the number of rows, without reading them.
func (t *Table) Count() int64 {
	n := int64(0)
	for r := t.Rows(); len(r.path) > 0 && r.Err == nil; {
		top := &r.path[len(r.path)-1]
		switch {
		case top.leaf():
			n += int64(top.cells)
			top.cell = top.cells + 1
			fallthrough
		case top.cell > top.cells:
			r.path = r.path[:len(r.path)-1]
		default:
			at := top.cellAt(top.cell)
			top.cell++
			if at+4 <= len(top.page) {
				r.descend(binary.BigEndian.Uint32(top.page[at:]))
			}
		}
	}
	return n
}

func (n *node) leaf() bool { return n.page[n.header] == tableLeaf }

// cellAt returns where a cell starts. The last child of an interior page is in its header.
func (n *node) cellAt(i int) int {
	if i == n.cells {
		return n.header + 8
	}
	pointers := n.header + 8
	if !n.leaf() {
		pointers += 4
	}
	return int(binary.BigEndian.Uint16(n.page[pointers+2*i:]))
}

func (r *Rows) damaged(page uint32, why string) {
	r.file.Damaged(int64(page-1)*r.file.pageSize, "table "+r.table.Name+": "+why)
}

// descend adds a page to the path.
func (r *Rows) descend(number uint32) {
	if len(r.path) == maxDepth {
		r.damaged(number, "its tree is too deep")
		return
	}
	depth := len(r.path)
	if cap(r.path) > depth {
		r.path = r.path[:depth+1]
	} else {
		r.path = append(r.path, node{})
	}
	n := &r.path[depth]
	n.number, n.cell, n.header = number, 0, 0
	if number == 1 {
		n.header = headerSize
	}
	why := r.load(number, &n.page)
	if why == "" {
		n.cells = int(binary.BigEndian.Uint16(n.page[n.header+3:]))
		kind, pointers := n.page[n.header], n.header+8
		if kind == tableInterior {
			pointers += 4
		}
		if kind != tableLeaf && kind != tableInterior || pointers+2*n.cells > len(n.page) {
			why = "a page is not part of a table"
		}
	}
	if why != "" {
		r.damaged(max(number, 1), why)
		r.path = r.path[:depth]
	}
}

// load reads a page that was not read before.
func (r *Rows) load(number uint32, into *[]byte) (why string) {
	if number == 0 || number > r.file.pages {
		return "it refers to a page that is not in the file"
	}
	if r.seen != nil {
		bit := uint64(1) << (number % 64)
		if r.seen[number/64]&bit != 0 {
			return "it refers to a page twice"
		}
		r.seen[number/64] |= bit
	}
	if *into == nil {
		*into = make([]byte, r.file.usable)
	}
	if _, err := r.file.at.ReadAt(*into, int64(number-1)*r.file.pageSize); err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
		return "it cannot be read"
	}
	return ""
}

// read reads the row in a cell of a leaf.
func (r *Rows) read(n *node, at int) (why string) {
	const outside = "a cell outside of its page"
	if at >= len(n.page) {
		return outside
	}
	cell := n.page[at:]
	size, used := varint(cell)
	if used == 0 {
		return outside
	}
	cell = cell[used:]
	id, used := varint(cell)
	if used == 0 {
		return outside
	}
	cell = cell[used:]
	if size > maxRow {
		return "a row is too large"
	}
	record, usable := int(size), r.file.usable
	if record > usable-35 { // the rest is in overflow pages
		least := (usable-12)*32/255 - 23
		local := least + (record-least)%(usable-4)
		if local > usable-35 {
			local = least
		}
		if local+4 > len(cell) {
			return outside
		}
		r.overflow = append(r.overflow[:0], cell[:local]...)
		for next := binary.BigEndian.Uint32(cell[local:]); len(r.overflow) < record; next = binary.BigEndian.Uint32(r.page) {
			if why := r.load(next, &r.page); why != "" {
				return why
			}
			if r.spare -= int64(r.file.usable); r.seen == nil && r.spare < 0 {
				return "rows share pages"
			}
			r.overflow = append(r.overflow, r.page[4:min(len(r.page), 4+record-len(r.overflow))]...)
		}
		cell = r.overflow
	}
	if record > len(cell) {
		return outside
	}
	if !r.Set(r.table, int64(id), cell[:record]) {
		return "a row is damaged"
	}
	return ""
}

// Lookup finds rows by their ids.
type Lookup struct{ rows Rows }

// Lookup returns a lookup in the table.
func (t *Table) Lookup() *Lookup {
	return &Lookup{Rows{Row: Row{table: t}, file: t.file, spare: 2 * int64(t.file.pages) * t.file.pageSize}}
}

// Find returns the row with an id, or nil. It is valid until the next call.
func (l *Lookup) Find(id int64) (*Row, error) {
	r := &l.rows
	if n := len(r.path); n == 0 || !r.path[n-1].has(id) {
		r.path = r.path[:0]
		if r.table.root != 0 && r.table.root != withoutRowID {
			r.descend(r.table.root)
		}
		for depth := 1; len(r.path) == depth && !r.path[depth-1].leaf(); depth++ {
			n := &r.path[depth-1]
			at := n.cellAt(n.search(id))
			if at+4 > len(n.page) {
				break
			}
			r.descend(binary.BigEndian.Uint32(n.page[at:]))
		}
	}
	if len(r.path) == 0 || r.Err != nil {
		return nil, r.Err
	}
	n := &r.path[len(r.path)-1]
	i := n.search(id)
	if !n.leaf() || i == n.cells || n.id(i) != id {
		return nil, nil
	}
	if why := r.read(n, n.cellAt(i)); why != "" {
		r.damaged(n.number, why)
		return nil, r.Err
	}
	return &r.Row, r.Err
}

// id returns the row id of a cell, or 0.
func (n *node) id(i int) int64 {
	at := n.cellAt(i)
	if n.leaf() && at < len(n.page) {
		_, used := varint(n.page[at:])
		at += used
	} else {
		at += 4
	}
	if at >= len(n.page) {
		return 0
	}
	id, _ := varint(n.page[at:])
	return int64(id)
}

// has reports whether the page is the leaf for an id.
func (n *node) has(id int64) bool {
	return n.leaf() && n.cells > 0 && n.id(0) <= id && id <= n.id(n.cells-1)
}

// search returns the first cell with this id or a greater one.
func (n *node) search(id int64) int {
	return sort.Search(n.cells, func(i int) bool { return n.id(i) >= id })
}

// Row is a row of a table.
type Row struct {
	ID     int64
	Record []byte // the row as the file has it
	table  *Table
	values []value
}

// value is where a record has a value, and its type.
type value struct {
	kind uint64
	body []byte
}

// Set makes it the row of a record. It reports whether the record is valid.
func (r *Row) Set(t *Table, id int64, record []byte) bool {
	r.table, r.ID, r.Record, r.values = t, id, record, r.values[:0]
	size, used := varint(record)
	if used == 0 || size < uint64(used) || size > uint64(len(record)) {
		return false
	}
	head, body := record[used:size], record[size:]
	for len(head) > 0 {
		kind, used := varint(head)
		length := sizeOf(kind)
		if used == 0 || length > uint64(len(body)) {
			return false
		}
		r.values = append(r.values, value{kind, body[:length]})
		head, body = head[used:], body[length:]
	}
	return true
}

// sizeOf returns the size of a value by its type.
func sizeOf(kind uint64) uint64 {
	switch {
	case kind >= 12:
		return (kind - 12) / 2
	case kind == 5:
		return 6
	case kind == 6 || kind == 7:
		return 8
	case kind < 5:
		return kind
	}
	return 0
}

// Kind is the type of a value.
type Kind uint8

// The types of values.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// Kind returns the type of a column's value. Columns that the row does not have are NULL.
func (r *Row) Kind(column int) Kind {
	if column >= 0 && column == r.table.rowid {
		return Integer
	}
	if column < 0 || column >= len(r.values) {
		return Null
	}
	switch kind := r.values[column].kind; {
	case kind >= 12 && kind%2 == 0:
		return Blob
	case kind >= 12:
		return Text
	case kind == 7:
		return Real
	case kind == 0 || kind > 9:
		return Null
	}
	return Integer
}

// Misfit returns the first column that is declared as integers and has something else, or -1. SQLite allows that.
func (r *Row) Misfit() int {
	for _, column := range r.table.integers {
		if k := r.Kind(column); k != Integer && k != Null {
			return column
		}
	}
	return -1
}

// Int returns an integer.
func (r *Row) Int(column int) (n int64, ok bool) {
	if column >= 0 && column == r.table.rowid {
		return r.ID, true
	}
	if r.Kind(column) != Integer {
		return 0, false
	}
	v := r.values[column]
	if v.kind >= 8 {
		return int64(v.kind - 8), true
	}
	n = int64(int8(v.body[0]))
	for _, b := range v.body[1:] {
		n = n<<8 | int64(b)
	}
	return n, true
}

// Number returns an integer or real number.
func (r *Row) Number(column int) (n float64, ok bool) {
	if r.Kind(column) == Real {
		return math.Float64frombits(binary.BigEndian.Uint64(r.values[column].body)), true
	}
	i, ok := r.Int(column)
	return float64(i), ok
}

// Text returns a text or blob, or nil.
func (r *Row) Text(column int) []byte {
	if k := r.Kind(column); k == Text || k == Blob {
		return r.values[column].body
	}
	return nil
}

// varint reads a number of up to 9 bytes, of which each but the ninth has 7 bits. used is 0 if it is cut off.
func varint(b []byte) (n uint64, used int) {
	for i := 0; i < len(b); i++ {
		if i == 8 {
			return n<<8 | uint64(b[i]), 9
		}
		n = n<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}
