// Package ctf reads traces in the Common Trace Format, versions 1.8 and 2, as LTTng, barectf and babeltrace write them.
//
// A trace is a folder: its file "metadata" describes streams, events and their fields, in the Trace Stream Description Language
// (TSDL) or, in version 2, in JSON (CTF2-SPEC-2.0). Each other file has the packets of a stream. Events of LTTng's kernel tracer take the way of all events of ftrace;
// others become slices without duration, or with one where a pair of events means that.
package ctf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
)

// Format is the metadata of a trace, whose streams are the files beside it.
var Format = &format.Format{
	Name: "ctf", Title: "CTF", Folder: "metadata", Sniff: sniff, Read: read,
	Unsupported: []format.Signature{
		{Name: "a stream of the Common Trace Format (CTF) without the metadata of its folder", Bytes: "\xc1\x1f\xfc\xc1"},
		{Name: "a stream of the Common Trace Format (CTF) without the metadata of its folder", Bytes: "\xc1\xfc\x1f\xc1"},
	},
}

var (
	statParseErrors = model.NewStat(1043, model.StatInfo{
		Name: "ctf_parse_errors", Severity: model.DataLoss, Effect: model.Lost, Gap: true,
		Description: "Packets of CTF traces that cannot be read, or not to their end.",
	})
	statEventsDiscarded = model.NewStat(1044, model.StatInfo{
		Name: "ctf_events_discarded", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
		Description: "Events that the recorder of a CTF trace had no room for.",
	})
	statPacketsLost = model.NewStat(1045, model.StatInfo{
		Name: "ctf_packets_lost", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost, Gap: true,
		Description: "Packets that are missing in a CTF trace, by their numbers.",
	})
)

const (
	packetMagic   = 0xc1fc1fc1
	metadataMagic = 0x75d11d57
)

func sniff(head []byte) bool {
	return bytes.HasPrefix(head, []byte("/* CTF 1.")) || isFragments(head) || metadataOrder(head) != nil
}

// metadataOrder returns the byte order of metadata in packets, or nil.
func metadataOrder(head []byte) binary.ByteOrder {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if len(head) >= 4 && order.Uint32(head) == metadataMagic {
			return order
		}
	}
	return nil
}

// maxMetadata is the maximum size of metadata in bytes.
const maxMetadata = 64 << 20

// reader reads a trace.
type reader struct {
	in           *format.Input
	parser       *parser
	packetHeader *class
	streams      map[uint64]*streamClass
	only         *streamClass // if there is one
	kept         int          // values that fields refer to
	timed        bool         // the trace has a clock
	hasMagic     bool         // packets begin with a magic number
	magic        [4]byte
	packets      map[instance][]packetInfo
	found        int64    // events, of the files that were read
	windows      [][]byte // of files that were read, to use again
}

func read(in *format.Input) error {
	data, err := io.ReadAll(io.LimitReader(in, maxMetadata+1))
	if err != nil {
		return err
	}
	if len(data) > maxMetadata {
		return format.Errorf(format.ErrUnsupported, maxMetadata, "metadata of more than %d MiB", maxMetadata>>20)
	}
	text, err := unpack(in, data)
	if err != nil {
		return err
	}
	parse := parse
	if strings.HasPrefix(text, separator) {
		parse = parseFragments
	}
	declared, syntax := parse(text)
	if syntax != nil {
		switch {
		case syntax.Unsupported:
			return format.Errorf(format.ErrUnsupported, int64(syntax.At), "metadata: %s", syntax.Err)
		case !syntax.Cut || len(declared.streams) == 0 && len(declared.events) == 0:
			return format.Errorf(format.ErrCorrupt, int64(syntax.At), "metadata: %s", syntax.Err)
		}
		in.File.LogAt(model.StatTruncatedInput, int64(syntax.At), nil)
	}
	r := &reader{in: in, streams: map[uint64]*streamClass{}, packets: map[instance][]packetInfo{}}
	if err := r.layOut(declared); err != nil {
		return err
	}
	r.facts(declared)
	return r.readStreams()
}

// unpack returns the text of metadata, which may be in packets.
func unpack(in *format.Input, data []byte) (string, error) {
	const (
		contentSizeAt = 24 // bits, as is the packet's size behind it
		kindsAt       = 32 // compression, encryption, checksum
		headBytes     = 37
	)
	order := metadataOrder(data)
	if order == nil {
		return string(data), nil
	}
	var text []byte
	for at := 0; at < len(data); {
		head := data[at:]
		if len(head) < headBytes || order.Uint32(head) != metadataMagic {
			in.File.LogAt(model.StatTruncatedInput, int64(at), nil)
			break
		}
		content, size := int(order.Uint32(head[contentSizeAt:]))/8, int(order.Uint32(head[contentSizeAt+4:]))/8
		switch {
		case head[kindsAt] != 0 || head[kindsAt+1] != 0:
			return "", format.Errorf(format.ErrUnsupported, int64(at), "compressed or encrypted metadata")
		case content < headBytes || size < content:
			return "", format.Errorf(format.ErrCorrupt, int64(at), "metadata: %d bytes of contents in a packet of %d bytes", content, size)
		case size > len(head) && content > len(head):
			in.File.LogAt(model.StatTruncatedInput, int64(len(data)), nil)
		}
		text = append(text, head[headBytes:min(content, len(head))]...)
		at += size
	}
	return string(text), nil
}

