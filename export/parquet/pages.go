package parquet

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/tpconvert/tpconvert/export/encoding"
)

// Target takes the values of a column, in the order of rows.
type Target interface {
	Ints([]int64) // integers of any size, and flags as 0 or 1
	Reals([]float64)
	Texts([]uint32)         // by their numbers
	Number(b []byte) uint32 // the number of a text or of bytes, which are valid during the call
	Nulls(n int)
}

// maxWidth is how many bits an index of a dictionary has at most.
const maxWidth = 32

// pages reads a column page by page, in the encodings that most files have. The library decodes a value at a time, and a text of a dictionary
// for each row that has it.
type pages[T any] struct {
	codec[T]
	*buffers[T]
	to       Target
	rows     int // of the chunk
	nullable bool
}

// buffers are memory for one column after the other.
type buffers[T any] struct {
	words   []T      // of the dictionary
	levels  []uint32 // of a page: 1 for a value, 0 for NULL
	indices []uint32 // of a page's values in the dictionary
	values  []T      // of a page
}

var (
	textBuffers    = sync.Pool{New: func() any { return new(buffers[uint32]) }}
	integerBuffers = sync.Pool{New: func() any { return new(buffers[int64]) }}
	realBuffers    = sync.Pool{New: func() any { return new(buffers[float64]) }}
)

// codec decodes values of a physical type.
type codec[T any] struct {
	plain func(to []T, b []byte, n int) ([]T, error) // appends n values
	delta func(to []T, b []byte, n int) ([]T, error) // likewise; nil for other types than integers
	add   func([]T)                                  // adds them to the column
}

// Read reads the rows of a column from one up to another.
func (g *RowGroup) Read(column, from, end int, to Target) error {
	from, err := g.readPages(column, from, end, to)
	if err != nil || from == end {
		return err
	}
	return g.readByLibrary(column, from, end, to)
}

// readPages reads the rows of a column from one up to another. It returns the first one that it has not read, because it is in a page with
// another encoding.
func (g *RowGroup) readPages(column, from, end int, to Target) (at int, err error) {
	d := g.MetaData().Schema.Column(column)
	if d.MaxRepetitionLevel() > 0 || d.MaxDefinitionLevel() > 1 {
		return from, nil
	}
	read, rows, nullable := pagesReader(nil), int(g.NumRows()), d.MaxDefinitionLevel() > 0
	switch t := d.PhysicalType(); t {
	case parquet.Types.ByteArray:
		memory := textBuffers.Get().(*buffers[uint32])
		defer textBuffers.Put(memory)
		plain := func(numbers []uint32, b []byte, n int) ([]uint32, error) { return plainTexts(numbers, b, n, to.Number) }
		read = (&pages[uint32]{codec[uint32]{plain: plain, add: to.Texts}, memory, to, rows, nullable}).read
	case parquet.Types.Double:
		memory := realBuffers.Get().(*buffers[float64])
		defer realBuffers.Put(memory)
		read = (&pages[float64]{codec[float64]{plain: plainReals, add: to.Reals}, memory, to, rows, nullable}).read
	case parquet.Types.Int64, parquet.Types.Int32:
		memory := integerBuffers.Get().(*buffers[int64])
		defer integerBuffers.Put(memory)
		codec := codec[int64]{plain: plain64, delta: encoding.DecodeDelta, add: to.Ints}
		if t == parquet.Types.Int32 {
			codec.plain, codec.delta = plain32, encoding.DecodeDelta32
		}
		read = (&pages[int64]{codec, memory, to, rows, nullable}).read
	default:
		return from, nil
	}
	if err := g.within(column); err != nil {
		return from, err
	}
	reader, err := g.GetColumnPageReader(column)
	if err != nil {
		return from, err
	}
	defer reader.Close()
	if at, err = read(reader, from, end); err == encoding.ErrUnknown {
		err = nil
	}
	return at, err
}

// pagesReader is pages.read.
type pagesReader func(reader file.PageReader, from, end int) (at int, err error)

// read reads the rows from one up to another. It returns the first one that it has not read. The error is encoding.ErrUnknown if that is in a page with
// another encoding.
func (p *pages[T]) read(reader file.PageReader, from, end int) (at int, err error) {
	p.words = p.words[:0] // those of another column
	if from > 0 {
		err = p.seek(reader, int64(from))
	}
	for at = from; at < end && err == nil; {
		switch page := reader.Page().(type) {
		case *file.DictionaryPage:
			err = p.setWords(page)
		case file.DataPage:
			at, err = p.addPage(page, at, end)
		}
		if at < end && err == nil && !reader.Next() {
			err = cmp.Or(reader.Err(), errShort)
		}
	}
	return at, err
}

// seek goes to the page with a row, past the dictionary.
func (p *pages[T]) seek(reader file.PageReader, row int64) error {
	if err := reader.SeekToPageWithRow(row); err != nil {
		return err
	}
	dictionary, err := reader.GetDictionaryPage()
	if err != nil || dictionary == nil {
		return err
	}
	return p.setWords(dictionary)
}

