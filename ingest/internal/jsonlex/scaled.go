package jsonlex

import (
	"bytes"
	"math"
)

// maxExponent is beyond any time that fits in 64 bits.
const maxExponent = 400

// Scaled returns the number times a power of ten, rounded to the nearest integer, half away from zero. It keeps all
// digits of the text, of which a double would lose some. It returns false if the value is no number or does not fit.
func (v Value) Scaled(power int) (n int64, ok bool) {
	if v.Kind != Integer && v.Kind != Double {
		return 0, false
	}
	text, negative := bytes.CutPrefix(v.Raw, []byte("-"))
	if at := bytes.IndexAny(text, "eE"); at >= 0 {
		exponent, ok := ParseInt(append([]byte(nil), bytes.TrimPrefix(text[at+1:], []byte("+"))...))
		if !ok || exponent < -maxExponent || exponent > maxExponent {
			return 0, false
		}
		text, power = text[:at], power+int(exponent)
	}
	whole, fraction, _ := bytes.Cut(text, []byte("."))
	digits := len(whole) + power // of the result, before the decimal point
	round := false
	for i := range max(digits, len(whole)+len(fraction)) {
		c := byte('0')
		switch {
		case i < len(whole):
			c = whole[i]
		case i-len(whole) < len(fraction):
			c = fraction[i-len(whole)]
		}
		switch {
		case !digit(c):
			return 0, false // NaN or Infinity
		case i == digits:
			round = c >= '5'
		case i > digits:
		case n > (math.MaxInt64-9)/10:
			return 0, false
		default:
			n = n*10 + int64(c-'0')
		}
	}
	if round {
		n++
	}
	if negative {
		n = -n
	}
	return n, len(whole) > 0
}
