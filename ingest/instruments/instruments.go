// Package instruments reads samples that Xcode's Instruments exports as XML:
//
//	xctrace export --input profile.trace --xpath '//trace-toc/run/data/table[@schema="time-profile"]'
//
// A row is a sample with a time, a thread, a core and a backtrace. An element has its content
// only once, with an id; later elements refer to the id. Rows of the signpost table may
// relate Perfetto's clock to that of Instruments.
package instruments

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the XML that xctrace export writes.
var Format = &format.Format{Name: "instruments_xml", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1017, model.StatInfo{
	Name: "instruments_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Numbers of Instruments' XML that cannot be read, and rows without a time.",
})

func sniff(head []byte) bool {
	head = bytes.TrimSpace(head)
	if bytes.HasPrefix(head, []byte("<?xml")) {
		_, head, _ = bytes.Cut(head, []byte("?>"))
	}
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<trace-query-result>"))
}

// maxDepth is how deep elements may be nested.
const maxDepth = 1000

// syncSubsystem is the subsystem of signposts with Perfetto's clock.
const syncSubsystem = "dev.perfetto.clock_sync"

type process struct {
	pid  int64
	name model.StringID
}

type thread struct {
	number  uint64 // number in events
	tid     int64
	name    model.StringID
	process *process
}

// binary is a file loaded at load. max is its highest known address.
type binary struct {
	path, buildID model.StringID
	load, max     uint64
	mapping       profile.MappingID // None until needed
}

type frame struct {
	address uint64
	name    model.StringID
	binary  *binary
}

// backtrace is a stack, innermost frame first. Missing frames are nil.
type backtrace struct {
	number   uint64 // number in events
	frames   []*frame
	upid     model.UPID // process of the callsite, None until needed
	callsite profile.CallsiteID
}

// reader reads a file. Its maps are keyed by element id.
type reader struct {
	scanner
	in     *format.Input
	events *sort.Stream
	event  *token.Writer

	numbers    map[uint64]int64
	syncs      map[uint64]bool // subsystems with Perfetto's clock
	processes  map[uint64]*process
	threads    map[uint64]*thread
	binaries   map[uint64]*binary
	frames     map[uint64]*frame
	backtraces map[uint64]*backtrace

	allThreads    []*thread // by number
	allBacktraces []*backtrace
	unmapped      map[model.UPID]profile.MappingID // mappings for code outside all binaries

	time     model.StringID           // the event of samples with a weight in ns
	cycles   model.StringID           // that of samples with a weight in cycles of the CPU
	unread   map[string]*model.Unread // unsupported elements of rows, by name
	open     []element
	names    []byte // names of the open elements
	row      row
	rows     int64
	lastSync int64
}

// kind is the kind of a supported element.
type kind byte

const (
	other kind = iota
	rowElement
	timeElement
	threadElement
	tidElement
	processElement
	pidElement
	coreElement
	stateElement
	weightElement
	cyclesElement
	subsystemElement
	uint64Element
	metadataElement
	backtraceElement
	frameElement
	binaryElement
)

func kindOf(name []byte) kind {
	switch string(name) {
	case "row":
		return rowElement
	case "sample-time", "event-time":
		return timeElement
	case "thread":
		return threadElement
	case "tid":
		return tidElement
	case "process":
		return processElement
	case "pid":
		return pidElement
	case "core":
		return coreElement
	case "thread-state":
		return stateElement
	case "weight":
		return weightElement
	case "cycle-weight":
		return cyclesElement
	case "subsystem":
		return subsystemElement
	case "uint64":
		return uint64Element
	case "os-log-metadata":
		return metadataElement
	case "backtrace", "tagged-backtrace":
		return backtraceElement
	case "frame":
		return frameElement
	case "binary":
		return binaryElement
	}
	return other
}

// element is an open element, with the objects that enclose it.
type element struct {
	kind kind
	name int // offset in names
	id   uint64

	process   *process
	thread    *thread
	frame     *frame
	backtrace *backtrace
}

// row holds the data of the current row.
type row struct {
	offset    int64
	time      int64
	hasTime   bool
	isSample  bool  // it has an element for a sample's time, though perhaps a damaged one
	core      int64 // None if unknown
	weight    int64 // ns or cycles that the sample stands for, None if unknown
	event     model.StringID
	state     model.StringID
	thread    *thread
	backtrace *backtrace
	isSync    bool
	sync      int64 // time of Perfetto's clock
}

