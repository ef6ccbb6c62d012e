package ctf

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	events  []*eventClass // by number
	streams []streamTrack // by number
	kernel  *kernel       // of a trace of Linux's kernel, else nil
	pid     int64         // of the only process of the trace, or none
	event   ftrace.Event  // values of the fields that handlers use
	set     model.ArgSet
	path    []byte // of the element of an array
	now     current
	symbols map[callback]model.StringID // functions of ROS 2's callbacks
}

// streamTrack is the track for the events of a stream without threads.
type streamTrack struct {
	name  string
	track model.TrackID
	known bool
}

// current is the event at hand.
type current struct {
	*eventClass
	ts, cpu, tid, pid int64 // tid and pid are none if unknown
	stream            *streamTrack
	rest              token.Reader // encoded contexts and fields
}

// handler makes rows of an event whose args and values are in parser.set and parser.event.
type handler func(p *parser, e *current)

func newParser(c *model.Context, d *declarations) *parser {
	p := &parser{Context: c, pid: none, symbols: map[callback]model.StringID{}}
	env := map[string]value{}
	for _, e := range d.env {
		env[e.name] = e.value
	}
	if env["domain"].text == "kernel" {
		p.kernel = newKernel(c, d)
	}
	if pid := env["vpid"]; pid.isNumber { // LTTng's buffers by process
		p.pid = pid.signed()
		if name := env["procname"].text; name != "" {
			c.Machine.SetProcessName(c.Machine.Process(p.pid), c.Store.Strings.Intern(name), model.ProcessNameSystem)
		}
	}
	return p
}

// add adds a kind of event.
func (p *parser) add(e *eventClass) {
	e.number = len(p.events)
	p.events = append(p.events, e)
	assignThread(e.context)
	if provider, _, ok := strings.Cut(e.name, ":"); ok {
		e.category = p.Store.Strings.Intern(provider)
	}
	e.nameID = p.Store.Strings.Intern(e.name)
	e.stream.packetContext.names(p.Store, "packet")
	e.stream.eventContext.names(p.Store, "context")
	e.context.names(p.Store, "context")
	e.fields.names(p.Store, "")
	if p.kernel != nil {
		p.kernel.add(e)
		return
	}
	if e.handle = handlers[e.name]; e.handle != nil {
		for _, f := range e.fields.leaves() {
			f.to = &ftrace.Field{Name: plain(f.name), Type: f.fieldType()}
		}
	}
}

// leaves are the fields that are numbers or texts.
func (c *class) leaves() (all []field) {
	for _, f := range c.all() {
		if f.kind == integerClass || f.isText() {
			all = append(all, f)
		}
	}
	return all
}

// all returns the fields of a structure that the trace may not have.
func (c *class) all() []field {
	if c == nil {
		return nil
	}
	return c.fields
}

func (c *class) fieldType() ftrace.FieldType {
	switch {
	case c.isText():
		return ftrace.Text
	case c.signed:
		return ftrace.Int64
	}
	return ftrace.Uint64
}

// Event turns an event into rows.
func (p *parser) Event(ts int64, payload []byte) error {
	r := token.Reader(payload)
	e := &p.now
	*e = current{eventClass: p.events[r.Uint()], ts: ts, stream: &p.streams[r.Uint()], cpu: r.Int(), tid: r.Int(), pid: r.Int()}
	name := r.Raw()
	e.rest = r
	if p.kernel != nil {
		p.kernelEvent(e, name)
		return nil
	}
	if e.pid == none {
		e.pid = p.pid
	}
	if len(name) > 0 && e.tid != none {
		id := p.Store.Strings.InternBytes(name)
		p.Machine.SetThreadAndProcessName(p.thread(e), id, model.ThreadNameFtrace)
	}
	if e.handle != nil {
		p.set.Reset()
		p.event.Reset(nil)
		p.AddArgs(&p.set)
		e.handle(p, e)
		return nil
	}
	p.Slices.Instant(ts, p.track(e), e.category, e.nameID, p)
	return nil
}

func (p *parser) thread(e *current) model.UTID {
	if e.pid != none {
		return p.Machine.ThreadOf(e.tid, e.pid)
	}
	return p.Machine.Thread(e.tid)
}

var (
	streamTracks  = &model.Blueprint{Classification: "ctf_stream", Dims: []string{"stream"}}
	processTracks = &model.Blueprint{Classification: "process_ctf_stream", Dims: []string{"upid", "stream"}}
)

// track returns the track of the event's thread, or of its stream if the thread is unknown.
func (p *parser) track(e *current) model.TrackID {
	if e.tid != none {
		return p.Tracks.Thread(p.thread(e))
	}
	if s := e.stream; e.pid == p.pid && s.known {
		return s.track
	}
	name := p.Store.Strings.Intern(e.stream.name)
	o := &model.TrackOptions{Name: name}
	if e.pid != none && e.pid != p.pid {
		return p.Tracks.Intern(processTracks, o, model.IntDim(p.Machine.Process(e.pid)), model.StringDim(name))
	}
	if e.stream.known = true; p.pid != none {
		e.stream.track = p.Tracks.Intern(processTracks, o, model.IntDim(p.Machine.Process(p.pid)), model.StringDim(name))
	} else {
		e.stream.track = p.Tracks.Intern(streamTracks, o, model.StringDim(name))
	}
	return e.stream.track
}