// layOut lays out the declared types.
func (r *reader) layOut(d *declarations) error {
	l := &layout{bigEndian: d.bigEndian, clocks: d.clocks}
	r.packetHeader = l.root("trace.packet.header", d.packetHeader)
	r.hasMagic = r.packetHeader.assign("magic", magicRole) || r.packetHeader.has(magicRole)
	r.packetHeader.assign("stream_id", streamRole)
	r.packetHeader.assign("stream_instance_id", instanceRole)
	r.magic = magicBytes(d.bigEndian)
	if len(d.streams) == 0 {
		d.streams = []*streamClass{{events: map[uint64]*eventClass{}}}
	}
	header := slices.Clone(l.roots)
	ofStream := map[*streamClass][]root{}
	for _, s := range d.streams {
		if r.streams[s.id] != nil {
			l.fail("two streams have the same id")
		}
		r.streams[s.id] = s
		l.roots = slices.Clone(header)
		s.packetContext = l.root("stream.packet.context", s.packetContext)
		s.eventHeader = l.root("stream.event.header", s.eventHeader)
		s.eventContext = l.root("stream.event.context", s.eventContext)
		if l.err != "" {
			return format.Errorf(format.ErrCorrupt, -1, "metadata: %s", l.err)
		}
		ofStream[s] = l.roots
		r.assign(s, d.clocks)
		r.timed = r.timed || s.clock != nil
	}
	if len(d.streams) == 1 {
		r.only = d.streams[0]
	}
	r.parser = newParser(r.in.Context, d)
	for _, e := range d.events {
		s := r.streams[e.streamID]
		if !e.ofStream && len(d.streams) == 1 {
			s = d.streams[0]
		}
		if s == nil {
			r.in.File.Unread(model.StatUnreadFact, model.None, "event of a stream that is not declared").Add(model.LogEntry{})
			continue
		}
		if s.events[e.id] != nil {
			l.fail("two events of a stream have the same id")
		}
		l.roots = slices.Clip(ofStream[s])
		e.context = l.root("event.context", e.context)
		e.fields = l.root("event.fields", e.fields)
		if l.err != "" {
			return format.Errorf(format.ErrCorrupt, -1, "metadata: event %.100q: %s", e.name, l.err)
		}
		e.stream, s.events[e.id] = s, e
		r.parser.add(e)
	}
	for _, s := range d.streams {
		s.packetContext.findPlain()
		s.eventHeader.findPlain()
		s.eventContext.findPlain()
		for _, e := range s.events {
			e.context.findPlain()
			e.fields.findPlain()
		}
	}
	r.kept = l.slots
	return nil
}

// packetFacts are the fields of a packet's context that are about the packet, not about its events.
var packetFacts = map[string]role{"content_size": contentSizeRole, "packet_size": packetSizeRole, "timestamp_begin": beginRole, "timestamp_end": endRole,
	"events_discarded": discardedRole, "packet_seq_num": sequenceRole, "cpu_id": cpuRole}

// assign finds what the reader needs to know of a stream's packets and events.
func (r *reader) assign(s *streamClass, clocks map[string]*clock) {
	var times []*class
	if s.packetContext != nil {
		for _, f := range s.packetContext.fields {
			name := plain(f.name)
			switch role := packetFacts[name]; {
			case role != noRole && s.packetContext.assign(name, role):
				if role == beginRole {
					times = append(times, f.class)
				}
			case !f.hidden:
				s.extra = true
			}
		}
	}
	if s.eventHeader != nil {
		times = append(times, r.assignHeader(s.eventHeader, "")...)
	}
	for _, c := range times {
		if c.ticks != nil {
			s.clock = c.ticks
		}
	}
	if s.clock == nil && len(times) > 0 && len(clocks) == 1 { // the times need not name it
		for _, c := range clocks {
			s.clock = c
		}
	}
	assignThread(s.eventContext)
}

// assignHeader finds the event's id and time in its header, and returns the times.
func (r *reader) assignHeader(c *class, name string) (times []*class) {
	switch {
	case c.role != noRole: // version 2 states it
	case c.kind == integerClass && name == "id":
		c.role = eventRole
	case c.kind == integerClass && (name == "timestamp" || c.ticks != nil):
		c.role = timestampRole
		return []*class{c}
	case c.kind == structClass || c.kind == variantClass:
		for _, f := range c.fields {
			times = append(times, r.assignHeader(f.class, plain(f.name))...)
		}
	case !c.hidden:
		r.in.File.Unread(model.StatUnreadFact, model.None, "field "+name+" of the events' header").Add(model.LogEntry{})
	}
	return times
}

