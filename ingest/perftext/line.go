package perftext

import (
	"bytes"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/model"
)

// A header is the first line of a sample, or the line of another record. perf_sample__fprintf_start in perf's
// builtin-script.c prints its fields in this order; each but the time is optional.
type header struct {
	comm     []byte // trimmed, nil if the line has none
	pid, tid int64  // None if absent or unknown to the kernel
	hasID    bool
	cpu      int64  // None if absent
	mode     string // privilege level of the CPU, "" if absent or unknown
	wall     bool   // has a wall-clock time, too
	ns       int64  // time
	rest     []byte // what follows the time
}

// maxComm is the maximum length of the name of a thread in Linux, in bytes.
const maxComm = 15

// parseHeader reads the fields up to the time. A thread's name may look like all of them: the last time counts whose
// fields leave a name that Linux allows. withoutIDs says that numbers before the time belong to the name.
func parseHeader(line []byte, withoutIDs bool) (h header, ok bool) {
	for from := 0; ; {
		start, end := findTime(line, from)
		if start < 0 {
			return h, ok
		}
		from = end
		c := header{rest: line[end:]}
		if c.readTime(line[start:end-1]) && c.readThread(line[:start], withoutIDs) {
			if ok && (len(c.comm) > maxComm || c.hasID == withoutIDs) {
				return h, true
			}
			h, ok = c, true
		}
	}
}

// findTime finds a number with 6 or 9 digits after the point, and a colon after them. The first scripts of simpleperf do not
// write the zeros that such a number of us begins with, but a tab after the colon.
func findTime(line []byte, from int) (start, end int) {
	for i := from; ; i++ {
		colon := bytes.IndexByte(line[i:], ':')
		if colon < 0 {
			return -1, -1
		}
		i += colon
		if i+1 < len(line) && !isSpace(line[i+1]) {
			continue
		}
		point := digitsBefore(line, i) - 1
		if n := i - point - 1; point <= 0 || line[point] != '.' || n != 6 && n != 9 && (n < 1 || n > 5 || i+1 == len(line) || line[i+1] != '\t') {
			continue
		}
		if start = digitsBefore(line, point); start < point && (start == 0 || isSpace(line[start-1])) {
			return start, i + 1
		}
	}
}

// digitsBefore returns where the digits that end at an index begin.
func digitsBefore(line []byte, end int) int {
	for end > 0 && isDigit(line[end-1]) {
		end--
	}
	return end
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func (h *header) readTime(text []byte) bool {
	point := bytes.IndexByte(text, '.')
	seconds, err := strconv.ParseUint(string(text[:point]), 10, 33)
	if err != nil {
		return false
	}
	fraction := text[point+1:]
	var ns int64
	for _, c := range fraction {
		ns = ns*10 + int64(c-'0')
	}
	if len(fraction) <= 6 {
		ns *= int64(time.Microsecond)
	}
	h.ns = int64(seconds)*int64(time.Second) + ns
	return true
}

// readThread reads the fields before the time, from the last to the first. It returns false if a CPU is no number.
func (h *header) readThread(fields []byte, withoutIDs bool) bool {
	h.pid, h.tid, h.cpu = model.None, model.None, model.None
	rest, last := cutLast(fields)
	if isClock(last) {
		if before, date := cutLast(rest); isDate(date) {
			h.wall = true
			rest, last = cutLast(before)
		}
	}
	if isMisc(last) {
		if before, field := cutLast(rest); inBrackets(field) || !withoutIDs && isThread(field) {
			h.mode = modes[string(bytes.TrimRight(last, "MESp"))]
			rest, last = before, field
		}
	}
	if inBrackets(last) {
		cpu, ok := number(last[1 : len(last)-1])
		if !ok {
			return false
		}
		h.cpu = cpu
		rest, last = cutLast(rest)
	}
	if withoutIDs || !isThread(last) {
		h.comm = bytes.TrimSpace(fields[:len(rest)+len(last)])
		return true
	}
	if before, field := cutLast(rest); h.cpu == model.None && len(last) <= latencyCPU && isThread(field) &&
		len(rest)-len(before)-len(field) == 1+latencyCPU-len(last) {
		h.cpu, _ = number(last)
		rest, last = before, field
	}
	h.hasID = true
	pid, tid, both := bytes.Cut(last, []byte("/"))
	if both {
		h.pid, _ = number(pid)
		last = tid
	}
	h.tid, _ = number(last)
	h.comm = bytes.TrimSpace(rest)
	return true
}

// latencyCPU is the width of a CPU's number in perf script --Latency, which prints no brackets.
const latencyCPU = 3

// isMisc reports whether a word may be the bits of a record's header that -F +misc prints.
func isMisc(word []byte) bool {
	return len(word) > 0 && len(word) <= 5 && len(bytes.Trim(word, "KUHGgMESp")) == 0
}

// modes are the CPU modes by their letters: misc has one for each mode all of whose bits are set.
var modes = map[string]string{"K": "kernel", "U": "user", "KUH": "hypervisor", "G": "guest_kernel", "KGg": "guest_user"}

// cutLast cuts the last word off. What is left ends with the spaces before it.
func cutLast(fields []byte) (rest, word []byte) {
	fields = bytes.TrimRight(fields, " \t")
	start := bytes.LastIndexAny(fields, " \t") + 1
	return fields[:start], fields[start:]
}

func inBrackets(word []byte) bool { return len(word) > 2 && word[0] == '[' && word[len(word)-1] == ']' }

// isThread reports whether a word is a tid, or a pid and a tid.
func isThread(word []byte) bool {
	pid, tid, both := bytes.Cut(word, []byte("/"))
	_, ok := number(pid)
	if ok && both {
		_, ok = number(tid)
	}
	return ok
}

// number reads an id. The kernel's -1, for a task that has gone, is None.
func number(word []byte) (int64, bool) {
	if string(word) == "-1" {
		return model.None, true
	}
	n, err := strconv.ParseUint(string(word), 10, 32)
	return int64(n), err == nil
}

// isDate reports whether a word is a date of -F +tod, such as 2026-11-28.
func isDate(word []byte) bool {
	_, err := time.Parse(time.DateOnly, string(word))
	return err == nil
}

// isClock reports whether a word is a time of day with a fraction.
func isClock(word []byte) bool {
	if len(word) < len("00:00:00.000000") || word[2] != ':' {
		return false
	}
	_, err := time.Parse(time.TimeOnly, string(word))
	return err == nil
}

// record returns the name and the fields of a record that is no sample, such as "COMM exec" and "sh:7/8", or false.
func (h *header) record() (name, fields []byte, ok bool) {
	text, ok := bytes.CutPrefix(bytes.TrimSpace(h.rest), recordPrefix)
	if !ok {
		return nil, nil, false
	}
	end := bytes.IndexAny(text, " :(")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:], true
}

