package descriptor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/internal/wire"
)

// maxTextDepth limits how deep messages are written. Messages nested deeper are left
// empty.
const maxTextDepth = 100

// Text returns a message of the named type in protobuf's text format, one field per
// line. Unknown fields are written with their number.
func (p *Pool) Text(name string, message []byte) string {
	var b strings.Builder
	p.text(&b, p.Message(name), message, 0)
	return strings.TrimPrefix(b.String(), "\n")
}

func (p *Pool) text(b *strings.Builder, m *MessageType, message []byte, depth int) {
	indent := "\n" + strings.Repeat("  ", depth)
	for r := wire.Read(message); r.Next(); {
		f := &Field{Name: strconv.FormatUint(uint64(r.Number), 10)}
		if m != nil && m.Field(r.Number) != nil {
			f = m.Field(r.Number)
		}
		switch {
		case f.Type == Message:
			b.WriteString(indent + f.Name + " {")
			if depth < maxTextDepth {
				p.text(b, p.Message(f.TypeName), r.Bytes(), depth+1)
			}
			b.WriteString(indent + "}")
		case f.Type == String || f.Type == Bytes || f.Type == 0 && r.Type == wire.Bytes:
			b.WriteString(indent + f.Name + ": " + quote(r.Bytes()))
		case r.Type == wire.Varint || r.Type == wire.Bytes && f.varint():
			for v := range r.Varints {
				b.WriteString(indent + f.Name + ": " + p.varint(f, v))
			}
		case r.Type == wire.Bytes && (f.Type == Fixed32 || f.Type == Sfixed32 || f.Type == Float):
			for v := range r.Fixed(4) {
				b.WriteString(indent + f.Name + ": " + fixed32(f, uint32(v)))
			}
		case r.Type == wire.Fixed32:
			b.WriteString(indent + f.Name + ": " + fixed32(f, r.Uint32()))
		default:
			for v := range r.Fixed(8) {
				b.WriteString(indent + f.Name + ": " + fixed64(f, v))
			}
		}
	}
}

// varint reports whether values of the type are encoded as varints.
func (f *Field) varint() bool {
	switch f.Type {
	case Int32, Int64, Uint32, Uint64, Sint32, Sint64, Bool, Enum:
		return true
	}
	return false
}

func (p *Pool) varint(f *Field, v uint64) string {
	switch f.Type {
	case Int32:
		return strconv.Itoa(int(int32(v)))
	case Uint32:
		return strconv.FormatUint(uint64(uint32(v)), 10)
	case Uint64:
		return strconv.FormatUint(v, 10)
	case Sint32, Sint64:
		return strconv.FormatInt(wire.ZigZag(v), 10)
	case Bool:
		return strconv.FormatBool(v != 0)
	case Enum:
		if e := p.Enum(f.TypeName); e != nil && e.Name(int32(v)) != "" {
			return e.Name(int32(v))
		}
	}
	return strconv.FormatInt(int64(v), 10)
}

func fixed32(f *Field, v uint32) string {
	switch f.Type {
	case Float:
		return fmt.Sprintf("%f", math.Float32frombits(v))
	case Sfixed32:
		return strconv.Itoa(int(int32(v)))
	case Fixed32:
		return strconv.FormatUint(uint64(v), 10)
	}
	return fmt.Sprintf("0x%08x", v)
}

func fixed64(f *Field, v uint64) string {
	switch f.Type {
	case Double:
		return fmt.Sprintf("%f", math.Float64frombits(v))
	case Sfixed64:
		return strconv.FormatInt(int64(v), 10)
	case Fixed64:
		return strconv.FormatUint(v, 10)
	}
	return fmt.Sprintf("0x%016x", v)
}

var escapes = map[byte]string{
	'\n': `\n`, '\r': `\r`, '\t': `\t`, '\v': `\v`, '\a': `\a`, '\b': `\b`, '\f': `\f`, '\\': `\\`, '\'': `\'`, '"': `\"`,
}

// quote quotes a text. Anything but printable ASCII is escaped in octal.
func quote(text []byte) string {
	b := []byte{'"'}
	for _, c := range text {
		switch escaped, ok := escapes[c]; {
		case ok:
			b = append(b, escaped...)
		case c >= 0x20 && c <= 0x7e:
			b = append(b, c)
		default:
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	return string(append(b, '"'))
}
