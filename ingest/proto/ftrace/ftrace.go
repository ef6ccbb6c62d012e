// Package ftrace reads bundles of Linux kernel events.
package ftrace

import (
	"encoding/binary"

	kernel "github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{ftraceEvents}

// ftraceClock is the id, within a sequence, of the clock of the kernel's ring buffer.
const ftraceClock = 64

// Kinds of ftrace tokens, given by their first byte.
const (
	tokenEvent  = iota // an FtraceEvent's bytes after its time
	tokenRecord        // the same, but only stored in ftrace_event
	tokenHandle        // the same, but not stored there; the event's own time precedes it
	tokenSwitch
	tokenWaking
)

// ftraceModule reads Linux kernel events, which come in bundles of one CPU each.
type ftraceModule struct {
	*proto.Reader
	cpus     []*ftraceCPU
	comms    []model.StringID // of the bundle being tokenized
	snapshot int64            // time of the last snapshot in a bundle
	generic  map[uint32]*kernel.Tracepoint
	adreno   adreno
	failed   map[uint32]bool // sequences whose setup errors are logged
	broken   map[uint64]bool // parse statuses that bundles reported
	validity int64           // ns; when the data of all CPUs is complete, 0 if not known
	preserve bool            // keep what was in the buffers before the start

	parser  *kernel.Parser
	started bool // an event was parsed
	event   kernel.Event
	state   *proto.State // of the event being parsed
	drop    int64        // ns; earlier events are dropped
	record  int64        // ns; earlier events are only recorded
}

// ftraceCPU is the stream of one CPU's events.
type ftraceCPU struct {
	*ftraceModule
	cpu    int64
	stream *proto.Stream
	begun  bool
}

func ftraceEvents(r *proto.Reader) *proto.Module {
	m := &ftraceModule{Reader: r, generic: map[uint32]*kernel.Tracepoint{}, failed: map[uint32]bool{}, broken: map[uint64]bool{}}
	m.adreno.init()
	m.event.Symbols = m.symbol
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_FtraceEvents, pb.TracePacket_FtraceStats},
		Ahead:  &bundles,
		Tokenize: func(p *proto.Packet, f *wire.Field) bool {
			if f.Number == pb.TracePacket_FtraceEvents {
				m.bundle(p, bundles.Of(p, f))
			} else {
				m.stats(p, f.Bytes())
			}
			return true
		},
		End: func() {
			for range m.adreno.waiting {
				r.File.Unread(model.StatUnreadEvent, model.None, "kgsl_adreno_cmdbatch_retired event without kgsl_adreno_cmdbatch_sync").Add(model.LogEntry{})
			}
		},
	}
}

func (m *ftraceModule) symbol(iid uint64) model.StringID {
	if !m.state.Interns(pb.InternedData_KernelSymbols) {
		return 0 // recorded without symbolize_ksyms: the iids only tell functions apart
	}
	name, _ := m.state.InternedString(pb.InternedData_KernelSymbols, iid)
	return name
}

// bundle tokenizes an FtraceEventBundle.
func (m *ftraceModule) bundle(p *proto.Packet, b *ftraceBundle) {
	c, clock, ok := m.bundleHead(p, b.head)
	if !ok {
		m.File.LogAt(model.StatFtraceBundleTokenizerErrors, p.Offset, nil)
		return
	}
	var begin uint64
	for i := range b.head {
		switch f := &b.head[i]; f.Number {
		case pb.FtraceEventBundle_LostEvents:
			if f.Bool() {
				m.SetStat(model.StatFtraceCPUHasDataLoss, c.cpu, 1)
			}
		case pb.FtraceEventBundle_LastReadEventTimestamp, pb.FtraceEventBundle_PreviousBundleEndTimestamp:
			begin = f.Uint64()
		case pb.FtraceEventBundle_Error: // the rest of a page is missing
			status := message.Uint64(f.Bytes(), pb.FtraceEventBundle_FtraceError_Status)
			m.broken[status] = true
			m.parseError(p, status)
		case pb.FtraceEventBundle_GenericEventDescriptors:
			m.describe(f.Bytes())
		}
	}
	for i := range b.events {
		m.NextPart()
		c.tokenize(p, clock, b, &b.events[i])
	}
	for i := range b.head { // a thread may be woken at the time of the switch to it
		if f := &b.head[i]; f.Number == pb.FtraceEventBundle_CompactSched {
			c.compact(p, clock, f.Bytes())
		}
	}
	if !c.begun {
		c.begun = true
		m.beginsAt(clock, begin)
	}
}

