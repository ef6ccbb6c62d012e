package perftext

import (
	"bytes"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// eventKind is the first number of an event.
type eventKind uint64

const (
	sampleEvent eventKind = iota
	commEvent
	forkEvent
)

// push pushes the sample once its stack is complete.
func (r *reader) push() error {
	if r.state != inSample {
		return nil
	}
	r.state = between
	s := &r.sample
	if len(s.frames) == 0 {
		r.takeInline()
	}
	text := bytes.TrimSpace(s.text)
	kind := r.tracepoint(text)
	if kind == ftracetext.Unknown && len(text) > 0 {
		noun := otherField(append([]byte{' '}, text...))
		if noun == "" {
			noun = "trailing text"
		}
		r.unread(noun, s.offset)
	}
	r.token.Reset()
	r.token.Uint(uint64(sampleEvent))
	r.token.Int(int64(r.callsite()))
	r.token.Int(s.pid)
	r.token.Int(s.tid)
	r.token.Int(s.cpu)
	r.token.Uint(uint64(s.comm))
	r.token.Text([]byte(s.mode))
	r.token.Uint(uint64(s.event))
	r.token.Int(s.period)
	r.token.Uint(uint64(kind))
	r.token.Rest(r.fields.Bytes())
	return r.events.Push(s.ts, r.token.Bytes())
}

// tracepoint reads the fields of a tracepoint, which perf prints after the name of the event. Without a thread and a CPU there is no row
// for them.
func (r *reader) tracepoint(text []byte) ftracetext.Kind {
	s := &r.sample
	r.fields.Reset()
	_, name, ok := strings.Cut(r.in.Store.Strings.Get(s.event), ":")
	if !ok || len(text) == 0 || s.tid == model.None || s.cpu == model.None || s.cpu >= model.MaxCPUs {
		return ftracetext.Unknown
	}
	kind, event := r.parser.tracepoint(name)
	if kind == ftracetext.Unknown || !event.Decode(r.fields, text) {
		r.fields.Reset()
		return ftracetext.Unknown
	}
	if !r.traced {
		r.traced = true
		r.in.Machine.UseIdleProcess()
	}
	return kind
}

// callsite stores the stack of the sample.
func (r *reader) callsite() profile.CallsiteID {
	stacks, strings := r.in.Store.Stacks, r.in.Store.Strings
	frames := r.sample.frames
	for i := len(frames) - 1; i >= 0; i-- {
		switch f := &frames[i]; {
		case !f.inlined:
		case i+1 < len(frames) && frames[i+1].address == f.address:
			f.mapping = frames[i+1].mapping
		default:
			f.mapping = r.mapping(nil)
		}
	}
	r.frameIDs = r.frameIDs[:0]
	for _, f := range frames {
		var id profile.FrameID
		if f.function == 0 && f.sourceLine == 0 {
			id = stacks.Frame(f.mapping, f.address, strings.Intern(""))
		} else {
			id = stacks.FunctionFrame(f.mapping, f.function, f.sourceFile, f.sourceLine)
		}
		r.frameIDs = append(r.frameIDs, id)
	}
	callsite := profile.CallsiteID(model.None)
	for i := len(r.frameIDs) - 1; i >= 0; i-- {
		outermost := callsite == model.None
		callsite = stacks.Callsite(callsite, r.frameIDs[i])
		if outermost {
			stacks.SetDepth(callsite, 1) // v58 counts from 1 here
		}
	}
	return callsite
}

// recordNumbers are the kernel's numbers of records without rows, by perf's names.
var recordNumbers = map[string]int64{
	"MMAP": 1, "THROTTLE": 5, "UNTHROTTLE": 6, "READ": 8, "MMAP2": 10, "AUX": 11, "ITRACE_START": 12, "SWITCH": 14,
	"SWITCH_CPU_WIDE": 15, "NAMESPACES": 16, "KSYMBOL": 17, "BPF_EVENT": 18, "CGROUP": 19, "TEXT_POKE": 20, "AUX_OUTPUT_HW_ID": 21,
}

// other reads a record that is no sample.
func (r *reader) other(offset int64, h *header) error {
	if err := r.push(); err != nil {
		return err
	}
	r.state = inOther
	name, fields, _ := h.record()
	switch string(name) {
	case "COMM":
		return r.task(commEvent, offset, h, fields)
	case "FORK":
		return r.task(forkEvent, offset, h, fields)
	case "EXIT", "FINISHED_ROUND":
		return nil
	case "LOST", "LOST_SAMPLES":
		_, last := cutLast(fields)
		n, ok := number(last)
		if !ok {
			n = 1
		}
		r.in.File.Add(model.StatPerfCPULostRecords, h.cpu, max(n, 1))
		return nil
	}
	number, known := recordNumbers[string(name)]
	if !known {
		number = model.None
	}
	r.in.File.Unread(model.StatPerfUnknownRecordType, number, strings.ToLower(string(name))+" record").AddAt(offset)
	return nil
}

// task reads the record of a thread's new name, as in "exec: sh:7/8", or of a new thread, as in "(7:8):(7:7)".
func (r *reader) task(kind eventKind, offset int64, h *header, fields []byte) error {
	var name, ids []byte
	separator := []byte(":")
	if kind == commEvent {
		fields = bytes.TrimPrefix(bytes.TrimPrefix(fields, []byte(" exec")), []byte(": "))
		if at := bytes.LastIndexByte(fields, ':'); at >= 0 {
			name, ids = fields[:at], fields[at+1:]
		}
		separator = []byte("/")
	} else {
		ids, _, _ = bytes.Cut(bytes.TrimPrefix(fields, []byte("(")), []byte(")"))
	}
	first, second, _ := bytes.Cut(ids, separator)
	pid, okPID := number(first)
	tid, okTID := number(second)
	if !okPID || !okTID {
		r.in.File.LogAt(statParseErrors, offset, nil)
		return nil
	}
	ts, ok := r.in.TraceTime(h.ns, offset)
	if !ok || tid == model.None || pid == model.None {
		return nil
	}
	r.token.Reset()
	r.token.Uint(uint64(kind))
	r.token.Int(pid)
	r.token.Int(tid)
	r.token.Text(name)
	return r.events.Push(ts, r.token.Bytes())
}

// parser turns events into rows.
type parser struct {
	*model.Context
	ftrace      *ftrace.Parser // nil until there is a tracepoint
	tracepoints []ftracetext.Event
	kinds       map[string]ftracetext.Kind
	event       ftrace.Event
}

// tracepoint returns the kind of an event by its name.
func (p *parser) tracepoint(name string) (ftracetext.Kind, *ftracetext.Event) {
	if p.ftrace == nil {
		p.ftrace = ftrace.NewParser(p.Context)
		p.ftrace.Partial = true // nobody knows which events the text leaves out
		p.tracepoints, p.kinds = ftracetext.Events(p.ftrace, true)
	}
	kind := p.kinds[name]
	return kind, &p.tracepoints[kind]
}

// Event stores a sample, or what a record says about a thread.
func (p *parser) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	kind := eventKind(event.Uint())
	if kind == sampleEvent {
		p.sample(ts, &event)
		return nil
	}
	pid, tid := event.Int(), event.Int()
	utid := p.Machine.ThreadOf(tid, pid)
	if kind == commEvent {
		p.Machine.SetThreadAndProcessName(utid, event.Text(), model.ThreadNameSystem)
	}
	return nil
}

