package proto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/atrace"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
)

// cutting copies the packets of a trace, but leaves out events that go. These are track events, and the frequent
// ftrace events. All else is kept, because it may say what events that stay mean.
type cutting struct {
	*format.Cut
	original    []byte // the current packet, before a patch
	parts       []cutPart
	deltas      map[uint64]bool        // uuids of the counter tracks whose values are relative to the last one
	threads     map[uint64]bool        // uuids of the tracks of threads
	incremental map[sequenceClock]bool // clocks whose times are relative to the last one
	pending     map[writer]*advance
	named       map[markOf]bool    // threads and their processes, by marks that stay
	sent        map[threadOf]bool  // whether the last transaction that a thread sent by binder stays
	owners      map[memoryOf]int64 // threads last seen with address spaces as their own
	out, fields []byte
}

// cutPart is a part of a packet whose events stay or go together.
type cutPart struct{ timed, stays bool }

func (p cutPart) goes() bool { return p.timed && !p.stays }

// writer is a sequence of packets of a machine.
type writer struct{ machine, sequence uint32 }

type sequenceClock struct {
	writer
	clock uint32
}

// advance is what packets that go add to their sequence: to its time, if that is relative, and to counters.
type advance struct {
	clock, flags uint32
	time         int64
	timed        bool
	event        *steps
}

func newCutting(c *format.Cut) *cutting {
	return &cutting{Cut: c, deltas: map[uint64]bool{}, threads: map[uint64]bool{}, incremental: map[sequenceClock]bool{}, pending: map[writer]*advance{}, named: map[markOf]bool{}, sent: map[threadOf]bool{},
		owners: map[memoryOf]int64{}}
}

// markOf is a thread in whose marks a process is named.
type markOf struct {
	machine   uint32
	tid, tgid int64
}

type threadOf struct {
	machine uint32
	tid     int64
}

// memoryOf is an address space.
type memoryOf struct {
	machine uint32
	id      int64
}

// NextPart says that the events pushed from now on are those of the next part of a packet. It only matters when a trace is cut.
func (r *Reader) NextPart() {
	if c := r.file.cut; c != nil {
		c.parts = append(c.parts, cutPart{})
	}
}

// begin begins a packet.
func (c *cutting) begin(p *Packet) {
	c.original, c.parts = p.data, append(c.parts[:0], cutPart{})
}

// event notes that the current packet has an event.
func (c *cutting) event(ts int64) {
	p := &c.parts[len(c.parts)-1]
	p.timed, p.stays = true, p.stays || c.Stays(ts)
}

// end writes the current packet.
func (c *cutting) end(p *Packet) error {
	if &p.data[0] != &c.original[0] { // a patch, which later ones add to
		return c.write(p, c.original)
	}
	c.note(p)
	c.fields = c.fields[:0]
	state, bundles := false, 0
	var left *steps
	for i := 0; i < len(p.data); {
		tag, v, next := wire.Scan(p.data, i)
		raw := p.data[i:next]
		i = next
		switch f := wire.ScannedField(p.data, tag, v, next); f.Number {
		case pb.TracePacket_TrackEvent:
			goes := false
			if c.parts[0].goes() {
				left, goes = c.withoutEvent(p, f.Bytes())
			}
			if !goes {
				c.fields = append(c.fields, raw...)
			}
			state = state || !goes || left != nil && !left.adds
		case pb.TracePacket_FtraceEvents:
			state = true
			if bundles++; bundles == 1 {
				c.fields = appendMessage(c.fields, f.Number, c.bundle(p.machine, f.Bytes()))
			}
		case pb.TracePacket_Timestamp, pb.TracePacket_TimestampClockID, pb.TracePacket_TrustedPacketSequenceID, pb.TracePacket_TrustedUID, pb.TracePacket_TrustedPID, pb.TracePacket_MachineID:
			c.fields = append(c.fields, raw...)
		case pb.TracePacket_SequenceFlags:
			state = state || p.flags&flagCleared != 0
			c.fields = append(c.fields, raw...)
		default:
			state = true
			c.fields = append(c.fields, raw...)
		}
	}
	if !state {
		return c.skip(p, left)
	}
	if left != nil {
		c.fields = appendMessage(c.fields, pb.TracePacket_TrackEvent, left.event())
	}
	return c.write(p, c.fields)
}

