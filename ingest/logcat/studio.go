package logcat

import (
	"bytes"
	"math"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/androidlog"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
)

// Studio is the JSON that Android Studio exports: an object with facts about the device and the list logcatMessages.
var Studio = &format.Format{Name: "android_studio_logcat", Title: "Android Studio's log", Sniff: sniffStudio, Read: readStudio}

// sniffStudio accepts the list of messages.
func sniffStudio(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	if c, err := l.Space(); err != nil || c != '{' {
		return false
	}
	l.Pos++
	for {
		key, err := l.Key()
		if err != nil {
			return false
		}
		if string(key) == "logcatMessages" {
			return l.Buf[l.Pos] == '['
		}
		if string(key) != "metadata" {
			return false
		}
		if _, err := l.Value(); err != nil {
			return false
		}
		if more, err := l.Next('}'); !more || err != nil {
			return false
		}
	}
}

type studioReader struct {
	jsonlex.Reader
	in  *format.Input
	log *androidlog.Log
}

func readStudio(in *format.Input) error {
	in.UseClock(model.ClockRealtime)
	r := &studioReader{Reader: jsonlex.NewReader(in), in: in, log: androidlog.New(in, androidlog.Date{})}
	_, err := r.Peek()
	if err == nil {
		err = r.EachMember(r.member)
	}
	switch err {
	case nil:
		return nil
	case jsonlex.ErrTruncated:
		in.File.LogAt(model.StatTruncatedInput, r.Base+int64(len(r.Buf)), nil)
		return nil
	case jsonlex.ErrSyntax:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%s, got %s", r.Why, r.Glimpse())
	case jsonlex.ErrTooLarge:
		return format.Errorf(format.ErrUnsupported, r.Offset(), "a value %v", err)
	}
	return err
}

func (r *studioReader) member(key []byte) error {
	if string(key) == "logcatMessages" && r.Buf[r.Pos] == '[' {
		return r.EachElement(r.entry)
	}
	r.in.File.Unread(model.StatUnreadFact, model.None, string(key)).AddAt(r.Offset())
	return r.Skip()
}

// levels are the letters of priorities by their names.
var levels = map[string]byte{"VERBOSE": 'V', "DEBUG": 'D', "INFO": 'I', "WARN": 'W', "ERROR": 'E', "FATAL": 'F', "ASSERT": 'A'}

// entry reads a message.
func (r *studioReader) entry() error {
	offset := r.Offset()
	v, err := r.ReadValue()
	if err != nil {
		return err
	}
	var e androidlog.Entry
	ok := v.Kind == jsonlex.Object && parseEntry(v.Raw, &e)
	if !ok {
		r.in.File.LogAt(model.StatAndroidLogNumFailed, offset, nil)
		return nil
	}
	return r.log.Add(offset, &e)
}

// studioFields are the fields of a message.
type studioFields struct {
	androidlog.Entry
	seconds, nanos, pid, tid int64
	damaged                  bool
}

// parseEntry reads the fields of a message.
func parseEntry(text []byte, e *androidlog.Entry) bool {
	f := studioFields{seconds: -1, pid: -1, tid: -1}
	f.each(text, func(key []byte, v jsonlex.Value) {
		switch {
		case string(key) == "message" && v.Kind == jsonlex.Text:
			f.Text = bytes.Clone(v.Raw)
		case string(key) == "header" && v.Kind == jsonlex.Object:
			f.each(v.Raw, f.header)
		}
	})
	*e = f.Entry
	e.PID, e.TID = uint32(f.pid), uint32(f.tid)
	e.TS = f.seconds*int64(time.Second) + f.nanos
	return !f.damaged && f.seconds >= 0 && f.seconds < math.MaxInt64/int64(time.Second) && f.nanos >= 0 && f.nanos < int64(time.Second) &&
		uint64(f.pid) <= math.MaxUint32 && uint64(f.tid) <= math.MaxUint32
}

func (f *studioFields) each(object []byte, member func(key []byte, v jsonlex.Value)) {
	l := jsonlex.Lexer{Buf: object}
	if l.Members(member) != nil {
		f.damaged = true
	}
}

func (f *studioFields) header(key []byte, v jsonlex.Value) {
	switch string(key) {
	case "logLevel":
		f.Priority = levels[string(v.Raw)]
	case "pid":
		f.pid = integer(v)
	case "tid":
		f.tid = integer(v)
	case "tag":
		f.Tag = bytes.Clone(v.Raw)
	case "processName":
		if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
			f.Process = bytes.Clone(v.Raw)
		}
	case "timestamp":
		if v.Kind != jsonlex.Object {
			f.damaged = true
			return
		}
		f.each(v.Raw, func(key []byte, v jsonlex.Value) {
			switch string(key) {
			case "seconds":
				f.seconds = integer(v)
			case "nanos":
				f.nanos = integer(v)
			}
		})
	}
}

// integer returns the value of an integer, or -1.
func integer(v jsonlex.Value) int64 {
	if v.Kind != jsonlex.Integer || v.Large {
		return -1
	}
	return v.Int
}
