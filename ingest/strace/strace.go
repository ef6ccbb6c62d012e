// Package strace reads the output of strace -f -ttt: system calls with the tid and
// the time, in seconds since 1970,
//
//	1234 1700000000.123456 read(3, "root"..., 1024) = 312
//
// a call that others interrupt in two lines:
//
//	1234 1700000000.123456 read(3,  <unfinished ...>
//	1234 1700000000.123500 <... read resumed> "root"..., 1024) = 312
//
// Lines of signals and exits are counted and not read.
package strace

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Format is strace's output with times since 1970.
var Format = &format.Format{
	Name: "strace", Priority: 197,
	Sniff: func(head []byte) bool {
		first, _, _ := bytes.Cut(head, []byte("\n"))
		_, fault := parse(first)
		return fault == noFault || fault == noTID
	},
	Read: read,
}

// faultStats are where lines are counted that have no call.
var faultStats = map[fault]model.Stat{
	noCall:    model.StatStraceParseFailure,
	timeOfDay: model.StatStraceUnsupportedTimestampFormat,
	noTID:     model.StatStraceMissingPID,
}

func read(in *format.Input) error {
	wall := model.Clock{ID: model.ClockRealtime}
	in.Clocks.SetTraceClock(wall.ID)
	in.Clocks.Assume(wall.ID)
	in.Clocks.SetDefault(wall.ID)
	calls := in.Sorter.NewStream(newParser(in.Context))
	var token []byte
	l := lines.NewReader(in)
	for l.Next() {
		c, fault := parse(l.Bytes())
		if fault != noFault {
			in.File.LogAt(faultStats[fault], l.Offset(), nil)
			continue
		}
		ts, err := in.Clocks.ToTrace(wall, c.ts)
		if err != nil {
			in.File.LogAt(err.Stat, l.Offset(), err)
			continue
		}
		token = c.appendTo(token[:0], in.Store.Strings)
		if err := calls.Push(ts, token); err != nil {
			return err
		}
	}
	if l.Err() == nil && len(l.Rest()) > 0 {
		in.File.LogAt(model.StatTruncatedInput, l.Offset(), nil)
	}
	return l.Err()
}
