package proto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

var (
	statUnsupportedPacket = model.NewStat(1003, model.StatInfo{
		Name: "unsupported_packet", Indexed: true, Severity: model.Notice, Effect: model.NotRead,
		Description: "Packets of a kind that is not read, by field number.",
	})
	statTooManyMachines = model.NewStat(1025, model.StatInfo{
		Name: "too_many_machines", Severity: model.DataLoss, Effect: model.Lost,
		Description: "Packets of machines beyond the 256 that are read from a trace.",
	})
)

// trace is the state of reading one file, shared by the machines in it.
type trace struct {
	in       *format.Input
	families []Family
	machines map[uint32]*Reader
	readers  []*Reader // in the order of their first packet
	recent   struct {  // the machine looked up last
		id     uint32
		reader *Reader
	}
	resolved bool // it is decided which machine the recorder is
	types    *descriptor.Pool
	content  *Content // nil unless it is asked for
	cut      *cutting // nil unless the trace is cut
	err      error

	packets int64
	unread  map[uint32]*model.Unread // packets that no module reads, by field

	// Packets whose clock is not known yet wait for the end of the trace. While any
	// wait, the sorter releases nothing.
	deferred      []deferredPacket
	deferredBytes int64
	ended         bool

	// A recorder that streams into a file records when it has flushed all buffers
	// and written them out. Nothing still to come can precede what was read before
	// the second to last such moment.
	flushes  int
	released bool
	window   sort.Mark
}

type deferredPacket struct {
	reader *Reader
	data   []byte
	offset int64
}

// maxDeferredBytes limits the packets that wait for the end of the trace.
const maxDeferredBytes = 64 << 20

// Reader reads the packets of one machine.
type Reader struct {
	*model.Context
	in   *format.Input
	file *trace

	modules   []*Module
	byField   [commonFields][]*Module
	others    map[uint32][]*Module // of fields from commonFields on
	packets   *Stream
	sequences paged.List[sequence]
	byID      paged.Index   // of sequences
	recent    [16]*sequence // those looked up last, by the low bits of their ids
	used      bool          // there was a packet

	oldClock []uint32 // fields of the modules with OldClock
	shared   attached.Values
	patches  patches

	states     paged.List[State]
	freeStates []uint32
	latest     int64 // ns; the time given to packets without one
}

func read(in *format.Input, families []Family) error {
	t := &trace{in: in, families: families, machines: map[uint32]*Reader{}, unread: map[uint32]*model.Unread{}, types: descriptor.New(), window: in.Sorter.Mark()}
	if in.Analyze {
		t.content = newContent(in.Store, t.types)
	}
	if in.Cut != nil {
		t.cut = newCutting(in.Cut)
	}
	recorder := t.newReader(0, in.Context)
	in.AtEnd(func() error {
		for _, r := range t.readers {
			for _, m := range r.modules {
				if m.End != nil {
					m.End()
				}
			}
		}
		if t.content != nil {
			t.content.write()
		}
		for _, u := range t.unread {
			u.Of(t.packets)
		}
		return t.err
	})
	cut := cutAhead
	if in.Part { // reading it also reads the file around it, which fills tables and sorter too
		cut = cutHere
	}
	var steps []Step
	for _, m := range recorder.modules {
		if m.Ahead != nil {
			steps = append(steps, m.Ahead)
		}
	}
	err := cut(in, steps, func(p *Packet) bool {
		t.dispatch(p)
		return t.err == nil
	})
	t.ended = true
	var p Packet
	for i := range t.deferred {
		d := &t.deferred[i]
		if t.err == nil && p.read(d.data, d.offset) {
			p.State = d.reader.sequence(p.Sequence).state
			d.reader.tokenize(&p)
		}
		d.data = nil
	}
	for _, r := range t.readers {
		for i := range r.sequences.Len() {
			r.leave(r.sequences.At(i))
		}
	}
	if t.err != nil {
		return t.err
	}
	return err
}

// commonFields is above the numbers of the fields that most packets have.
const commonFields = 128

func (r *Reader) modulesOf(field uint32) []*Module {
	if field < commonFields {
		return r.byField[field]
	}
	return r.others[field]
}

