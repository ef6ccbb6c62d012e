package androidlog

import (
	"bytes"
	"math"
	"time"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// message is a message of the log. Its texts point into the line.
type message struct {
	ts       int64 // ns of the layout's clock
	clock    clock
	pid, tid uint32
	priority byte
	tag      []byte // nil if there is none
	text     []byte
	process  []byte // nil if unknown
}

// priorities maps the letters of priorities to the numbers in Android's log.h.
var priorities = map[byte]byte{'V': 2, 'D': 3, 'I': 4, 'W': 5, 'E': 6, 'F': 7, 'A': 7, 'S': 8}

// firstYear is the lowest number taken for a year, not a month.
const firstYear = 1969

// parse reads a line. dates supplies the year if the date has none.
func parse(line []byte, columns layout, dates *dates) (m message, ok bool) {
	c := cursor{rest: line, ok: true}
	if columns.form == long {
		c.rest = bytes.TrimPrefix(c.rest, []byte("[ "))
	}
	if m.ts, ok = c.time(columns, dates); !ok {
		return m, false
	}
	m.clock = columns.clock
	switch columns.form {
	case threadtime:
		ok = m.threadtime(&c, columns)
	case brieftime:
		ok = m.brieftime(&c)
	case long:
		ok = m.long(&c)
	default:
		ok = m.studio(&c, columns.form)
	}
	return m, ok && c.ok
}

// time reads the time in ns.
func (c *cursor) time(columns layout, dates *dates) (ns int64, ok bool) {
	if !columns.date {
		c.rest = bytes.TrimLeft(c.rest, " ")
		seconds := int64(c.digits('.', 11))
		ns = c.decimals(' ')
		return seconds*int64(time.Second) + ns, c.ok && seconds < math.MaxInt64/int64(time.Second)
	}
	month, year := c.number('-'), 0
	dated := month >= firstYear
	if dated {
		year, month = month, c.number('-')
	}
	day, hour, minute, second := c.number(' '), c.number(':'), c.number(':'), c.number('.')
	ns = c.decimals(' ')
	zone := 0
	if columns.zone && len(c.rest) > 0 {
		west := c.rest[0] == '-'
		c.rest = c.rest[1:]
		n := c.number(' ')
		if zone = (n/100*60 + n%100) * 60; west {
			zone = -zone
		}
	}
	if !c.ok {
		return 0, false
	}
	if !dated {
		year = dates.yearOf(time.Month(month))
	}
	seconds := time.Date(year, time.Month(month), day, hour, minute, second-zone, 0, time.UTC).Unix()
	if seconds > math.MaxInt64/int64(time.Second)-1 || seconds < math.MinInt64/int64(time.Second)+1 {
		return 0, false
	}
	return seconds*int64(time.Second) + ns, true
}

// user moves past the user, which some lines lack. logcat writes a colon after it, and no space if the pid has five digits:
// 10123:12345.
func (c *cursor) user(columns layout) {
	word, _, _ := bytes.Cut(c.rest, []byte(" "))
	if colon := bytes.IndexByte(word, ':'); colon > 0 {
		c.rest = bytes.TrimLeft(c.rest[colon+1:], " ")
	} else if columns.user {
		const ids = 64 // more than the user, the pid and the tid take
		if words := bytes.Fields(c.rest[:min(len(c.rest), ids)]); len(words) > 2 && !isPriority(words[2]) {
			c.word(' ')
		}
	}
}

// threadtime reads "1702  2395 D tag: text".
func (m *message) threadtime(c *cursor, columns layout) bool {
	c.user(columns)
	m.pid, m.tid = uint32(c.number(' ')), uint32(c.number(' '))
	if !c.ok || len(c.rest) < 4 || c.rest[1] != ' ' {
		return false
	}
	m.priority = priorities[c.rest[0]]
	m.text = c.rest[2:]
	// Tags may contain colons.
	if tag, text, ok := bytes.Cut(m.text, []byte(": ")); ok {
		m.tag, m.text = unpadded(tag), text
	}
	return true
}

// brieftime reads "D/tag( 1702): text". The thread is not known, only the process.
func (m *message) brieftime(c *cursor) bool {
	end := processEnd(c.rest)
	if end == 0 || c.rest[1] != '/' {
		return false
	}
	m.priority = priorities[c.rest[0]]
	open := bytes.LastIndexByte(c.rest[:end], '(')
	m.tag = unpadded(c.rest[2:open])
	m.text = bytes.TrimPrefix(c.rest[end+1:], []byte(" "))
	user := bytes.LastIndexByte(c.rest[open+1:end], ':')
	c.rest = bytes.TrimLeft(c.rest[open+1+user+1:], " ")
	m.pid = uint32(c.number(')'))
	m.tid = m.pid
	return true
}

// long reads "1702: 2395 D/tag ]". The text is on lines of its own.
func (m *message) long(c *cursor) bool {
	c.rest = bytes.TrimLeft(c.rest, " ")
	if ids := c.rest[:max(bytes.IndexByte(c.rest, '/'), 0)]; bytes.Count(ids, []byte(":")) > 1 {
		c.word(':') // the user
		c.rest = bytes.TrimLeft(c.rest, " ")
	}
	m.pid = uint32(c.number(':'))
	c.rest = bytes.TrimLeft(c.rest, " ")
	m.tid = uint32(c.number(' '))
	rest, ok := bytes.CutSuffix(c.rest, []byte(" ]"))
	if !ok || len(rest) < 2 || rest[1] != '/' {
		return false
	}
	m.priority, m.tag = priorities[rest[0]], unpadded(rest[2:])
	return true
}

// studio reads "1249-1321  tag  process  E  text" or "1249-1321/process E/tag: text".
func (m *message) studio(c *cursor, form form) bool {
	m.pid = uint32(c.number('-'))
	if form == oldStudio {
		m.tid = uint32(c.number('/'))
		m.process = c.word(' ')
		if !c.ok || len(c.rest) < 3 || c.rest[1] != '/' {
			return false
		}
		m.priority = priorities[c.rest[0]]
		m.tag, m.text, _ = bytes.Cut(c.rest[2:], []byte(": "))
		m.tag = unpadded(m.tag)
	} else {
		m.tid = uint32(c.number(' '))
		at := studioPriority(c.rest)
		if !c.ok || at < 0 {
			return false
		}
		m.priority, m.text = priorities[c.rest[at]], bytes.TrimPrefix(c.rest[at+1:], []byte("  "))
		names := bytes.TrimRight(c.rest[:at], " ")
		space := bytes.LastIndexByte(names, ' ')
		m.tag, m.process = unpadded(names[:space]), names[space+1:]
	}
	if string(m.process) == "?" || bytes.HasPrefix(m.process, []byte("pid-")) {
		m.process = nil
	}
	return true
}

// studioPriority returns where the letter of the priority is: after a tag and a process.
func studioPriority(text []byte) int {
	for i := 1; i+1 < len(text); i++ {
		if text[i-1] == ' ' && priorities[text[i]] != 0 && text[i+1] == ' ' && (i+2 == len(text) || text[i+2] == ' ') &&
			bytes.IndexByte(bytes.TrimRight(text[:i], " "), ' ') > 0 {
			return i
		}
	}
	return -1
}

func unpadded(tag []byte) []byte {
	for len(tag) > 0 && tag[len(tag)-1] == ' ' {
		tag = tag[:len(tag)-1]
	}
	return tag
}

// cursor reads a line column by column.
type cursor struct {
	rest []byte
	ok   bool
}

// word returns the text before the separator and skips the separators after it.
func (c *cursor) word(separator byte) []byte {
	i := bytes.IndexByte(c.rest, separator)
	if i < 0 {
		c.ok = false
		return nil
	}
	word := c.rest[:i]
	c.rest = bytes.TrimLeft(c.rest[i:], string(separator))
	return word
}

// number reads a number of up to 9 digits.
func (c *cursor) number(separator byte) int { return c.digits(separator, 9) }

// digits reads a number of up to most digits.
func (c *cursor) digits(separator byte, most int) int {
	word := c.word(separator)
	n := 0
	for _, digit := range word {
		if digit -= '0'; digit > 9 {
			c.ok = false
			return 0
		}
		n = n*10 + int(digit)
	}
	c.ok = c.ok && len(word) > 0 && len(word) <= most
	return n
}

// decimals reads a fraction of a second, in ns.
func (c *cursor) decimals(separator byte) int64 {
	before := c.rest
	n := int64(c.number(separator))
	for digits := bytes.IndexByte(before, separator); digits < 9; digits++ {
		n *= 10
	}
	return n
}

// write encodes the message: priority, pid, tid, tag, text and process.
func (m *message) write(w *token.Writer) {
	w.Reset()
	w.Uint(uint64(m.priority))
	w.Uint(uint64(m.pid))
	w.Uint(uint64(m.tid))
	w.Text(m.tag)
	w.Text(m.text)
	w.Text(m.process)
}

// parser turns messages, in timestamp order, into rows.
type parser struct {
	*model.Context
	source model.StringID
}

func newParser(c *model.Context) *parser {
	return &parser{c, c.Store.Strings.Intern("android_logcat")}
}

// Event stores a message.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	priority, pid, tid := int32(r.Uint()), int64(r.Uint()), int64(r.Uint())
	t := &p.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, ts)
	t.UTID.Set(row, p.Machine.ThreadOf(tid, pid))
	t.Prio.Set(row, priority)
	t.Tag.Set(row, r.Text())
	t.Msg.Set(row, r.Text())
	if process := r.Text(); process != 0 {
		p.Machine.SetProcessName(p.Machine.Process(pid), process, model.ProcessNameOther)
	}
	t.LogSource.Set(row, p.source)
	return nil
}
