// Package logcat reads the text of Android's log in logcat's formats threadtime and
// threadtime with uid.
package logcat

import (
	"bytes"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/androidlog"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the text of Android's log.
var Format = &format.Format{Name: "android_logcat", Sniff: sniff, Read: read}

const sniffBytes = 4096 // bytes that Trace Processor looks at

func sniff(head []byte) bool {
	head = head[:min(len(head), sniffBytes)]
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !bytes.HasPrefix(line, []byte("--------")) {
			return whole && androidlog.IsMessage(line)
		}
		head = rest
	}
	return false
}

func read(in *format.Input) error {
	in.UseClock(model.ClockRealtime)
	log := androidlog.New(in, androidlog.Date{Year: guessYear(in)})
	return lines.Each(in, log.Line)
}

// guessYear returns the year for lines without one: the year of the latest event in
// the traces read before this log, or 1970, so that every run gives the same result.
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