func (m *ftraceModule) cpu(cpu int64) *ftraceCPU {
	for int64(len(m.cpus)) <= cpu {
		m.cpus = append(m.cpus, nil)
	}
	if m.cpus[cpu] == nil {
		c := &ftraceCPU{ftraceModule: m, cpu: cpu}
		c.stream = m.NewStream(c.parse)
		m.cpus[cpu] = c
	}
	return m.cpus[cpu]
}

// beginsAt notes when a CPU's data becomes complete. A ring buffer keeps only the
// latest events, so before all CPUs are complete, the data is partial.
func (m *ftraceModule) beginsAt(clock model.Clock, value uint64) {
	if value == 0 {
		return
	}
	if ts, err := m.Clocks.ToTrace(clock, int64(value)); err == nil && ts > m.validity {
		m.validity = ts
		m.SetMetadata("ftrace_latest_data_start_ns", model.IntArg(ts))
	}
}

// bundleHead returns the CPU and the clock of a bundle's events. For the kernel's own
// clocks, the only readings are those that the recorder took with each bundle.
func (m *ftraceModule) bundleHead(p *proto.Packet, head []wire.Field) (c *ftraceCPU, clock model.Clock, ok bool) {
	boot := model.Clock{ID: model.ClockBoottime}
	clock = boot
	var at, bootAt int64
	cpu, readings := uint32(model.MaxCPUs), 0
	for i := range head {
		switch f := &head[i]; f.Number {
		case pb.FtraceEventBundle_CPU:
			cpu = f.Uint32()
		case pb.FtraceEventBundle_FtraceClock:
			switch f.Int32() {
			case pb.FtraceClock_Unspecified:
			case pb.FtraceClock_MonoRaw:
				clock = model.Clock{ID: model.ClockMonotonicRaw}
			case pb.FtraceClock_Global, pb.FtraceClock_Local:
				clock = model.Clock{ID: ftraceClock, Sequence: p.Sequence}
			default:
				return nil, clock, false
			}
		case pb.FtraceEventBundle_FtraceTimestamp:
			at = f.Int64()
			readings++
		case pb.FtraceEventBundle_BootTimestamp:
			bootAt = f.Int64()
			readings++
		}
	}
	if cpu >= model.MaxCPUs {
		return nil, clock, false
	}
	if clock != boot && readings == 2 && at != m.snapshot {
		m.snapshot = at
		m.Clocks.AddSnapshot([]model.Reading{{Clock: clock, Value: at, Unit: 1}, {Clock: boot, Value: bootAt, Unit: 1}})
	}
	return m.cpu(int64(cpu)), clock, true
}

// time converts a kernel time to the trace clock. A failure is counted.
func (m *ftraceModule) time(p *proto.Packet, clock model.Clock, value int64) (int64, bool) {
	ts, err := m.Clocks.ToTrace(clock, value)
	if err != nil {
		m.File.LogAt(err.Stat, p.Offset, err)
		return 0, false
	}
	return ts, true
}

// tokenize sends an FtraceEvent to the sorter.
func (c *ftraceCPU) tokenize(p *proto.Packet, clock model.Clock, b *ftraceBundle, s *ftraceSpan) {
	switch {
	case s.timeless:
		c.File.LogAt(model.StatFtraceBundleTokenizerErrors, p.Offset, nil)
		return
	case s.number == 0:
		c.File.LogAt(model.StatFtraceMissingEventID, p.Offset, nil)
		return
	}
	ts, ok := c.time(p, clock, int64(s.stamp))
	if !ok {
		return
	}
	rest := b.rest(s)
	if s.number >= firstRetimed {
		if retime, special := retimed[s.number]; special {
			_, body := eventOf(rest)
			retime(c, p, ts, rest, body)
			return
		}
	}
	c.push(p.State, tokenEvent, ts, rest)
}

