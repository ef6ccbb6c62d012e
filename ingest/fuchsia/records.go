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

// records cuts a trace into records.
type records struct {
	r      *bufio.Reader
	offset int64 // of the record, bytes
	size   int64 // of the record, bytes
	err    error // that ended the reading
}

func newRecords(r io.Reader) *records {
	return &records{r: bufio.NewReaderSize(r, bufferBytes)}
}

// next returns the next record, which is valid until the next call; of a large
// one only the header. It returns io.EOF at the end of the trace,
// io.ErrUnexpectedEOF if that is inside a record, and a format.Error if there is
// no telling where the next record begins.
func (r *records) next() (record []byte, err error) {
	if r.err == nil {
		record, r.err = r.read()
	}
	return record, r.err
}

func (r *records) read() ([]byte, error) {
	if n, err := r.r.Discard(int(r.size)); err != nil {
		return nil, cut(err, n)
	}
	r.offset += r.size
	r.size = 0
	head, err := r.r.Peek(wordBytes)
	if err != nil {
		return nil, cut(err, len(head))
	}
	header := binary.LittleEndian.Uint64(head)
	last := uint(15)
	if field(header, 0, 3) == recordLarge {
		last = 35
	}
	r.size = int64(field(header, 4, last)) * wordBytes
	switch {
	case r.size == 0:
		return nil, format.Errorf(format.ErrCorrupt, r.offset, "record of no words")
	case last > 15:
		return head, nil
	}
	record, err := r.r.Peek(int(r.size))
	if err != nil {
		return nil, cut(err, len(record))
	}
	return record, nil
}

// cut is the error of a record of which only n bytes could be read.
func cut(err error, n int) error {
	if err == io.EOF && n > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// cursor reads a record word by word. Reading past the end gives zeros and sets
// short.
type cursor struct {
	record []byte
	at     int // word
	short  bool
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
