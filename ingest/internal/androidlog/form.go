package androidlog

import (
	"bytes"
	"slices"
)

// form is how the lines show a message.
type form uint8

const (
	threadtime form = iota
	brieftime       // logcat -v time
	long
	studio    // Android Studio since 2022
	oldStudio // Android Studio before
)

// clock is what times count from.
type clock uint8

const (
	localTime clock = iota // dates where the device is
	utcTime                // seconds since 1970, and dates with their zone
	uptime                 // seconds since the start
)

// layout says what the lines have.
type layout struct {
	form  form
	clock clock
	date  bool // a date, not seconds
	zone  bool
	user  bool
}

// minEpoch is the lowest number of seconds taken for a time since 1970, not since the device started.
const minEpoch = 1e8

// epochWidth is how wide logcat makes seconds since 1970.
const epochWidth = 19

// detect finds the layout of a line, without its colors.
func detect(line []byte) (l layout, ok bool) {
	rest, boxed := bytes.CutPrefix(line, []byte("[ "))
	if rest, ok = l.detectTime(rest); !ok {
		return l, false
	}
	if boxed {
		l.form = long
		return l, bytes.HasSuffix(rest, []byte(" ]"))
	}
	if n := digits(rest); n > 0 && n < len(rest) && rest[n] == '-' {
		after := rest[n+1:]
		n := digits(after)
		if n == 0 || n == len(after) {
			return l, false
		}
		l.form = studio
		if after[n] == '/' {
			l.form = oldStudio
		}
		return l, after[n] == '/' || after[n] == ' '
	}
	if len(rest) > 2 && rest[1] == '/' {
		l.form = brieftime
		return l, isPriority(rest[:1]) && processEnd(rest) > 0
	}
	words := bytes.Fields(rest)
	if len(words) < 3 {
		return l, false
	}
	l.user = !isPriority(words[2])
	return l, !l.user || len(words) > 3 && isPriority(words[3])
}

// detectTime finds out which times the lines have, and returns what follows it.
func (l *layout) detectTime(line []byte) (rest []byte, ok bool) {
	if text := bytes.TrimLeft(line, " "); len(text) > 0 {
		n := digits(text)
		if n > 0 && n < len(text) && text[n] == '.' && digits(text[n+1:]) >= 3 {
			l.clock = uptime
			if c := (cursor{rest: text, ok: true}); len(line)-len(text)+n >= epochWidth || c.number('.') >= minEpoch {
				l.clock = utcTime
			}
			return afterWord(text)
		}
	}
	l.date = true
	date, rest, _ := bytes.Cut(line, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if !(len(date) == 5 && date[2] == '-' || len(date) == 10 && date[4] == '-' && date[7] == '-') ||
		len(rest) < 10 || rest[2] != ':' || rest[5] != ':' || rest[8] != '.' {
		return nil, false
	}
	rest, ok = afterWord(rest)
	if len(rest) > 5 && (rest[0] == '+' || rest[0] == '-') && digits(rest[1:]) == 4 && rest[5] == ' ' {
		l.zone, l.clock = true, utcTime
		return afterWord(rest)
	}
	return rest, ok
}

// afterWord returns what follows the first word and its spaces.
func afterWord(text []byte) (rest []byte, ok bool) {
	_, rest, ok = bytes.Cut(text, []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	return rest, ok && len(rest) > 0
}

func digits(text []byte) (n int) {
	for n < len(text) && text[n]-'0' < 10 {
		n++
	}
	return n
}

func isPriority(word []byte) bool { return len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' }

// processEnd returns where the process in parentheses ends that follows the tag, as in "I/tag( 1234): ", or 0.
func processEnd(text []byte) int {
	for at := 0; ; {
		open := bytes.IndexByte(text[at:], '(')
		if open < 0 {
			return 0
		}
		at += open + 1
		end := bytes.IndexByte(text[at:], ')')
		if end < 0 {
			return 0
		}
		id := text[at : at+end]
		id = bytes.TrimLeft(id[bytes.LastIndexByte(id, ':')+1:], " ")
		if after := text[at+end+1:]; len(id) > 0 && digits(id) == len(id) && len(after) > 0 && after[0] == ':' {
			return at + end + 1
		}
	}
}

// Timeless returns the name of the format of logcat without times that a line has, or "".
func Timeless(line []byte) string {
	line, _ = uncolored(line)
	if len(line) < 4 || bytes.IndexByte([]byte("VDIWEFS"), line[0]) < 0 {
		return ""
	}
	switch line[1] {
	case '/':
		if processEnd(line) > 0 {
			return "brief"
		}
		if bytes.Contains(line, []byte(": ")) {
			return "tag"
		}
	case '(':
		end := bytes.Index(line, []byte(") "))
		if end < 0 {
			return ""
		}
		ids := bytes.FieldsFunc(line[2:end], func(r rune) bool { return r == ':' || r == ' ' })
		if len(ids) == 0 || digits(ids[len(ids)-1]) != len(ids[len(ids)-1]) {
			return ""
		}
		if bytes.HasSuffix(line, []byte(")")) {
			return "process"
		}
		return "thread"
	}
	return ""
}

// IsDivider reports whether logcat writes such a line between the messages of two buffers.
func IsDivider(line []byte) bool {
	return bytes.HasPrefix(line, []byte("--------- beginning of ")) || bytes.HasPrefix(line, []byte("--------- switch to "))
}

// IsHeader reports whether adb writes such a line before the log.
func IsHeader(line []byte) bool {
	return slices.ContainsFunc(headers, func(start []byte) bool { return bytes.HasPrefix(line, start) })
}

// headers begin lines of adb, such as adb server is out of date.  killing...
var headers = [][]byte{[]byte("* daemon "), []byte("- waiting for "), []byte("< waiting for "), []byte("adb server ")}

// uncolored returns a line without the color of its priority. colored says whether it has one.
func uncolored(line []byte) (text []byte, colored bool) {
	if text, colored = bytes.CutPrefix(line, []byte("\x1b[")); !colored {
		return line, false
	}
	end := bytes.IndexByte(text, 'm')
	if end < 0 {
		return line, false
	}
	return bytes.TrimSuffix(text[end+1:], colorEnd), true
}

var colorEnd = []byte("\x1b[0m")