func (c *ftraceCPU) push(state *proto.State, kind byte, ts int64, rest []byte) {
	head := [1]byte{kind}
	c.stream.Push(ts, state, head[:], rest)
}

// pushAt sends an event to the sorter twice: to be stored at ts, its own time, and to
// be handled at another time.
func (c *ftraceCPU) pushAt(state *proto.State, ts, at int64, rest []byte) {
	c.push(state, tokenRecord, ts, rest)
	c.pushHandled(state, ts, at, rest)
}

func (c *ftraceCPU) pushHandled(state *proto.State, ts, at int64, rest []byte) {
	head := binary.AppendVarint([]byte{tokenHandle}, ts)
	c.stream.Push(at, state, head, rest)
}

// retimed are the tracepoints whose events describe another time than the one at which
// they were written.
var retimed = map[uint32]func(c *ftraceCPU, p *proto.Packet, ts int64, rest, body []byte){
	pb.FtraceEvent_GPUWorkPeriod:             (*ftraceCPU).workPeriod,
	pb.FtraceEvent_ThermalExynosAcpmBulk:     retimedBy(pb.ThermalExynosAcpmBulkFtraceEvent_Timestamp),
	pb.FtraceEvent_ParamSetValueCpm:          retimedBy(pb.ParamSetValueCpmFtraceEvent_Timestamp),
	pb.FtraceEvent_FwtpPerfettoCounter:       retimedBy(pb.FwtpPerfettoCounterFtraceEvent_Timestamp),
	pb.FtraceEvent_FwtpPerfettoSlice:         retimedBy(pb.FwtpPerfettoSliceFtraceEvent_Timestamp),
	pb.FtraceEvent_KgslAdrenoCmdbatchSync:    (*ftraceCPU).adrenoSync,
	pb.FtraceEvent_KgslAdrenoCmdbatchRetired: (*ftraceCPU).adrenoRetired,
}

// firstRetimed is the lowest number in retimed.
const firstRetimed = pb.FtraceEvent_GPUWorkPeriod

// retimedBy takes the time, in ns of the trace clock, from a field of the event.
func retimedBy(field uint32) func(c *ftraceCPU, p *proto.Packet, ts int64, rest, body []byte) {
	return func(c *ftraceCPU, p *proto.Packet, ts int64, rest, body []byte) {
		if at, ok := wire.Find(body, field); ok {
			c.pushAt(p.State, ts, at.Int64(), rest)
			return
		}
		c.File.LogAt(model.StatFtraceBundleTokenizerErrors, p.Offset, nil)
	}
}

// workPeriod takes the start of the work period as the time. It is on the raw
// monotonic clock.
func (c *ftraceCPU) workPeriod(p *proto.Packet, ts int64, rest, body []byte) {
	start, ok := wire.Find(body, pb.GpuWorkPeriodFtraceEvent_StartTimeNS)
	if !ok {
		c.File.LogAt(model.StatFtraceBundleTokenizerErrors, p.Offset, nil)
		return
	}
	if at, ok := c.time(p, model.Clock{ID: model.ClockMonotonicRaw}, start.Int64()); ok {
		c.pushAt(p.State, ts, at, rest)
	}
}

// adreno relates the clock of Qualcomm's GPUs to the trace clock. For each batch of
// commands, one event has both times. With it, the event that reports the batch's end
// is moved to the batch's start. Either event may come first.
type adreno struct {
	synced  map[adrenoBatch]adrenoSync
	waiting map[adrenoBatch]adrenoWaiting // ends that came first
}

// adrenoBatch identifies a batch by its context and its number, which counts the context's batches.
type adrenoBatch struct{ context, number uint32 }

