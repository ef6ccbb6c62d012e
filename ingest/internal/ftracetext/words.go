package ftracetext

import "math"

// Number reads the digits at the start of b. It returns false if there are none,
// or if the number does not fit in 64 bits.
func Number(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && IsDigit(b[i]); i++ {
		digit := uint64(b[i] - '0')
		if n > (math.MaxUint64-digit)/10 {
			return 0, b, false
		}
		n = n*10 + digit
	}
	return n, b[i:], i > 0
}

// IsDigit reports whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c-'0' < 10 }

// IsSpace reports whether a byte is white space.
func IsSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

// WordLen returns the number of bytes before the first space.
func WordLen(b []byte) int {
	for i, c := range b {
		if IsSpace(c) {
			return i
		}
	}
	return len(b)
}
