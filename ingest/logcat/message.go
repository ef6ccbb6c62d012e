package logcat

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// message is a line of the log. Its texts are the line's.
type message struct {
	ts       int64 // ns of the wall clock
	pid, tid uint32
	priority byte
	tag      []byte // nil if there is none
	text     []byte
}

// priorities are those of Android's log.h, by their letters.
var priorities = map[byte]byte{'V': 2, 'D': 3, 'I': 4, 'W': 5, 'E': 6, 'F': 7}

// firstYear is the lowest number that is a year and not a month.
const firstYear = 1969

// parse reads a line. year is for dates without one.
func parse(line []byte, columns layout, year int) (m message, ok bool) {
	c := cursor{rest: line, ok: true}
	month := c.number('-')
	if month >= firstYear {
		year, month = month, c.number('-')
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
	// Tags may have colons in them.
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

// word returns what is before the separator and skips all separators there.
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

// decimals reads the decimals of seconds, in ns.
func (c *cursor) decimals(separator byte) int64 {
	before := c.rest
	n := int64(c.number(separator))
	for digits := bytes.IndexByte(before, separator); digits < 9; digits++ {
		n *= 10
	}
	return n
}

const tokenSize = 4 + 4 + 4 + 4 + 1

// appendTo appends the message as a token: pid, tid, the ids of tag and text, and
// the priority.
func (m *message) appendTo(token []byte, strings *table.StringPool) []byte {
	token = binary.LittleEndian.AppendUint32(token, m.pid)
	token = binary.LittleEndian.AppendUint32(token, m.tid)
	var tag table.StringID
	if m.tag != nil {
		tag = strings.InternBytes(m.tag)
	}
	token = binary.LittleEndian.AppendUint32(token, uint32(tag))
	token = binary.LittleEndian.AppendUint32(token, uint32(strings.InternBytes(m.text)))
	return append(token, m.priority)
}

// parser makes rows of messages in the order of time.
type parser struct {
	*model.Context
	source model.StringID
}

func newParser(c *model.Context) *parser {
	return &parser{c, c.Store.Strings.Intern("android_logcat")}
}

// Event stores the message of a token.
func (p *parser) Event(ts int64, token []byte) error {
	number := func(i int) int64 { return int64(binary.LittleEndian.Uint32(token[4*i:])) }
	t := &p.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, ts)
	t.UTID.Set(row, p.Machine.ThreadOf(number(1), number(0)))
	t.Prio.Set(row, int32(token[tokenSize-1]))
	t.Tag.Set(row, model.StringID(number(2)))
	t.Msg.Set(row, model.StringID(number(3)))
	t.LogSource.Set(row, p.source)
	return nil
}
