package proto

import (
	"iter"

	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Single fields of small messages, zero if they are not there. If a field is
// written twice, the first counts.

func bytesField(message []byte, number uint32) []byte {
	f, _ := wire.Find(message, number)
	return f.Bytes()
}

// textField is NULL if the field is not there.
func (r *Reader) textField(message []byte, number uint32) model.StringID {
	return r.textID(bytesField(message, number))
}

func (r *Reader) textID(text []byte) model.StringID {
	if text == nil {
		return 0
	}
	return r.Store.Strings.InternBytes(text)
}

func floatField(message []byte, number uint32) float64 {
	f, _ := wire.Find(message, number)
	return f.Float64()
}

func hasField(message []byte, number uint32) bool {
	_, ok := wire.Find(message, number)
	return ok
}

// messages yields the values of a repeated field of messages or texts.
func messages(message []byte, number uint32) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for f := wire.Read(message); f.Next(); {
			if f.Number == number && !yield(f.Bytes()) {
				return
			}
		}
	}
}

// numbers yields the values of a repeated field of varints, packed or not.
func numbers(message []byte, number uint32) iter.Seq[uint64] {
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
