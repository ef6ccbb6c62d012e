// Package androidlog reads the lines of Android's log in all formats of logcat that have times, and as Android Studio
// saves them:
//
//	06-24 23:10:00.123  1702  2395 D WindowManager: message
//	2023-06-24 23:10:00.123456 -0500  root  1702  2395 D WindowManager: message
//	06-24 23:10:00.123 D/WindowManager( 1702): message
//	1687648200.123  1702  2395 D WindowManager: message
//	[ 06-24 23:10:00.123  1702: 2395 D/WindowManager ]
//	2023-06-24 23:10:00.123  1702-2395  WindowManager  system_server  D  message
//	2023-06-24 23:10:00.123 1702-2395/system_server D/WindowManager: message
//
// A line has the time, optionally the user, pid and tid, a letter for the priority, the tag and the message. Kernel
// messages, as from dmesg, have pid 0. Dates without a zone are in the device's time zone and often lack the year.
package androidlog

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

var statWithoutZone = model.NewStat(1020, model.StatInfo{
	Name: "android_log_without_zone", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Messages dropped because too many come before the bug report's time zone.",
})

// shortest is the minimum length in bytes of a line with a message.
const shortest = 30

// IsMessage reports whether a line is a message in one of the formats.
func IsMessage(line []byte) bool {
	line, _ = uncolored(bytes.TrimRight(line, "\r"))
	columns, ok := detect(line)
	if ok {
		_, ok = parse(line, columns, &dates{written: Date{Year: 1970}})
	}
	return ok
}

// Date is when a log was written.
type Date struct {
	Year  int
	Month time.Month // 0 if unknown
}

// yearOf returns the year of a message that names only its month. A log written in
// January still has messages of December.
func (d Date) yearOf(month time.Month) int {
	if d.Month == time.January && month == time.December {
		return d.Year - 1
	}
	return d.Year
}

// dates gives dates without a year one.
type dates struct {
	written Date
	follow  bool       // messages are in order of time: January follows December
	last    time.Month // of such a message
	years   int        // the year of the last message
}

func (d *dates) yearOf(month time.Month) int {
	const late, early = time.November, time.February
	if d.follow && d.last != 0 {
		switch {
		case d.last >= late && month <= early:
			d.years++
		case d.last <= early && month >= late:
			d.years--
		}
		d.last = month
		return d.years
	}
	d.last, d.years = month, d.written.yearOf(month)
	return d.years
}

// Messages counts how often each message occurs. Messages are told apart by their time
// in ms and their contents.
type Messages map[messageKey]int32

type messageKey struct {
	ms        int64 // wall-clock time that the device shows
	pid, tid  uint32
	tag, text model.StringID
	priority  byte
}

// Log passes the messages of one log to the sorter. It converts their times to UTC with
// the trace's time zone, if that is known.
type Log struct {
	// Written is when the log was written, for dates without a year.
	Written Date
	// AwaitZone means that the time zone has not been read yet. Messages wait for it, at
	// the latest until Flush.
	AwaitZone bool
	// Remember collects the messages, unless it is nil.
	Remember Messages
	// Known are messages to leave out, each as often as it is counted.
	Known Messages

	// Alone means that the log is the whole input: its messages are in order of time, and it chooses the clock.
	Alone bool

	in       *format.Input
	messages *sort.Stream
	event    *token.Writer
	dates    dates
	columns  layout
	detected bool
	colored  bool
	returns  bool     // lines end with carriage returns
	waiting  []byte   // messages that wait for the time zone: time, offset, length and bytes of each
	open     *message // whose text may go on in the next line
	offset   int64    // of open
	header   int      // length of the line of open before its text
	tag      []byte   // of open
	text     []byte   // of open
	process  []byte   // of open
}

// New returns a Log for messages that make up the input or a part of it.
func New(in *format.Input, written Date) *Log {
	return &Log{Written: written, in: in, messages: in.Sorter.NewStream(newParser(in.Context)), event: token.NewWriter(in.Store)}
}

// Detected reports whether a message was found.
func (l *Log) Detected() bool { return l.detected }

// Entry is a message of a log that is not text.
type Entry struct {
	TS       int64 // ns since 1970
	PID, TID uint32
	Priority byte // as a letter
	Tag      []byte
	Text     []byte
	Process  []byte
}

// Add adds a message found at an offset in the input.
func (l *Log) Add(offset int64, e *Entry) error {
	l.detected = true
	return l.message(offset, &message{ts: e.TS, clock: utcTime, pid: e.PID, tid: e.TID, priority: priorities[e.Priority], tag: e.Tag, text: e.Text, process: e.Process})
}

// Line reads a line of the log, at an offset in the input. The first message determines the format of the following lines,
// up to one in another format.
func (l *Log) Line(offset int64, line []byte) error {
	if !l.detected {
		l.returns = bytes.HasSuffix(line, []byte("\r"))
	}
	if l.returns {
		line = bytes.TrimRight(line, "\r")
	}
	if IsDivider(line) {
		return l.close()
	}
	text, colored := uncolored(line)
	m, ok := l.parse(text)
	if !ok {
		return l.other(offset, line)
	}
	l.colored = colored
	if err := l.close(); err != nil {
		return err
	}
	if form := l.columns.form; form == long || form == studio || form == oldStudio {
		l.keep(offset, &m, len(line)-len(m.text))
		return nil
	}
	return l.message(offset, &m)
}

