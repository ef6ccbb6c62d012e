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

var statParseErrors = model.NewStat(1005, model.StatInfo{
	Name: "pprof_parse_errors", Severity: model.DataLoss, Effect: model.Damaged,
	Description: "Parts of a pprof profile that are damaged or refer to missing parts.",
})

// minBytes is the minimum size of a profile: shorter inputs resemble too many
// other formats.
const minBytes = 10

// sniff reports whether head is a message with only fields of Profile, at least
// one of which is distinctive. A text is none: its first letters can be valid tags, but
// every profile has numbers, and an empty text at the start of its table.
func sniff(head []byte) bool {
	if len(head) < minBytes || format.IsText(head) {
		return false
	}
	telling, texts := false, false
	for r := wire.Read(head); r.Next(); {
		switch r.Number {
		case pprofpb.Profile_SampleType, pprofpb.Profile_Sample, pprofpb.Profile_Mapping, pprofpb.Profile_Location, pprofpb.Profile_Function:
			ok, whole := isMessage(r.Field, nested[r.Number])
			if !ok {
				return false
			}
			telling = telling || whole
		case pprofpb.Profile_StringTable:
			if r.Type != wire.Bytes || !texts && len(r.Bytes()) > 0 {
				return false
			}
			telling, texts = true, true
		case pprofpb.Profile_PeriodType:
			if ok, _ := isMessage(r.Field, nested[r.Number]); !ok {
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

// nested are the types of the fields of messages in a profile, by their numbers.
var nested = map[uint32][]wire.Type{
	pprofpb.Profile_SampleType: numbers(pprofpb.ValueType_Unit),
	pprofpb.Profile_PeriodType: numbers(pprofpb.ValueType_Unit),
	pprofpb.Profile_Sample:     append(numbers(pprofpb.Sample_Value), wire.Bytes),
	pprofpb.Profile_Mapping:    numbers(mappingFields),
	pprofpb.Profile_Location:   append(append(numbers(pprofpb.Location_Address), wire.Bytes), wire.Varint), // the last says whether it was folded
	pprofpb.Profile_Function:   numbers(pprofpb.Function_StartLine),
}

// mappingFields is the number of fields of a Mapping. The last four say what symbols it has.
const mappingFields = 10

// numbers returns the types of n fields that are numbers.
func numbers(n int) []wire.Type { return make([]wire.Type, n) }

// isMessage rules out other messages whose fields have the same numbers, such as Perfetto's traces. The numbers of a sample
// may be packed. whole is false for a message that is damaged.
func isMessage(f wire.Field, types []wire.Type) (ok, whole bool) {
	if f.Type != wire.Bytes {
		return false, false
	}
	r := wire.Read(f.Bytes())
	for r.Next() {
		if int(r.Number) > len(types) || r.Type != types[r.Number-1] && !(f.Number == pprofpb.Profile_Sample && r.Type == wire.Bytes) {
			return false, false
		}
	}
	return true, !r.Bad()
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