func read(in *format.Input) error {
	in.UseClock(model.ClockTraceFile)
	r := &reader{scanner: scanner{in: in}, in: in, event: token.NewWriter(in.Store),
		numbers: map[uint64]int64{}, syncs: map[uint64]bool{}, processes: map[uint64]*process{}, threads: map[uint64]*thread{},
		binaries: map[uint64]*binary{}, frames: map[uint64]*frame{}, backtraces: map[uint64]*backtrace{},
		unmapped: map[model.UPID]profile.MappingID{}, unread: map[string]*model.Unread{}, time: in.Store.Strings.Intern("time"), cycles: in.Store.Strings.Intern("cycles")}
	r.events = in.Sorter.NewStream(r)
	for {
		err := r.next()
		if err == nil {
			err = r.tag()
		}
		switch {
		case err == nil:
			continue
		case err == errTooLong || err == errTag:
			return format.Errorf(format.ErrCorrupt, r.offset(), "%v", err)
		case err != io.EOF:
			return err
		case r.rows == 0:
			return format.Errorf(format.ErrNoEvents, -1, "a query result without rows")
		case len(r.open) > 0:
			in.File.LogAt(model.StatTruncatedInput, r.base+int64(len(r.buf)), nil)
		}
		return nil
	}
}

// damaged counts a damaged part of a row.
func (r *reader) damaged() { r.in.File.LogAt(statParseErrors, r.row.offset, nil) }

// tag reads the text before a tag, and then the tag.
func (r *reader) tag() error {
	var top element
	if n := len(r.open); n > 0 {
		top = r.open[n-1]
		if text := bytes.TrimSpace(r.text); len(text) > 0 {
			r.content(&top, text)
		}
	}
	if r.closes {
		if len(r.open) == 0 || !bytes.Equal(r.names[top.name:], r.name) {
			return format.Errorf(format.ErrCorrupt, r.offset(), "closing tag %.40q without an opening tag", r.name)
		}
		r.open, r.names = r.open[:len(r.open)-1], r.names[:top.name]
		return r.end(&top)
	}
	if len(r.open) == maxDepth {
		return format.Errorf(format.ErrUnsupported, r.offset(), "elements nested %d deep", maxDepth)
	}
	e := top
	e.kind, e.id, e.name = kindOf(r.name), 0, len(r.names)
	if e.kind == other && top.kind == rowElement {
		r.unreadElement()
	}
	if err := r.begin(&e); err != nil {
		return err
	}
	if r.empty {
		return r.end(&e)
	}
	r.open, r.names = append(r.open, e), append(r.names, r.name...)
	return nil
}

// maxNames is how many names of unsupported elements are kept.
const maxNames = 1000

// unreadElement counts an unsupported element of a row. A sentinel stands for a missing
// value.
func (r *reader) unreadElement() {
	if string(r.name) == "sentinel" {
		return
	}
	u := r.unread[string(r.name)]
	if u == nil {
		u = r.in.File.Unread(model.StatUnreadFact, model.None, string(r.name)+" element")
		if len(r.unread) < maxNames {
			r.unread[string(r.name)] = u
		}
	}
	u.AddAt(r.offset())
}

// attributes are the supported attributes of an element.
type attributes struct {
	ref                      bool // id refers to another element
	fmt, name, path, buildID model.StringID
	address, load            uint64
}

// attributes reads the attributes of the tag.
func (r *reader) attributes(e *element) (a attributes, err error) {
	texts := r.in.Store.Strings
	bad := false
	number := func(value []byte, base int) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(string(value), "0x"), base, 64)
		bad = bad || err != nil
		return n
	}
	err = r.each(func(name, value []byte) {
		switch string(name) {
		case "id", "ref":
			e.id, a.ref = number(value, 10), name[0] == 'r'
		case "fmt":
			if e.kind == threadElement || e.kind == processElement {
				a.fmt = texts.InternBytes(value)
			}
		case "name":
			if e.kind == frameElement {
				a.name = texts.InternBytes(value)
			}
		case "path":
			a.path = texts.InternBytes(value)
		case "UUID":
			a.buildID = texts.Intern(strings.ToLower(strings.ReplaceAll(string(value), "-", "")))
		case "addr":
			a.address = number(value, 16)
		case "load-addr":
			a.load = number(value, 16)
		}
	})
	if bad {
		r.damaged()
	}
	return a, err
}

