package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// readStack finds the event's call stack, interned or given with the event.
func (p *eventParser) readStack() error {
	e := &p.e
	if e.hasStackIID {
		id, ok := stacks.Callsite(p.state, e.stackIID)
		if !ok {
			return errNoStack
		}
		p.callsite = id
		return nil
	}
	if len(e.stack) == 0 { // as of nearly all events
		return nil
	}
	for f := wire.Read(e.stack); f.Next(); {
		if f.Number != 1 {
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
			case 1:
				name = strs.InternBytes(frame.Bytes())
			case 2:
				file = strs.InternBytes(frame.Bytes())
			case 3:
				line = int64(frame.Uint32())
			}
		}
		p.callsite = p.Store.Stacks.Callsite(p.callsite, p.Store.Stacks.FunctionFrame(p.inline, name, file, line))
	}
	return nil
}