// AddArgs adds the contexts and fields of the event at hand.
func (p *parser) AddArgs(set *model.ArgSet) {
	e := &p.now
	r := e.rest
	p.path = p.path[:0]
	if e.eventClass.stream.extra {
		if packet := token.Reader(r.Raw()); len(packet) > 0 {
			p.field(set, e.eventClass.stream.packetContext, &packet)
		}
	}
	p.field(set, e.eventClass.stream.eventContext, &r)
	p.field(set, e.context, &r)
	p.field(set, e.fields, &r)
}

// maxElements is how many elements of an array are args.
const maxElements = 1000

// field adds a field, and the fields in it.
func (p *parser) field(set *model.ArgSet, c *class, r *token.Reader) {
	if c == nil {
		return
	}
	switch {
	case c.kind == integerClass:
		p.integer(set, c, r)
	case c.isText():
		text := r.Raw()
		if c.to != nil {
			p.event.AddText(c.to, text)
		}
		if !c.hidden {
			set.AddText(c.key, p.key(c), text)
		}
	case c.kind == floatClass:
		n := binary.LittleEndian.Uint64(*r)
		*r = (*r)[8:]
		set.AddFlat(c.key, p.key(c), model.RealArg(math.Float64frombits(n)))
	case c.kind == structClass:
		at := len(p.path)
		for _, f := range c.fields {
			if at > 0 {
				p.path = append(append(p.path[:at], '.'), plain(f.name)...)
			}
			p.field(set, f.class, r)
		}
		p.path = p.path[:at]
	case c.kind == variantClass:
		p.field(set, c.fields[r.Uint()].class, r)
	default:
		p.array(set, c, r)
	}
}

func (p *parser) integer(set *model.ArgSet, c *class, r *token.Reader) {
	var n uint64
	if c.signed {
		n = uint64(r.Int())
	} else {
		n = r.Uint()
	}
	switch {
	case c.to == nil:
	case c.as != nil:
		p.event.AddInt(c.to, c.as(n))
	default:
		p.event.AddInt(c.to, n)
	}
	if c.hidden {
		return
	}
	v := model.UintArg(n)
	switch l := c.label(int64(n)); {
	case l != nil && l.first == l.last:
		v = model.StringArg(l.id)
	case c.signed:
		v = model.IntArg(int64(n))
	case c.hex:
		v = model.PointerArg(n)
	}
	set.AddFlat(c.key, p.key(c), v)
}

func (p *parser) array(set *model.ArgSet, c *class, r *token.Reader) {
	at := len(p.path)
	if at == 0 {
		p.path = append(p.path, c.text...)
	}
	from := len(p.path)
	count := r.Uint()
	for i := range count {
		if i == maxElements {
			p.File.Unread(model.StatUnreadFact, model.None, "array's end behind "+strconv.Itoa(maxElements)+" elements").Add(model.LogEntry{})
			set = new(model.ArgSet) // of what is only skipped
		}
		p.path = append(strconv.AppendUint(append(p.path[:from], '['), i, 10), ']')
		p.field(set, c.element, r)
	}
	p.path = p.path[:at]
}

// key returns the key of a field, with the indexes of the arrays that it is in.
func (p *parser) key(c *class) model.StringID {
	if len(p.path) == 0 {
		return c.key
	}
	return p.Store.Strings.InternBytes(p.path)
}

// handlers make slices with a duration of the events of well-known tracers.
var handlers = map[string]handler{
	"lttng_ust_cyg_profile:func_entry":      enterFunction,
	"lttng_ust_cyg_profile:func_exit":       endSlice,
	"lttng_ust_cyg_profile_fast:func_entry": enterFunction,
	"lttng_ust_cyg_profile_fast:func_exit":  endSlice,
	"ros2:rclcpp_callback_register":         registerCallback,
	"ros2:callback_start":                   startCallback,
	"ros2:callback_end":                     endSlice,
}

func enterFunction(p *parser, e *current) {
	name := p.Store.Strings.Intern("0x" + strconv.FormatUint(p.event.Uint("addr"), 16))
	p.Slices.Begin(e.ts, p.track(e), e.category, name, &p.set)
}

func endSlice(p *parser, e *current) { p.Slices.End(e.ts, p.track(e), e.category, 0, &p.set) }

// callback is an address in a process, which another process may have, too.
type callback struct {
	pid     int64
	address uint64
}

func (p *parser) callback(e *current) callback { return callback{e.pid, p.event.Uint("callback")} }

func registerCallback(p *parser, e *current) {
	p.symbols[p.callback(e)] = p.Store.Strings.InternBytes(p.event.Text("symbol"))
	p.Slices.Instant(e.ts, p.track(e), e.category, e.nameID, &p.set)
}

func startCallback(p *parser, e *current) {
	callback := p.callback(e)
	name := p.symbols[callback]
	if name == 0 {
		name = p.Store.Strings.Intern("callback 0x" + strconv.FormatUint(callback.address, 16))
	}
	p.Slices.Begin(e.ts, p.track(e), e.category, name, &p.set)
}
