package systrace

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	ftrace   *ftrace.Parser
	events   []ftracetext.Event         // by kind
	kinds    map[string]ftracetext.Kind // by name in the text
	switches ftracetext.Kind
	event    ftrace.Event
	unnamed  model.StringID // placeholder for thread names that ftrace forgot
}

func newParser(c *model.Context) *parser {
	p := &parser{Context: c, ftrace: ftrace.NewParser(c), unnamed: c.Store.Strings.Intern("<...>")}
	p.ftrace.OldStates = true // linux.ParseTaskState
	p.ftrace.RecordTexts = true
	p.events, p.kinds = ftracetext.Events(p.ftrace, false)
	p.switches = p.kinds["sched_switch"]
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
	kind := ftracetext.Kind(data[tokenKind])
	switch kind {
	case ftracetext.Unknown:
		return nil
	case kindMalformed:
		p.File.LogTime(model.StatSystraceParseFailure, ts, nil)
		return nil
	}
	cpu, r := int64(binary.LittleEndian.Uint16(data[tokenCPU:])), token.Reader(data[tokenFields:])
	if kind == p.switches {
		p.schedSwitch(ts, cpu, r)
		return nil
	}
	e := &p.event
	e.Reset(p.events[kind].Tracepoint)
	e.TS, e.TID, e.CPU = ts, tid, cpu
	p.events[kind].Fill(e, r)
	p.ftrace.Handle(e)
	return nil
}

// schedSwitch handles the most frequent event without the search for its fields.
func (p *parser) schedSwitch(ts, cpu int64, r token.Reader) {
	var prev, next ftrace.Task
	var state int64
	for len(r) > 0 {
		switch r.Uint() {
		case pb.SchedSwitchFtraceEvent_PrevComm<<1 | ftracetext.IsText:
			prev.Comm = p.Store.Strings.InternBytes(r.Raw())
		case pb.SchedSwitchFtraceEvent_PrevPID << 1:
			prev.PID = int64(r.Uint())
		case pb.SchedSwitchFtraceEvent_PrevPrio << 1:
			prev.Priority = int32(r.Uint())
		case pb.SchedSwitchFtraceEvent_PrevState << 1:
			state = int64(r.Uint())
		case pb.SchedSwitchFtraceEvent_NextComm<<1 | ftracetext.IsText:
			next.Comm = p.Store.Strings.InternBytes(r.Raw())
		case pb.SchedSwitchFtraceEvent_NextPID << 1:
			next.PID = int64(r.Uint())
		case pb.SchedSwitchFtraceEvent_NextPrio << 1:
			next.Priority = int32(r.Uint())
		}
	}
	prev.PID, next.PID = int64(uint32(prev.PID)), int64(uint32(next.PID)) // -1 stands for an unknown one
	p.ftrace.Switch(ts, cpu, prev, state, next, nil)
}
