package proto

import (
	"iter"
	"strconv"

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

// nameOf returns the name of an enum's value, or of its first if it is not known.
func (r *Reader) nameOf(names []string, value int64) model.StringID {
	if value < 0 || value >= int64(len(names)) {
		value = 0
	}
	return r.Store.Strings.Intern(names[value])
}

// enumName returns the name of a value of an enum that is known by its full name,
// or the value's number.
func (r *Reader) enumName(enum string, value int32) model.StringID {
	name := ""
	if e := r.file.types.Enum(enum); e != nil {
		name = e.Name(value)
	}
	if name == "" {
		name = strconv.Itoa(int(value))
	}
	return r.Store.Strings.Intern(name)
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