// fail ends the reading.
func (t *trace) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *trace) newReader(machine uint32, c *model.Context) *Reader {
	r := &Reader{Context: c, in: t.in, file: t, others: map[uint32][]*Module{}}
	r.packets = r.NewStream(r.parse)
	c.Machine.UseIdleProcess()
	c.Clocks.Assume(model.ClockBoottime)
	r.open(r.clockModule())
	r.open(r.patchModule())
	for _, family := range t.families {
		for _, module := range family {
			r.open(module(r))
		}
	}
	t.machines[machine] = r
	t.readers = append(t.readers, r)
	return r
}

func (r *Reader) open(m *Module) {
	r.modules = append(r.modules, m)
	for _, field := range m.Fields {
		if field < commonFields {
			r.byField[field] = append(r.byField[field], m)
		} else {
			r.others[field] = append(r.others[field], m)
		}
	}
	if m.OldClock {
		r.oldClock = append(r.oldClock, m.Fields...)
	}
}

// Fail ends the reading of the trace with an error.
func (r *Reader) Fail(err error) { r.file.fail(err) }

// Types returns the known message types, including those that the trace describes.
func (r *Reader) Types() *descriptor.Pool { return r.file.types }

// Content adds up the sizes of packets. It is nil unless that is asked for.
func (r *Reader) Content() *Content { return r.file.content }

// Input returns the file being read.
func (r *Reader) Input() *format.Input { return r.in }

// dispatch gives a packet to the reader of its machine.
func (t *trace) dispatch(p *Packet) {
	t.packets++
	if rare := p.rareFields(); rare.isDamaged {
		t.in.File.LogAt(rare.damage, p.Offset, nil)
		return
	}
	r := t.machine(p.machine)
	if r == nil {
		t.in.File.LogAt(statTooManyMachines, p.Offset, nil)
		return
	}
	r.used = r.used || !p.marker
	if t.cut == nil {
		r.packet(p)
		return
	}
	t.cut.begin(p)
	r.packet(p)
	if err := t.cut.end(p); err != nil {
		t.fail(err)
	}
}

// maxMachines limits the readers, because each takes some 120 KB.
const maxMachines = 256

// machine returns the reader of a machine's packets, or nil if there are too many
// machines. If all packets carry the same other machine id, that machine is the recorder
// itself.
func (t *trace) machine(id uint32) *Reader {
	if id == t.recent.id && t.recent.reader != nil {
		return t.recent.reader
	}
	r := t.findMachine(id)
	t.recent.id, t.recent.reader = id, r
	return r
}

// overridden returns an error if a manifest override requires a single machine, for a
// trace that has several.
func (t *trace) overridden() error {
	switch {
	case t.in.Override.OneMachine:
		return format.Errorf(format.ErrManifest, -1, "perfetto_manifest: a `machine` override attributes the file to one machine, but the file contains packets from multiple machines. Replace `machine` with a `machines` block that names each of them, e.g. \"machines\": [{\"id\": 0, \"name\": \"phone\"}, {\"id\": 7, \"name\": \"vm\"}]")
	case t.in.Override.OneClock:
		return format.Errorf(format.ErrManifest, -1, "perfetto_manifest: a `clocks` override applies only to a single-machine file, but the file contains packets from multiple machines")
	}
	return nil
}

func (t *trace) findMachine(id uint32) *Reader {
	if r, ok := t.machines[id]; ok {
		return r
	}
	raw := int64(id)
	host := t.machines[0]
	if err := t.overridden(); err != nil {
		t.fail(err)
		return host
	}
	if t.in.Override.Machines != nil {
		var declared bool
		if raw, declared = t.in.Override.Machines[id]; !declared {
			t.fail(format.Errorf(format.ErrManifest, -1, "perfetto_manifest: machines: trace has a packet from undeclared machine id %d", id))
			return host
		}
	} else if !t.resolved {
		t.resolved = true
		if !host.used && t.in.Store.AdoptMachine(raw) {
			t.machines[id] = host
			return host
		}
	}
	if len(t.readers) == maxMachines {
		return nil
	}
	r := t.newReader(id, t.in.File.Context(raw))
	if clock, ok := t.machines[0].Clocks.Default(); ok {
		r.Clocks.SetDefault(clock.ID)
	}
	return r
}

