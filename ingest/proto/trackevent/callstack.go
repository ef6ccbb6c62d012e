package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// readStack finds the event's call stack, which is interned or inside the event.
func (p *eventParser) readStack() (profile.CallsiteID, error) {
	e := &p.e
	if e.hasStackIID {
		id, ok := stacks.Callsite(p.state, p.upid, e.stackIID)
		if !ok {
			return model.None, errNoStack
		}
		return id, nil
	}
	if len(e.stack) == 0 { // true of nearly all events
		return model.None, nil
	}
	if p.inline == model.None {
		p.inline = p.Store.Stacks.DummyMapping("track_event_inline")
	}
	return stacks.Inline(p.Reader, p.inline, e.stack), nil
}
