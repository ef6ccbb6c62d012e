// Package androidlog reads the lines of Android's log in the formats threadtime and
// threadtime with uid, as logcat and bug reports write them:
//
//	06-24 23:10:00.123  1702  2395 D WindowManager: message
//	2023-06-24 23:10:00.123456  root  1702  2395 D WindowManager: message
//
// A line has the date, the time of day, optionally the user, pid and tid, a letter for
// the priority, the tag and the message. Kernel messages, as from dmesg, have pid 0.
// Dates are in the device's time zone and often lack the year.
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

// shortest is the minimum length in bytes of a line with a message.
const shortest = 30

// IsMessage reports whether a line is a message in one of the formats.
func IsMessage(line []byte) bool {
	_, ok := detect(line)
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

	in       *format.Input
	messages *sort.Stream
	event    *token.Writer
	columns  layout
	detected bool
	waiting  []byte // messages that wait for the time zone: time, offset, length and bytes of each
}

// New returns a Log for messages that make up the input or a part of it.
func New(in *format.Input, written Date) *Log {
	return &Log{Written: written, in: in, messages: in.Sorter.NewStream(newParser(in.Context)), event: token.NewWriter(in.Store)}
}

// Line reads a line of the log, at an offset in the input. The first line long enough
// for a message determines the format of all lines.
func (l *Log) Line(offset int64, text []byte) error {
	if len(text) < shortest || bytes.HasPrefix(text, []byte("---")) {
		return nil // --------- beginning of main
	}
	if !l.detected {
		if l.columns, l.detected = detect(text); !l.detected {
			l.in.File.LogAt(model.StatAndroidLogFormatInvalid, offset, nil)
			return nil
		}
	}
	m, ok := parse(text, l.columns, l.Written)
	if !ok {
		l.in.File.LogAt(model.StatAndroidLogNumFailed, offset, nil)
		return nil
	}
	if l.known(&m) {
		return nil
	}
	m.write(l.event)
	if l.AwaitZone {
		if _, ok := l.in.Clocks.Zone(); !ok {
			return l.wait(m.ts, offset)
		}
		if err := l.Flush(); err != nil {
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
		l.in.File.LogAt(model.StatAndroidLogWithoutZone, offset, nil)
		return nil
	}
	l.waiting = binary.AppendVarint(l.waiting, ts)
	l.waiting = binary.AppendUvarint(l.waiting, uint64(offset))
	l.waiting = binary.AppendUvarint(l.waiting, uint64(len(l.event.Bytes())))
	l.waiting = append(l.waiting, l.event.Bytes()...)
	return nil
}

// Flush passes on the messages that wait for the time zone.
func (l *Log) Flush() error {
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
	ts, ok := l.in.TraceTime(utc, offset)
	if !ok {
		return nil
	}
	return l.messages.Push(ts, event)
}
