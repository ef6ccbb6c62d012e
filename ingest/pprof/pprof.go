// Package pprof reads profiles in pprof's profile.proto, from any tool. See
// proto/profile.proto and doc/README.md of github.com/google/pprof.
package pprof

import (
	"io"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/perfetto/pprofpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Format is an uncompressed profile; most profiles are gzip files.
var Format = &format.Format{
	Name:  "pprof",
	Sniff: sniff,
	Read:  read,
}

// minBytes is the minimum size of a profile: shorter inputs resemble too many
// other formats.
const minBytes = 10

// sniff reports whether head is a message with only fields of Profile, at least
// one of which is distinctive.
func sniff(head []byte) bool {
	if len(head) < minBytes {
		return false
	}
	telling := false
	for r := wire.Read(head); r.Next(); {
		switch r.Number {
		case pprofpb.Profile_SampleType:
			if r.Type != wire.Bytes || !isValueType(r.Bytes()) {
				return false
			}
			telling = true
		case pprofpb.Profile_Sample, pprofpb.Profile_Mapping, pprofpb.Profile_Location, pprofpb.Profile_Function,
			pprofpb.Profile_StringTable:
			if r.Type != wire.Bytes {
				return false
			}
			telling = true
		case pprofpb.Profile_PeriodType:
			if r.Type != wire.Bytes {
				return false
			}
		case pprofpb.Profile_Comment:
			if r.Type != wire.Bytes && r.Type != wire.Varint {
				return false
			}
		case pprofpb.Profile_DropFrames, pprofpb.Profile_KeepFrames:
			if r.Type != wire.Varint {
				return false
			}
			telling = true
		case pprofpb.Profile_TimeNanos, pprofpb.Profile_DurationNanos, pprofpb.Profile_Period, pprofpb.Profile_DefaultSampleType, docURL:
			if r.Type != wire.Varint {
				return false
			}
		default:
			return false
		}
	}
	return telling
}

// isValueType rules out other messages whose first fields are messages, such as
// Perfetto's traces.
func isValueType(message []byte) bool {
	r := wire.Read(message)
	for r.Next() {
		if r.Number > 2 || r.Type != wire.Varint {
			return false
		}
	}
	return !r.Bad()
}

func read(in *format.Input) error {
	p := newContents(in.Context)
	defer p.labeled.close()
	fields := wire.NewStream(in)
	here := func() model.LogEntry { return model.LogEntry{Offset: fields.Offset, HasOffset: true} }
	for fields.Next() {
		if !p.read(&fields.Field, fields.Offset) {
			p.fault("damaged message", here())
		}
	}
	switch err := fields.Err(); err {
	case nil:
	case io.ErrUnexpectedEOF:
		in.File.Log(model.StatTruncatedInput, here())
	case wire.ErrMalformed:
		p.fault("malformed from here to the end", here())
	default:
		return err
	}
	if len(p.texts) == 0 {
		return format.Errorf(format.ErrCorrupt, fields.Offset, "the profile ends without a string table")
	}
	return p.store(in.Name)
}