func (p *parser) sample(ts int64, event *token.Reader) {
	v := profile.NewSample(ts, "perf_text")
	v.Callsite = profile.CallsiteID(event.Int())
	pid, tid := event.Int(), event.Int()
	if cpu := event.Int(); cpu != model.None {
		v.CPU, v.UCPU = cpu, p.Machine.CPU(cpu)
	}
	if pid != model.None {
		v.UPID = p.Machine.Process(pid)
	}
	switch {
	case tid == model.None:
	case pid != model.None:
		v.UTID = p.Machine.ThreadOf(tid, pid)
	default:
		v.UTID = p.Machine.Thread(tid)
		if tid != 0 { // another record may name its process
			v.UPID = p.Machine.ProcessOf(v.UTID)
		}
	}
	if comm := model.StringID(event.Uint()); comm != 0 && v.UTID != model.None {
		p.Machine.SetThreadAndProcessName(v.UTID, comm, model.ThreadNameOther)
	}
	if mode := event.Text(); mode != p.Store.Strings.Intern("") {
		v.CPUMode = mode
	}
	sample := p.Store.Stacks.AddSample(v)
	name, period := model.StringID(event.Uint()), event.Int()
	if name != 0 || period != model.None {
		if name == 0 {
			name = p.Store.Strings.Intern("")
		}
		p.Store.Stacks.AddSampleEvent(sample, name, period)
	}
	if kind := event.Uint(); kind != uint64(ftracetext.Unknown) {
		e, tracepoint := &p.event, &p.tracepoints[kind]
		e.Reset(tracepoint.Tracepoint)
		e.TS, e.TID, e.CPU = ts, tid, v.CPU
		tracepoint.Fill(e, *event)
		p.ftrace.Record(e)
	}
}