// begin begins an element.
func (r *reader) begin(e *element) error {
	if e.kind == rowElement {
		r.rows++
		r.row = row{offset: r.offset(), core: model.None, weight: model.None, event: r.time}
		return nil
	}
	if e.kind == other {
		return nil
	}
	a, err := r.attributes(e)
	if err != nil {
		return err
	}
	switch e.kind {
	case threadElement:
		t := r.threads[e.id]
		if !a.ref {
			t = &thread{number: uint64(len(r.allThreads)), name: a.fmt}
			r.threads[e.id] = t
			r.allThreads = append(r.allThreads, t)
		}
		e.thread, r.row.thread = t, t
	case processElement:
		p := r.processes[e.id]
		if !a.ref {
			p = &process{name: a.fmt}
			r.processes[e.id] = p
		}
		if e.process = p; e.thread != nil {
			e.thread.process = p
		}
	case backtraceElement:
		b := r.backtraces[e.id]
		if !a.ref {
			// A tagged backtrace contains the actual backtrace.
			if b = e.backtrace; b == nil {
				b = &backtrace{number: uint64(len(r.allBacktraces)), upid: model.None}
				r.allBacktraces = append(r.allBacktraces, b)
			}
			r.backtraces[e.id] = b
		} else if outer := e.backtrace; outer != nil && b != nil {
			outer.frames = b.frames
		}
		if e.backtrace == nil {
			if r.row.backtrace = b; b == nil {
				r.in.File.LogAt(model.StatInstrumentsRowMissingBacktrace, r.row.offset, nil)
			}
		}
		e.backtrace = b
	case timeElement:
		r.row.isSample = true
		if a.ref {
			r.refer(e)
		}
	case frameElement:
		f := r.frames[e.id]
		if !a.ref {
			f = &frame{address: a.address, name: a.name}
			r.frames[e.id] = f
		}
		if e.frame = f; e.backtrace != nil {
			e.backtrace.frames = append(e.backtrace.frames, f)
		}
	case binaryElement:
		b := r.binaries[e.id]
		if !a.ref {
			b = &binary{path: a.path, buildID: a.buildID, load: a.load, max: a.load, mapping: model.None}
			r.binaries[e.id] = b
		}
		if e.frame != nil && b != nil {
			e.frame.binary = b
			b.max = max(b.max, e.frame.address) // the binary ends somewhere after this
		}
	default:
		if a.ref {
			r.refer(e)
		}
	}
	return nil
}

// refer reads an element that refers to an earlier one. A row without its time is counted as a whole.
func (r *reader) refer(e *element) {
	n, known := r.numbers[e.id]
	switch {
	case known:
		r.value(e, n)
	case e.kind == tidElement, e.kind == pidElement, e.kind == coreElement, e.kind == stateElement, e.kind == weightElement, e.kind == cyclesElement:
		r.damaged()
	}
}

// content reads the text of an element.
func (r *reader) content(e *element, text []byte) {
	var n int64
	var err error
	switch e.kind {
	case subsystemElement:
		r.syncs[e.id] = string(text) == syncSubsystem
		return
	case stateElement:
		n = int64(r.in.Store.Strings.InternBytes(text))
	case timeElement, tidElement, pidElement, coreElement, weightElement, cyclesElement:
		n, err = strconv.ParseInt(string(text), 10, 64)
	case uint64Element:
		var u uint64
		u, err = strconv.ParseUint(string(text), 10, 64)
		n = int64(u)
	default:
		return
	}
	if err != nil {
		r.damaged()
		return
	}
	r.numbers[e.id] = n
	r.value(e, n)
}

// value handles the number in an element.
func (r *reader) value(e *element, n int64) {
	switch e.kind {
	case timeElement:
		r.row.time, r.row.hasTime = n, true
	case tidElement:
		if e.thread != nil {
			e.thread.tid = n & math.MaxUint32
		}
	case pidElement:
		if e.process != nil {
			e.process.pid = n & math.MaxUint32
		}
	case coreElement:
		if n >= 0 && n <= math.MaxInt32 {
			r.row.core = n
		}
	case stateElement:
		r.row.state = model.StringID(n)
	case weightElement, cyclesElement:
		if n > 0 {
			r.row.weight = n
		}
		if e.kind == cyclesElement {
			r.row.event = r.cycles
		}
	case uint64Element, metadataElement:
		r.row.sync = n
	}
}

// end ends an element.
func (r *reader) end(e *element) error {
	switch e.kind {
	case subsystemElement:
		r.row.isSync = r.syncs[e.id]
	case metadataElement:
		r.numbers[e.id] = r.row.sync
	case rowElement:
		return r.push()
	}
	return nil
}

