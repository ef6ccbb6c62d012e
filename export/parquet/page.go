package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet"

	"github.com/tpconvert/tpconvert/export/encoding"
)

// PageRows is the number of rows per page. It is a multiple of eight, so that pages begin at whole
// bytes of the validity bits.
const PageRows = 64 << 10

// page is a data page, or a dictionary page, which comes first and has no rows.
type page struct {
	rows, values int // with NULLs and without
	bounds       Bounds
	start, end   int // range in the row group, including the header
}

// pageEncoder appends the values of the page with the rows [from, to) of a chunk, and returns their
// bounds. valid has a bit for each of these rows; it is nil if all have values.
type pageEncoder func(buffer []byte, from, to int, valid []byte) ([]byte, Bounds)

// window returns the values of a page, using the memory of *spare if some are NULL.
func window[T any](values []T, from, to int, valid []byte, spare *[]T) []T {
	if valid == nil {
		return values[from:to]
	}
	return compact(spare, values[from:to], valid)
}

func sequencePages(base int64) pageEncoder {
	return func(buffer []byte, from, to int, _ []byte) ([]byte, Bounds) {
		first, last := base+int64(from), base+int64(to)-1
		return encoding.Sequence(buffer, first, to-from), Bounds{plainInteger(first), plainInteger(last)}
	}
}

func deltaPages[T encoding.Integer](values []T, spare *[]T) pageEncoder {
	return func(buffer []byte, from, to int, valid []byte) ([]byte, Bounds) {
		page := window(values, from, to, valid, spare)
		return encoding.Delta(buffer, page), integerBounds(page)
	}
}

func boolPages(values []bool, spare *[]bool) pageEncoder {
	return func(buffer []byte, from, to int, valid []byte) ([]byte, Bounds) {
		page := window(values, from, to, valid, spare)
		return encoding.Bools(buffer, page), boolBounds(page)
	}
}

// plainPages encodes 64-bit values as PLAIN.
func plainPages(words []int64, limits func([]int64) Bounds, spare *[]int64) pageEncoder {
	return func(buffer []byte, from, to int, valid []byte) ([]byte, Bounds) {
		page := window(words, from, to, valid, spare)
		return appendPlain(buffer, page), limits(page)
	}
}

func appendPlain(buffer []byte, words []int64) []byte {
	for _, v := range words {
		buffer = binary.LittleEndian.AppendUint64(buffer, uint64(v))
	}
	return buffer
}

// indexPages encodes indices of a dictionary with n values. It uses the bounds of the whole
// dictionary, which may be wider than those of a page.
func indexPages(indices []int32, n int, b Bounds, spare *[]int32) pageEncoder {
	return func(buffer []byte, from, to int, valid []byte) ([]byte, Bounds) {
		return encoding.Indices(buffer, window(indices, from, to, valid, spare), encoding.Width(n)), b
	}
}

// emptyPages encodes a column with only NULLs.
func emptyPages(e parquet.Encoding) pageEncoder {
	return func(buffer []byte, _, _ int, _ []byte) ([]byte, Bounds) {
		if e == parquet.Encodings.DeltaBinaryPacked {
			buffer = encoding.Delta[int64](buffer, nil)
		}
		return buffer, Bounds{}
	}
}

// appendLevels appends the definition levels of a page of n rows.
func appendLevels(buffer []byte, valid []byte, n int) []byte {
	size := len(buffer)
	buffer = encoding.Levels(append(buffer, 0, 0, 0, 0), valid, n)
	binary.LittleEndian.PutUint32(buffer[size:], uint32(len(buffer)-size-4))
	return buffer
}

// appendPageHeader appends a PageHeader of parquet.thrift in Thrift's compact protocol:
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
func appendPageHeader(to []byte, p *page, e parquet.Encoding, raw, size int) []byte {
	const integer, structure, end = 5, 12, 0
	const dataPage, dictionaryPage = 0, 2
	// fields appends integers with field numbers that count up from 1.
	fields := func(values ...int) {
		for _, v := range values {
			to = append(to, 1<<4|integer)
			to = binary.AppendVarint(to, int64(v))
		}
	}
	if p.rows == 0 {
		fields(dictionaryPage, raw, size)
		to = append(to, (7-3)<<4|structure) // dictionary_page_header
		fields(p.values, int(parquet.Encodings.Plain))
	} else {
		fields(dataPage, raw, size)
		to = append(to, (5-3)<<4|structure) // data_page_header
		fields(p.rows, int(e), int(parquet.Encodings.RLE), int(parquet.Encodings.RLE))
	}
	return append(to, end, end)
}