// note remembers which times and counters are relative.
func (c *cutting) note(p *Packet) {
	for i := range p.fields {
		switch f := &p.fields[i]; f.Number {
		case pb.TracePacket_ClockSnapshot:
			for clock := range message.Messages(f.Bytes(), pb.ClockSnapshot_Clocks) {
				if id, reading := clockReading(clock); reading.Incremental {
					c.incremental[sequenceClock{writer{p.machine, p.Sequence}, id}] = true
				}
			}
		case pb.TracePacket_TrackDescriptor:
			if message.Has(f.Bytes(), pb.TrackDescriptor_Thread) {
				c.threads[message.Uint64(f.Bytes(), pb.TrackDescriptor_UUID)] = true
			}
			if message.Uint64(message.Bytes(f.Bytes(), pb.TrackDescriptor_Counter), pb.CounterDescriptor_IsIncremental) != 0 {
				c.deltas[message.Uint64(f.Bytes(), pb.TrackDescriptor_UUID)] = true
			}
		}
	}
}

// skip leaves out a packet. Its time and its steps still count if later ones are relative to them.
func (c *cutting) skip(p *Packet, event *steps) error {
	clock := p.ClockID
	if clock == 0 {
		clock = p.State.clockID()
	}
	at := writer{p.machine, p.Sequence}
	relative := p.HasTimestamp && c.incremental[sequenceClock{at, clock}]
	if !relative && event == nil {
		return nil
	}
	a := c.pending[at]
	if a != nil && (a.clock != p.ClockID || a.flags != p.flags || a.timed != p.HasTimestamp || event != nil && a.event != nil && !event.suits(a.event)) {
		if err := c.advance(at); err != nil {
			return err
		}
		a = nil
	}
	if a == nil {
		a = &advance{clock: p.ClockID, flags: p.flags, timed: p.HasTimestamp}
		c.pending[at] = a
	}
	if relative {
		a.time += p.Timestamp
	} else {
		a.time = p.Timestamp
	}
	if event != nil {
		event.add(a.event)
		a.event = event
	}
	return nil
}

// advance writes a packet for those of a sequence that were left out.
func (c *cutting) advance(at writer) error {
	a := c.pending[at]
	if a == nil {
		return nil
	}
	delete(c.pending, at)
	var b []byte
	number := func(field protowire.Number, v uint64) {
		if v != 0 {
			b = appendNumber(b, field, v)
		}
	}
	if a.timed {
		b = appendNumber(b, pb.TracePacket_Timestamp, uint64(a.time))
	}
	number(pb.TracePacket_TimestampClockID, uint64(a.clock))
	number(pb.TracePacket_TrustedPacketSequenceID, uint64(at.sequence))
	number(pb.TracePacket_SequenceFlags, uint64(a.flags))
	number(pb.TracePacket_MachineID, uint64(at.machine))
	if a.event != nil {
		b = appendMessage(b, pb.TracePacket_TrackEvent, a.event.event())
	}
	return c.put(b)
}

// write writes a packet with the given fields.
func (c *cutting) write(p *Packet, fields []byte) error {
	if err := c.advance(writer{p.machine, p.Sequence}); err != nil {
		return err
	}
	return c.put(fields)
}

func (c *cutting) put(packet []byte) error {
	c.out = append(binary.AppendUvarint(append(c.out[:0], packetTag), uint64(len(packet))), packet...)
	_, err := c.To.Write(c.out)
	return err
}

