// Package strace reads the output of strace -f -ttt: system calls with the tid and
// the time in seconds since 1970,
//
//	1234 1700000000.123456 read(3, "root"..., 1024) = 312
//
// and calls that others interrupt, on two lines:
//
//	1234 1700000000.123456 read(3,  <unfinished ...>
//	1234 1700000000.123500 <... read resumed> "root"..., 1024) = 312
//
// Lines about signals and exits are counted, but make no rows.
package strace

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// Format is strace's output with times since 1970.
var Format = &format.Format{
	Name: "strace",
	Sniff: func(head []byte) bool {
		first, _, _ := bytes.Cut(head, []byte("\n"))
		_, fault := parse(first)
		return fault == noFault || fault == noTID
	},
	Read: read,
}

// faultStats are the stats that count lines without a call.
var faultStats = map[fault]model.Stat{
	noCall:    model.StatStraceParseFailure,
	timeOfDay: model.StatStraceUnsupportedTimestampFormat,
	noTID:     model.StatStraceMissingPID,
}

// unreadLines are the kinds of known lines that make no rows.
var unreadLines = map[fault]string{signal: "signal line", exit: "exit line"}

func read(in *format.Input) error {
	in.UseClock(model.ClockRealtime)
	calls := in.Sorter.NewStream(newParser(in.Context))
	event := token.NewWriter(in.Store)
	return lines.Each(in, func(offset int64, line []byte) error {
		c, fault := parse(line)
		switch fault {
		case noFault:
		case signal, exit:
			in.File.Unread(model.StatUnreadEvent, model.None, unreadLines[fault]).AddAt(offset)
			return nil
		default:
			in.File.LogAt(faultStats[fault], offset, nil)
			return nil
		}
		ts, ok := in.TraceTime(c.ts, offset)
		if !ok {
			return nil
		}
		c.write(event)
		return calls.Push(ts, event.Bytes())
	})
}
