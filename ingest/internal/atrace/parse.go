// Package atrace reads what apps and drivers write into a trace of Linux by Android's atrace.
package atrace

import (
	"math"
	"strconv"
)

// A Mark is text that an app or a driver wrote into the trace: a mark of
// Android's atrace, such as B|123|name, or a kernel tracepoint with the same
// meaning.
type Mark struct {
	Phase byte
	TGID  int64
	Name  []byte
	Track []byte // of N, G and H
	Value int64  // of C; the cookie of S, F, G and H
}

var unnamedMark = []byte("[empty slice name]")

// Parse reads a mark. isMark is false if the text is not one: anybody may write a text to trace_marker, and only atrace's begin with
// a single letter. ok is false if the mark is damaged.
func Parse(text []byte) (m Mark, ok, isMark bool) {
	for n := len(text); n > 0 && (text[n-1] == '\n' || text[n-1] == 0); n-- {
		text = text[:n-1]
	}
	rest, more := text, true
	next := func() []byte {
		if !more {
			return nil
		}
		i := 0
		for i < len(rest) && rest[i] != '|' && rest[i] != 0 {
			i++
		}
		more = i < len(rest)
		field := rest[:i]
		rest = rest[min(i+1, len(rest)):]
		return field
	}
	phase := next()
	if len(phase) != 1 {
		return m, false, false
	}
	m.Phase = phase[0]
	var hasTGID bool
	m.TGID, hasTGID = parsePID(next())
	number := func(field []byte) (ok bool) {
		v, err := strconv.ParseInt(string(field), 10, 64)
		m.Value = v
		return err == nil
	}
	switch m.Phase {
	case 'B':
		if m.Name = rest; len(rest) == 0 {
			m.Name = unnamedMark
		}
		return m, hasTGID, true
	case 'E': // some tools write only the letter
		return m, true, true
	case 'S', 'F', 'C':
		m.Name = next()
		return m, number(next()) && hasTGID && (len(m.Name) > 0 || m.Phase == 'C'), true
	case 'I':
		m.Name = next()
		return m, hasTGID && len(m.Name) > 0, true
	case 'N', 'G':
		m.Track, m.Name = next(), next()
		ok = m.Phase == 'N' || number(next())
		return m, ok && hasTGID && len(m.Track) > 0 && len(m.Name) > 0, true
	case 'H':
		m.Track = next()
		cookie := next()
		if last := next(); len(last) > 0 { // an older form has a name before the cookie
			cookie = last
		}
		return m, number(cookie) && hasTGID && len(m.Track) > 0, true
	}
	return m, false, true
}

// parsePID reads a number of up to 32 bits.
func parsePID(field []byte) (pid int64, ok bool) {
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		if pid = 10*pid + int64(c-'0'); pid > math.MaxUint32 {
			return 0, false
		}
	}
	return pid, len(field) > 0
}
