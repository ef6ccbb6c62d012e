// Package primes reads traces of Primes, the performance library of Google's mobile
// apps: a Protocol Buffers message Trace with an edge for each begin and end of a
// slice and for each mark. See protos/third_party/primes/primes_tracing.proto in
// Perfetto.
//
// A slice runs on the executor that its outermost parent names. Each executor has as
// many tracks as it has overlapping slices.
package primes

import (
	"cmp"
	"fmt"
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/perfetto/primespb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the format of Primes traces.
var Format = &format.Format{Name: "primes", Sniff: sniff, Read: read}

// idSize is the size of the id with its tag, in bytes.
const idSize = 1 + 8

// sniff reports whether head starts with Trace's id and another of its fields. The
// id alone is too weak a sign, because its tag is a tab character.
func sniff(head []byte) bool {
	r := wire.Read(head[:min(len(head), idSize)])
	if !r.Next() || r.Number != primespb.Trace_ID || r.Type != wire.Fixed64 {
		return false
	}
	tag, n := wire.Uvarint(head[idSize:])
	if n <= 0 || wire.Type(tag&7) != wire.Bytes {
		return false
	}
	switch tag >> 3 {
	case primespb.Trace_Name, primespb.Trace_StartTime, primespb.Trace_Edges, primespb.Trace_Duration, primespb.Trace_RootCallSite:
		return true
	}
	return false
}

// unreadNames are the names of unsupported fields.
var unreadNames = map[uint32]string{primespb.Trace_ID: "id", primespb.Trace_Name: "name", primespb.Trace_Duration: "duration", primespb.Trace_RootCallSite: "root_call_site"}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	edges := in.Sorter.NewStream(newParser(in.Context))
	var start int64
	started := false
	fields := wire.NewStream(in)
	for fields.Next() {
		switch {
		case fields.Type != wire.Bytes || fields.Number != primespb.Trace_StartTime && fields.Number != primespb.Trace_Edges:
			noun := cmp.Or(unreadNames[fields.Number], fmt.Sprintf("number %d", fields.Number)) + " field"
			in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(fields.Offset)
		case fields.Number == primespb.Trace_StartTime:
			start, started = nanoseconds(fields.Bytes())
		case !started:
			return format.Errorf(format.ErrCorrupt, fields.Offset, "an edge before the start time of the trace")
		default:
			offset, ok := wire.Find(fields.Bytes(), primespb.TraceEdge_TraceStartOffset)
			since, valid := nanoseconds(offset.Bytes())
			if !ok || !valid {
				in.File.LogAt(model.StatPrimesMalformedTimestamp, fields.Offset, nil)
				continue
			}
			ts, ok := in.TraceTime(start+since, fields.Offset)
			if !ok {
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

// maxSeconds keeps a time, and the sum of two, within 63 bits.
const maxSeconds = 4_000_000_000

// nanoseconds reads a Timestamp or Duration: seconds and nanoseconds.
func nanoseconds(message []byte) (ns int64, ok bool) {
	var seconds, nanos int64
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case primespb.Timestamp_Seconds:
			seconds = r.Int64()
		case primespb.Timestamp_Nanos:
			nanos = int64(r.Int32())
		}
	}
	return seconds*1e9 + nanos, !r.Bad() && -maxSeconds < seconds && seconds < maxSeconds
}
