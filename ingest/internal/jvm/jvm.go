// Package jvm decodes what Java's virtual machines write.
package jvm

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Text decodes modified UTF-8, in which the JVM and ART keep names and other texts: U+0000 is two bytes, and a character
// above U+FFFF is its two surrogates of three bytes each (Java Virtual Machine Specification, 4.4.7). A surrogate without
// the other half is a character in Java, but not in UTF-8, so it becomes U+FFFD. Everything else stays as it is. The
// result is b itself if nothing changes.
func Text(b []byte) []byte {
	i := next(b)
	if i < 0 {
		return b
	}
	var text []byte
	for ; i >= 0; i = next(b) {
		text = append(text, b[:i]...)
		if b = b[i:]; b[0] == nul[0] {
			text, b = append(text, 0), b[len(nul):]
			continue
		}
		r, n := surrogate(b), surrogateBytes
		if low := surrogate(b[n:]); low != 0 && utf16.DecodeRune(r, low) != utf8.RuneError {
			r, n = utf16.DecodeRune(r, low), 2*n
		}
		text, b = utf8.AppendRune(text, r), b[n:]
	}
	return append(text, b...)
}

// nul is U+0000.
var nul = []byte{0xc0, 0x80}

const (
	surrogateBytes = 3
	surrogateLead  = 0xed
)

// next returns the offset of the first bytes that are not UTF-8, or -1.
func next(b []byte) int {
	for i := 0; ; i++ {
		for i < len(b) && b[i] != nul[0] && b[i] != surrogateLead {
			i++
		}
		switch {
		case i == len(b):
			return -1
		case bytes.HasPrefix(b[i:], nul), surrogate(b[i:]) != 0:
			return i
		}
	}
}

// surrogate returns the surrogate that b begins with, or 0.
func surrogate(b []byte) rune {
	if len(b) < surrogateBytes || b[0] != surrogateLead || b[1] < 0xa0 || b[1] > 0xbf || b[2] < 0x80 || b[2] > 0xbf {
		return 0
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}
