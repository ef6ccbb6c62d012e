package parquet

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/tpconvert/tpconvert/export/encoding"
	"github.com/tpconvert/tpconvert/model/table"
)

// group is an encoded chunk: its bytes in the file, and their description for
// the file's metadata.
type group struct {
	rows    int
	bytes   []byte
	columns []Column
}

// Column is the part of a row group for one column.
type Column struct {
	encoding  parquet.Encoding // encoding of the data pages
	pages     []page
	Bounds    Bounds
	Nulls     int
	Size, raw int                         // size of the pages with their headers; raw is the size before compression
	filter    metadata.BloomFilterBuilder // or nil
}

// dictionary reports whether the first page is a dictionary.
func (c *Column) dictionary() bool { return c.encoding == parquet.Encodings.RLEDict }

// encode builds the row group of a chunk. far marks the columns whose values are
// too far apart for DELTA_BINARY_PACKED, and filtered the text columns with a bloom filter.
func (s *Scratch) encode(c *table.Chunk, far, filtered []bool, with Codec) error {
	s.codec = with
	s.group.rows, s.group.bytes = c.Rows, s.group.bytes[:0]
	s.group.columns = grow(&s.group.columns, len(c.Schema.Columns))
	for i, column := range c.Schema.Columns {
		if repeats(c, i) {
			s.repeat(i)
			s.group.columns[i].filter = s.filter(c, filtered[i])
			continue
		}
		s.column = &s.group.columns[i]
		*s.column = Column{pages: s.column.pages[:0], encoding: columnEncoding(&column, far[i])}
		values, valid, err := s.values(c, i, far[i])
		if err != nil {
			return fmt.Errorf("column %s: %w", column.Name, err)
		}
		s.column.filter = s.filter(c, filtered[i])
		s.paginate(&column, c.Rows, values, valid)
		if i > 0 {
			c.Drop(i - 1) // the next column may still repeat this one
		}
	}
	return nil
}

// The size of a bloom filter is chosen for this rate of false positives, up to a number of bytes.
const (
	falsePositives = 0.01
	maxFilter      = 1 << 20
)

// filter returns a bloom filter of the last text column that was encoded, or nil if none is wanted.
func (s *Scratch) filter(c *table.Chunk, wanted bool) metadata.BloomFilterBuilder {
	if !wanted {
		return nil
	}
	filter := metadata.NewBloomFilterFromNDVAndFPP(uint32(max(len(s.words.Words), 1)), falsePositives, maxFilter, memory.DefaultAllocator)
	for _, word := range s.words.Words {
		s.raw = c.Strings.Append(s.raw[:0], word)
		filter.InsertHash(filter.Hasher().Sum64(s.raw))
	}
	return filter
}

// repeats reports whether a text column equals the previous column. This is
// common for args, where most keys are flat.
func repeats(c *table.Chunk, i int) bool {
	if i == 0 {
		return false
	}
	before, _ := c.Column(i - 1).Values.([]table.StringID)
	ids, _ := c.Column(i).Values.([]table.StringID)
	return ids != nil && slices.Equal(ids, before)
}

// repeat copies the previous column.
func (s *Scratch) repeat(i int) {
	g := &s.group
	before, pages := g.columns[i-1], g.columns[i].pages[:0]
	start := before.pages[0].start
	moved := len(g.bytes) - start
	g.bytes = append(g.bytes, g.bytes[start:]...)
	for _, p := range before.pages {
		p.start += moved
		p.end += moved
		pages = append(pages, p)
	}
	before.pages = pages
	g.columns[i] = before
}

// columnEncoding returns the encoding of values without a dictionary.
func columnEncoding(c *table.Column, far bool) parquet.Encoding {
	if !far && (c.Type == table.TypeInt64 || c.Type == table.TypeInt32) {
		return parquet.Encodings.DeltaBinaryPacked
	}
	return parquet.Encodings.Plain
}

