package functions

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendJSONText appends a text as JSON in ASCII, as Trace Processor writes it.
func AppendJSONText(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	escape := func(r uint16) {
		to = append(to, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	to = append(to, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '\b':
			to = append(to, `\b`...)
		case c == '\f':
			to = append(to, `\f`...)
		case c == '\r':
			to = append(to, `\r`...)
		case c == '\t':
			to = append(to, `\t`...)
		case c >= ' ' && c <= '~':
			to = append(to, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				escape(uint16(high))
				escape(uint16(low))
			} else {
				escape(uint16(r))
			}
			continue
		}
		i++
	}
	return append(to, '"')
}

// appendJSONReal appends a number with 16 digits, or as text if JSON has no such number.
func appendJSONReal(to []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(to, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(to, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(to, `"-Infinity"`...)
	}
	return strconv.AppendFloat(to, v, 'g', 16, 64)
}
