package nettrace

import "encoding/binary"

// cursor reads numbers of bytes. After the end it returns 0 and sets failed.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)-c.at) {
		c.failed, c.at = true, len(c.b)
		return nil
	}
	b := c.b[c.at:][:n]
	c.at += int(n)
	return b
}

func (c *cursor) read(to []byte) { copy(to, c.take(uint64(len(to)))) }

// uint returns a number of up to 8 bytes.
func (c *cursor) uint(size int) (n uint64) {
	for i, b := range c.take(uint64(size)) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

func (c *cursor) varint() uint64 {
	n, size := binary.Uvarint(c.b[c.at:])
	if size <= 0 {
		c.failed, c.at = true, len(c.b)
		return 0
	}
	c.at += size
	return n
}

// utf8 returns a text in UTF-8 behind its length.
func (c *cursor) utf8() string { return string(c.take(c.varint())) }

// zigzag returns a number that may be negative.
func (c *cursor) zigzag() int64 {
	n := c.varint()
	return int64(n>>1) ^ -int64(n&1)
}
