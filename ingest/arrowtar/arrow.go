package arrowtar

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tpconvert/tpconvert/model/table"
)

// Arrow's IPC files as Trace Processor writes them: messages of metadata (Message.fbs, in Flatbuffers) and body, one after
// the other. The first has the schema, some have the dictionaries of texts, and one has all rows of the table. They are read in
// this order, without the footer, so that a file that ends early is read as far as it goes. The columns are read in
// pieces: a table may be larger than memory.

var (
	errDamaged = errors.New("damaged")
	magic      = []byte("ARROW1\x00\x00")
)

// file is an Arrow file.
type file struct {
	at      io.ReaderAt
	size    int64
	offset  int64 // in the archive
	rows    int64
	columns []column
}

type column struct {
	name       string
	text       bool // values are positions in the dictionary
	float      bool
	signed     bool
	width      int64 // bytes of a value
	dictionary int64 // id of the dictionary
	texts      dictionary

	valid, values span // valid has one bit for each row; it is empty if no row is NULL
}

// dictionary has the texts of a column.
type dictionary struct {
	rows          int64
	offsets, data span
	ids           []table.StringID
}

// The numbers of Arrow's types and message headers.
const (
	typeInt, typeFloat, typeUTF8                     = 2, 3, 5
	headerSchema, headerDictionaryBatch, headerBatch = 1, 2, 3
)

// openFile reads the metadata of a file.
func openFile(at io.ReaderAt, size int64) (*file, error) {
	f := &file{at: at, size: size}
	head := make([]byte, len(magic))
	if _, err := at.ReadAt(head, 0); err != nil || string(head) != string(magic) {
		return nil, errors.New("not an Arrow file")
	}
	for at := int64(len(magic)); ; {
		head, body, next, err := f.message(at)
		if err != nil {
			return nil, fmt.Errorf("the Arrow message at byte %d: %w", at, err)
		}
		at = next
		switch kind, header := head.byte(1), head.table(2); kind {
		case headerSchema:
			f.schema(header)
		case headerDictionaryBatch:
			f.dictionary(header, body)
		case headerBatch:
			f.batch(header, body)
			if head.buffer.bad {
				return nil, fmt.Errorf("the rows: %w", errDamaged)
			}
			return f, nil
		default:
			head.buffer.bad = true
		}
		if head.buffer.bad {
			return nil, fmt.Errorf("the Arrow message at byte %d: %w", at, errDamaged)
		}
	}
}

// The most of each: a table has some 40 columns at most. Parts of the metadata may overlap, so that the number of columns and the
// size of their names are limited, too.
const (
	maxMetadata = 1 << 20
	maxColumns  = 1000
	maxName     = 256
)

// message returns the metadata of a message, its body and the offset of the next message.
func (f *file) message(at int64) (meta flatTable, body span, next int64, err error) {
	var prefix [8]byte
	if _, err := f.at.ReadAt(prefix[:], at); err != nil {
		return flatTable{}, span{}, 0, io.ErrUnexpectedEOF
	}
	length := int64(binary.LittleEndian.Uint32(prefix[4:]))
	if binary.LittleEndian.Uint32(prefix[:]) != math.MaxUint32 || length == 0 || length > maxMetadata {
		return flatTable{}, span{}, 0, errDamaged
	}
	b := &buffer{b: make([]byte, length)}
	if _, err := f.at.ReadAt(b.b, at+8); err != nil {
		return flatTable{}, span{}, 0, io.ErrUnexpectedEOF
	}
	meta = flatTable{b, b.u32(0)}
	body = span{at: f.at, off: at + 8 + length, size: meta.i64(3)}
	if b.bad || body.size < 0 || body.size > f.size-body.off {
		return flatTable{}, span{}, 0, io.ErrUnexpectedEOF
	}
	return meta, body, body.off + body.size, nil
}

func (f *file) schema(t flatTable) {
	for field := range t.tables(1) {
		c := column{name: field.text(0), dictionary: -1}
		kind := field.table(3)
		switch field.byte(2) {
		case typeInt:
			c.width, c.signed = int64(kind.u32(0))/8, kind.byte(1) != 0
		case typeFloat:
			c.width, c.float = 8, true
			t.buffer.bad = t.buffer.bad || kind.byte(0) != 2
		case typeUTF8:
			c.width, c.signed, c.text = 4, true, true
			c.dictionary = field.table(4).i64(0)
		}
		if c.width != 4 && c.width != 8 || len(f.columns) == maxColumns {
			t.buffer.bad = true
			return
		}
		f.columns = append(f.columns, c)
	}
}

