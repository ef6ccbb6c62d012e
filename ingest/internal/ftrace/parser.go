// Package ftrace turns events of the Linux kernel's ftrace into rows. It does not
// depend on how they were written: decoders of Perfetto's protobuf and of
// ftrace's text fill an Event with the fields of its tracepoint. A handler for
// the tracepoint, from one table by name, does the rest.
package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/atrace"
	"github.com/tpconvert/tpconvert/model"
)

// StatEventsLost counts what the kernel overwrote.
var StatEventsLost = model.NewStat(1052, model.StatInfo{
	Name: "ftrace_events_lost", Indexed: true, Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
	Description: "Events of a CPU that the kernel overwrote before the recorder read them, where the trace says how many.",
})

// Parser is the state of one machine's ftrace events in one trace.
type Parser struct {
	*model.Context
	// OldStates says that states of threads are encoded as by Linux before 4.14, whatever the machine's kernel is. Those of text are.
	OldStates bool
	// Partial says that switches and wakeups are missing on purpose, so that they do not tell which thread runs on a CPU.
	Partial bool
	// RecordTexts says that Handle stores texts in ftrace_event that are no marks: only Record stores others.
	RecordTexts bool
	tracepoints []Tracepoint           // by number
	byName      map[string]*Tracepoint // built when first needed
	words       words
	rowType     model.StringID // of rows of ftrace_event
	ucpus       []model.UCPU   // by cpu
	legacy      map[string]*Tracepoint
	set         model.ArgSet
	args        argList

	marks   *atrace.Writer
	sched   sched
	binder  binderState
	syscall syscalls
	memory  memory
	power   power
	storage storage
	gpu     gpu
	net     network
	i2c     map[model.UTID][]i2cMessages
	queued  map[v4l2Buffer]model.SliceID
}

// handler turns an event into rows.
type handler func(*Parser, *Event)

// NewParser returns a Parser for a machine whose idle process is pid 0; see
// model.Machine.UseIdleProcess.
func NewParser(c *model.Context) *Parser {
	p := &Parser{Context: c, marks: atrace.NewWriter(c)}
	p.words.pool = c.Store.Strings
	p.rowType = c.Store.Strings.Intern("ftrace_event")
	p.args.words = &p.words
	p.legacy = map[string]*Tracepoint{}
	p.i2c = map[model.UTID][]i2cMessages{}
	p.queued = map[v4l2Buffer]model.SliceID{}
	p.tracepoints = make([]Tracepoint, len(tracepoints()))
	for i, t := range tracepoints() {
		t.Fields = append([]Field(nil), t.Fields...)
		t.handle = handlers[t.Name]
		p.prepare(&t)
		p.tracepoints[i] = t
	}
	p.sched.init(p)
	p.binder.init()
	p.memory.init()
	p.power.init()
	p.storage.init()
	p.gpu.init()
	p.net.init()
	return p
}

// prepare interns the names of a tracepoint.
func (p *Parser) prepare(t *Tracepoint) {
	if t.Name != "" {
		t.id = p.Store.Strings.Intern(t.Name)
	}
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Name != "" {
			f.key = p.Store.Strings.Intern(f.Name)
		}
	}
}

// Field prepares a field that a known tracepoint has in the trace alone.
func (p *Parser) Field(f Field) *Field {
	f.key, f.own = p.Store.Strings.Intern(f.Name), true
	return &f
}

// Tracepoint returns the tracepoint with this number in Perfetto's FtraceEvent,
// or nil if it is newer than the list. Retired numbers have a tracepoint without
// a name or fields.
func (p *Parser) Tracepoint(number uint64) *Tracepoint {
	if number < uint64(len(p.tracepoints)) {
		return &p.tracepoints[number]
	}
	return nil
}

// TracepointNamed returns the tracepoint of this name, or nil.
func (p *Parser) TracepointNamed(name string) *Tracepoint {
	if p.byName == nil {
		p.byName = map[string]*Tracepoint{}
		for i := range p.tracepoints {
			p.byName[p.tracepoints[i].Name] = &p.tracepoints[i]
		}
	}
	return p.byName[name]
}

// Record stores an event in ftrace_event. The handler of scheduler switches
// stores those itself, because it knows the thread better.
func (p *Parser) Record(e *Event) {
	if e.Tracepoint == p.sched.switches && !p.Partial {
		return
	}
	p.set.Reset()
	for i := range e.values {
		p.addArg(e, &e.values[i])
	}
	p.record(e.TS, e.CPU, p.thread(e), e.Flags, e.Tracepoint)
}

// addArg adds a value to p.set.
func (p *Parser) addArg(e *Event, v *value) {
	switch {
	case v.field.Type == Text, v.text != nil: // a function's name instead of its address
		p.set.AddText(v.field.key, v.field.key, v.text)
	case v.field.Array:
		p.addElement(&p.set, e, v)
	default:
		p.set.Add(v.field.key, e.arg(v))
	}
}

// addElement adds an element of an array.
func (p *Parser) addElement(set *model.ArgSet, e *Event, v *value) {
	f, i := v.field, set.NextIndex(v.field.key)
	for len(f.elements) <= i {
		f.elements = append(f.elements, p.Store.Strings.Intern(model.ArrayKey(f.Name, len(f.elements))))
	}
	set.AddFlat(f.key, f.elements[i], e.arg(v))
}

// RecordArgs is Record for a decoder that adds the args itself.
func (p *Parser) RecordArgs(e *Event, args model.ArgSource) {
	p.set.Reset()
	args.AddArgs(&p.set)
	if e.Tracepoint != p.sched.switches {
		p.record(e.TS, e.CPU, p.thread(e), e.Flags, e.Tracepoint)
	}
}

// Recorded returns the args of the event that RecordArgs stored last. They are valid until another event is recorded or handled.
func (p *Parser) Recorded() *model.ArgSet { return &p.set }

// record stores an event with the args in p.set.
func (p *Parser) record(ts, cpu int64, utid model.UTID, flags int64, tracepoint *Tracepoint) {
	t := &p.Store.FtraceEvent
	row := t.Append()
	t.SetID(row, p.Store.Raw.Append())
	t.TS.Set(row, ts)
	t.Name.Set(row, tracepoint.id)
	t.CPU.Set(row, int32(cpu))
	t.UCPU.Set(row, p.ucpu(cpu))
	t.UTID.Set(row, utid)
	t.CommonFlags.Set(row, flags)
	t.Type.Set(row, p.rowType)
	p.Store.SetArgs(&t.ArgSetID, row, &p.set)
}

// ucpu caches Machine.CPU.
func (p *Parser) ucpu(cpu int64) model.UCPU {
	for int64(len(p.ucpus)) <= cpu {
		p.ucpus = append(p.ucpus, model.None)
	}
	if p.ucpus[cpu] == model.None {
		p.ucpus[cpu] = p.Machine.CPU(cpu)
	}
	return p.ucpus[cpu]
}

// Handle adds an event's rows in tables other than ftrace_event.
func (p *Parser) Handle(e *Event) {
	if e.Tracepoint.handle != nil {
		e.Tracepoint.handle(p, e)
	}
}
