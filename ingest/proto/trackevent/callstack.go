package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// readStack finds the event's call stack, interned or given with the event.
func (p *eventParser) readStack() (model.CallsiteID, error) {
	e := &p.e
	if e.hasStackIID {
		id, ok := stacks.Callsite(p.state, e.stackIID)
		if !ok {
			return model.None, errNoStack
		}
		return id, nil
	}
	if len(e.stack) == 0 { // as of nearly all events
		return model.None, nil
	}
	callsite := model.None
	for f := wire.Read(e.stack); f.Next(); {
		if f.Number != pb.TrackEvent_InlineCallstack_Frames {
			continue
		}
		if p.inline == model.None {
			p.inline = p.Store.Stacks.DummyMapping("track_event_inline")
		}
		strs := p.Store.Strings
		name := strs.Intern("")
		var file model.StringID
		var line int64
		for frame := wire.Read(f.Bytes()); frame.Next(); {
			switch frame.Number {
			case pb.TrackEvent_InlineCallstack_Frame_FunctionName:
				name = strs.InternBytes(frame.Bytes())
			case pb.TrackEvent_InlineCallstack_Frame_SourceFile:
				file = strs.InternBytes(frame.Bytes())
			case pb.TrackEvent_InlineCallstack_Frame_LineNumber:
				line = int64(frame.Uint32())
			}
		}
		callsite = p.Store.Stacks.Callsite(callsite, p.Store.Stacks.FunctionFrame(p.inline, name, file, line))
	}
	return callsite, nil
}
