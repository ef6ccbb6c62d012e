package main

import (
	"bufio"
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"github.com/tpconvert/tpconvert/cmd/tracegen/pb"
)

// writeTraced writes a phone's ftrace as Perfetto's daemons record and stream it:
// traced_probes reads the kernel's buffers regularly, CPU by CPU, and produces two
// sequences.
func writeTraced(w *bufio.Writer, size int64, rng *rand.Rand) error {
	p := newPhone(rng)
	t := &traced{service: service{&output{w: w}}, phone: p, left: size, symbols: map[kernelFunction]bool{}, seen: map[*task]bool{}}
	for i := range t.bundles {
		t.bundles[i] = newBundle(i, p.now)
	}
	p.record = t.record
	t.begin()
	for written := p.now; t.left > 0 && t.out.err == nil; {
		for drained := p.now; p.now < drained+drainPeriod && t.left > 0; {
			p.step()
		}
		t.drain()
		if p.now >= written+writePeriod {
			t.write()
			written = p.now
		}
	}
	t.end()
	return t.out.err
}

const (
	drainPeriod = 250e6 // ns between two readings of the kernel's buffers
	statsPeriod = 1000e6
	bundleSize  = 50_000 // bytes; about the size of a bundle for a batch of pages

	ftraceSequence  = 2
	processSequence = 3
)

type traced struct {
	service
	phone   *phone
	left    int64 // bytes to record
	bundles [phoneCores]*bundle
	symbols map[kernelFunction]bool // interned ones
	fresh   pb.Message              // InternedData of the next bundle
	seen    map[*task]bool          // tasks in process trees
	ftrace  []pb.Message            // packets to write
	process []pb.Message
	polled  int64 // time of the last process stats
}

// bundle is an FtraceEventBundle: what a CPU traced since its buffer was last read.
type bundle struct {
	cpu     int
	events  pb.Message
	comms   map[string]uint64
	table   pb.Message     // of comms
	columns [13]pb.Message // of CompactSched by field
	begin   int64          // end of the previous bundle

	lastSwitch, lastWaking int64
}

// Fields of CompactSched.
var (
	switchColumns = []int{1, 2, 3, 4, 6}
	wakingColumns = []int{7, 8, 9, 10, 11, 12}
)

func newBundle(cpu int, begin int64) *bundle {
	return &bundle{cpu: cpu, comms: map[string]uint64{}, begin: begin}
}

// size returns the approximate size of the bundle in bytes.
func (b *bundle) size() int {
	n := len(b.events) + len(b.table)
	for _, c := range b.columns {
		n += len(c)
	}
	return n
}

// comm interns a task's name.
func (b *bundle) comm(name string) uint64 {
	i, ok := b.comms[name]
	if !ok {
		i = uint64(len(b.comms))
		b.comms[name] = i
		b.table = b.table.Bytes(5, []byte(name))
	}
	return i
}

// compact adds the values of a scheduler event to their columns. The first is the time
// since the previous event.
func (b *bundle) compact(columns []int, values ...uint64) {
	for i, field := range columns {
		b.columns[field] = binary.AppendUvarint(b.columns[field], values[i])
	}
}

// since returns the time since the last event of a kind.
func since(last *int64, now int64) uint64 {
	d := now - *last
	*last = now
	return uint64(d)
}

// message returns the FtraceEventBundle.
func (b *bundle) message() pb.Message {
	m := pb.Message{}.Number(1, uint64(b.cpu))
	m = append(m, b.events...)
	sched := b.table
	for field, column := range b.columns {
		if column != nil {
			sched = sched.Bytes(field, column)
		}
	}
	return m.Bytes(4, sched).Number(10, uint64(b.begin))
}

// record is called for each event of the phone's kernel.
func (t *traced) record(c *core, at *tracepoint, fields ...any) {
	b := t.bundles[c.index]
	size := b.size()
	number := func(i int) uint64 { return varintOf(fields[i]) }
	switch {
	case at == schedSwitch:
		b.compact(switchColumns, since(&b.lastSwitch, t.phone.now), number(3), number(5), number(6), b.comm(fields[4].(string)))
	case at == schedWaking && t.phone.rng.IntN(4) > 0: // the others as recorders without compact wakeups write them
		b.compact(wakingColumns, since(&b.lastWaking, t.phone.now), number(1), number(4), number(2), b.comm(fields[0].(string)), c.flags())
	default:
		var body pb.Message
		if at.number == genericEvent {
			body = generic(at, fields)
		} else {
			body = t.fieldsOf(fields)
		}
		event := pb.Message{}.Number(1, uint64(t.phone.now)).Number(2, uint64(c.running.tid)).Bytes(at.number, body).Number(5, c.flags())
		b.events = b.events.Bytes(2, event)
	}
	t.left -= int64(b.size() - size)
	if b.size() >= bundleSize {
		t.finish(c.index)
	}
}

