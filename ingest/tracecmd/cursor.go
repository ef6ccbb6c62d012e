package tracecmd

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// maxText is the maximum size of zero-terminated texts in bytes.
const maxText = 64 << 10

// cursor reads numbers and texts. After an error, all values are zero.
type cursor struct {
	r     io.Reader // becomes a bufio.Reader
	at    int64     // offset in the file; in a compressed section, the offset of the section
	left  int64     // bytes left
	order binary.ByteOrder
	err   error
}

func (c *cursor) bytes(n int64) []byte {
	if c.err == nil && (n < 0 || n > c.left) {
		c.err = errTruncated
	}
	if c.err != nil || n == 0 {
		return nil
	}
	b := make([]byte, n)
	c.read(b)
	return b
}

func (c *cursor) read(b []byte) {
	if _, ok := c.r.(*bufio.Reader); !ok {
		c.r = bufio.NewReader(c.r)
	}
	n, err := io.ReadFull(c.r, b)
	c.at += int64(n)
	c.left -= int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errTruncated
	}
	if err != nil && c.err == nil {
		c.err = err
		clear(b)
	}
}

func (c *cursor) number(size int64) (b [8]byte) {
	if c.err == nil && c.left < size {
		c.err = errTruncated
	}
	if c.err == nil {
		c.read(b[:size])
	}
	return b
}

func (c *cursor) uint8() byte {
	b := c.number(1)
	return b[0]
}

func (c *cursor) uint16() uint16 {
	b := c.number(2)
	return c.order.Uint16(b[:])
}

func (c *cursor) uint32() uint32 {
	b := c.number(4)
	return c.order.Uint32(b[:])
}

func (c *cursor) uint64() uint64 {
	b := c.number(8)
	return c.order.Uint64(b[:])
}

// text reads a zero-terminated text.
func (c *cursor) text() string {
	var text []byte
	for b := c.uint8(); b != 0 && c.err == nil; b = c.uint8() {
		if len(text) == maxText {
			c.err = fmt.Errorf("a text of more than %d bytes", maxText)
		}
		text = append(text, b)
	}
	return string(text)
}

// expect reads a fixed word.
func (c *cursor) expect(word string) {
	if got := c.bytes(int64(len(word))); c.err == nil && string(got) != word {
		c.err = fmt.Errorf("%.20q where %q was expected", got, word)
	}
}

// long reads data preceded by its size in bytes.
func (c *cursor) long() []byte {
	size := c.uint64()
	if size > uint64(max(c.left, 0)) && c.err == nil {
		c.err = errTruncated
	}
	return c.bytes(int64(size))
}
