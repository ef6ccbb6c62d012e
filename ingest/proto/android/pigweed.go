package android

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// tokens are the formats of a database of Pigweed's tokenizer by token, which is a hash: formats may collide. pw_tokenizer in Pigweed's
// source describes the database (token_database.h) and the events (encode_args.h).
type tokens map[uint32][]format

// format is a format as printf has it.
type format struct {
	text    string
	removed uint32 // when the program ceased to have it, as year, month and day; the greatest number if it has it
}

// Sizes in bytes.
const (
	tokenSize    = 4
	databaseHead = 16
	entrySize    = 8 // of a token and the day of its removal
)

// add adds the formats of a database. It returns false if the database is damaged.
func (t tokens) add(database []byte) bool {
	if len(database) < databaseHead || !bytes.HasPrefix(database, []byte("TOKENS\x00\x00")) {
		return false
	}
	size := int64(binary.LittleEndian.Uint32(database[8:])) * entrySize
	database = database[databaseHead:]
	if int64(len(database)) < size {
		return false
	}
	entries, texts := database[:size], database[size:]
	if bytes.Count(texts, []byte{0}) < len(entries)/entrySize {
		return false
	}
	for ; len(entries) > 0; entries = entries[entrySize:] {
		text, rest, _ := bytes.Cut(texts, []byte{0})
		token, removed := binary.LittleEndian.Uint32(entries), binary.LittleEndian.Uint32(entries[4:])
		t[token] = append(t[token], format{string(text), removed})
		texts = rest
	}
	return true
}

// line returns what an event says. Of formats with the same token, that is taken which fits its arguments, of these the latest.
func (t tokens) line(token uint32, payload []byte) (best line, known bool) {
	var latest uint32
	for _, f := range t[token] {
		l := write(f.text, payload)
		if !known || cmp.Or(cmp.Compare(best.missing, l.missing), cmp.Compare(best.left, l.left), cmp.Compare(len(l.args), len(best.args)),
			cmp.Compare(f.removed, latest)) >= 0 {
			best, latest, known = l, f.removed, true
		}
	}
	return best, known
}

// line is a format with its arguments in it.
type line struct {
	format  string
	text    []byte
	args    []any // int64, uint64, float64 or string
	missing int   // arguments that the payload lacks, or that cannot be read
	left    int   // bytes of the payload for which there is no argument
}

// conversion matches what printf replaces, with its flags, width, precision, length and letter. Larger sizes than four digits are none.
var conversion = regexp.MustCompile(`%%|%([-+ #0]*)(\*|\d{0,4})(?:\.(\*|\d{0,4}))?(hh|ll|[hljztL]|)([csdiouxXpfFeEaAgG])`)

// write writes the arguments in a payload into their format.
func write(format string, payload []byte) line {
	l, a, end := line{format: format}, arguments{payload: payload}, 0
	for _, m := range conversion.FindAllStringSubmatchIndex(format, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return format[m[2*i]:m[2*i+1]]
		}
		l.text = append(l.text, format[end:m[0]]...)
		end = m[1]
		if part(0) == "%%" {
			l.text = append(l.text, '%')
			continue
		}
		s := spec{flags: part(1), width: a.size(part(2)), length: part(4), letter: part(5)[0]}
		if m[6] >= 0 {
			s.precision = "." + a.size(part(3))
		}
		if strings.HasPrefix(s.precision, ".-") {
			s.precision = ""
		}
		value := a.next(&s)
		if a.failed = a.failed || len(l.text) > maxLine; a.failed {
			l.text = append(l.text, "<ERROR>"...)
			l.missing++
			continue
		}
		l.text = s.append(l.text, value)
		l.args = append(l.args, value)
	}
	l.text = append(l.text, format[end:]...)
	l.left = len(a.payload)
	return l
}

// arguments are what a payload still holds. Where one is damaged, the others cannot be found.
type arguments struct {
	payload []byte
	failed  bool
}

// integer reads an integer. All have the same encoding.
func (a *arguments) integer() int64 {
	n, size := binary.Uvarint(a.payload)
	if size <= 0 {
		a.failed = true
	}
	a.take(size)
	return wire.ZigZag(n)
}

// take takes some bytes, and none from where they are missing.
func (a *arguments) take(size int) []byte {
	if a.failed || len(a.payload) < size {
		a.failed = true
		a.payload = nil
		return nil
	}
	taken := a.payload[:size]
	a.payload = a.payload[size:]
	return taken
}

// Limits of a line, well above what a modem writes.
const (
	maxSize = 9999     // of a width or precision
	maxLine = 64 << 10 // bytes
)

// size returns a width or precision, for which * takes an argument.
func (a *arguments) size(text string) string {
	if text != "*" {
		return text
	}
	n := a.integer()
	a.failed = a.failed || n < -maxSize || n > maxSize
	return strconv.FormatInt(n, 10)
}

// next reads the value of a conversion.
func (a *arguments) next(s *spec) any {
	switch s.letter {
	case 's':
		head := a.take(1)
		if a.failed {
			return nil
		}
		text := string(a.take(int(head[0] & 0x7f)))
		if head[0]&0x80 != 0 {
			text += "[...]" // the modem cut it, and Pigweed says so this way
		}
		return text
	case 'd', 'i':
		switch n := a.integer(); s.length {
		case "hh":
			return int64(int8(n))
		case "h":
			return int64(int16(n))
		default:
			return n
		}
	case 'c':
		return a.integer()
	case 'o', 'u', 'x', 'X':
		n := a.integer()
		switch {
		case s.length == "hh":
			return uint64(uint8(n))
		case s.length == "h":
			return uint64(uint16(n))
		case s.length != "ll" && s.length != "j" && n == int64(int32(n)): // 32 bits, which the encoding extended by their sign
			return uint64(uint32(n))
		}
		return uint64(n)
	case 'p':
		return uint64(a.integer())
	}
	bits := a.take(4)
	if a.failed {
		return nil
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(bits)))
}
