package systrace

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
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
func (p *parser) Event(ts int64, token []byte) error {
	tid := int64(binary.LittleEndian.Uint32(token[tokenPID:]))
	tgid := int64(binary.LittleEndian.Uint32(token[tokenTGID:]))
	task := model.StringID(binary.LittleEndian.Uint32(token[tokenTask:]))
	utid := p.Machine.Thread(tid)
	if task != p.unnamed {
		p.Machine.SetThreadName(utid, task, model.ThreadNameFtrace)
	}
	if tgid != noTGID {
		p.Machine.ThreadOf(tid, tgid)
	}
	kind := token[tokenKind]
	if kind == kindUnknown {
		return nil
	}
	e := &p.event
	e.Reset(p.events[kind].tracepoint)
	e.TS, e.TID, e.CPU = ts, tid, int64(binary.LittleEndian.Uint16(token[tokenCPU:]))
	if !p.events[kind].decode(e, token[tokenArgs:]) {
		p.File.LogTime(model.StatSystraceParseFailure, ts, nil)
		return nil
	}
	p.ftrace.Handle(e)
	return nil
}