func (r *Reader) sequence(id uint32) *sequence {
	recent := &r.recent[id%uint32(len(r.recent))]
	if q := *recent; q != nil && q.id == id {
		return q
	}
	q := r.findSequence(id)
	if q == nil {
		q = r.newSequence(id)
	}
	*recent = q
	return q
}

// packet applies what a packet says about its sequence and tokenizes it.
func (r *Reader) packet(p *Packet) {
	if len(r.patches.machines) > 0 && p.HasSequence {
		r.patch(p)
	}
	dropped := p.rareFields().dropped
	known := dropped != 0 && r.findSequence(p.Sequence) != nil
	q := r.sequence(p.Sequence)
	if known && p.HasSequence {
		q.dropped(dropped)
	}
	if p.first {
		for _, m := range r.modules {
			if m.FirstPacket != nil {
				m.FirstPacket(p.Sequence)
			}
		}
	}
	switch {
	case p.cleared || p.flags&flagCleared != 0:
		if r.needsSequence(p, model.StatIncrementalStateClearedMissingSequenceID) {
			q.startAnew(r)
		}
	case dropped != 0:
		if r.needsSequence(p, model.StatPreviousPacketDroppedMissingSequenceID) {
			q.lose(r)
		}
	}
	if p.hasRare {
		r.sequenceData(p, q)
	}
	p.State = q.state
	if t := r.file; t.content != nil {
		t.content.read(p, p.flags&flagNeeds != 0 && q.lost)
	}
	for i := range p.fields {
		f := &p.fields[i]
		for _, m := range r.modulesOf(f.Number) {
			if m.Read != nil && m.Read(p, f) {
				return
			}
		}
	}
	if p.flags&flagNeeds != 0 {
		q.dependent++
		if q.lost {
			q.loss().Skipped++
			r.File.LogAt(model.StatPacketSkippedSeqNeedsIncrementalStateInvalid, p.Offset, r.SequenceArg(p.Sequence))
			return
		}
	}
	r.tokenize(p)
}

// sequenceData applies the defaults and the interned data in a packet.
func (r *Reader) sequenceData(p *Packet, q *sequence) {
	if data := p.rare.defaults; data != nil && r.needsSequence(p, model.StatTracePacketDefaultsMissingSequenceID) {
		q.setDefaults(r, data)
	}
	data := p.rare.interned
	switch {
	case data == nil || !r.needsSequence(p, model.StatInternedDataMissingSequenceID):
	case q.lost:
		r.File.LogAt(model.StatInternedDataSkippedIncrementalStateInvalid, p.Offset, r.SequenceArg(p.Sequence))
	default:
		q.state.intern(data)
		r.hold(q.state.tables)
	}
}

// needsSequence reports whether a packet has a sequence, and counts it if it does not.
func (r *Reader) needsSequence(p *Packet, stat model.Stat) bool {
	if !p.HasSequence {
		r.File.LogAt(stat, p.Offset, nil)
	}
	return p.HasSequence
}

// SequenceArg names a packet's sequence in the import log.
func (r *Reader) SequenceArg(sequence uint32) model.ArgSource { return sequenceArg{r, sequence} }

type sequenceArg struct {
	reader   *Reader
	sequence uint32
}

func (a sequenceArg) AddArgs(set *model.ArgSet) {
	set.Add(a.reader.Store.Strings.Intern("packet_sequence_id"), model.UintArg(uint64(a.sequence)))
}

