package perfdata

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// words reads the numbers of a record in order. Past the end they are 0, and short
// is set.
type words struct {
	data    []byte
	swapped bool // the machine was big-endian
	short   bool
}

// take returns the next n bytes, or nil.
func (w *words) take(n uint64) []byte {
	if n > uint64(len(w.data)) {
		w.short = true
		w.data = nil
		return nil
	}
	b := w.data[:n:n]
	w.data = w.data[n:]
	return b
}

func (w *words) uint8() uint8 {
	if b := w.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (w *words) uint16() uint16 {
	b := w.take(2)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint16(b)
	if w.swapped {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (w *words) uint32() uint32 {
	b := w.take(4)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint32(b)
	if w.swapped {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (w *words) uint64() uint64 {
	if len(w.data) < 8 {
		w.short, w.data = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(w.data)
	w.data = w.data[8:]
	if w.swapped {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// text returns the text up to a NUL, or false if there is no NUL.
func (w *words) text() ([]byte, bool) {
	text, rest, ok := bytes.Cut(w.data, []byte{0})
	w.data = rest
	return text, ok
}

// paddedText reads a feature section's text, which is preceded by its length.
func (w *words) paddedText() string {
	text, _, ok := bytes.Cut(w.take(uint64(w.uint32())), []byte{0})
	if !ok {
		w.short = true
	}
	return string(text)
}

// at returns the number at an offset, or false past the end.
func (w *words) at(offset int) (uint64, bool) {
	if offset < 0 || offset > len(w.data) {
		return 0, false
	}
	there := words{data: w.data[offset:], swapped: w.swapped}
	v := there.uint64()
	return v, !there.short
}
