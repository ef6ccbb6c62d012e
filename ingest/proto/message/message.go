// Package message finds single fields of small messages. An absent field is zero; if a
// field occurs twice, the first counts. Large or frequent messages are better read field
// by field, see package wire.
package message

import (
	"iter"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// Has reports whether the message has the field.
func Has(message []byte, number uint32) bool {
	_, ok := wire.Find(message, number)
	return ok
}

// Bytes returns a field of bytes, text or a message, or nil if it is absent.
func Bytes(message []byte, number uint32) []byte {
	f, _ := wire.Find(message, number)
	return f.Bytes()
}

// Int64 returns a field of a signed number.
func Int64(message []byte, number uint32) int64 {
	f, _ := wire.Find(message, number)
	return f.Int64()
}

// Uint64 returns a field of an unsigned number.
func Uint64(message []byte, number uint32) uint64 {
	f, _ := wire.Find(message, number)
	return f.Uint64()
}

// Int32 returns a field of a signed number or an enum.
func Int32(message []byte, number uint32) int32 {
	f, _ := wire.Find(message, number)
	return f.Int32()
}

// Uint32 returns a field of an unsigned number. It also reads pids, whether they are
// declared as signed or not.
func Uint32(message []byte, number uint32) uint32 {
	f, _ := wire.Find(message, number)
	return f.Uint32()
}

// Float64 returns a field of a float or double.
func Float64(message []byte, number uint32) float64 {
	f, _ := wire.Find(message, number)
	return f.Float64()
}

// Messages yields the values of a repeated field of messages or texts.
func Messages(message []byte, number uint32) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for f := wire.Read(message); f.Next(); {
			if f.Number == number && !yield(f.Bytes()) {
				return
			}
		}
	}
}

// Numbers yields the values of a repeated field of varints, packed or not.
func Numbers(message []byte, number uint32) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for f := wire.Read(message); f.Next(); {
			if f.Number != number {
				continue
			}
			for v := range f.Varints {
				if !yield(v) {
					return
				}
			}
		}
	}
}