// push pushes the row if it is a sample.
func (r *reader) push() error {
	switch {
	case r.row.backtrace == nil:
		if r.row.isSync && r.row.hasTime && r.row.sync >= r.lastSync {
			r.lastSync = r.row.sync
			r.in.Clocks.AddSnapshot([]model.Reading{
				{Clock: model.Clock{ID: model.ClockTraceFile}, Value: r.row.time, Unit: 1},
				{Clock: model.Clock{ID: model.ClockBoottime}, Value: r.row.sync, Unit: 1}})
		} else if r.row.weight != model.None {
			r.in.File.Unread(model.StatUnreadEvent, model.None, "sample without a stack").Say("sample without a stack", "samples without a stack").AddAt(r.row.offset)
		}
		return nil
	case !r.row.isSample: // a stack in another table, such as one of intervals or of allocations
		r.in.File.Unread(model.StatUnreadEvent, model.None, "stack without a sample").Say("stack that is no sample's is not read", "stacks that are no samples' are not read").AddAt(r.row.offset)
		return nil
	case r.row.thread == nil:
		r.in.File.LogAt(model.StatInstrumentsRowMissingThread, r.row.offset, nil)
		return nil
	case r.row.thread.process == nil:
		r.in.File.LogAt(model.StatInstrumentsRowMissingProcess, r.row.offset, nil)
		return nil
	case !r.row.hasTime:
		r.damaged()
		return nil
	}
	ts, ok := r.in.TraceTime(r.row.time, r.row.offset)
	if !ok {
		return nil
	}
	r.event.Reset()
	r.event.Uint(r.row.thread.number)
	r.event.Uint(r.row.backtrace.number)
	r.event.Int(r.row.core)
	r.event.Int(r.row.weight)
	r.event.Uint(uint64(r.row.event))
	r.event.Uint(uint64(r.row.state))
	return r.events.Push(ts, r.event.Bytes())
}

// Event stores a sample.
func (r *reader) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	t, b, core := r.allThreads[event.Uint()], r.allBacktraces[event.Uint()], event.Int()
	weight, name, state := event.Int(), model.StringID(event.Uint()), model.StringID(event.Uint())
	machine := r.in.Machine
	v := profile.NewSample(ts, "instruments")
	v.UTID = machine.ThreadOf(t.tid, t.process.pid)
	v.UPID = machine.Process(t.process.pid)
	machine.SetThreadName(v.UTID, t.name, model.ThreadNameOther)
	machine.SetProcessName(v.UPID, t.process.name, model.ProcessNameOther)
	if b.upid != v.UPID {
		b.upid, b.callsite = v.UPID, r.callsite(b, v.UPID, ts)
	}
	v.Callsite = b.callsite
	if core != model.None {
		v.CPU, v.UCPU = core, machine.CPU(core)
	}
	sample := r.in.Store.Stacks.AddSample(v)
	if weight != model.None || state != 0 {
		row := r.in.Store.Stacks.AddSampleEvent(sample, name, weight)
		r.in.Store.StackSampleEvent.ThreadState.Set(row, state)
	}
	return nil
}

// callsite stores the stack of a backtrace.
func (r *reader) callsite(b *backtrace, upid model.UPID, ts int64) profile.CallsiteID {
	stacks := r.in.Store.Stacks
	callsite := profile.CallsiteID(model.None)
	for i := len(b.frames) - 1; i >= 0; i-- {
		f := b.frames[i]
		if f == nil {
			r.in.File.LogTime(model.StatInstrumentsRowMissingFrame, ts, nil)
			continue
		}
		pc := f.address
		if f.binary != nil {
			pc -= f.binary.load
		}
		if pc != 0 && i > 0 {
			pc-- // a caller's address is its return address
		}
		callsite = stacks.Callsite(callsite, stacks.Frame(r.mapping(f.binary, upid), pc, f.name))
	}
	return callsite
}

// mapping returns the mapping of a binary, or of code outside all binaries if b is nil.
func (r *reader) mapping(b *binary, upid model.UPID) profile.MappingID {
	stacks := r.in.Store.Stacks
	if b == nil {
		id, known := r.unmapped[upid]
		if !known {
			id = stacks.DummyMapping("")
			r.unmapped[upid] = id
		}
		return id
	}
	if b.mapping == model.None {
		b.mapping = stacks.AddMapping(profile.Mapping{BuildID: b.buildID, ExactOffset: b.load, Start: b.load, End: b.max, Name: b.path})
	}
	return b.mapping
}
