package ftrace

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/internal/atrace"
	"github.com/tpconvert/tpconvert/model"
)

var clockSync = []byte("trace_event_clock_sync:") // atrace's and systrace's own

func printed(p *Parser, e *Event) {
	p.syscall.truncateWrite(p, e)
	m, ok, isMark := atrace.Parse(e.Text("buf"))
	switch {
	case ok:
		p.mark(e, m)
	case isMark:
		p.File.LogTime(model.StatSystraceParseFailure, e.TS, nil)
	case p.RecordTexts && !bytes.HasPrefix(e.Text("buf"), clockSync):
		p.Record(e)
	}
}

// kernelMark returns a handler for a driver's tracepoint that writes a mark. The
// fields kind and begins tell the phase, by its letter or by whether it is a
// begin; a driver has one of them, or both. name is the field of the name.
func kernelMark(kind, begins, name string) handler {
	return func(p *Parser, e *Event) {
		m := atrace.Mark{Phase: byte(e.Int(kind)), TGID: unsigned(e.Int("pid")), Name: e.Text(name), Value: e.Int("value")}
		if m.Phase == 0 && (e.Has(kind) || e.Has(begins)) {
			m.Phase = 'E'
			if e.Int(begins) != 0 {
				m.Phase = 'B'
			}
		}
		p.driverMark(e, m)
	}
}

// driverMark handles a mark. Drivers write only some of the phases.
func (p *Parser) driverMark(e *Event, m atrace.Mark) {
	switch m.Phase {
	case 'B', 'E', 'C', 'I':
		p.mark(e, m)
	default:
		p.File.LogTime(model.StatSystraceParseFailure, e.TS, nil)
	}
}

// dpuMark handles a mark of the display driver. Its process is not always the
// thread's, so only counters use it.
func dpuMark(p *Parser, e *Event) {
	m := atrace.Mark{Phase: byte(e.Int("type")), Name: e.Text("name"), Value: e.Int("value")}
	if m.Phase == 'C' {
		m.TGID = unsigned(e.Int("pid"))
	}
	p.driverMark(e, m)
}

// zeroMark handles the tracepoint systrace/0 of Qualcomm's kernels.
func zeroMark(p *Parser, e *Event) {
	m := atrace.Mark{TGID: unsigned(e.Int("pid")), Name: e.Text("name"), Value: e.Int("value")}
	switch flag := e.Int("flag"); {
	case flag&1 != 0:
		m.Phase = 'B'
	case flag&2 != 0:
		m.Phase = 'E'
	case flag&4 != 0:
		m.Phase = 'C'
	}
	p.driverMark(e, m)
}

func (p *Parser) mark(e *Event, m atrace.Mark) {
	p.marks.Write(atrace.Origin{TS: e.TS, TID: e.TID, Thread: func() model.UTID { return p.thread(e) }}, m)
}
