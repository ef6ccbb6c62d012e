package strace

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
)

// frame is a line of a stack. Its texts point into the line.
type frame struct {
	file    []byte // the binary
	symbol  []byte // nil if unknown
	address uint64 // in the binary
	source  []byte // nil if unknown
	line    uint64
}

var framePrefix = []byte(" > ")

// parseFrame reads a frame after its prefix:
//
//	/usr/lib/libc.so.6(nanosleep+0x13) [0xd3e53] nanosleep.c:25
func parseFrame(text []byte) (f frame, ok bool) {
	text = bytes.TrimRight(text, spaces)
	at := bytes.LastIndex(text, []byte(") [0x"))
	if at < 0 {
		return f, false
	}
	address, source, ok := bytes.Cut(text[at+len(") [0x"):], []byte("]"))
	if f.address, ok = hexadecimal(address), ok && len(address) > 0 && len(address) <= 16; !ok {
		return f, false
	}
	if colon := bytes.LastIndexByte(source, ':'); colon > 0 {
		if line, ok := number(source[colon+1:]); ok {
			f.source, f.line = trim(source[:colon]), uint64(line)
		}
	}
	text = text[:at]
	from := 0
	if deleted := bytes.Index(text, []byte(" (deleted)(")); deleted >= 0 {
		from = deleted + len(" (deleted)")
	}
	open := bytes.IndexByte(text[from:], '(')
	if open < 0 {
		return f, false
	}
	f.file, f.symbol = text[:from+open], text[from+open+1:]
	if plus := bytes.LastIndex(f.symbol, []byte("+0x")); plus >= 0 {
		f.symbol = f.symbol[:plus]
	}
	if len(f.symbol) == 0 {
		f.symbol = nil
	}
	return f, true
}

// write adds the frame to an event.
func (f *frame) write(w *token.Writer) {
	w.Uint(f.address)
	w.Text(f.file)
	w.Text(f.symbol)
	w.Text(f.source)
	w.Uint(f.line)
}

// hexadecimal reads a number of at most 16 digits, up to the first other character.
func hexadecimal(text []byte) (n uint64) {
	for _, c := range text {
		switch {
		case isDigit(c):
			n = n<<4 | uint64(c-'0')
		case c|0x20-'a' < 6:
			n = n<<4 | uint64(c|0x20-'a'+10)
		default:
			return n
		}
	}
	return n
}