// tokenize finds a packet's time and hands it to its module, or to the sorter if no
// module takes it now.
func (r *Reader) tokenize(p *Packet) {
	if !r.time(p) || len(p.fields) == 0 { // times of later packets may be relative to that of an empty one
		return
	}
	var token *wire.Field
	for i := range p.fields {
		f := &p.fields[i]
		for _, m := range r.modulesOf(f.Number) {
			if m.Tokenize != nil && m.Tokenize(p, f) {
				return
			}
			if token == nil && m.Parse != nil {
				token = f
			}
		}
	}
	if token == nil {
		r.file.notRead(p)
		return
	}
	var head [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(head[:], uint64(token.Number))
	r.packets.Push(p.TS, p.State, head[:n], token.Bytes())
}

// notRead counts a packet that no module reads, by the name of its field.
func (t *trace) notRead(p *Packet) {
	field := p.fields[0].Number
	u := t.unread[field]
	if u == nil {
		name := fmt.Sprintf("unknown (field %d)", field)
		if f := t.types.Message("perfetto.protos.TracePacket").Field(field); f != nil {
			name = f.Name
		}
		u = t.in.File.Unread(statUnsupportedPacket, int64(field), name+" packet")
		t.unread[field] = u
	}
	u.AddAt(p.Offset)
}

// parse hands a packet to its modules, in time order.
func (r *Reader) parse(ts int64, state *State, data []byte) {
	field, n := binary.Uvarint(data)
	e := Event{TS: ts, Field: uint32(field), Data: data[n:], State: state}
	for _, m := range r.modulesOf(e.Field) {
		if m.Parse != nil {
			m.Parse(&e)
		}
	}
}

// time sets the packet's time on the trace clock. It returns false if the time is not
// known yet or never will be.
func (r *Reader) time(p *Packet) bool {
	if !p.HasTimestamp {
		last, _ := r.in.Sorter.MaxTimestamp()
		r.latest = max(r.latest, last)
		p.TS = r.latest
		return true
	}
	clock := model.Clock{ID: p.ClockID}
	if clock.ID == 0 {
		clock.ID = p.State.clockID()
	}
	if clock.ID == 0 {
		clock, _ = r.Clocks.Default()
	}
	lenient := (clock.ID == 0 || clock.ID == model.ClockMonotonic) && slices.ContainsFunc(r.oldClock, p.has)
	if lenient {
		clock.ID = model.ClockMonotonic
	}
	p.TS = r.Clocks.Moved(p.Timestamp)
	if clock.ID != 0 {
		clock, ok := r.clock(p, clock.ID)
		if !ok {
			return false
		}
		ts, err := r.Clocks.ToTrace(clock, p.Timestamp)
		switch {
		case err == nil:
			p.TS = ts
		case lenient:
			r.File.LogAt(err.Stat, p.Offset, err)
		default:
			r.deferOrDrop(p, err)
			return false
		}
	}
	r.latest = max(r.latest, p.TS)
	return true
}

// clock returns the clock that an id stands for in a packet. Some ids are local to
// the packet's sequence.
func (r *Reader) clock(p *Packet, id uint32) (model.Clock, bool) {
	if id < firstSequenceClock || id > lastSequenceClock {
		return model.Clock{ID: id}, true
	}
	if p.Sequence == 0 {
		r.File.LogAt(model.StatCorruptPacket, p.Offset, nil)
		return model.Clock{}, false
	}
	return model.Clock{ID: id, Sequence: p.Sequence}, true
}

// deferOrDrop keeps a packet with an unknown clock until the end of the trace, when
// the clock may be known. If it cannot wait, it is dropped and counted.
func (r *Reader) deferOrDrop(p *Packet, err *model.ClockError) {
	t := r.file
	if !t.ended && !t.released && t.deferredBytes < maxDeferredBytes {
		t.deferred = append(t.deferred, deferredPacket{r, bytes.Clone(p.data), p.Offset})
		t.deferredBytes += int64(len(p.data))
		return
	}
	r.File.LogAt(err.Stat, p.Offset, err)
	r.File.LogAt(model.StatClockSyncFailureUndeferrablePacketLoss, p.Offset, nil)
}

// Flushed notes that the recorder flushed all its buffers.
func (r *Reader) Flushed() { r.file.flushes++ }

// Written notes that the recorder wrote out all its buffers: nothing older than the
// flushes before can follow.
func (r *Reader) Written() {
	t := r.file
	if !t.in.Alone || t.flushes < 2 || len(t.deferred) > 0 {
		return
	}
	if err := t.in.Sorter.Release(t.window); err != nil {
		t.fail(err)
	}
	t.window, t.flushes, t.released = t.in.Sorter.Mark(), 0, true
}