func (f *file) dictionary(t flatTable, body span) {
	batch := t.table(1)
	buffers := batch.pairs(2)
	rows := batch.i64(0)
	if len(buffers) != 3 || rows < 0 || rows > math.MaxInt32 {
		t.buffer.bad = true
		return
	}
	d := dictionary{rows: rows, offsets: t.buffer.part(body, buffers[1], 4*(rows+1)), data: t.buffer.part(body, buffers[2], 0)}
	if !t.buffer.bad && !d.inOrder() {
		t.buffer.bad = true
	}
	for i := range f.columns {
		if c := &f.columns[i]; c.text && c.dictionary == t.i64(0) {
			c.texts = d
		}
	}
}

func (f *file) batch(t flatTable, body span) {
	f.rows = t.i64(0)
	buffers := t.pairs(2)
	if len(buffers) != 2*len(f.columns) || f.rows < 0 || f.rows > math.MaxUint32 || f.rows > 0 && len(f.columns) == 0 {
		t.buffer.bad = true
		return
	}
	for i := range f.columns {
		c := &f.columns[i]
		if buffers[2*i][1] > 0 {
			c.valid = t.buffer.part(body, buffers[2*i], (f.rows+7)/8)
		}
		c.values = t.buffer.part(body, buffers[2*i+1], f.rows*c.width)
	}
}

// column returns the column with this name, or nil.
func (f *file) column(name string) *column {
	if f == nil {
		return nil
	}
	for i := range f.columns {
		if f.columns[i].name == name {
			return &f.columns[i]
		}
	}
	return nil
}

// has reports whether the row is not NULL. A column that the file lacks is NULL.
func (c *column) has(row int64) bool {
	if c == nil {
		return false
	}
	return c.valid.size == 0 || c.valid.get(row>>3, 1)[0]>>(row&7)&1 != 0
}

// int returns the integer in a row that is not NULL.
func (c *column) int(row int64) int64 {
	b := c.values.get(row*c.width, int(c.width))
	switch {
	case c.width == 8:
		return int64(binary.LittleEndian.Uint64(b))
	case c.signed:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint32(b))
}

// number returns the integer in a row, if it is not NULL.
func (c *column) number(row int64) (v int64, ok bool) {
	if !c.has(row) {
		return 0, false
	}
	return c.int(row), true
}

func (c *column) real(row int64) float64 { return math.Float64frombits(uint64(c.int(row))) }

// id returns the text in a row, if there is one and the dictionary has it.
func (c *column) id(row int64) (id table.StringID, ok bool) {
	v := c.int(row)
	if v < 0 || v >= int64(len(c.texts.ids)) {
		return 0, false
	}
	return c.texts.ids[v], true
}

// intern reads the texts of the dictionary, up to a number of bytes.
func (d *dictionary) intern(pool *table.StringPool, bytes int64) {
	d.ids = nil
	var text []byte
	for i := range d.rows {
		var ok bool
		if text, ok = d.text(i, text[:0]); !ok || bytes < 0 {
			return
		}
		bytes -= int64(len(text))
		d.ids = append(d.ids, pool.InternBytes(text))
	}
}

// inOrder reports whether the texts follow each other. If they overlapped, a small file could have any amount of text.
func (d *dictionary) inOrder() bool {
	last := int64(0)
	for i := range d.rows + 1 {
		offset := int64(binary.LittleEndian.Uint32(d.offsets.get(4*i, 4)))
		if offset < last || offset > d.data.size {
			return false
		}
		last = offset
	}
	return true
}

// text appends a text of the dictionary to b.
func (d *dictionary) text(i int64, b []byte) (text []byte, ok bool) {
	if i < 0 || i >= d.rows {
		return b, false
	}
	from := int64(binary.LittleEndian.Uint32(d.offsets.get(4*i, 4)))
	to := int64(binary.LittleEndian.Uint32(d.offsets.get(4*i+4, 4)))
	if from > to || to > d.data.size {
		return b, false
	}
	for from < to {
		n := min(to-from, pageSize/2)
		b = append(b, d.data.get(from, int(n))...)
		from += n
	}
	return b, true
}