// fieldsOf returns the message of an event.
func (t *traced) fieldsOf(fields []any) pb.Message {
	var body pb.Message
	for i, v := range fields {
		if s, ok := v.(string); ok {
			body = body.Bytes(i+1, []byte(s))
		} else {
			body = body.Number(i+1, varintOf(v))
		}
		if f, ok := v.(kernelFunction); ok && !t.symbols[f] {
			t.symbols[f] = true
			t.fresh = t.fresh.Bytes(26, pb.Message{}.Number(1, varintOf(f)).Bytes(2, []byte(kernelFunctions[f])))
		}
	}
	return body
}

// generic returns the GenericFtraceEvent of an event. The format has the names of its
// fields.
func generic(at *tracepoint, fields []any) pb.Message {
	m := pb.Message{}.Bytes(1, []byte(at.name))
	for i, assignment := range strings.Fields(at.format) {
		name, _, _ := strings.Cut(assignment, "=")
		m = m.Bytes(2, pb.Message{}.Bytes(1, []byte(name)).Number(5, varintOf(fields[i])))
	}
	return m
}

// flags returns the common_flags of the CPU's events: interrupts are off, and the kind
// of interrupt being handled.
func (c *core) flags() uint64 {
	return map[context]uint64{inTask: 1, inHardIRQ: 1 | 8, inSoftIRQ: 1 | 16}[c.context]
}

// varintOf returns a field's value as a number.
func varintOf(v any) uint64 {
	switch v := v.(type) {
	case int:
		return uint64(v)
	case taskState:
		return uint64(v)
	case softirq:
		return uint64(v)
	case irqResult:
		return uint64(v)
	case driverPhase:
		return uint64(v)
	case kernelFunction:
		return uint64(v) + 1
	}
	panic("no number")
}

// finish turns a CPU's bundle into a packet.
func (t *traced) finish(cpu int) {
	m := pb.Message{}.Bytes(packetFtrace, t.bundles[cpu].message()).Number(packetFlags, needsState)
	if t.fresh != nil {
		m, t.fresh = m.Bytes(packetInterned, t.fresh), nil
	}
	t.ftrace = append(t.ftrace, m)
	t.bundles[cpu] = newBundle(cpu, t.phone.now)
}

// drain reads the buffers of all CPUs, and describes the processes named there.
func (t *traced) drain() {
	for cpu := range t.bundles {
		t.finish(cpu)
	}
	t.processTree()
	if t.phone.now >= t.polled+statsPeriod {
		t.processStats()
	}
}

// processTree describes new processes and threads.
func (t *traced) processTree() {
	var tree pb.Message
	for _, task := range t.phone.tasks {
		switch {
		case t.seen[task]:
			continue
		case task.tid == task.tgid:
			tree = tree.Bytes(1, pb.Message{}.Number(1, uint64(task.tid)).Number(2, 1).Bytes(3, []byte(task.comm)).Number(5, uint64(10000+task.tid)))
		default:
			tree = tree.Bytes(2, pb.Message{}.Number(1, uint64(task.tid)).Number(3, uint64(task.tgid)))
		}
		t.seen[task] = true
	}
	if tree != nil {
		t.ofProcesses(packetProcessTree, tree.Number(3, uint64(t.phone.now)))
	}
}

// processStats polls how much memory each process has.
func (t *traced) processStats() {
	t.polled = t.phone.now
	var stats pb.Message
	for _, task := range t.phone.tasks {
		if task.tid == task.tgid {
			anon, file, shmem := t.phone.rng.Uint64N(200_000), t.phone.rng.Uint64N(100_000), t.phone.rng.Uint64N(2000)
			stats = stats.Bytes(1, pb.Message{}.Number(1, uint64(task.tid)).Number(2, 10_000_000+anon).Number(3, anon+file+shmem).
				Number(4, anon).Number(5, file).Number(6, shmem).Number(7, 4000).Number(10, 100*t.phone.rng.Uint64N(10)))
		}
	}
	t.ofProcesses(packetProcessStats, stats.Number(2, uint64(t.phone.now)))
}

func (t *traced) ofProcesses(field int, m pb.Message) {
	t.process = append(t.process, pb.Message{}.Number(packetTime, uint64(t.phone.now)).Bytes(field, m))
}

// begin writes the setup of the recording.
func (t *traced) begin() {
	t.service.begin(t.phone.now, "linux.ftrace", "linux.process_stats")
	t.ftrace = append(t.ftrace, t.ftraceStats(1).Number(packetFlags, clearedState))
	t.processTree()
}

// write writes what was recorded since the last call.
func (t *traced) write() {
	t.flushed(t.phone.now)
	t.sequence(daemons, ftraceSequence, t.ftrace)
	t.sequence(daemons, processSequence, t.process)
	t.ftrace, t.process = nil, nil
	t.event(t.phone.now, buffersRead)
}

func (t *traced) end() {
	t.ftrace = append(t.ftrace, t.ftraceStats(2))
	t.write()
	t.service.end(t.phone.now)
}

// ftraceStats returns the kernel's counts for a phase, the start or end of the trace.
func (t *traced) ftraceStats(phase uint64) pb.Message {
	m := pb.Message{}.Number(1, phase)
	for cpu := range t.bundles {
		m = m.Bytes(2, pb.Message{}.Number(1, uint64(cpu)).Number(2, 100).Number(9, 1000*phase))
	}
	return pb.Message{}.Bytes(packetFtraceStats, m)
}
