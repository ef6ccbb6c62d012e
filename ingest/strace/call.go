package strace

import (
	"bytes"
	"time"
)

// call is a system call. Its texts point into the line.
type call struct {
	name     []byte
	args     []byte
	returned []byte // nil if the call has not returned
	dur      int64  // ns, from -T, or unknown
	resumed  bool   // the line continues a call that began earlier
	goesOn   bool   // the call is unfinished on this line
}

// unknown is the duration of a call that has none.
const unknown = -1

var (
	resumedPrefix = []byte("<... ")
	resumedSuffix = []byte(" resumed>")
	unfinished    = []byte("<unfinished ...>")
	// ends are the texts that end the line of a call that has not returned.
	ends = [][]byte{unfinished, []byte("<detached ...>")}
)

// parseCall reads the part of a line after its leader.
func parseCall(text []byte) (c call, ok bool) {
	c.dur = unknown
	rest, resumed := bytes.CutPrefix(text, resumedPrefix)
	if c.resumed = resumed; resumed {
		c.name, rest, ok = bytes.Cut(rest, resumedSuffix)
	} else {
		c.name, rest, ok = bytes.Cut(rest, []byte("("))
	}
	if !ok || !isName(c.name) {
		return c, false
	}
	for _, end := range ends {
		if c.args, c.goesOn = bytes.CutSuffix(bytes.TrimRight(rest, spaces), end); c.goesOn {
			c.args = bytes.TrimSuffix(c.args, []byte(" "))
			return c, true
		}
	}
	if at := bytes.Index(rest, []byte("<Cannot restart pid ")); at >= 0 && rest[len(rest)-1] == '>' {
		c.args, c.goesOn = bytes.TrimSuffix(rest[:at], []byte(" ")), true
		return c, true
	}
	at, value := endOfArgs(rest)
	if at < 0 {
		return c, false
	}
	c.args = bytes.TrimRight(bytes.TrimSuffix(bytes.TrimRight(rest[:at], spaces), unfinished), spaces)
	c.returned = trim(value)
	c.cutDuration()
	return c, true
}

// isName reports whether a text is the name of a system call.
func isName(text []byte) bool {
	for _, c := range text {
		if !(c == '_' || isDigit(c) || c|0x20-'a' < 26) {
			return false
		}
	}
	return len(text) > 0 && !isDigit(text[0])
}

// endOfArgs returns where the parenthesis is that ends the args, and the value after it. Quoted texts and the paths of
// descriptors may have parentheses, too. It returns -1 if there is none.
func endOfArgs(text []byte) (at int, value []byte) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if i += quoted(text[i:]) - 1; i < 0 || i >= len(text) {
				return -1, nil
			}
		case '<':
			if i > 0 && (isDigit(text[i-1]) || text[i-1] == 'D') { // of a descriptor, a pid, or AT_FDCWD
				i += max(closing(text[i:]), 0)
			}
		case ')':
			after := bytes.TrimLeft(text[i+1:], " ")
			if len(after) > 2 && after[0] == '=' && after[1] == ' ' && (isDigit(after[2]) || after[2] == '-' || after[2] == '?') {
				return i, after[2:]
			}
		}
	}
	return -1, nil
}

// quoted returns the length of the quoted text at the start of text. It is more than that of text if the end is missing.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text) + 2
}

// closing returns where the angle bracket at the start of text is closed, or -1. strace escapes those in paths.
func closing(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if i += quoted(text[i:]) - 1; i >= len(text) {
				return -1
			}
		case '<':
			depth++
		case '>':
			if text[i-1] == '-' { // of a connection: "a->b"
				continue
			}
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// cutDuration moves the time at the end of the value, as in "0 <0.000149>", to the duration.
func (c *call) cutDuration() {
	value, ok := bytes.CutSuffix(c.returned, []byte(">"))
	if !ok {
		return
	}
	at := bytes.LastIndex(value, []byte(" <"))
	if at < 0 {
		return
	}
	whole, fraction, hasFraction := bytes.Cut(value[at+2:], []byte("."))
	seconds, ok := number(whole)
	if !ok || seconds >= 1e9 {
		return
	}
	var ns int64
	if hasFraction {
		if ns, ok = decimals(fraction); !ok {
			return
		}
	}
	c.dur = seconds*int64(time.Second) + ns
	c.returned = trim(value[:at])
}

// threadID returns the thread that the call's result names, or 0.
func (c *call) threadID() int64 {
	value := c.returned
	if at := bytes.Index(value, []byte("/* ")); at >= 0 && bytes.HasSuffix(value, []byte(" in strace's PID NS */")) {
		value = value[at+3:]
	}
	n := digits(value)
	if n == 0 || n > maxTIDDigits || n < len(value) && value[n] != ' ' && value[n] != '<' {
		return 0
	}
	tid, _ := number(value[:n])
	return tid
}