// assignThread finds the thread in the context of an event. Of a process in a container, the outer numbers are those of other traces.
func assignThread(c *class) {
	_ = c.assign("tid", tidRole) || c.assign("vtid", tidRole)
	_ = c.assign("pid", pidRole) || c.assign("vpid", pidRole)
	c.assign("procname", threadNameRole)
}

// facts keeps what the trace says about itself, and sets up its clock.
func (r *reader) facts(d *declarations) {
	var system, release, version, arch string
	for _, e := range d.env {
		fact := model.StringArg(r.in.Store.Strings.Intern(e.text))
		if e.isNumber {
			fact = model.IntArg(e.signed())
		}
		r.in.File.SetMetadata("ctf_env."+e.name, fact)
		switch e.name {
		case "sysname":
			system = e.text
		case "kernel_release", "release":
			release = e.text
		case "kernel_version", "version":
			version = e.text
		case "machine":
			arch = e.text
		}
	}
	if system != "" {
		r.in.Machine.SetSystem(system, version, release, arch)
	}
	id := uint32(model.ClockTraceFile)
	for _, c := range d.clocks {
		switch {
		case !c.setZero():
			r.in.File.Unread(model.StatUnreadFact, model.None, "clock's offset from 1970, which is too large,").Add(model.LogEntry{})
		case c.offset != 0 || c.offsetSeconds != 0:
			id = model.ClockRealtime
		}
	}
	r.in.UseClock(id)
	if c := d.clocks["monotonic"]; c != nil && id == model.ClockRealtime {
		zero, _ := c.ns(0)
		r.in.Clocks.AddSnapshot([]model.Reading{{Clock: model.Clock{ID: model.ClockRealtime}, Value: zero, Unit: 1},
			{Clock: model.Clock{ID: model.ClockMonotonic}, Unit: 1}})
	}
}

// filesAtOnce is how many files are decoded at the same time.
const filesAtOnce = 4

// readStreams reads the files beside the metadata. Those at hand take turns, a batch each.
func (r *reader) readStreams() error {
	if r.in.Parts == nil {
		return format.Errorf(format.ErrUnsupported, -1, "the metadata of a trace without its streams: name their folder instead")
	}
	most := filesAtOnce
	if !r.timed { // the number of an event stands for its time
		most = 1
	}
	var bad error // of the first damaged file; others are read nevertheless
	var open []*stream
	defer func() {
		for _, s := range open {
			s.close()
		}
	}()
	for rest := r.in.Parts; len(open) > 0 || len(rest) > 0; {
		if len(open) < most && len(rest) > 0 {
			s, err := r.start(rest[0])
			if s != nil {
				open = append(open, s)
			} else if !r.damaged(rest[0].File, err) {
				return err
			}
			bad, rest = cmp.Or(bad, err), rest[1:]
			continue
		}
		s := open[0]
		open = open[1:]
		more, err := s.pass()
		if more {
			open = append(open, s)
			continue
		}
		s.close()
		if err != nil {
			return err
		}
		if s.failed != nil && !r.damaged(s.file, s.failed) {
			return s.failed
		}
		r.found, bad = r.found+s.found, cmp.Or(bad, s.failed)
	}
	r.lost()
	switch {
	case r.found > 0:
		return nil
	case bad != nil:
		return bad
	}
	return format.Errorf(format.ErrNoEvents, -1, "no events in %d files beside the metadata", len(r.in.Parts))
}

// damaged counts what is damaged in a file. It returns false if something else failed.
func (r *reader) damaged(file *model.File, err error) bool {
	var e *format.Error
	if errors.As(err, &e) {
		r.logDamage(file, e.Offset, e.Err)
	}
	return e != nil
}

// logDamage counts a damaged part.
func (r *reader) logDamage(file *model.File, offset int64, err error) {
	strs := r.in.Store.Strings
	file.LogAt(statParseErrors, max(offset, 0), model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("message"), model.StringArg(strs.Intern(err.Error())))
	}))
}

// lost counts what the recorder lost, by the counts and numbers of its packets.
func (r *reader) lost() {
	var discarded, packets uint64
	for _, all := range r.packets {
		slices.SortStableFunc(all, func(a, b packetInfo) int { return cmp.Compare(a.begin, b.begin) })
		var last packetInfo
		for i, p := range all {
			if p.counts && p.discarded > last.discarded {
				discarded += p.discarded - last.discarded
			}
			if p.numbered && i > 0 && p.sequence > last.sequence+1 {
				packets += p.sequence - last.sequence - 1
			}
			last = p
		}
	}
	if discarded > 0 {
		r.in.File.SetStat(statEventsDiscarded, model.None, int64(discarded))
	}
	if packets > 0 {
		r.in.File.SetStat(statPacketsLost, model.None, int64(packets))
	}
}