// span is a part of a file, of which a page is in memory.
type span struct {
	at        io.ReaderAt
	off, size int64
	page      []byte
	from      int64 // offset of the page in the span
}

const pageSize = 64 << 10

// get returns n bytes from an offset in the span. Those that cannot be read are 0; the file's reader has the error.
func (s *span) get(off int64, n int) []byte {
	if off < s.from || off+int64(n) > s.from+int64(len(s.page)) {
		s.page = append(s.page[:0], make([]byte, min(pageSize, s.size-off))...)
		s.from = off
		if read, err := s.at.ReadAt(s.page, s.off+off); err != nil {
			clear(s.page[read:])
		}
	}
	return s.page[off-s.from:][:n]
}

// buffer is Flatbuffers' data. What lies outside of it is 0, and makes it bad.
type buffer struct {
	b   []byte
	bad bool
}

func (b *buffer) at(pos, n int) []byte {
	if pos < 0 || pos > len(b.b)-n {
		b.bad = true
		return make([]byte, n)
	}
	return b.b[pos : pos+n]
}

func (b *buffer) u16(pos int) int   { return int(binary.LittleEndian.Uint16(b.at(pos, 2))) }
func (b *buffer) u32(pos int) int   { return int(binary.LittleEndian.Uint32(b.at(pos, 4))) }
func (b *buffer) i64(pos int) int64 { return int64(binary.LittleEndian.Uint64(b.at(pos, 8))) }

// part returns the part of a body that a pair of offset and length names. It must have at least some bytes.
func (b *buffer) part(body span, pair [2]int64, least int64) span {
	off, size := pair[0], pair[1]
	if off < 0 || size < least || off > body.size || size > body.size-off {
		b.bad = true
		return span{}
	}
	return span{at: body.at, off: body.off + off, size: size}
}

// flatTable is a table of Flatbuffers: fields by number, each of which may be missing.
type flatTable struct {
	buffer *buffer
	pos    int // 0 for a missing one, all of whose fields are missing
}

// field returns the position of a field, or 0.
func (t flatTable) field(n int) int {
	if t.pos == 0 {
		return 0
	}
	fields := t.pos - int(int32(t.buffer.u32(t.pos)))
	if 4+2*n >= t.buffer.u16(fields) {
		return 0
	}
	off := t.buffer.u16(fields + 4 + 2*n)
	if off == 0 {
		return 0
	}
	return t.pos + off
}

// to returns the position that a field refers to, or 0.
func (t flatTable) to(n int) int {
	at := t.field(n)
	if at == 0 {
		return 0
	}
	return at + t.buffer.u32(at)
}

func (t flatTable) byte(n int) byte {
	if at := t.field(n); at != 0 {
		return t.buffer.at(at, 1)[0]
	}
	return 0
}

func (t flatTable) u32(n int) int {
	if at := t.field(n); at != 0 {
		return t.buffer.u32(at)
	}
	return 0
}

func (t flatTable) i64(n int) int64 {
	if at := t.field(n); at != 0 {
		return t.buffer.i64(at)
	}
	return 0
}

func (t flatTable) table(n int) flatTable { return flatTable{t.buffer, t.to(n)} }

func (t flatTable) text(n int) string {
	at := t.to(n)
	if at == 0 {
		return ""
	}
	return string(t.buffer.at(at+4, min(t.buffer.u32(at), maxName)))
}

// tables returns the tables in a vector.
func (t flatTable) tables(n int) func(yield func(flatTable) bool) {
	return func(yield func(flatTable) bool) {
		at := t.to(n)
		if at == 0 {
			return
		}
		for i := range t.buffer.u32(at) {
			place := at + 4 + 4*i
			if element := (flatTable{t.buffer, place + t.buffer.u32(place)}); t.buffer.bad || !yield(element) {
				return
			}
		}
	}
}

// pairs returns the structs of two int64 in a vector.
func (t flatTable) pairs(n int) (all [][2]int64) {
	at := t.to(n)
	if at == 0 {
		return nil
	}
	for i := range t.buffer.u32(at) {
		all = append(all, [2]int64{t.buffer.i64(at + 4 + 16*i), t.buffer.i64(at + 12 + 16*i)})
		if t.buffer.bad {
			return nil
		}
	}
	return all
}
