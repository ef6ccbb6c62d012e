// Package token encodes events as the few bytes that the sorter holds for each,
// and decodes them again: numbers and strings, in the same order.
package token

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
)

// A Writer encodes events, one after the other, into the same memory.
type Writer struct {
	store *model.Store
	b     []byte
}

// NewWriter returns a writer that interns strings in the store.
func NewWriter(store *model.Store) *Writer { return &Writer{store: store} }

// Reset starts an event.
func (w *Writer) Reset() { w.b = w.b[:0] }

// Uint adds a number.
func (w *Writer) Uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// Int adds a number that may be negative.
func (w *Writer) Int(n int64) { w.b = binary.AppendVarint(w.b, n) }

// Text adds a string; nil stands for none.
func (w *Writer) Text(text []byte) {
	var id model.StringID
	if text != nil {
		id = w.store.Strings.InternBytes(text)
	}
	w.Uint(uint64(id))
}

// Raw adds bytes.
func (w *Writer) Raw(b []byte) {
	w.Uint(uint64(len(b)))
	w.Rest(b)
}

// Rest adds the last bytes of the event, without a length.
func (w *Writer) Rest(b []byte) { w.b = append(w.b, b...) }

// Bytes returns the event. It is valid until the next Reset.
func (w *Writer) Bytes() []byte { return w.b }

// A Reader decodes an event.
type Reader []byte

// Uint returns the next number.
func (r *Reader) Uint() uint64 {
	n, size := binary.Uvarint(*r)
	*r = (*r)[size:]
	return n
}

// Int returns the next number written by Writer.Int.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(*r)
	*r = (*r)[size:]
	return n
}

// Raw returns the next bytes, which are part of the event.
func (r *Reader) Raw() []byte {
	n := r.Uint()
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

// Text returns the next string, or 0 if there is none.
func (r *Reader) Text() model.StringID { return model.StringID(r.Uint()) }
