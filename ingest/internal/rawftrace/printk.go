package rawftrace

import (
	"bytes"
	"fmt"
	"strings"
)

// printk writes the message of trace_printk: a format with its values, which the kernel
// stores as vbin_printf in lib/vsprintf.c does. long is the size of a pointer in bytes. It
// returns false if the message is damaged.
func (d *Decoder) printk(format, values []byte, long int) ([]byte, bool) {
	m := message{Decoder: d, values: values, long: long}
	for len(format) > 0 && !m.damaged {
		text, rest, found := bytes.Cut(format, []byte{'%'})
		m.text = append(m.text, text...)
		format = rest
		if found {
			format = m.conversion(rest)
		}
		m.damaged = m.damaged || len(m.text) > maxMessage
	}
	return bytes.TrimSuffix(m.text, []byte{'\n'}), !m.damaged
}

// Limits of a message, well above the 1,024 bytes of the kernel's buffer.
const (
	maxMessage    = 64 << 10 // bytes
	maxSizeDigits = 4        // of a width or precision
)

// message is a message of trace_printk as far as it is written.
type message struct {
	*Decoder
	text    []byte
	values  []byte
	at      int // position in values
	long    int
	damaged bool // a value is missing, or a size is too large
}

// conversion writes the value for a conversion, such as %-5lu, and returns the format after
// it. The leading % is not part of format.
func (m *message) conversion(format []byte) (rest []byte) {
	spec := []byte{'%'}
	copyAll := func(set string) {
		for len(format) > 0 && strings.IndexByte(set, format[0]) >= 0 {
			spec = append(spec, format[0])
			format = format[1:]
		}
	}
	size := func() {
		before := len(spec)
		if len(format) > 0 && format[0] == '*' {
			spec = fmt.Appendf(spec, "%d", int32(m.number(4)))
			format = format[1:]
		} else {
			copyAll("0123456789")
		}
		m.damaged = m.damaged || len(spec)-before > maxSizeDigits
	}
	copyAll("-+ #0")
	size()
	if len(format) > 0 && format[0] == '.' {
		copyAll(".")
		size()
	}
	bytesOf := 4
	for len(format) > 0 && strings.IndexByte("hlLqjzt", format[0]) >= 0 {
		switch c := format[0]; {
		case c == 'h':
			bytesOf /= 2
		case c == 'L' || c == 'q' || c == 'j' || c == 'l' && len(format) > 1 && format[1] == 'l':
			bytesOf = 8
		case bytesOf == 4:
			bytesOf = m.long
		}
		format = format[1:]
	}
	if len(format) == 0 {
		return nil
	}
	verb := format[0]
	format = format[1:]
	switch verb {
	case '%':
		m.text = append(m.text, '%')
	case 'c':
		m.put(spec, 'c', rune(m.number(1)))
	case 's':
		m.put(spec, 's', m.string())
	case 'd', 'i':
		n := m.number(bytesOf)
		unused := 64 - 8*bytesOf
		m.put(spec, 'd', int64(n<<unused)>>unused)
	case 'u':
		m.put(spec, 'd', m.number(bytesOf))
	case 'x', 'X', 'o':
		m.put(spec, verb, m.number(bytesOf))
	case 'p':
		return m.pointer(spec, format)
	default: // the kernel stores no value
		m.text = append(append(m.text, spec...), verb)
	}
	return format
}

// put writes a value.
func (m *message) put(spec []byte, verb byte, value any) {
	if !m.damaged {
		m.text = fmt.Appendf(m.text, string(append(spec, verb)), value)
	}
}

// pointer writes a pointer, whose kind follows it in the format. The kernel stores most
// kinds as text, because what they point to changes.
func (m *message) pointer(spec, format []byte) (rest []byte) {
	kind := format
	rest = bytes.TrimLeft(format, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	kind = kind[:len(kind)-len(rest)]
	if len(kind) > 0 && strings.IndexByte("SsxKe", kind[0]) < 0 {
		m.put(spec, 's', m.string())
		return rest
	}
	address := m.number(m.long)
	if len(kind) > 0 && (kind[0] == 'S' || kind[0] == 's') {
		if name := m.symbol(address); name != 0 {
			m.put(spec, 's', m.Store.Strings.Get(name))
			return rest
		}
	}
	m.put(spec, 's', fmt.Sprintf("%#x", address))
	return rest
}

// number reads a number of up to 8 bytes. Numbers of 8 bytes are aligned to 4.
func (m *message) number(size int) uint64 {
	align := min(size, 4)
	m.at = (m.at + align - 1) / align * align
	if m.at+size > len(m.values) {
		m.damaged = true
		return 0
	}
	value := m.values[m.at : m.at+size]
	m.at += size
	return m.integer(value, false)
}

// string reads a zero-terminated text.
func (m *message) string() []byte {
	text, _, ok := bytes.Cut(m.values[min(m.at, len(m.values)):], []byte{0})
	if !ok {
		m.damaged = true
		return nil
	}
	m.at += len(text) + 1
	return text
}
