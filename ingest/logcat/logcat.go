// Package logcat reads the text of Android's log, as logcat and bugreports write
// it in the formats threadtime and threadtime with uid:
//
//	06-24 23:10:00.123  1702  2395 D WindowManager: message
//	2023-06-24 23:10:00.123456  root  1702  2395 D WindowManager: message
//
// with the date, the time of day, the user perhaps, pid and tid, a letter for the
// priority, the tag and the message. Messages of the kernel, which dmesg shows, are
// lines with pid 0.
package logcat

import (
	"bytes"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the text of Android's log.
var Format = &format.Format{Name: "android_logcat", Sniff: sniff, Read: read}

const (
	sniffBytes = 4096 // that Trace Processor looks at
	shortest   = 30   // bytes of a line with a message
)

func sniff(head []byte) bool {
	head = head[:min(len(head), sniffBytes)]
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("--------")) {
			_, ok := detect(line)
			return ok && whole
		}
		head = rest
	}
	return false
}

// layout is which columns the lines have.
type layout struct{ user bool }

// detect tells the layout from a line.
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

func read(in *format.Input) error {
	in.UseClock(model.ClockRealtime)
	messages := in.Sorter.NewStream(newParser(in.Context))
	event := token.NewWriter(in.Store)
	year := guessYear(in)
	var (
		columns  layout
		detected bool
	)
	return lines.Each(in, func(offset int64, text []byte) error {
		if len(text) < shortest || bytes.HasPrefix(text, []byte("---")) {
			return nil // --------- beginning of main
		}
		if !detected {
			if columns, detected = detect(text); !detected {
				in.File.LogAt(model.StatAndroidLogFormatInvalid, offset, nil)
				return nil
			}
		}
		m, ok := parse(text, columns, year)
		if !ok {
			in.File.LogAt(model.StatAndroidLogNumFailed, offset, nil)
			return nil
		}
		ts, ok := in.TraceTime(m.ts, offset)
		if !ok {
			return nil
		}
		m.write(event)
		return messages.Push(ts, event.Bytes())
	})
}

// guessYear is the year of lines that do not tell it: that of the latest event of
// the traces read before this log, or 1970, which is the same in every run.
func guessYear(in *format.Input) int {
	ts, ok := in.Sorter.MaxTimestamp()
	if !ok {
		return 1970
	}
	wall, err := in.Clocks.FromTrace(ts, model.Clock{ID: model.ClockRealtime})
	if err != nil {
		return 1970
	}
	return time.Unix(0, wall).UTC().Year()
}
