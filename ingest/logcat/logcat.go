// Package logcat reads the text of Android's log as logcat writes it, in all formats that have times, and what Android Studio
// saves of it, as text or as JSON.
package logcat

import (
	"bytes"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/androidlog"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
)

// Format is the text of Android's log.
var Format = &format.Format{Name: "android_logcat", Sniff: sniff, Read: read}

const (
	sniffBytes = 4096 // bytes that Trace Processor looks at
	// sniffTags is how many lines that begin with a priority and a tag make up a log without times.
	sniffTags = 3
	// sniffCut is how many messages make up a log that begins within a line.
	sniffCut = 3
)

// sniff accepts a message after lines that adb and logcat write at the start, or a few after a line that is cut off. It accepts messages
// without times, so that the error can say how to record them.
func sniff(head []byte) bool {
	head = head[:min(len(head), sniffBytes)]
	divided, tags, messages := false, 0, 1
	for first := true; len(head) > 0; first = false {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		switch {
		case androidlog.IsDivider(line):
			divided = true
		case androidlog.IsHeader(line):
		case androidlog.IsMessage(line):
			if messages--; messages == 0 || !whole {
				return whole
			}
		case divided && whole:
			return true
		default:
			kind := androidlog.Timeless(line)
			if kind == "" && first && whole {
				messages = sniffCut
				break
			}
			if kind == "" || !whole || messages > 1 {
				return false
			}
			if tags++; kind != "tag" || tags == sniffTags {
				return true
			}
		}
		head = rest
	}
	return false
}

func read(in *format.Input) error {
	log := androidlog.New(in, guessDate(in))
	log.Alone = true
	err := lines.EachToEnd(in, func(offset int64, line []byte) error {
		if !log.Detected() {
			if kind := androidlog.Timeless(line); kind != "" {
				return untimed(offset, "messages of logcat -v "+kind+" have no times")
			}
		}
		return log.Line(offset, line)
	})
	if err != nil {
		return err
	}
	if !log.Detected() {
		return untimed(-1, "no message has a time")
	}
	return log.Flush()
}

func untimed(offset int64, what string) error {
	return format.Errorf(format.ErrUnsupported, offset, "%s: record with adb logcat -v threadtime -v year -v zone", what)
}

// guessDate returns the date for lines without a year: that of the latest event in the traces read before this log, or
// 1970, so that every run gives the same result.
func guessDate(in *format.Input) androidlog.Date {
	wall, ok := in.Latest()
	if !ok {
		return androidlog.Date{Year: 1970}
	}
	date := time.Unix(0, wall).UTC()
	return androidlog.Date{Year: date.Year(), Month: date.Month()}
}
