package systrace

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	ftrace  *ftrace.Parser
	events  []event         // by kind
	kinds   map[string]kind // by name in the text
	event   ftrace.Event
	unnamed model.StringID // placeholder for thread names that ftrace forgot
}

func newParser(c *model.Context) *parser {
	p := &parser{Context: c, ftrace: ftrace.NewParser(c), unnamed: c.Store.Strings.Intern("<...>")}
	p.events, p.kinds = newEvents(p.ftrace)
	return p
}

// Event turns a token into rows.
func (p *parser) Event(ts int64, data []byte) error {
	tid := int64(binary.LittleEndian.Uint32(data[tokenPID:]))
	tgid := int64(binary.LittleEndian.Uint32(data[tokenTGID:]))
	task := model.StringID(binary.LittleEndian.Uint32(data[tokenTask:]))
	utid := p.Machine.Thread(tid)
	if task != p.unnamed {
		p.Machine.SetThreadName(utid, task, model.ThreadNameFtrace)
	}
	if tgid != noTGID {
		p.Machine.ThreadOf(tid, tgid)
	}
	kind := kind(data[tokenKind])
	switch kind {
	case kindUnknown:
		return nil
	case kindMalformed:
		p.File.LogTime(model.StatSystraceParseFailure, ts, nil)
		return nil
	}
	e := &p.event
	e.Reset(p.events[kind].tracepoint)
	e.TS, e.TID, e.CPU = ts, tid, int64(binary.LittleEndian.Uint16(data[tokenCPU:]))
	for r := token.Reader(data[tokenFields:]); len(r) > 0; {
		number := r.Uint()
		if field := e.Tracepoint.Field(number >> 1); number&1 == isText {
			e.AddText(field, r.Raw())
		} else {
			e.AddInt(field, r.Uint())
		}
	}
	p.ftrace.Handle(e)
	return nil
}