// batchOf returns the batch of an event. All events of batches have these fields.
func batchOf(body []byte) adrenoBatch {
	return adrenoBatch{message.Uint32(body, pb.KgslAdrenoCmdbatchSyncFtraceEvent_ID),
		message.Uint32(body, pb.KgslAdrenoCmdbatchSyncFtraceEvent_Timestamp)}
}

type adrenoSync struct {
	ts    int64 // ns of the trace clock
	ticks uint64
}

type adrenoWaiting struct {
	cpu   *ftraceCPU
	state *proto.State
	ts    int64
	start uint64
	rest  []byte
}

func (a *adreno) init() {
	a.synced, a.waiting = map[adrenoBatch]adrenoSync{}, map[adrenoBatch]adrenoWaiting{}
}

// at returns the time, in ns of the trace clock, of a reading of the GPU's clock.
func (s adrenoSync) at(ticks uint64) int64 {
	return s.ts + int64(ticks-s.ticks)*1_000_000_000/kernel.AdrenoClock
}

func (c *ftraceCPU) adrenoSync(p *proto.Packet, ts int64, rest, body []byte) {
	batch := batchOf(body)
	sync := adrenoSync{ts, message.Uint64(body, pb.KgslAdrenoCmdbatchSyncFtraceEvent_Ticks)}
	if w, ok := c.adreno.waiting[batch]; ok {
		delete(c.adreno.waiting, batch)
		w.cpu.pushHandled(w.state, w.ts, sync.at(w.start), w.rest)
		w.state.Release()
	} else {
		c.adreno.synced[batch] = sync
	}
	c.push(p.State, tokenEvent, ts, rest)
}

func (c *ftraceCPU) adrenoRetired(p *proto.Packet, ts int64, rest, body []byte) {
	batch, start := batchOf(body), message.Uint64(body, pb.KgslAdrenoCmdbatchRetiredFtraceEvent_Start)
	c.push(p.State, tokenRecord, ts, rest)
	if sync, ok := c.adreno.synced[batch]; ok {
		delete(c.adreno.synced, batch)
		c.pushHandled(p.State, ts, sync.at(start), rest)
		return
	}
	p.State.Hold()
	c.adreno.waiting[batch] = adrenoWaiting{c, p.State, ts, start, append([]byte(nil), rest...)}
}

// packed reads a packed field value by value.
type packed struct {
	rest []byte
	bad  bool
}