// values returns the encoder of a column, and the bits of the rows that have a
// value. If the column has a dictionary, it is written first.
func (s *Scratch) values(c *table.Chunk, i int, far bool) (pageEncoder, []byte, error) {
	v := c.Column(i)
	switch values := v.Values.(type) {
	case []int64:
		if far {
			return s.wide(values, v.Valid, integerBounds[int64]), v.Valid, nil
		}
		return deltaPages(values, &s.int64s), v.Valid, nil
	case []int32:
		return deltaPages(values, &s.int32s), v.Valid, nil
	case []float64:
		words := arrow.Int64Traits.CastFromBytes(arrow.Float64Traits.CastToBytes(values))
		return s.wide(words, v.Valid, floatBounds), v.Valid, nil
	case []bool:
		return boolPages(values, &s.bools), v.Valid, nil
	case []table.StringID:
		return s.text(values, c.Strings)
	}
	if c.Schema.Columns[i].Row {
		return sequencePages(c.Base), nil, nil
	}
	valid := grow(&s.valid, (c.Rows+7)/8)
	clear(valid)
	return emptyPages(s.column.encoding), valid, nil
}

// wide returns the encoder of 64-bit values. It uses a dictionary unless too many
// values are distinct.
func (s *Scratch) wide(values []int64, valid []byte, limits func([]int64) Bounds) pageEncoder {
	indices := grow(&s.indices, len(values))
	if !s.numbers.encode(values, valid, indices, len(values)/4) {
		return plainPages(values, limits, &s.int64s)
	}
	words := s.numbers.values
	s.raw = appendPlain(s.raw[:0], words)
	return s.indexed(indices, len(words), limits(words))
}

// text returns the encoder of text, and the bits of the texts that are not NULL.
func (s *Scratch) text(ids []table.StringID, view table.StringView) (pageEncoder, []byte, error) {
	indices, valid := grow(&s.indices, len(ids)), grow(&s.valid, (len(ids)+7)/8)
	s.words.Reset()
	s.words.Encode(ids, indices, valid)
	words := s.words.Words
	size, err := encoding.TextBytes(words, view)
	if err != nil {
		return nil, nil, err
	}
	s.raw = grow(&s.raw, size+4*len(words))[:0]
	for _, word := range words {
		s.raw = binary.LittleEndian.AppendUint32(s.raw, uint32(view.Size(word)))
		s.raw = view.Append(s.raw, word)
	}
	return s.indexed(indices, len(words), textBounds(words, view)), valid, nil
}

// indexed adds the dictionary of n values in s.raw. A column without values has
// no dictionary.
func (s *Scratch) indexed(indices []int32, n int, b Bounds) pageEncoder {
	if n == 0 {
		return emptyPages(s.column.encoding)
	}
	s.column.encoding = parquet.Encodings.RLEDict
	s.addPage(page{values: n}, false)
	return indexPages(indices, n, b, &s.int32s)
}

// paginate encodes the rows of a column.
func (s *Scratch) paginate(column *table.Column, rows int, values pageEncoder, valid []byte) {
	dense := false
	for from := 0; from < rows; from += PageRows {
		to := min(from+PageRows, rows)
		p := page{rows: to - from, values: to - from}
		s.raw = s.raw[:0]
		var bits []byte
		if column.Nullable {
			bits = valid[from/8 : (to+7)/8]
			p.values = encoding.Present(bits, p.rows)
			s.raw = appendLevels(s.raw, bits, p.rows)
			if p.values == p.rows {
				bits = nil
			}
		}
		s.raw, p.bounds = values(s.raw, from, to, bits)
		if p.values == 0 {
			p.bounds = Bounds{}
		}
		dense = s.addPage(p, dense)
		s.column.Nulls += p.rows - p.values
		s.column.Bounds.Add(p.bounds, column.Type)
	}
}

// addPage compresses the page in s.raw and adds it to the column. It reports
// whether the page is dense.
func (s *Scratch) addPage(p page, dense bool) bool {
	g, c := &s.group, s.column
	body := s.compress(s.raw, dense)
	p.start = len(g.bytes)
	g.bytes = appendPageHeader(g.bytes, &p, c.encoding, len(s.raw), len(body))
	c.raw += len(g.bytes) - p.start + len(s.raw)
	g.bytes = append(g.bytes, body...)
	p.end = len(g.bytes)
	c.Size += p.end - p.start
	c.pages = append(c.pages, p)
	return isDense(s.raw, body)
}
