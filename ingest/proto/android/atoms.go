package android

import (
	"encoding/base64"
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// atoms reads events of statsd. An atom is a message of which one field is set, whose name says what happened.
type atoms struct {
	*proto.Reader
	events *proto.Stream
	types  *descriptor.MessageType // of all atoms, nil until there is one
	writer *args.Writer
}

// firstVendorAtom is the least number of atoms that device makers define for themselves.
const firstVendorAtom = 100_000

var atomTrack = &model.Blueprint{Classification: "statsd_atoms", Name: "Statsd Atoms"}

func statsdAtoms(r *proto.Reader) *proto.Module {
	a := &atoms{Reader: r}
	a.events = r.NewStream(a.event)
	return &proto.Module{Fields: []uint32{pb.TracePacket_StatsdAtom}, Tokenize: a.tokenize}
}

// tokenize gives each atom its time, which statsd takes from the clock that elapsedRealtime reads.
func (a *atoms) tokenize(p *proto.Packet, f *wire.Field) bool {
	var times []int64
	for ns := range message.Numbers(f.Bytes(), pb.StatsdAtom_TimestampNanos) {
		times = append(times, int64(ns))
	}
	for atom := range message.Messages(f.Bytes(), pb.StatsdAtom_Atom) {
		ts := p.TS
		if len(times) == 0 {
			a.File.LogAt(model.StatAtomTimestampMissing, p.Offset, nil)
		} else {
			converted, err := a.Clocks.ToTrace(model.Clock{ID: model.ClockBoottime}, times[0])
			times = times[1:]
			if err != nil {
				a.File.LogAt(err.Stat, p.Offset, err)
				continue
			}
			ts = converted
		}
		a.events.Push(ts, p.State, atom)
	}
	return true
}

func (a *atoms) event(ts int64, state *proto.State, atom []byte) {
	if a.types == nil {
		a.types, a.writer = a.Types().Atom(), args.NewWriter(a.Reader)
	}
	fields := wire.Read(atom)
	fields.Next()
	number := fields.Number
	known := a.types.Field(number)
	name := fmt.Sprintf("atom_%d", number)
	if known != nil {
		name = known.Name
	} else if number < firstVendorAtom {
		a.File.Count(model.StatAtomUnknown)
	}
	a.Slices.Scoped(ts, 0, a.Tracks.Intern(atomTrack, nil), 0, a.Store.Strings.Intern(name), model.ArgFunc(func(set *model.ArgSet) {
		a.writer.To(set, state)
		if known == nil {
			a.unknown(fields.Bytes())
		} else if a.writer.Message(a.types, atom, nil) != nil {
			a.File.Count(model.StatAtomUnknown)
		}
		if a.writer.Unknown() > 0 {
			a.File.Unread(model.StatUnreadFact, model.None, name+" atom with an unknown field").Add(model.LogEntry{TS: ts, HasTS: true})
		}
	}))
}

// unknown writes the fields of an atom without a description under their numbers. Whether eight bytes are a real number is not known.
func (a *atoms) unknown(atom []byte) {
	for f := wire.Read(atom); f.Next(); {
		name := fmt.Sprintf("field_%d", f.Number)
		var value model.ArgValue
		switch f.Type {
		case wire.Varint:
			value = model.IntArg(f.Int64())
		case wire.Bytes:
			value = a.writer.Text(base64.StdEncoding.EncodeToString(f.Bytes()))
		case wire.Fixed32:
			name, value = name+"_assuming_float", model.RealArg(f.Float64())
		case wire.Fixed64:
			name, value = name+"_assuming_double", model.RealArg(f.Float64())
		}
		a.writer.Add(a.writer.Named(a.writer.Root(), name), value)
	}
}