func (p *packed) next() uint64 {
	v, n := wire.Uvarint(p.rest)
	if n <= 0 {
		p.bad, p.rest = true, nil
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *packed) more() bool { return len(p.rest) > 0 }

// compact tokenizes scheduler events that are stored as an array per field.
func (c *ftraceCPU) compact(p *proto.Packet, clock model.Clock, data []byte) {
	var columns [13]packed
	c.comms = c.comms[:0]
	for f := wire.Read(data); f.Next(); {
		switch {
		case f.Number == pb.FtraceEventBundle_CompactSched_InternTable:
			c.comms = append(c.comms, c.Store.Strings.InternBytes(f.Bytes()))
		case f.Number < uint32(len(columns)):
			columns[f.Number].rest = f.Bytes()
		}
	}
	ok := c.compactEvents(p, clock, tokenSwitch, &columns, [5]int{1, 2, 3, 4, 6}, 0)
	if !c.compactEvents(p, clock, tokenWaking, &columns, [5]int{7, 9, 8, 10, 11}, 12) || !ok {
		c.File.LogAt(model.StatCompactSchedHasParseErrors, p.Offset, nil)
	}
}

// compactToken is the size of a switch's or wakeup's token: its kind, a state or CPU,
// pid, priority, comm and flags.
const compactToken = 1 + 8 + 4*4

// compactEvents tokenizes events whose columns are the time since the previous event;
// a state or CPU; a pid; a priority; an index into comms; and, unless flags is 0,
// flags. It reports whether the columns were consistent.
func (c *ftraceCPU) compactEvents(p *proto.Packet, clock model.Clock, kind byte, columns *[13]packed, places [5]int, flags int) bool {
	stamp, number, pid, prio, comm := &columns[places[0]], &columns[places[1]], &columns[places[2]], &columns[places[3]], &columns[places[4]]
	var now int64
	var token [compactToken]byte
	token[0] = kind
	for stamp.more() && number.more() && pid.more() && prio.more() && comm.more() {
		now += int64(stamp.next())
		binary.LittleEndian.PutUint64(token[1:], number.next())
		binary.LittleEndian.PutUint32(token[9:], uint32(pid.next()))
		binary.LittleEndian.PutUint32(token[13:], uint32(prio.next()))
		i := comm.next()
		if i >= uint64(len(c.comms)) {
			return false
		}
		binary.LittleEndian.PutUint32(token[17:], uint32(c.comms[i]))
		if flags != 0 && columns[flags].more() {
			binary.LittleEndian.PutUint32(token[21:], uint32(columns[flags].next()))
		}
		ts, ok := c.time(p, clock, now)
		if !ok {
			return true
		}
		c.stream.Push(ts, p.State, token[:])
	}
	for _, i := range places {
		if columns[i].bad || columns[i].more() {
			return false
		}
	}
	return true
}

// start decides, at the first event, which events are dropped.
func (m *ftraceModule) start() {
	m.started = true
	if m.parser == nil {
		m.parser = kernel.NewParser(m.Context)
	}
	if !m.preserve {
		m.drop = m.MetadataInt("tracing_started_ns")
	}
	m.record = max(m.validity, m.drop)
}

// parse parses a token.
func (c *ftraceCPU) parse(ts int64, state *proto.State, data []byte) {
	m := c.ftraceModule
	if !m.started {
		m.start()
	}
	kind, data := data[0], data[1:]
	written := ts
	if kind == tokenHandle {
		var n int
		written, n = binary.Varint(data)
		data = data[n:]
	}
	if written < m.drop {
		m.File.Count(model.StatFtracePacketBeforeTracingStart)
		return
	}
	recordOnly := written < m.record
	switch kind {
	case tokenSwitch, tokenWaking:
		number := int64(binary.LittleEndian.Uint64(data))
		task := kernel.Task{
			PID:      int64(binary.LittleEndian.Uint32(data[8:])),
			Priority: int32(binary.LittleEndian.Uint32(data[12:])),
			Comm:     model.StringID(binary.LittleEndian.Uint32(data[16:])),
		}
		if kind == tokenSwitch {
			m.parser.CompactSwitch(ts, c.cpu, number, task, recordOnly)
			return
		}
		m.parser.CompactWaking(ts, c.cpu, task, number, int64(binary.LittleEndian.Uint32(data[20:])), recordOnly)
	default:
		m.state = state
		e := &m.event
		e.TS, e.CPU, e.TID, e.Flags = ts, c.cpu, model.None, 0
		if body, ok := switchOf(data); ok {
			if !recordOnly {
				m.schedSwitch(ts, c.cpu, body)
			}
			return
		}
		if !m.read(data) {
			return
		}
		if kind != tokenHandle {
			m.parser.Record(e)
		}
		if kind != tokenRecord && !recordOnly {
			m.parser.Handle(e)
		}
	}
}

// switchOf returns the fields of a sched_switch, the most frequent event, if it is
// encoded in the usual order: after the pid.
func switchOf(data []byte) ([]byte, bool) {
	tag, _, next := wire.Scan(data, 0)
	if tag != pb.FtraceEvent_PID<<3|tagVarint {
		return nil, false
	}
	tag, size, next := wire.Scan(data, next)
	if tag != pb.FtraceEvent_SchedSwitch<<3|tagBytes {
		return nil, false
	}
	return data[next-int(size) : next], true
}

// schedSwitch decodes a sched_switch without looking up the tracepoint. One whose fields have
// other types, or that lacks a pid, is another message under its number.
func (m *ftraceModule) schedSwitch(ts, cpu int64, body []byte) {
	var prev, next kernel.Task
	var state int64
	var pids int
	bad := false
	for i := 0; i < len(body) && !bad; {
		tag, v, end := wire.Scan(body, i)
		if bad = end < 0; bad {
			break
		}
		switch i = end; tag {
		case pb.SchedSwitchFtraceEvent_PrevComm<<3 | tagBytes:
			prev.Comm = m.TextID(body[i-int(v) : i])
		case pb.SchedSwitchFtraceEvent_PrevPID<<3 | tagVarint:
			prev.PID, pids = int64(uint32(v)), pids|1
		case pb.SchedSwitchFtraceEvent_PrevPrio<<3 | tagVarint:
			prev.Priority = int32(v)
		case pb.SchedSwitchFtraceEvent_PrevState<<3 | tagVarint:
			state = int64(v)
		case pb.SchedSwitchFtraceEvent_NextComm<<3 | tagBytes:
			next.Comm = m.TextID(body[i-int(v) : i])
		case pb.SchedSwitchFtraceEvent_NextPID<<3 | tagVarint:
			next.PID, pids = int64(uint32(v)), pids|2
		case pb.SchedSwitchFtraceEvent_NextPrio<<3 | tagVarint:
			next.Priority = int32(v)
		default:
			bad = tag>>3 <= pb.SchedSwitchFtraceEvent_NextPrio
		}
	}
	if bad || pids != 3 {
		m.File.LogTime(model.StatFtraceBundleTokenizerErrors, ts, nil)
		return
	}
	m.parser.Switch(ts, cpu, prev, state, next, nil)
}

// read decodes an FtraceEvent into m.event.
func (m *ftraceModule) read(data []byte) bool {
	e := &m.event
	var tracepoint *kernel.Tracepoint
	var number uint32
	var body []byte
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			break
		}
		i = next
		switch {
		case tag == pb.FtraceEvent_PID<<3|tagVarint:
			e.TID = int64(uint32(v))
		case tag == pb.FtraceEvent_CommonFlags<<3|tagVarint:
			e.Flags = int64(uint32(v))
		case tag&7 != tagBytes:
		case tag>>3 == pb.FtraceEvent_Generic:
			return m.readLegacy(data[i-int(v) : i])
		default:
			body, number = data[i-int(v):i], uint32(tag>>3)
			tracepoint = m.tracepoint(number)
		}
	}
	if tracepoint == nil {
		m.File.LogTime(model.StatFtraceMissingEventID, e.TS, nil)
		return false
	}
	if e.TID == model.None {
		if !tracepoint.Hypervisor() {
			m.File.LogTime(model.StatFtraceBundleTokenizerErrors, e.TS, nil)
			return false
		}
		e.TID = 0
	}
	e.Reset(tracepoint)
	for i := 0; i < len(body); {
		tag, v, next := wire.Scan(body, i)
		if next < 0 {
			break
		}
		i = next
		field := tracepoint.Field(tag >> 3)
		switch isBytes := tag&7 == tagBytes; {
		case field == nil && m.generic[number] != nil:
			m.File.Count(model.StatFtraceGenericDescriptorErrors)
		case field == nil: // of a newer recorder, or damage
			m.File.Unread(model.StatUnreadFact, model.None, "unknown "+tracepoint.Name+" field").Add(model.LogEntry{TS: e.TS, HasTS: true})
		case field.Type == kernel.Text && isBytes:
			e.AddText(field, body[i-int(v):i])
		case (field.Type == kernel.Text) != isBytes: // another message under the number of this one
			m.File.LogTime(model.StatFtraceBundleTokenizerErrors, e.TS, nil)
			return false
		default:
			e.AddInt(field, v)
		}
	}
	return true
}

