// Package primes reads the traces of Primes, the performance library of Google's
// mobile apps: a Protocol Buffers message Trace with an edge for each begin and end
// of a slice and for each mark. See protos/third_party/primes/primes_tracing.proto
// of Perfetto.
//
// A slice runs on the executor that its outermost parent names. Each executor has as
// many tracks as slices overlap on it.
package primes

import (
	"cmp"
	"fmt"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Format is a trace of Primes.
var Format = &format.Format{Name: "primes", Sniff: sniff, Read: read}

// Fields of Trace.
const (
	fieldID           = 1
	fieldName         = 2
	fieldStartTime    = 4
	fieldEdges        = 7
	fieldDuration     = 11
	fieldRootCallSite = 12
)

// idSize is the size in bytes of the id, with its tag.
const idSize = 1 + 8

// sniff reports whether head is the id and another field of Trace. The tag of the id
// is a tabulator.
func sniff(head []byte) bool {
	r := wire.Read(head[:min(len(head), idSize)])
	if !r.Next() || r.Number != fieldID || r.Type != wire.Fixed64 {
		return false
	}
	tag, n := wire.Uvarint(head[idSize:])
	if n <= 0 || wire.Type(tag&7) != wire.Bytes {
		return false
	}
	switch tag >> 3 {
	case fieldName, fieldStartTime, fieldEdges, fieldDuration, fieldRootCallSite:
		return true
	}
	return false
}

// unreadNames are the fields that are not read.
var unreadNames = map[uint32]string{fieldID: "id", fieldName: "name", fieldDuration: "duration", fieldRootCallSite: "root_call_site"}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	edges := in.Sorter.NewStream(newParser(in.Context))
	var start int64
	started := false
	fields := wire.NewStream(in)
	for fields.Next() {
		switch {
		case fields.Type != wire.Bytes || fields.Number != fieldStartTime && fields.Number != fieldEdges:
			noun := cmp.Or(unreadNames[fields.Number], fmt.Sprintf("number %d", fields.Number)) + " field"
			in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(fields.Offset)
		case fields.Number == fieldStartTime:
			start, started = nanoseconds(fields.Bytes())
		case !started:
			return format.Errorf(format.ErrCorrupt, fields.Offset, "an edge before the start time of the trace")
		default:
			offset, ok := wire.Find(fields.Bytes(), fieldStartOffset)
			since, valid := nanoseconds(offset.Bytes())
			if !ok || !valid {
				in.File.LogAt(model.StatPrimesMalformedTimestamp, fields.Offset, nil)
				continue
			}
			ts, ok := in.TraceTime(start+since, fields.Offset)
			if !ok {
				continue
			}
			if ts < 0 {
				in.File.Count(model.StatTraceSorterNegativeTimestampDropped)
				continue
			}
			if err := edges.Push(ts, fields.Bytes()); err != nil {
				return err
			}
		}
	}
	switch err := fields.Err(); {
	case err == io.ErrUnexpectedEOF:
		in.File.LogAt(model.StatTruncatedInput, fields.Offset, nil)
	case err == wire.ErrMalformed:
		return format.Errorf(format.ErrCorrupt, fields.Offset, "malformed field")
	case err != nil:
		return err
	}
	if !started {
		return format.Errorf(format.ErrCorrupt, fields.Offset, "the trace has no start time")
	}
	return nil
}

// maxSeconds keeps times, and the sum of two, within 63 bits.
const maxSeconds = 4_000_000_000

// nanoseconds reads a Timestamp or Duration: seconds and nanoseconds.
func nanoseconds(message []byte) (ns int64, ok bool) {
	var seconds, nanos int64
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case 1:
			seconds = r.Int64()
		case 2:
			nanos = int64(r.Int32())
		}
	}
	return seconds*1e9 + nanos, !r.Bad() && -maxSeconds < seconds && seconds < maxSeconds
}
