package systrace

import (
	"bytes"
	"math"
	"strconv"
)

// maxCPUs is more CPUs than a machine has; a larger number means damage.
const maxCPUs = 1024

// line is a parsed line of a trace. Its texts point into the line.
type line struct {
	task   []byte // name of the thread that ran
	pid    uint32 // its tid
	tgid   uint32
	inTGID bool // tgid is known
	cpu    uint16
	ts     int64 // ns
	event  []byte
	args   []byte
}

// parse reads a line. A thread name can contain anything, even "-1 [", so it ends
// at the first dash after which the rest of the line parses.
func (l *line) parse(text []byte) bool {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '-')
		if i < 0 {
			return false
		}
		at += i + 1
		if l.parseFrom(text[at:]) {
			l.task = bytes.TrimSpace(text[:at-1])
			return true
		}
	}
}

// parseFrom reads a line, starting at the tid.
func (l *line) parseFrom(b []byte) bool {
	pid, b, ok := number(b)
	if !ok || pid > math.MaxUint32 || len(b) == 0 || !isSpace(b[0]) {
		return false
	}
	l.pid = uint32(pid)
	if b, ok = l.parseTGID(skipSpace(b)); !ok {
		return false
	}
	cpu, b, ok := number(b)
	if !ok || cpu >= maxCPUs || len(b) == 0 || b[0] != ']' {
		return false
	}
	l.cpu = uint16(cpu)
	if l.ts, b, ok = timestamp(skipFlags(skipSpace(b[1:]))); !ok || len(b) == 0 || !isSpace(b[0]) {
		return false
	}
	b = skipSpace(b)
	name := b[:wordLen(b)]
	end := bytes.LastIndexByte(name, ':')
	if end <= 0 {
		return false
	}
	l.event, l.args = b[:end], bytes.TrimSpace(b[end+1:])
	return true
}

// parseTGID reads the process, up to the bracket before the CPU. An unknown
// process is written as dashes.
func (l *line) parseTGID(b []byte) ([]byte, bool) {
	l.inTGID = false
	if len(b) > 0 && b[0] == '(' {
		b = skipSpace(b[1:])
	}
	if tgid, rest, ok := number(b); ok {
		l.tgid, l.inTGID = uint32(tgid), tgid <= math.MaxUint32
		b = rest
	} else {
		b = bytes.TrimLeft(b, "-")
	}
	if len(b) > 0 && b[0] == ')' {
		b = b[1:]
	}
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '[' {
		return nil, false
	}
	return b[1:], true
}

// skipFlags skips the column of flags, such as d..2, if there is one. Some writers
// leave no space after it.
func skipFlags(b []byte) []byte {
	if len(b) == 0 || isDigit(b[0]) {
		return b
	}
	n := wordLen(b)
	if n == 0 || b[n-1] != ':' {
		return skipSpace(b[n:])
	}
	for len(b) > 0 && !isDigit(b[0]) {
		b = b[1:]
	}
	return b
}

// maxExact is the largest number up to which doubles represent all integers
// exactly.
const maxExact = 1 << 53

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// timestamp reads seconds and a colon. The result, in ns, is the nearest double of
// the seconds times 1e9, truncated to an integer. This is Trace Processor's value,
// which is often 1 ns less than the text says.
func timestamp(b []byte) (int64, []byte, bool) {
	whole, rest, ok := number(b)
	if !ok || len(rest) == 0 || rest[0] != '.' {
		return 0, nil, false
	}
	decimals := 0
	n := whole
	for rest = rest[1:]; decimals < len(rest) && isDigit(rest[decimals]); decimals++ {
		if n < maxExact {
			n = n*10 + uint64(rest[decimals]-'0')
		}
	}
	if decimals == 0 || decimals == len(rest) || rest[decimals] != ':' {
		return 0, nil, false
	}
	rest = rest[decimals+1:]
	var seconds float64
	if n < maxExact && decimals < len(powersOfTen) {
		seconds = float64(n) / powersOfTen[decimals]
	} else {
		seconds, _ = strconv.ParseFloat(string(b[:len(b)-len(rest)-1]), 64)
	}
	ns := seconds * 1e9
	return int64(ns), rest, ns < math.MaxInt64
}

// number reads the digits at the start of b. It returns false if there are none,
// or if the number does not fit in 64 bits.
func number(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		digit := uint64(b[i] - '0')
		if n > (math.MaxUint64-digit)/10 {
			return 0, b, false
		}
		n = n*10 + digit
	}
	return n, b[i:], i > 0
}

func isDigit(c byte) bool { return c-'0' < 10 }

func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// wordLen returns the number of bytes before the first space.
func wordLen(b []byte) int {
	for i, c := range b {
		if isSpace(c) {
			return i
		}
	}
	return len(b)
}
