package androidlog

import (
	"bytes"
	"math"
	"time"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// message is a line of the log. Its texts point into the line.
type message struct {
	ts       int64 // ns of the wall-clock time that the device shows
	pid, tid uint32
	priority byte
	tag      []byte // nil if there is none
	text     []byte
}

// priorities maps the letters of priorities to the numbers in Android's log.h.
var priorities = map[byte]byte{'V': 2, 'D': 3, 'I': 4, 'W': 5, 'E': 6, 'F': 7}

// firstYear is the lowest number taken for a year, not a month.
const firstYear = 1969

// layout says which optional columns the lines have.
type layout struct{ user bool }

// detect finds the layout of a line.
func detect(line []byte) (l layout, ok bool) {
	words := bytes.Fields(line)
	if len(words) < 5 {
		return l, false
	}
	date, clock := words[0], words[1]
	if !(len(date) == 5 && date[2] == '-' || len(date) == 10 && date[4] == '-' && date[7] == '-') ||
		len(clock) < 10 || clock[2] != ':' || clock[5] != ':' || clock[8] != '.' {
		return l, false
	}
	if isPriority(words[4]) {
		return l, true
	}
	return layout{user: true}, len(words) > 5 && isPriority(words[5])
}

func isPriority(word []byte) bool { return len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' }

// parse reads a line. written supplies the year if the date has none.
func parse(line []byte, columns layout, written Date) (m message, ok bool) {
	c := cursor{rest: line, ok: true}
	month, year := c.number('-'), 0
	if month >= firstYear {
		year, month = month, c.number('-')
	} else {
		year = written.yearOf(time.Month(month))
	}
	day, hour, minute, second := c.number(' '), c.number(':'), c.number(':'), c.number('.')
	ns := c.decimals(' ')
	if columns.user {
		c.word(' ')
	}
	m.pid, m.tid = uint32(c.number(' ')), uint32(c.number(' '))
	if !c.ok || len(c.rest) < 4 || c.rest[1] != ' ' {
		return m, false
	}
	seconds := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix()
	if seconds > math.MaxInt64/int64(time.Second)-1 || seconds < math.MinInt64/int64(time.Second)+1 {
		return m, false
	}
	m.ts = seconds*int64(time.Second) + ns
	m.priority = priorities[c.rest[0]]
	m.text = c.rest[2:]
	// Tags may contain colons.
	if tag, text, ok := bytes.Cut(m.text, []byte(": ")); ok {
		for len(tag) > 0 && tag[len(tag)-1] == ' ' {
			tag = tag[:len(tag)-1]
		}
		m.tag, m.text = tag, text
	}
	return m, true
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
func (c *cursor) number(separator byte) int {
	word := c.word(separator)
	n := 0
	for _, digit := range word {
		if digit -= '0'; digit > 9 {
			c.ok = false
			return 0
		}
		n = n*10 + int(digit)
	}
	c.ok = c.ok && len(word) > 0 && len(word) < 10
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

// write encodes the message: priority, pid, tid, tag and text.
func (m *message) write(w *token.Writer) {
	w.Reset()
	w.Uint(uint64(m.priority))
	w.Uint(uint64(m.pid))
	w.Uint(uint64(m.tid))
	w.Text(m.tag)
	w.Text(m.text)
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
	t.LogSource.Set(row, p.source)
	return nil
}
