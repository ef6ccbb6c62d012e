package stackprof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
)

// signature begins what Ruby's Marshal writes: its version, 4.8.
var signature = []byte{4, 8}

// A dump is a profile as stackprof writes it by itself, with Ruby's Marshal. It is read as the JSON that stackprof makes of it. Ruby's
// doc/marshal.rdoc describes the format.
type dump struct {
	in      *bufio.Reader
	offset  int64 // of the next byte
	json    []byte
	open    []container // innermost last
	begun   bool
	symbols [][]byte
	objects int            // that links may refer to
	texts   map[int]string // JSON of those that are texts and real numbers: only these are linked
	input   error          // of reading the input
	err     error          // why the dump cannot be read further
}

// container is an array or a hash.
type container struct {
	left  int  // elements or pairs
	hash  bool // else an array
	begun bool
}

const (
	maxDepth = 100
	maxText  = 1 << 20 // bytes
)

var errDump = errors.New("no dump of Ruby's Marshal")

func newDump(in io.Reader) *dump { return &dump{in: bufio.NewReader(in), texts: map[int]string{}} }

// Read reads JSON.
func (d *dump) Read(b []byte) (int, error) {
	for len(d.json) < len(b) && d.err == nil && (!d.begun || len(d.open) > 0) {
		d.next()
	}
	n := copy(b, d.json)
	d.json = d.json[n:]
	if n > 0 {
		return n, nil
	}
	if d.input != nil {
		return 0, d.input
	}
	return 0, io.EOF
}

// next writes an element or the end of the innermost container.
func (d *dump) next() {
	if !d.begun {
		d.begun = true
		if !bytes.Equal(d.bytes(len(signature)), signature) {
			d.fail(errDump)
		}
		d.value()
		return
	}
	c := &d.open[len(d.open)-1]
	if c.left == 0 {
		end := byte(']')
		if c.hash {
			end = '}'
		}
		d.json = append(d.json, end)
		d.open = d.open[:len(d.open)-1]
		return
	}
	c.left--
	if c.begun {
		d.json = append(d.json, ',')
	}
	c.begun = true
	if c.hash {
		d.key()
	}
	d.value()
}

// key writes the key of a pair as a text.
func (d *dump) key() {
	start, depth := len(d.json), len(d.open)
	d.value()
	if key := d.json[start:]; len(d.open) > depth {
		d.fail(errors.New("a key that is an object"))
	} else if len(key) == 0 || key[0] != '"' {
		d.json = append(d.json[:start], quote(key)...)
	}
	d.json = append(d.json, ':')
}

// value writes a value, or the begin of a container.
func (d *dump) value() {
	switch kind := d.byte(); kind {
	case '0':
		d.json = append(d.json, "null"...)
	case 'T':
		d.json = append(d.json, "true"...)
	case 'F':
		d.json = append(d.json, "false"...)
	case 'i':
		d.json = strconv.AppendInt(d.json, int64(d.long()), 10)
	case ':':
		d.json = append(d.json, quote(d.symbol())...)
	case ';':
		if i := d.long(); i < 0 || i >= len(d.symbols) {
			d.fail(errDump)
		} else {
			d.json = append(d.json, quote(d.symbols[i])...)
		}
	case 'l':
		d.objects++
		d.json = append(d.json, d.bignum()...)
	case 'f':
		d.linked(d.float())
	case '"':
		d.linked(quote(d.text()))
	case 'I':
		d.encoded()
	case '@':
		if text, ok := d.texts[d.long()]; ok {
			d.json = append(d.json, text...)
		} else {
			d.fail(errors.New("a link to an object that is no text"))
		}
	case '[', '{':
		d.objects++
		if len(d.open) == maxDepth {
			d.fail(errors.New("objects are nested too deep"))
			return
		}
		d.open = append(d.open, container{left: d.size(), hash: kind == '{'})
		d.json = append(d.json, kind)
	default:
		d.fail(fmt.Errorf("an object of type %q", kind))
	}
}

// encoded writes a text or a symbol that has an encoding, which is UTF-8.
func (d *dump) encoded() {
	switch d.byte() {
	case '"':
		d.linked(quote(d.text()))
	case ':':
		d.json = append(d.json, quote(d.symbol())...)
	default:
		d.fail(errDump)
	}
	at := len(d.json)
	for n := d.size(); n > 0 && d.err == nil; n-- {
		switch d.byte() {
		case ':':
			d.symbol()
		case ';':
			d.long()
		default:
			d.fail(errDump)
		}
		switch d.byte() {
		case 'T', 'F':
		case '"':
			d.linked(quote(d.text()))
		case '@':
			d.long()
		default:
			d.fail(errDump)
		}
	}
	d.json = d.json[:at]
}

// linked writes an object to which links may refer.
func (d *dump) linked(json []byte) {
	d.texts[d.objects] = string(json)
	d.objects++
	d.json = append(d.json, json...)
}

func (d *dump) symbol() []byte {
	d.symbols = append(d.symbols, d.text())
	return d.symbols[len(d.symbols)-1]
}

// bignum reads an integer of more than 31 bits.
func (d *dump) bignum() []byte {
	negative, size := d.byte() == '-', 2*d.size()
	if size == 8 && !negative { // as ids of frames
		var n uint64
		for i := range size {
			n |= uint64(d.byte()) << (8 * i)
		}
		return strconv.AppendUint(nil, n, 10)
	}
	b := d.bytes(size)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if negative {
		n.Neg(n)
	}
	return n.Append(nil, 10)
}

// float reads a real number, which is a text.
func (d *dump) float() []byte {
	text, _, _ := bytes.Cut(d.text(), []byte{0})
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || n-n != 0 { // JSON has no inf and nan
		return []byte("null")
	}
	return strconv.AppendFloat(nil, n, 'e', -1, 64)
}

func (d *dump) text() []byte { return d.bytes(d.size()) }

// size reads how many elements or bytes there are.
func (d *dump) size() int {
	n := d.long()
	if n < 0 {
		d.fail(errDump)
		return 0
	}
	return n
}

// long reads an integer of up to 31 bits: a small one, or the number of its bytes.
func (d *dump) long() int {
	c := int(int8(d.byte()))
	switch {
	case c > 4:
		return c - 5
	case c < -4:
		return c + 5
	case c < 0:
		n := -1 << (-8 * c)
		for i := range -c {
			n |= int(d.byte()) << (8 * i)
		}
		return n
	}
	n := 0
	for i := range c {
		n |= int(d.byte()) << (8 * i)
	}
	return n
}

func (d *dump) byte() byte {
	if d.err != nil {
		return 0
	}
	b, err := d.in.ReadByte()
	if err != nil {
		d.fail(err)
		d.input = err
		return 0
	}
	d.offset++
	return b
}

// bytes reads n bytes, or none after an error.
func (d *dump) bytes(n int) []byte {
	if n > maxText {
		d.fail(fmt.Errorf("a text of more than %d bytes", maxText))
	}
	if d.err != nil {
		return nil
	}
	b := make([]byte, n)
	read, err := io.ReadFull(d.in, b)
	d.offset += int64(read)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	if err != nil {
		d.fail(err)
		d.input = err
		return nil
	}
	return b
}

func (d *dump) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// quote returns a text in JSON.
func quote(text []byte) []byte {
	b := []byte{'"'}
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = fmt.Appendf(b, "\\u%04x", c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