// tracepoint returns the tracepoint with a field number of FtraceEvent, or nil.
func (m *ftraceModule) tracepoint(number uint32) *kernel.Tracepoint {
	if len(m.generic) > 0 {
		if t := m.generic[number]; t != nil {
			return t
		}
	}
	return m.parser.Tracepoint(uint64(number))
}

// readLegacy decodes a GenericFtraceEvent, which contains its name and its fields'.
func (m *ftraceModule) readLegacy(data []byte) bool {
	e := &m.event
	name, _ := wire.Find(data, pb.GenericFtraceEvent_EventName)
	tracepoint := m.parser.Legacy(name.Bytes())
	e.Reset(tracepoint)
	e.TID = max(e.TID, 0)
	for f := wire.Read(data); f.Next(); {
		if f.Number != pb.GenericFtraceEvent_Field {
			continue
		}
		name, _ := wire.Find(f.Bytes(), pb.GenericFtraceEvent_Field_Name)
		for v := wire.Read(f.Bytes()); v.Next(); {
			switch v.Number {
			case pb.GenericFtraceEvent_Field_StrValue:
				e.AddText(m.parser.LegacyField(tracepoint, name.Bytes(), kernel.Text), v.Bytes())
			case pb.GenericFtraceEvent_Field_IntValue, pb.GenericFtraceEvent_Field_UintValue:
				e.AddInt(m.parser.LegacyField(tracepoint, name.Bytes(), kernel.Int64), v.Uint64())
			}
		}
	}
	return true
}