func (p *pages[T]) setWords(page *file.DictionaryPage) (err error) {
	if e := parquet.Encoding(page.Encoding()); e != parquet.Encodings.Plain && e != parquet.Encodings.PlainDict {
		return encoding.ErrUnknown
	}
	p.words, err = p.plain(p.words[:0], page.Data(), int(page.NumValues()))
	return err
}

// addPage adds the rows of a page from one up to another. It returns the first one that is missing.
func (p *pages[T]) addPage(page file.DataPage, from, end int) (at int, err error) {
	first, n := int(page.FirstRowIndex()), int(page.NumValues())
	if first+n <= from {
		return from, nil
	}
	if first > from || n > p.rows {
		return from, encoding.ErrDamaged
	}
	if err := p.decode(page, n); err != nil {
		return from, err
	}
	at = min(first+n, end)
	from, end = from-first, at-first // of the page
	if !p.nullable || len(p.values) == n {
		p.add(p.values[from:end])
		return at, nil
	}
	rest := p.values
	for i := 0; i < end; {
		begin, level := i, p.levels[i]
		for i < end && p.levels[i] == level {
			i++
		}
		before := max(min(from, i)-begin, 0) // rows of the run that are not wanted
		if level > 0 {
			p.add(rest[before : i-begin])
			rest = rest[i-begin:]
			continue
		}
		p.to.Nulls(i - begin - before)
	}
	return at, nil
}

// decode decodes a page of n rows into levels and values.
func (p *pages[T]) decode(page file.DataPage, n int) (err error) {
	levels, b, err := p.split(page)
	if err != nil {
		return err
	}
	if p.nullable {
		if p.levels, err = encoding.DecodeHybrid(p.levels[:0], levels, 1, n); err != nil {
			return err
		}
		n = 0
		for _, level := range p.levels {
			n += int(level)
		}
	}
	p.values = p.values[:0]
	switch e := parquet.Encoding(page.Encoding()); {
	case n == 0:
	case e == parquet.Encodings.Plain:
		p.values, err = p.plain(p.values, b, n)
	case e == parquet.Encodings.DeltaBinaryPacked && p.delta != nil:
		p.values, err = p.delta(p.values, b, n)
	case e == parquet.Encodings.RLEDict || e == parquet.Encodings.PlainDict:
		err = p.lookUp(b, n)
	default:
		err = encoding.ErrUnknown
	}
	return err
}

// split returns the levels of a page and its values.
func (p *pages[T]) split(page file.DataPage) (levels, values []byte, err error) {
	b, size := page.Data(), 0
	switch page := page.(type) {
	case *file.DataPageV2:
		if size = int(page.DefinitionLevelByteLen()); page.RepetitionLevelByteLen() != 0 {
			return nil, nil, encoding.ErrDamaged
		}
	case *file.DataPageV1:
		if !p.nullable {
			return nil, b, nil
		}
		if page.DefinitionLevelEncoding() != parquet.Encodings.RLE {
			return nil, nil, encoding.ErrUnknown
		}
		if len(b) < 4 {
			return nil, nil, encoding.ErrDamaged
		}
		size, b = int(binary.LittleEndian.Uint32(b)), b[4:]
	}
	if size > len(b) {
		return nil, nil, encoding.ErrDamaged
	}
	return b[:size], b[size:], nil
}

// lookUp decodes n values of the dictionary.
func (p *pages[T]) lookUp(b []byte, n int) (err error) {
	if len(b) == 0 || b[0] > maxWidth {
		return encoding.ErrDamaged
	}
	if p.indices, err = encoding.DecodeHybrid(p.indices[:0], b[1:], int(b[0]), n); err != nil {
		return err
	}
	p.values = slices.Grow(p.values, n)
	for _, index := range p.indices {
		if int(index) >= len(p.words) {
			return encoding.ErrDamaged
		}
		p.values = append(p.values, p.words[index])
	}
	return nil
}

// plainTexts appends the numbers of n texts, each of which follows its size.
func plainTexts(to []uint32, b []byte, n int, number func([]byte) uint32) ([]uint32, error) {
	if n > len(b)/4 {
		return to, encoding.ErrDamaged
	}
	to = slices.Grow(to, n)
	for range n {
		if len(b) < 4 || int(binary.LittleEndian.Uint32(b)) > len(b)-4 {
			return to, encoding.ErrDamaged
		}
		end := 4 + int(binary.LittleEndian.Uint32(b))
		to = append(to, number(b[4:end]))
		b = b[end:]
	}
	return to, nil
}

// plain returns a function that appends n values of a size in bytes.
func plain[T any](size int, value func([]byte) T) func(to []T, b []byte, n int) ([]T, error) {
	return func(to []T, b []byte, n int) ([]T, error) {
		if n > len(b)/size {
			return to, encoding.ErrDamaged
		}
		to = slices.Grow(to, n)
		for ; n > 0; n-- {
			to = append(to, value(b))
			b = b[size:]
		}
		return to, nil
	}
}

var (
	plain64    = plain(8, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) })
	plain32    = plain(4, func(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) })
	plainReals = plain(8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) })
)