var recordPrefix = []byte("PERF_RECORD_")

// event reads what follows the time of a sample: the period, None if absent, the event, nil if absent, and the text
// after them.
func (h *header) event() (period int64, name, rest []byte) {
	first, after := nextWord(h.rest)
	second, afterSecond := nextWord(after)
	number, err := strconv.ParseInt(string(first), 10, 64)
	isNumber := err == nil && number >= 0
	switch {
	case isNumber && isEvent(second):
		return number, second[:len(second)-1], afterSecond
	case isEvent(first):
		return model.None, first[:len(first)-1], after
	case isNumber && len(h.rest)-len(after) == 1+max(periodWidth, len(first)):
		return number, nil, after
	}
	return model.None, nil, h.rest
}

// periodWidth is the number of columns of a period.
const periodWidth = 10

func isEvent(word []byte) bool { return len(word) > 1 && word[len(word)-1] == ':' }

// nextWord cuts the first word off.
func nextWord(text []byte) (word, rest []byte) {
	text = bytes.TrimLeft(text, " \t")
	end := bytes.IndexAny(text, " \t")
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// A location is a frame of a stack as the text has it.
type location struct {
	address  uint64
	function []byte
	dso      []byte // nil if it has none
	inlined  bool   // has the mark of an inlined function instead of its dso
	tabbed   bool   // has a tab after the address
}

// inlined is perf's mark of an inlined function.
var inlined = []byte("inlined")

// parseFrame reads a frame on a line of its own: an address, a function and, in parentheses, the file. Spaces or a tab come
// first or, in older scripts of simpleperf, a tab after the address.
func parseFrame(line []byte) (l location, ok bool) {
	word, rest := nextWord(line)
	if l.address, ok = hexadecimal(word); !ok {
		return l, false
	}
	l.tabbed = len(rest) > 0 && rest[0] == '\t'
	rest = bytes.TrimSpace(rest)
	at := openingParenthesis(rest)
	if l.tabbed && (at < 0 || line[0] == '\t') { // an instruction of -F +brstackinsn
		return l, false
	}
	if at >= 0 {
		l.setFile(rest[at+1 : len(rest)-1])
		rest = bytes.TrimSpace(rest[:at])
	}
	l.function = withoutOffset(rest)
	return l, true
}

func (l *location) setFile(dso []byte) {
	if l.inlined = bytes.Equal(dso, inlined); !l.inlined {
		l.dso = dso
	}
}

// hexadecimal reads an address as perf prints it.
func hexadecimal(word []byte) (address uint64, ok bool) {
	if len(word) == 0 || len(word) > 16 {
		return 0, false
	}
	for _, c := range word {
		switch {
		case isDigit(c):
			address = address<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			address = address<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return address, true
}

// openingParenthesis returns the index of the parenthesis that the last byte closes, if it follows a space or begins
// the text, or -1.
func openingParenthesis(text []byte) int {
	if len(text) == 0 || text[len(text)-1] != ')' {
		return -1
	}
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth == 0 {
				if i == 0 || text[i-1] == ' ' {
					return i
				}
				return -1
			}
		}
	}
	return -1
}

// withoutOffset cuts the offset of +symoff off, as in main+0x10.
func withoutOffset(function []byte) []byte {
	at := bytes.LastIndex(function, offsetMark)
	if at < 0 {
		return function
	}
	if _, ok := hexadecimal(function[at+len(offsetMark):]); !ok {
		return function
	}
	return function[:at]
}

var offsetMark = []byte("+0x")

// addressWidth is the number of columns of an address.
const addressWidth = 16

// inlineFrame finds the frame that perf prints on the sample's own line if there is no call graph, after a space and
// in 16 columns. Other fields may surround it: addresses and weights before it, registers and branches after it.
// other is their text.
func inlineFrame(text []byte) (l location, other []byte, ok bool) {
	if branch := bytes.Index(text, []byte(" => ")); branch >= 0 {
		if l, _, ok = inlineFrame(text[:branch]); ok { // perf record -e intel_bts//: the target follows
			return l, text[branch:], true
		}
	}
	best, end, rank := -1, 0, 0
	for from := 0; ; {
		at, next := nextAddress(text, from)
		if at < 0 {
			break
		}
		after, _ := nextAddress(text, next)
		if after < 0 {
			after = len(text)
		}
		if r := rankFrame(text[next:after]); r >= rank {
			best, end, rank = at, after, r
		}
		from = next
	}
	if best < 0 { // spaces may have been lost
		text = bytes.TrimSpace(text)
		if openingParenthesis(text) >= 0 {
			l, ok = parseFrame(text)
		}
		return l, text, ok
	}
	frame := bytes.TrimRight(text[best:end], " ")
	size := frameSize(frame)
	l, ok = parseFrame(frame[:size])
	if other = bytes.TrimSpace(text[:best]); len(other) == 0 {
		other = bytes.TrimSpace(text[best+size:])
	}
	return l, other, ok
}

// nextAddress finds a hexadecimal number that fills 16 columns, with the spaces before it and one more.
func nextAddress(text []byte, from int) (start, end int) {
	for end = from; ; {
		word, rest := nextWord(text[end:])
		if len(word) == 0 {
			return -1, -1
		}
		before := end
		end = len(text) - len(rest)
		start = end - len(word)
		if _, ok := hexadecimal(word); ok && start-before > addressWidth-len(word) {
			return start, end
		}
	}
}

// rankFrame says how much the text after an address looks like that of an instruction, and not of data.
func rankFrame(after []byte) int {
	switch after = bytes.TrimSpace(after); {
	case len(after) == 0 || after[0] == '|': // -F +data_src
		return 1
	case bytes.IndexByte(after, '(') >= 0:
		return 3
	}
	return 2
}

// frameSize returns the length of a frame at the beginning of a text, without the fields after it.
func frameSize(text []byte) int {
	for _, mark := range fieldsAfterFrame {
		if at := bytes.Index(text, mark); at >= 0 {
			text = text[:at]
		}
	}
	open := fileIn(text)
	if open < 0 {
		if branches := bytes.Index(text, []byte(" 0x")); branches >= 0 {
			return branches
		}
		return len(text)
	}
	depth := 0
	for i, c := range text[open:] {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return open + i + 1
			}
		}
	}
	return len(text)
}

// fieldsAfterFrame begin the fields that may follow a frame: registers, instructions, and instructions per cycle.
var fieldsAfterFrame = [][]byte{[]byte(" ABI:"), []byte(" ilen: "), []byte(" insn: "), []byte("\t IPC:")}

// fileIn returns the index of the parenthesis before a frame's file, or -1. It follows the offset or, if the frame has
// none, is the last one after a space and outside of others: names of functions in C++ have spaces and parentheses, too.
func fileIn(frame []byte) int {
	last, depth := -1, 0
	for i, c := range frame {
		switch {
		case c == ')':
			depth = max(0, depth-1)
		case c != '(':
		case depth == 0 && i > 0 && frame[i-1] == ' ':
			last = i
			if _, before := cutLast(frame[:i]); len(withoutOffset(before)) < len(before) || bytes.Equal(before, unknown) {
				return last
			}
			fallthrough
		default:
			depth++
		}
	}
	return last
}

var unknown = []byte("[unknown]")