// maxGenericFields limits the fields of a tracepoint. A description with more is
// corrupt.
const maxGenericFields = 32

// genericTypes are the field types that a generic tracepoint's description may have.
var genericTypes = map[int32]kernel.FieldType{
	pb.FieldDescriptorProto_Type_Int32:    kernel.Int32,
	pb.FieldDescriptorProto_Type_Sfixed32: kernel.Int32,
	pb.FieldDescriptorProto_Type_Enum:     kernel.Int32,
	pb.FieldDescriptorProto_Type_Int64:    kernel.Int64,
	pb.FieldDescriptorProto_Type_Sfixed64: kernel.Int64,
	pb.FieldDescriptorProto_Type_Uint32:   kernel.Uint32,
	pb.FieldDescriptorProto_Type_Fixed32:  kernel.Uint32,
	pb.FieldDescriptorProto_Type_Uint64:   kernel.Uint64,
	pb.FieldDescriptorProto_Type_Fixed64:  kernel.Uint64,
	pb.FieldDescriptorProto_Type_Bool:     kernel.Bool,
	pb.FieldDescriptorProto_Type_String:   kernel.Text,
	pb.FieldDescriptorProto_Type_Bytes:    kernel.Text,
}

// describe reads the description of a tracepoint that Perfetto has no message for.
func (m *ftraceModule) describe(data []byte) {
	id, _ := wire.Find(data, pb.FtraceEventBundle_GenericEventDescriptor_FieldID)
	descriptor, _ := wire.Find(data, pb.FtraceEventBundle_GenericEventDescriptor_EventDescriptor)
	if m.generic[id.Uint32()] != nil {
		return
	}
	var name string
	var fields []kernel.Field
	for f := wire.Read(descriptor.Bytes()); f.Next(); {
		switch f.Number {
		case pb.DescriptorProto_Name:
			name = string(f.Bytes())
		case pb.DescriptorProto_Field:
			field, number, ok := genericField(f.Bytes())
			if !ok {
				m.File.Count(model.StatFtraceGenericDescriptorErrors)
				return
			}
			for len(fields) <= number {
				fields = append(fields, kernel.Field{})
			}
			fields[number] = field
		}
	}
	if m.parser == nil {
		m.parser = kernel.NewParser(m.Context)
	}
	m.generic[id.Uint32()] = m.parser.Generic(name, fields)
}

func genericField(data []byte) (field kernel.Field, number int, ok bool) {
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.FieldDescriptorProto_Name:
			field.Name = string(f.Bytes())
		case pb.FieldDescriptorProto_Number:
			number = int(min(f.Uint64(), maxGenericFields))
		case pb.FieldDescriptorProto_Type:
			field.Type, ok = genericTypes[f.Int32()]
		}
	}
	return field, number, ok && number < maxGenericFields
}
