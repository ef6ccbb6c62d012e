package xplane

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/gpuwork"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// plane is a host or a device, or derived from one.
type plane struct {
	number int // among the planes
	name   string
	lines  []*line
	events map[int64]*metadata
	stats  map[int64]model.StringID // names
	own    [][]byte                 // stats of the plane

	known bool // the rest is set
	upid  model.UPID
	ugpu  model.UGPU
}

// isHost reports whether lines are threads.
func (p *plane) isHost() bool {
	return !strings.HasPrefix(p.name, "/device:") && !strings.HasPrefix(p.name, "#Chip")
}

// line is a thread, a stream of a device, or what is derived from one.
type line struct {
	id          int64
	name, title model.StringID
	start       int64 // ns
	begun       bool  // it has events

	known    bool // the rest is set
	utid     model.UTID
	category model.StringID // of a device's line that is no stream
}

// metadata is what events with the same id share.
type metadata struct {
	name  model.StringID
	long  model.StringID // the full name if name is a short one
	stats [][]byte

	args    model.ArgSet // of stats, once an event has them
	decoded bool
}

// parser turns events, in order of time, into rows.
type parser struct {
	*gpuwork.Tracker
	planes    []*plane
	host      model.UPID               // that called the devices
	looked    bool                     // for the plane of the host
	producers paged.Map[model.SliceID] // by the type and id of what they make
	event     event                    // the current one

	kernel, copies, sets model.StringID
}

// link says that an event makes something that another uses.
type link struct {
	key      uint64
	producer bool
}

func newParser(c *model.Context) *parser {
	word := c.Store.Strings.Intern
	return &parser{Tracker: gpuwork.New(c), host: model.None, kernel: word(gpuwork.Kernel), copies: word(gpuwork.Copy), sets: word(gpuwork.Set)}
}

// metadata reads the metadata of events.
func (p *parser) metadata(message []byte) *metadata {
	m := &metadata{}
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case metadataName:
			if m.long = p.Store.Strings.InternBytes(r.Bytes()); m.name == 0 {
				m.name = m.long
			}
		case metadataTitle:
			if len(r.Bytes()) > 0 {
				m.name = p.Store.Strings.InternBytes(r.Bytes())
			}
		case metadataStats:
			stat := r.Bytes()
			if len(field(stat, statBytes).Bytes()) > 0 { // programs, up to many MB
				p.File.Unread(model.StatUnreadFact, model.None, "binary stat").Add(model.LogEntry{})
				continue
			}
			m.stats = append(m.stats, bytes.Clone(stat))
		case metadataBytes:
			if len(r.Bytes()) > 0 {
				p.File.Unread(model.StatUnreadFact, model.None, "binary metadata").Say("binary metadata of an event is not read", "binary metadata of events is not read").Add(model.LogEntry{})
			}
		case metadataChild:
			p.File.Unread(model.StatUnreadFact, model.None, "child of an event").Say("child of an event is not read", "children of events are not read").Add(model.LogEntry{})
		}
	}
	return m
}

// Event parses an event.
func (p *parser) Event(ts int64, event []byte) error {
	r := token.Reader(event)
	dur := r.Int()
	plane := p.planes[r.Uint()]
	line := plane.lines[r.Uint()]
	p.resolve(plane)
	p.resolveLine(plane, line)
	e := p.decode(plane, r)
	var slice model.SliceID
	if plane.isHost() {
		slice = p.Call(ts, dur, line.utid, 0, e.metadata.name, e.correlation, e)
	} else {
		category := line.category
		if category == 0 {
			category = e.category()
		}
		slice = p.Add(gpuwork.Work{TS: ts, Dur: dur, UGPU: plane.ugpu, UPID: p.host, Stream: line.id, StreamName: cmp.Or(line.title, line.name),
			Context: model.None, Category: category, Name: e.metadata.name, Correlation: e.correlation, Args: e})
	}
	if slice != model.None {
		p.connect(slice, e)
	}
	return nil
}

// resolve makes the process of a host, or the GPU of a device. Planes often have no id, so the processes are numbered
// in the order of the planes.
func (p *parser) resolve(plane *plane) {
	if plane.known {
		return
	}
	plane.known = true
	process := func() model.UPID {
		upid := p.Machine.AddProcess(int64(plane.number) + 1)
		p.Machine.SetProcessName(upid, p.Store.Strings.Intern(plane.name), model.ProcessNameSystem)
		return upid
	}
	if plane.isHost() {
		plane.upid = process()
		if p.host == model.None {
			p.host = plane.upid
		}
		return
	}
	for i := 0; !p.looked && i < len(p.planes); i++ {
		if other := p.planes[i]; other.name == "/host:CPU" {
			p.resolve(other)
			break
		}
	}
	p.looked = true
	if p.host == model.None {
		p.host = process()
	}
	number, err := strconv.ParseInt(plane.name[strings.LastIndexByte(plane.name, ':')+1:], 10, 32)
	if err != nil {
		number = firstUnnumbered + int64(plane.number)
	}
	plane.ugpu = p.Machine.GPU(number)
	var set model.ArgSet
	for _, stat := range plane.own {
		p.stat(plane, stat, &set)
	}
	t := &p.Store.Tables.GPU
	t.Name.Set(int64(plane.ugpu), p.Store.Strings.Intern(plane.name))
	p.Store.SetArgs(&t.ArgSetID, int64(plane.ugpu), &set)
}

// firstUnnumbered is the number of the first device whose name has none.
const firstUnnumbered = 1000

