package fuchsia

import (
	"encoding/binary"
	"math"

	"github.com/tpconvert/tpconvert/model"
)

// form is everything in an event except its time and its values, with every
// reference resolved. Traces repeat few forms, so most tokens need only a form's
// number.
type form struct {
	kind           kind
	thread         int // of the parser's threads
	category, name model.StringID
	args           []argForm
}

type argForm struct {
	name model.StringID
	kind byte
}

// forms numbers forms.
type forms struct {
	all     []form // by number; the entry at ownForm is the current token's
	numbers map[string]uint16
}

// ownForm is the number of a form that is stored in the token itself, as all new
// forms are once there are too many.
const ownForm = 0

// newForms returns the forms of scheduling records, which consist only of a kind.
func newForms() forms {
	f := forms{all: make([]form, 1), numbers: map[string]uint16{}}
	for k := contextSwitch; k <= wakeupBy; k++ {
		f.all = append(f.all, form{kind: k})
	}
	return f
}

// add returns the number of an encoded form, or ownForm.
func (f *forms) add(encoded []byte) uint16 {
	number, ok := f.numbers[string(encoded)]
	if ok || len(f.all) > math.MaxUint16 {
		return number
	}
	number = uint16(len(f.all))
	f.numbers[string(encoded)] = number
	var added form
	t := token{bytes: encoded}
	added.decode(&t)
	f.all = append(f.all, added)
	return number
}

// encode appends the form to b.
func (f *form) encode(b []byte) []byte {
	b = append(b, byte(f.kind)|byte(len(f.args))<<4)
	b = binary.AppendUvarint(b, uint64(f.thread))
	b = binary.AppendUvarint(b, uint64(f.category))
	b = binary.AppendUvarint(b, uint64(f.name))
	for _, a := range f.args {
		b = binary.AppendUvarint(b, uint64(a.name)<<4|uint64(a.kind))
	}
	return b
}

// decode reads what encode wrote. It reuses the memory of the form's args.
func (f *form) decode(t *token) {
	head := t.bytes[t.at]
	t.at++
	f.kind = kind(head & 15)
	f.thread = int(t.number())
	f.category, f.name = model.StringID(t.number()), model.StringID(t.number())
	f.args = f.args[:0]
	for range head >> 4 {
		a := t.number()
		f.args = append(f.args, argForm{model.StringID(a >> 4), byte(a & 15)})
	}
}

// knownForm is a recently used form, by the header of a record and the lower halves
// of the headers of its args. All records with equal headers have the same layout.
type knownForm struct {
	header  uint64
	meaning uint64 // of the provider's indexes at that time, 0 if it cannot be reused
	args    [maxArgs]uint32
	count   uint8 // of the args
	number  uint16
}

const (
	knownBits = 12
	knownHash = 0x9e3779b97f4a7c15 // odd, so that all bits of a header matter
)

// formOf returns the number of an event's form, or ownForm if the form is in
// t.encoded. It reads the event's args into t.values.
func (t *tokenizer) formOf(header uint64) uint16 {
	meaning := t.provider.meaning
	known := &t.known[(header^meaning<<5)*knownHash>>(64-knownBits)]
	if known.header != header || known.meaning != meaning || !t.readArgs(known.args[:known.count]) {
		t.find(header, known)
	}
	return known.number
}

// readArgs reads the next args into t.values if their headers have these lower
// halves, which come from a complete record. Otherwise it does not move.
func (t *tokenizer) readArgs(args []uint32) bool {
	start := t.at
	at := start
	for i, want := range args {
		t.at = at
		header := t.word()
		if uint32(header) != want {
			t.at = start
			return false
		}
		t.values[i&maxArgs] = t.value(header)
		at += size(header)
	}
	t.at = at
	return true
}

// find looks up the form of an event and reads its args. It caches the form in
// known if everything it refers to is in the provider's tables.
func (t *tokenizer) find(header uint64, known *knownForm) {
	*known = knownForm{header: header}
	thread := field(header, 24, 31)
	start := t.at
	t.form.kind = kind(field(header, 16, 19))
	t.form.thread = t.thread(thread)
	t.form.category = t.text(field(header, 32, 47))
	t.form.name = t.text(field(header, 48, 63))
	t.form.args = t.form.args[:0]
	_, tabled := t.provider.threads.at(thread)
	tabled = tabled && t.at == start
	for i := range field(header, 20, 23) {
		header := t.peek(t.at)
		tabled = tabled && !inlineString(argName(header))
		known.args[i] = uint32(header)
		known.count++
		a := t.arg()
		t.form.args = append(t.form.args, argForm{a.name, a.kind})
		t.values[i] = a.value
	}
	t.encoded = t.form.encode(t.encoded[:0])
	if !t.short && !t.undefined {
		known.number = t.parser.forms.add(t.encoded)
	}
	if tabled && known.number != ownForm {
		known.meaning = t.provider.meaning
	}
}
