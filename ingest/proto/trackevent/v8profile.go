package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/args"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// tokenizeProfile reads the part of a V8 profile that a legacy event of phase P has in
// its annotation "data". The samples have their own times.
func (t *trackEvents) tokenizeProfile(p *proto.Packet, event, legacy []byte) {
	id, _ := wire.Find(legacy, pb.TrackEvent_LegacyEvent_UnscopedID)
	owner := thread.Of(p.State)
	key := v8profile.Key{ID: id.Uint64(), Process: int64(uint32(owner.PID))}
	for data := range message.Messages(event, pb.TrackEvent_DebugAnnotations) {
		a := args.DecodeAnnotation(data)
		name := string(a.Name)
		if a.NameIID != 0 {
			interned, _ := p.State.InternedString(pb.InternedData_DebugAnnotationNames, a.NameIID)
			name = t.Store.Strings.Get(interned)
		}
		if name != "data" || a.JSON == nil {
			continue
		}
		var chunk v8profile.Chunk
		if !chunk.Decode(a.JSON) {
			t.File.LogAt(model.StatLegacyV8CPUProfileInvalidSample, p.Offset, nil)
			continue
		}
		if !chunk.Starts {
			if err := t.profiles.Add(key, int64(uint32(owner.TID)), &chunk); err != nil {
				t.Fail(err)
			}
			continue
		}
		start, err := t.Clocks.ToTrace(model.Clock{ID: model.ClockMonotonic}, chunk.Start)
		if err != nil {
			t.File.LogAt(model.StatLegacyV8CPUProfileInvalidSample, p.Offset, err)
			continue
		}
		if err := t.profiles.Start(key, start, chunk.Start); err != nil {
			t.Fail(err)
		}
	}
}