// withoutEvent returns the steps of a track event that goes, or nil without any; or false if all of it must stay.
func (c *cutting) withoutEvent(p *Packet, data []byte) (left *steps, goes bool) {
	kind, phase, relative := int32(0), int32(0), false
	defaults := p.State.defaultsOf(pb.TracePacket_TrackEvent)
	uuid := message.Uint64(defaults, pb.TrackEventDefaults_TrackUUID)
	left = &steps{adds: true}
	var counters []uint64
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return nil, false
		}
		switch f := wire.ScannedField(data, tag, v, next); f.Number {
		case pb.TrackEvent_Type:
			kind = f.Int32()
		case pb.TrackEvent_LegacyEvent:
			phase = message.Int32(f.Bytes(), pb.TrackEvent_LegacyEvent_Phase)
		case pb.TrackEvent_TimestampDeltaUS, pb.TrackEvent_ThreadTimeDeltaUS, pb.TrackEvent_ThreadInstructionCountDelta:
			relative = true
			left.numbers = append(left.numbers, step{protowire.Number(f.Number), f.Int64()})
		case pb.TrackEvent_ExtraCounterValues:
			relative = relative || len(c.deltas) > 0
			left.numbers = append(left.numbers, step{protowire.Number(f.Number), f.Int64()})
			left.counters++
		case pb.TrackEvent_ExtraDoubleCounterValues, pb.TrackEvent_ExtraDoubleCounterTrackUUIDs:
			relative, left.adds = relative || len(c.deltas) > 0, false
			left.fields = append(left.fields, data[i:next]...)
		case pb.TrackEvent_TrackUUID:
			uuid = f.Uint64()
			left.track = bytes.Clone(data[i:next])
		case pb.TrackEvent_ExtraCounterTrackUUIDs:
			counters = append(counters, f.Uint64())
			left.fields = append(left.fields, data[i:next]...)
		}
		i = next
	}
	switch kind {
	case pb.TrackEvent_Type_SliceBegin, pb.TrackEvent_Type_SliceEnd, pb.TrackEvent_Type_Instant:
		if uuid != 0 && !c.threads[uuid] { // other tracks may be shown as one
			return nil, false
		}
	case pb.TrackEvent_Type_Counter:
		if len(c.deltas) > 0 {
			return nil, false
		}
	default:
		if kind != 0 || !slices.Contains([]int32{'B', 'E', 'X', 'I', 'i'}, phase) {
			return nil, false
		}
	}
	if !relative {
		return nil, true
	}
	if len(counters) == 0 {
		counters = slices.Collect(message.Numbers(defaults, pb.TrackEventDefaults_ExtraCounterTrackUUIDs))
	}
	left.adds = left.adds && left.counters <= len(counters) && !slices.ContainsFunc(counters[:left.counters], func(uuid uint64) bool { return !c.deltas[uuid] })
	return left, true
}

// steps are what must stay of track events that go: times and counters that later ones are relative to. They become an instant.
type steps struct {
	adds     bool   // those of the next event can be added
	track    []byte // the field of the track
	fields   []byte // which counters they are
	numbers  []step
	counters int // how many of the numbers are of counters
}

type step struct {
	field protowire.Number
	by    int64
}

// suits reports whether the steps of an earlier event can be added.
func (s *steps) suits(earlier *steps) bool {
	return bytes.Equal(s.fields, earlier.fields) && slices.EqualFunc(s.numbers, earlier.numbers, func(a, b step) bool { return a.field == b.field })
}

// add adds the steps of an earlier event that suits, or nothing if it is nil.
func (s *steps) add(earlier *steps) {
	if earlier == nil {
		return
	}
	for i := range s.numbers {
		s.numbers[i].by += earlier.numbers[i].by
	}
}

func (s *steps) event() []byte {
	b := appendNumber(nil, pb.TrackEvent_Type, pb.TrackEvent_Type_Instant)
	b = append(append(b, s.track...), s.fields...)
	for _, n := range s.numbers {
		b = appendNumber(b, n.field, uint64(n.by))
	}
	return b
}

// clockSync begins a text of the kernel that relates clocks.
var clockSync = []byte("trace_event_clock_sync")

