package fuchsia

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
)

const (
	wordBytes   = 8
	bufferBytes = 256 << 10
)

// The types of records.
const (
	recordMetadata = iota
	recordInitialization
	recordString
	recordThread
	recordEvent
	recordBlob
	recordUserspaceObject
	recordKernelObject
	recordScheduling
	recordLog
	recordLarge = 15
)

// field returns the bits from first to last of a word.
func field(word uint64, first, last uint) uint64 {
	return word >> first & (1<<(last-first+1) - 1)
}

// size returns the size in words of a record or an arg, from its header.
func size(header uint64) int { return int(field(header, 4, 15)) }

// argName returns the reference to an arg's name, and argKind its type.
func argName(header uint64) uint64 { return field(header, 16, 31) }
func argKind(header uint64) byte   { return byte(field(header, 0, 3)) }

// records splits a trace into records.
type records struct {
	r     *bufio.Reader
	block []byte // what r has buffered
	start int64  // offset of block in the trace, bytes
	at    int    // offset of the record in block, bytes
	size  int64  // of the record, bytes
	err   error  // error that ended the reading
}

func newRecords(r io.Reader) *records {
	return &records{r: bufio.NewReaderSize(r, bufferBytes)}
}

// offset returns the record's offset in the trace, in bytes.
func (r *records) offset() int64 { return r.start + int64(r.at) }

// next returns the next record, or only the header of a large record. It is valid
// until the next call. next returns io.EOF at the end of the trace,
// io.ErrUnexpectedEOF if the trace ends inside a record, and a format.Error if it
// cannot tell where the next record begins.
func (r *records) next() (record []byte, err error) {
	if at := r.at + int(r.size); at+wordBytes <= len(r.block) { // the usual case
		header := binary.LittleEndian.Uint64(r.block[at:])
		if end := at + size(header)*wordBytes; end > at && end <= len(r.block) && field(header, 0, 3) != recordLarge {
			r.at, r.size = at, int64(end-at)
			return r.block[at:end], nil
		}
	}
	if r.err == nil {
		record, r.err = r.read()
	}
	return record, r.err
}

func (r *records) read() ([]byte, error) {
	if err := r.skip(); err != nil {
		return nil, err
	}
	if err := r.need(wordBytes); err != nil {
		return nil, err
	}
	header := binary.LittleEndian.Uint64(r.block[r.at:])
	last := uint(15)
	if field(header, 0, 3) == recordLarge {
		last = 35
	}
	r.size = int64(field(header, 4, last)) * wordBytes
	switch {
	case r.size == 0:
		return nil, format.Errorf(format.ErrCorrupt, r.offset(), "record of size 0")
	case last > 15:
		return r.block[r.at : r.at+wordBytes], nil
	}
	if err := r.need(int(r.size)); err != nil {
		return nil, err
	}
	return r.block[r.at : r.at+int(r.size)], nil
}

// skip moves to the end of the record.
func (r *records) skip() error {
	if end := r.at + int(r.size); end <= len(r.block) {
		r.at = end
	} else {
		n, err := r.r.Discard(end)
		r.start += int64(r.at)
		r.block, r.at = nil, 0
		if err != nil {
			return cut(err, n)
		}
		r.start += r.size
	}
	r.size = 0
	return nil
}

// need makes sure that block contains n bytes of the record, where n is at most the
// buffer's size.
func (r *records) need(n int) error {
	if r.at+n <= len(r.block) {
		return nil
	}
	if _, err := r.r.Discard(r.at); err != nil {
		return err
	}
	r.start += int64(r.at)
	r.at = 0
	_, err := r.r.Peek(n)
	r.block, _ = r.r.Peek(r.r.Buffered())
	if err != nil {
		return cut(err, len(r.block))
	}
	return nil
}

// cut returns the error for a record of which only n bytes could be read.
func cut(err error, n int) error {
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// cursor reads a record word by word. Reading past the end returns zeros and sets
// short.
type cursor struct {
	record []byte
	at     int // word
	short  bool
}

// peek returns the word at a position, or 0 past the end.
func (c *cursor) peek(at int) uint64 {
	if start := at * wordBytes; start+wordBytes <= len(c.record) {
		return binary.LittleEndian.Uint64(c.record[start:])
	}
	return 0
}

func (c *cursor) word() uint64 {
	start := c.at * wordBytes
	c.at++
	if start+wordBytes > len(c.record) {
		c.short = true
		return 0
	}
	return binary.LittleEndian.Uint64(c.record[start:])
}

// stream returns n bytes and moves to the word after them.
func (c *cursor) stream(n int) []byte {
	start := c.at * wordBytes
	words := (n + wordBytes - 1) / wordBytes
	c.at += words
	if start+words*wordBytes > len(c.record) {
		c.short = true
		return nil
	}
	return c.record[start : start+n]
}
