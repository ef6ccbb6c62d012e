package rawftrace

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxText is the maximum size of zero-terminated texts in bytes.
const maxText = 64 << 10

// ErrTruncated is the error of a cursor at the end of its data.
var ErrTruncated = errors.New("truncated")

// Cursor reads numbers and texts. After an error, all values are zero.
type Cursor struct {
	R     io.Reader // becomes a bufio.Reader
	At    int64     // offset in the file; in a compressed section, the offset of the section
	Left  int64     // bytes left
	Order binary.ByteOrder
	Err   error
}

// Bytes reads n bytes.
func (c *Cursor) Bytes(n int64) []byte {
	if c.Err == nil && (n < 0 || n > c.Left) {
		c.Err = ErrTruncated
	}
	if c.Err != nil || n == 0 {
		return nil
	}
	b := make([]byte, n)
	c.read(b)
	return b
}

func (c *Cursor) read(b []byte) {
	if _, ok := c.R.(*bufio.Reader); !ok {
		c.R = bufio.NewReader(c.R)
	}
	n, err := io.ReadFull(c.R, b)
	c.At += int64(n)
	c.Left -= int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = ErrTruncated
	}
	if err != nil && c.Err == nil {
		c.Err = err
		clear(b)
	}
}

func (c *Cursor) number(size int64) (b [8]byte) {
	if c.Err == nil && c.Left < size {
		c.Err = ErrTruncated
	}
	if c.Err == nil {
		c.read(b[:size])
	}
	return b
}

// Uint8 reads a byte.
func (c *Cursor) Uint8() byte {
	b := c.number(1)
	return b[0]
}

// Uint16 reads a number of two bytes.
func (c *Cursor) Uint16() uint16 {
	b := c.number(2)
	return c.Order.Uint16(b[:])
}

// Uint32 reads a number of four bytes.
func (c *Cursor) Uint32() uint32 {
	b := c.number(4)
	return c.Order.Uint32(b[:])
}

// Uint64 reads a number of eight bytes.
func (c *Cursor) Uint64() uint64 {
	b := c.number(8)
	return c.Order.Uint64(b[:])
}

// Text reads a zero-terminated text.
func (c *Cursor) Text() string {
	var text []byte
	for b := c.Uint8(); b != 0 && c.Err == nil; b = c.Uint8() {
		if len(text) == maxText {
			c.Err = fmt.Errorf("a text of more than %d bytes", maxText)
		}
		text = append(text, b)
	}
	return string(text)
}

// Expect reads a fixed word.
func (c *Cursor) Expect(word string) {
	if got := c.Bytes(int64(len(word))); c.Err == nil && string(got) != word {
		c.Err = fmt.Errorf("%.20q where %q was expected", got, word)
	}
}

// Long reads data preceded by its size in bytes.
func (c *Cursor) Long() []byte {
	size := c.Uint64()
	if size > uint64(max(c.Left, 0)) && c.Err == nil {
		c.Err = ErrTruncated
	}
	return c.Bytes(int64(size))
}