// parse reads a message, in the format of the messages before it or in another one.
func (l *Log) parse(line []byte) (m message, ok bool) {
	l.dates.written, l.dates.follow = l.Written, l.Alone
	if l.detected {
		if m, ok = parse(line, l.columns, &l.dates); ok {
			return m, true
		}
	}
	columns, ok := detect(line)
	if !ok || l.detected && (columns == l.columns || (columns.clock == uptime) != (l.columns.clock == uptime)) {
		return m, false
	}
	if !l.detected && l.Alone {
		clock := uint32(model.ClockRealtime)
		if columns.clock == uptime {
			clock = model.ClockMonotonic
		}
		l.in.UseClock(clock)
	}
	first := !l.detected
	if m, ok = parse(line, columns, &l.dates); ok || first {
		l.columns, l.detected = columns, true
	}
	return m, ok
}

// other reads a line that is no message.
func (l *Log) other(offset int64, line []byte) error {
	switch {
	case l.open != nil && l.columns.form == long:
		l.add(line)
	case l.open != nil && bytes.HasPrefix(line, []byte(" ")):
		l.add(line[indent(line, l.header):])
	case len(line) < shortest, bytes.HasPrefix(line, []byte("---")), IsHeader(line):
	case l.detected:
		l.in.File.LogAt(model.StatAndroidLogNumFailed, offset, nil)
	default:
		l.in.File.LogAt(model.StatAndroidLogFormatInvalid, offset, nil)
	}
	return nil
}

// oldIndent is how far Android Studio indented the lines of a message after the first one.
const oldIndent = 4

// indent returns how many spaces at the start of a line are not part of the message.
func indent(line []byte, header int) int {
	n := len(line) - len(bytes.TrimLeft(line, " "))
	if n >= header {
		return header
	}
	return min(n, oldIndent)
}

// maxOpen is the maximum length of a message of several lines. Those of Android's log are shorter than 5 kB.
const maxOpen = 1 << 20

// keep keeps a message whose text may go on.
func (l *Log) keep(offset int64, m *message, header int) {
	l.tag, l.text, l.process = append(l.tag[:0], m.tag...), append(l.text[:0], m.text...), append(l.process[:0], m.process...)
	l.open, l.offset, l.header = m, offset, header
	m.tag = l.tag
	if m.process != nil {
		m.process = l.process
	}
}

// add adds a line to the message before.
func (l *Log) add(line []byte) {
	if len(l.text)+len(line) > maxOpen {
		l.in.File.LogAt(model.StatAndroidLogNumFailed, l.offset, nil)
		return
	}
	l.text = append(append(l.text, '\n'), line...)
}

// close passes on the message whose text may go on.
func (l *Log) close() error {
	m := l.open
	if m == nil {
		return nil
	}
	l.open, m.text = nil, l.text
	if l.columns.form == long { // the text is between the line of the header and an empty line
		m.text = bytes.TrimSuffix(bytes.TrimPrefix(m.text, []byte("\n")), []byte("\n"))
	}
	if l.colored {
		m.text = bytes.TrimSuffix(m.text, colorEnd)
	}
	return l.message(l.offset, m)
}

// message passes on a message.
func (l *Log) message(offset int64, m *message) error {
	if l.known(m) {
		return nil
	}
	m.write(l.event)
	if m.clock != localTime {
		return l.pushAt(m.ts, offset, l.event.Bytes())
	}
	if l.AwaitZone {
		if _, ok := l.in.Clocks.Zone(); !ok {
			return l.wait(m.ts, offset)
		}
		if err := l.flush(); err != nil {
			return err
		}
	}
	return l.push(m.ts, offset, l.event.Bytes())
}

// known reports whether to leave out a message. It also remembers the message.
func (l *Log) known(m *message) bool {
	if l.Remember == nil && l.Known == nil {
		return false
	}
	key := messageKey{m.ts / int64(time.Millisecond), m.pid, m.tid, l.in.Store.Strings.InternBytes(m.tag), l.in.Store.Strings.InternBytes(m.text), m.priority}
	if l.Known[key] > 0 {
		l.Known[key]--
		return true
	}
	if l.Remember != nil && len(l.Remember) < maxRemembered {
		l.Remember[key]++
	}
	return false
}

const (
	// maxRemembered bounds the memory that Messages takes. A phone's log buffers hold
	// about a tenth of it.
	maxRemembered = 4 << 20
	// maxWaiting is how many bytes of messages may wait for the time zone.
	maxWaiting = 64 << 20
)

// wait keeps the event until the time zone is known.
func (l *Log) wait(ts, offset int64) error {
	if len(l.waiting) >= maxWaiting {
		l.in.File.LogAt(statWithoutZone, offset, nil)
		return nil
	}
	l.waiting = binary.AppendVarint(l.waiting, ts)
	l.waiting = binary.AppendUvarint(l.waiting, uint64(offset))
	l.waiting = binary.AppendUvarint(l.waiting, uint64(len(l.event.Bytes())))
	l.waiting = append(l.waiting, l.event.Bytes()...)
	return nil
}

// Flush passes on the messages that wait for the time zone or for more text.
func (l *Log) Flush() error {
	if err := l.close(); err != nil {
		return err
	}
	return l.flush()
}

func (l *Log) flush() error {
	r := token.Reader(l.waiting)
	l.waiting = nil
	for len(r) > 0 {
		ts, offset, n := r.Int(), int64(r.Uint()), r.Uint()
		if err := l.push(ts, offset, r[:n]); err != nil {
			return err
		}
		r = r[n:]
	}
	return nil
}

func (l *Log) push(local, offset int64, event []byte) error {
	zone, _ := l.in.Clocks.Zone()
	utc := local - zone
	if (utc > local) != (zone < 0) { // overflow of 64 bits
		l.in.File.LogAt(model.StatAndroidLogNumFailed, offset, nil)
		return nil
	}
	return l.pushAt(utc, offset, event)
}

func (l *Log) pushAt(time, offset int64, event []byte) error {
	ts, ok := l.in.TraceTime(time, offset)
	if !ok {
		return nil
	}
	return l.messages.Push(ts, event)
}