func (p *parser) resolveLine(plane *plane, line *line) {
	if line.known {
		return
	}
	line.known = true
	name := cmp.Or(line.title, line.name)
	switch {
	case plane.isHost():
		line.utid = p.Machine.AddThread(line.id, plane.upid, false)
		p.Machine.SetThreadName(line.utid, name, model.ThreadNameOther)
	case !strings.HasPrefix(p.Store.Strings.Get(line.name), "Stream #"):
		line.category = name
	}
}

// event is an event with its stats. It is a source of args.
type event struct {
	*parser
	plane       *plane
	metadata    *metadata
	stats       []byte // the message of the event
	correlation int64
	copies, set bool
	links       []link
}

var unknown = &metadata{}

// decode finds what the stats of an event say of its place among others.
func (p *parser) decode(plane *plane, message []byte) *event {
	e := &p.event
	*e = event{parser: p, plane: plane, metadata: unknown, stats: message, correlation: model.None, links: e.links[:0]}
	var made, used, madeType, usedType uint64
	var makes, uses bool
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case eventMetadata:
			if m := plane.events[r.Int64()]; m != nil {
				e.metadata = m
			}
		case eventStats:
			stat := r.Bytes()
			name := plane.stats[field(stat, statMetadata).Int64()]
			switch p.Store.Strings.Get(name) {
			case "correlation_id":
				e.correlation = int64(number(stat))
			case "memcpy_details", "Memcpy details":
				e.copies = true
			case "memset_details":
				e.set = true
			case "_p":
				made, makes = number(stat), true
			case "_pt":
				madeType = number(stat)
			case "_c":
				used, uses = number(stat), true
			case "_ct":
				usedType = number(stat)
			}
		}
	}
	if e.metadata == unknown {
		p.File.Count(model.StatCorruptPacket)
	}
	// Ids are of the objects' types, of which there are few.
	if uses {
		e.links = append(e.links, link{used ^ usedType<<56, false})
	}
	if makes {
		e.links = append(e.links, link{made ^ madeType<<56, true})
	}
	return e
}

// number returns an integer stat.
func number(stat []byte) uint64 {
	for _, n := range []uint32{statUint, statInt, statRef} {
		if f, ok := wire.Find(stat, n); ok {
			return f.Uint64()
		}
	}
	return 0
}

func (e *event) category() model.StringID {
	switch {
	case e.copies:
		return e.parser.copies
	case e.set:
		return e.parser.sets
	}
	return e.kernel
}

// connect draws arrows from the event that made something to those that use it.
func (p *parser) connect(slice model.SliceID, e *event) {
	for _, l := range e.links {
		maker := p.producers.Get(l.key)
		switch {
		case !l.producer && maker != nil:
			p.Flows.Link(*maker, slice)
		case l.producer && maker != nil:
			*maker = slice
		case l.producer:
			p.producers.Add(l.key, slice)
		}
	}
}

// AddArgs adds the stats of the event and of its metadata.
func (e *event) AddArgs(set *model.ArgSet) {
	m := e.metadata
	if !m.decoded {
		for _, stat := range m.stats {
			e.stat(e.plane, stat, &m.args)
		}
		m.stats, m.decoded = nil, true
		for range m.args.Share() {
			e.File.Unread(model.StatUnreadFact, model.None, "shared stat").Add(model.LogEntry{})
		}
	}
	m.args.AddArgs(set)
	r := wire.Read(e.stats)
	for r.Next() {
		switch r.Number {
		case eventStats:
			e.stat(e.plane, r.Bytes(), set)
		case eventDuration:
			if ps := r.Int64(); ps%1000 != 0 {
				set.Add(e.Store.Strings.Intern("duration_ps"), model.IntArg(ps))
			}
		}
	}
	if e.metadata.long != e.metadata.name && e.metadata.long != 0 {
		set.Add(e.Store.Strings.Intern("long_name"), model.StringArg(e.metadata.long))
	}
}

// stat adds a stat to the args.
func (p *parser) stat(plane *plane, message []byte, set *model.ArgSet) {
	var name model.StringID
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case statMetadata:
			name = plane.stats[r.Int64()]
		case statDouble:
			set.Add(name, model.RealArg(r.Float64()))
		case statUint:
			set.Add(name, model.UintArg(r.Uint64()))
		case statInt:
			set.Add(name, model.IntArg(r.Int64()))
		case statText:
			set.AddText(name, name, r.Bytes())
		case statBytes:
			p.File.Unread(model.StatUnreadFact, model.None, "binary stat").Add(model.LogEntry{})
		case statRef:
			set.Add(name, model.StringArg(plane.stats[r.Int64()]))
		}
	}
}

// finish reads what the planes without events say.
func (p *parser) finish() {
	for _, plane := range p.planes {
		if !plane.isHost() {
			p.resolve(plane)
			continue
		}
		var set model.ArgSet
		for _, stat := range plane.own {
			p.stat(plane, stat, &set)
		}
		for _, arg := range set.Args() {
			name := p.Store.Strings.Get(arg.Key)
			p.File.AddDynamicMetadata("xplane."+name, arg.Value)
			if name == "profile_start_time" {
				p.Clocks.AddSnapshot([]model.Reading{{Clock: model.Clock{ID: model.ClockTraceFile}, Value: 0, Unit: 1},
					{Clock: model.Clock{ID: model.ClockRealtime}, Value: arg.Value.Int(), Unit: 1}})
			}
		}
	}
}