// bundle returns a bundle without the events that go. Scheduling stays, because without it others would seem to run for longer.
func (c *cutting) bundle(machine uint32, data []byte) []byte {
	var out []byte
	event := 0
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return append(out, data[i:]...)
		}
		stays := true
		switch f := wire.ScannedField(data, tag, v, next); f.Number {
		case pb.FtraceEventBundle_Event:
			event++
			if event < len(c.parts) {
				stays = !c.goes(machine, c.parts[event], f.Bytes())
				c.noteSent(machine, f.Bytes(), stays)
			}
			if b := c.naming(machine, f.Bytes(), stays); b != nil {
				out = appendMessage(out, pb.FtraceEventBundle_Event, b)
			}
		}
		if stays {
			out = append(out, data[i:next]...)
		}
		i = next
	}
	return out
}

// naming returns an instant for a mark that goes, if it ends nothing and only it says which process a thread is of. Of marks that
// begin something, the first of each thread stays.
func (c *cutting) naming(machine uint32, event []byte, stays bool) []byte {
	m, ok := markIn(event)
	if !ok || m.Phase != 'B' && m.Phase != 'E' && m.Phase != 'I' {
		return nil
	}
	mark := markOf{machine, int64(message.Int32(event, pb.FtraceEvent_PID)), m.TGID}
	if m.TGID == 0 || c.named[mark] || !stays && m.Phase != 'E' {
		return nil
	}
	c.named[mark] = true
	if stays {
		return nil
	}
	instant := protowire.AppendTag(nil, pb.PrintFtraceEvent_Buf, protowire.BytesType)
	instant = protowire.AppendString(instant, fmt.Sprintf("I|%d|end", m.TGID))
	var b []byte
	for i := 0; i < len(event); {
		tag, v, next := wire.Scan(event, i)
		if next < 0 {
			return nil
		}
		if f := wire.ScannedField(event, tag, v, next); f.Number != pb.FtraceEvent_Print && f.Number != pb.FtraceEvent_Zero {
			b = append(b, event[i:next]...)
		}
		i = next
	}
	return appendMessage(b, pb.FtraceEvent_Print, instant)
}

// markIn returns the mark of an ftrace event: a text, or what Qualcomm's kernels write instead.
func markIn(event []byte) (m atrace.Mark, ok bool) {
	for f := wire.Read(event); f.Next(); {
		switch f.Number {
		case pb.FtraceEvent_Print:
			m, ok, _ = atrace.Parse(message.Bytes(f.Bytes(), pb.PrintFtraceEvent_Buf))
		case pb.FtraceEvent_Zero:
			m.TGID, ok = int64(message.Int32(f.Bytes(), pb.ZeroFtraceEvent_PID)), true
			switch flag := message.Int32(f.Bytes(), pb.ZeroFtraceEvent_Flag); {
			case flag&1 != 0:
				m.Phase = 'B'
			case flag&2 != 0:
				m.Phase = 'E'
			}
		}
	}
	return m, ok
}

// onThreads are the ftrace events, in addition to texts, that begin slices on the tracks of threads, or end the innermost one, as
// TestEventsOnThreads checks. They go as texts do: what one ends may be what a text begins. Those of I2C stay, because ends depend on
// how many there are.
var onThreads = map[uint32]bool{
	pb.FtraceEvent_Zero:                       true,
	pb.FtraceEvent_BinderTransaction:          true,
	pb.FtraceEvent_BinderTransactionReceived:  true,
	pb.FtraceEvent_BinderLock:                 true,
	pb.FtraceEvent_BinderLocked:               true,
	pb.FtraceEvent_BinderUnlock:               true,
	pb.FtraceEvent_SysEnter:                   true,
	pb.FtraceEvent_SysExit:                    true,
	pb.FtraceEvent_KprobeEvent:                true,
	pb.FtraceEvent_WorkqueueExecuteStart:      true,
	pb.FtraceEvent_WorkqueueExecuteEnd:        true,
	pb.FtraceEvent_ScmCallStart:               true,
	pb.FtraceEvent_ScmCallEnd:                 true,
	pb.FtraceEvent_CmaAllocStart:              true,
	pb.FtraceEvent_CmaAllocFinish:             true,
	pb.FtraceEvent_CmaAllocInfo:               true,
	pb.FtraceEvent_MmVmscanDirectReclaimBegin: true,
	pb.FtraceEvent_MmVmscanDirectReclaimEnd:   true,
	pb.FtraceEvent_MmVmscanMemcgReclaimBegin:  true,
	pb.FtraceEvent_MmVmscanMemcgReclaimEnd:    true,
	pb.FtraceEvent_MmShrinkSlabStart:          true,
	pb.FtraceEvent_MmShrinkSlabEnd:            true,
	pb.FtraceEvent_PixelMmKswapdWake:          true,
	pb.FtraceEvent_PixelMmKswapdDone:          true,
	pb.FtraceEvent_DmaFenceWaitStart:          true,
	pb.FtraceEvent_DmaFenceWaitEnd:            true,
	pb.FtraceEvent_TrustySmc:                  true,
	pb.FtraceEvent_TrustySmcDone:              true,
	pb.FtraceEvent_TrustyStdCall32:            true,
	pb.FtraceEvent_TrustyStdCall32Done:        true,
	pb.FtraceEvent_TrustyShareMemory:          true,
	pb.FtraceEvent_TrustyShareMemoryDone:      true,
	pb.FtraceEvent_TrustyReclaimMemory:        true,
	pb.FtraceEvent_TrustyReclaimMemoryDone:    true,
	pb.FtraceEvent_TrustyIPCConnect:           true,
	pb.FtraceEvent_TrustyIPCConnectEnd:        true,
	pb.FtraceEvent_TrustyIPCRead:              true,
	pb.FtraceEvent_TrustyIPCReadEnd:           true,
}

