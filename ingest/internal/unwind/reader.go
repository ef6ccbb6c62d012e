package unwind

import "encoding/binary"

// reader reads numbers in order. Past the end they are 0, and short is set.
type reader struct {
	data    []byte
	address uint64 // of the data in the binary
	at      int
	short   bool
}

func (r *reader) left() int { return len(r.data) - r.at }

// take returns the next n bytes, or nil.
func (r *reader) take(n uint64) []byte {
	if n > uint64(r.left()) {
		r.short = true
		r.at = len(r.data)
		return nil
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// fixed reads an unsigned number of 1, 2, 4 or 8 bytes.
func (r *reader) fixed(size int) uint64 {
	b := r.take(uint64(size))
	if b == nil {
		return 0
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:])
}

// signed reads a signed number of 1, 2, 4 or 8 bytes.
func (r *reader) signed(size int) int64 {
	shift := 64 - 8*size
	return int64(r.fixed(size)) << shift >> shift
}

func (r *reader) uleb() uint64 {
	var v uint64
	for shift := 0; ; shift += 7 {
		b := r.uint8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b < 0x80 {
			return v
		}
	}
}

func (r *reader) sleb() int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.uint8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// block reads bytes that are preceded by their number.
func (r *reader) block() []byte { return r.take(r.uleb()) }

// The encodings of pointers: of their values in the lower half of a byte, of what they are relative to in the upper.
const (
	pointerWord   = 0x00
	pointerULEB   = 0x01
	pointerUData2 = 0x02
	pointerUData4 = 0x03
	pointerUData8 = 0x04
	pointerSLEB   = 0x09
	pointerSData2 = 0x0a
	pointerSData4 = 0x0b
	pointerSData8 = 0x0c

	pointerAbsolute = 0x00
	pointerToItself = 0x10 // relative to its place
	pointerIndirect = 0x80
	pointerOmitted  = 0xff
)

// pointer reads an encoded pointer. It returns false for an encoding that code addresses do not have.
func (r *reader) pointer(encoding uint8) (v uint64, ok bool) {
	if encoding == pointerOmitted {
		return 0, true
	}
	place := r.address + uint64(r.at)
	switch encoding & 15 {
	case pointerWord, pointerUData8, pointerSData8:
		v = r.fixed(8)
	case pointerULEB:
		v = r.uleb()
	case pointerUData2:
		v = r.fixed(2)
	case pointerUData4:
		v = r.fixed(4)
	case pointerSLEB:
		v = uint64(r.sleb())
	case pointerSData2:
		v = uint64(r.signed(2))
	case pointerSData4:
		v = uint64(r.signed(4))
	default:
		return 0, false
	}
	switch encoding & 0x70 {
	case pointerAbsolute:
	case pointerToItself:
		v += place
	default:
		return 0, false
	}
	return v, !r.short && encoding&pointerIndirect == 0
}
