package strace

import (
	"bytes"
	"math"
	"time"
)

// leader is what a line has before its call: the thread and the time.
type leader struct {
	prefix prefix
	tid    int64
	comm   []byte // from -Y
	clock  stamp
	since  stamp // since the line before, from -r
}

// prefix is how a line names its thread.
type prefix uint8

const (
	noPrefix prefix = iota
	plain           // "1234 ", in files of several threads
	bracket         // "[pid 1234] ", on the terminal while there are several threads
)

// stamp is a time or a difference of times.
type stamp struct {
	kind   kind
	ns     int64
	digits int // decimals
}

// kind is what a stamp counts from.
type kind uint8

const (
	noTime     kind = iota
	sinceEpoch      // from -ttt
	sinceDay        // from -t and -tt
	sinceLine       // from -r
)

const (
	// maxTIDDigits is the maximum number of digits in a tid.
	maxTIDDigits = 9
	// epochDigits is the minimum number of digits in seconds since 1970. Smaller numbers are differences, which -r writes.
	epochDigits = 9
)

// parseLeader reads the leader of a line and returns the rest of the line.
func parseLeader(line []byte) (l leader, rest []byte) {
	rest = skipBrackets(l.thread(line)) // the SELinux context
	l.clock, rest = parseStamp(rest)
	if l.clock.kind == sinceLine {
		l.since, l.clock = l.clock, stamp{}
	} else if after, ok := bytes.CutPrefix(rest, []byte("(+")); ok {
		after = bytes.TrimLeft(after, " ")
		if end := bytes.IndexByte(after, ')'); end > 0 {
			l.since, _ = parseStamp(append(after[:end:end], ' '))
			rest = trim(after[end+1:])
		}
	}
	return l, skipBrackets(rest) // the number of the call and the instruction pointer
}

// thread reads the thread's id and name.
func (l *leader) thread(line []byte) (rest []byte) {
	id, kind := line, plain
	if after, ok := bytes.CutPrefix(line, []byte("[pid ")); ok {
		id, kind = bytes.TrimLeft(after, " "), bracket
	}
	n := digits(id)
	if n == 0 || n > maxTIDDigits || n == len(id) {
		return line
	}
	after, comm := id[n:], []byte(nil)
	if after[0] == '<' {
		end := closing(after)
		if end < 0 {
			return line
		}
		comm, after = after[1:end], after[end+1:]
	}
	end := byte(' ')
	if kind == bracket {
		end = ']'
	}
	if len(after) == 0 || after[0] != end {
		return line
	}
	tid, _ := number(id[:n])
	l.tid, l.prefix, l.comm = tid, kind, comm
	return after[1:]
}

// skipBrackets skips texts in brackets, and spaces.
func skipBrackets(rest []byte) []byte {
	for {
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 || rest[0] != '[' {
			return rest
		}
		end := bytes.Index(rest, []byte("] "))
		if end < 0 {
			return rest
		}
		rest = rest[end+1:]
	}
}

// parseStamp reads a time that a space follows. Without one, it returns the whole text.
func parseStamp(text []byte) (s stamp, rest []byte) {
	n := digits(text)
	switch {
	case n == 0 || n == len(text):
		return s, text
	case n == 2 && text[2] == ':':
		if s.ns, rest = parseClock(text); rest == nil {
			return s, text
		}
		s.kind = sinceDay
	default:
		seconds, ok := number(text[:n])
		if !ok || seconds >= math.MaxInt64/int64(time.Second) {
			return s, text
		}
		s.ns, rest = seconds*int64(time.Second), text[n:]
		s.kind = sinceLine
		if n >= epochDigits {
			s.kind = sinceEpoch
		}
	}
	if len(rest) > 0 && rest[0] == '.' {
		s.digits = digits(rest[1:])
		ns, ok := decimals(rest[1 : 1+s.digits])
		if !ok {
			return stamp{}, text
		}
		s.ns += ns
		rest = rest[1+s.digits:]
	}
	if len(rest) == 0 || rest[0] != ' ' {
		return stamp{}, text
	}
	return s, bytes.TrimLeft(rest, " ")
}

// parseClock reads hours, minutes and seconds. rest is nil if there are none.
func parseClock(text []byte) (ns int64, rest []byte) {
	const length = len("15:04:05")
	if len(text) < length {
		return 0, nil
	}
	var parts [3]int64
	for i := range parts {
		part := text[3*i : 3*i+2]
		n, ok := number(part)
		if !ok || digits(part) != 2 || i < 2 && text[3*i+2] != ':' {
			return 0, nil
		}
		parts[i] = n
	}
	if parts[0] > 23 || parts[1] > 59 || parts[2] > 60 {
		return 0, nil
	}
	return (parts[0]*3600 + parts[1]*60 + parts[2]) * int64(time.Second), text[length:]
}

// digits returns the number of digits that a text starts with.
func digits(text []byte) (n int) {
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// number reads a number of at most 18 digits.
func number(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// decimals reads one to nine decimals of a second, in ns.
func decimals(text []byte) (ns int64, ok bool) {
	if ns, ok = number(text); !ok || len(text) > 9 {
		return 0, false
	}
	for range 9 - len(text) {
		ns *= 10
	}
	return ns, true
}

func isDigit(c byte) bool { return c-'0' < 10 }

const spaces = " \t\r\n"

func trim(text []byte) []byte { return bytes.Trim(text, spaces) }