// goes reports whether an ftrace event goes.
func (c *cutting) goes(machine uint32, part cutPart, event []byte) bool {
	for f := wire.Read(event); f.Next(); {
		switch f.Number {
		case pb.FtraceEvent_Print:
			return part.goes() && !bytes.HasPrefix(message.Bytes(f.Bytes(), pb.PrintFtraceEvent_Buf), clockSync)
		case pb.FtraceEvent_RSSStat:
			return !c.tellsOwner(memoryOf{machine, message.Int64(f.Bytes(), pb.RssStatFtraceEvent_MmID)}, senderOf(machine, event).tid, f.Bytes()) && part.goes()
		case pb.FtraceEvent_CPUFrequency, pb.FtraceEvent_CPUIdle, pb.FtraceEvent_GPUFrequency, pb.FtraceEvent_ClockSetRate,
			pb.FtraceEvent_ClockEnable, pb.FtraceEvent_ClockDisable, pb.FtraceEvent_IRQHandlerEntry, pb.FtraceEvent_IRQHandlerExit,
			pb.FtraceEvent_SoftirqEntry, pb.FtraceEvent_SoftirqExit:
			return part.goes()
		case pb.FtraceEvent_BinderTransactionAllocBuf: // adds args to the slice of the transaction
			stays, known := c.sent[senderOf(machine, event)]
			return known && !stays
		}
		if onThreads[f.Number] {
			return part.goes()
		}
	}
	return false
}

// noteSent remembers whether a transaction stays that a thread sends by binder.
func (c *cutting) noteSent(machine uint32, event []byte, stays bool) {
	if message.Has(event, pb.FtraceEvent_BinderTransaction) {
		c.sent[senderOf(machine, event)] = stays
	}
}

// senderOf returns the thread that an ftrace event is of.
func senderOf(machine uint32, event []byte) threadOf {
	return threadOf{machine, int64(message.Int32(event, pb.FtraceEvent_PID))}
}

// tellsOwner reports whether a size is the first that says whose an address space is. Sizes that other processes change need it.
func (c *cutting) tellsOwner(memory memoryOf, tid int64, size []byte) bool {
	if message.Int32(size, pb.RssStatFtraceEvent_Curr) == 0 {
		return false
	}
	owner, known := c.owners[memory]
	c.owners[memory] = tid
	return !known || owner != tid
}

// defaultsOf returns a field of the sequence's defaults, or nil.
func (s *State) defaultsOf(field uint32) []byte {
	if s.defaults == nil {
		return nil
	}
	return message.Bytes(s.defaults.data, field)
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendMessage(b []byte, field uint32, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(field), protowire.BytesType), data)
}
