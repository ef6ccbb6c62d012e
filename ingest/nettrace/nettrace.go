// Package nettrace reads traces of .NET's EventPipe (.nettrace), versions 4 to 6, which dotnet-trace and the runtime itself
// write: blocks of events, of the metadata that describes them, and of the stacks that they refer to. Version 6, which is not of
// .NET alone, has blocks of threads and labels, too. The names of methods come as events, mostly at the end.
package nettrace

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is EventPipe's format.
var Format = &format.Format{
	Name: "nettrace", Title: ".NET nettrace", Sniff: sniff, Read: read,
	Unsupported: []format.Signature{{Name: "a netperf file of .NET Core 2", Bytes: "\x14\x00\x00\x00!FastSerialization"}},
}

var (
	statParseErrors = model.NewStat(1038, model.StatInfo{
		Name: "nettrace_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
		Description: "Blocks, events and fields of .NET's traces that cannot be read, or refer to missing parts.",
	})
	statEventsLost = model.NewStat(1039, model.StatInfo{
		Name: "nettrace_events_lost", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
		Description: "Events that .NET's runtime dropped, by the numbers missing from those of each thread.",
	})
)

const (
	magic  = "Nettrace"
	stream = "\x14\x00\x00\x00!FastSerialization.1" // follows the magic up to version 5
)

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

const (
	bufferBytes = 64 << 10
	maxBlock    = 64 << 20
	maxDamaged  = 100 // objects; behind one more, nothing is read
	maxName     = 32  // bytes of an object's type
	traceBytes  = 48
)

type reader struct {
	in     *format.Input
	r      *bufio.Reader
	offset int64 // of the next byte
	events *sort.Stream
	event  *token.Writer
	*parser

	start     int64            // ns since 1970 when the clock had the value sync
	sync      int64            // ticks
	frequency int64            // ticks in a second
	stacks    map[uint32]stack // since the last sequence point, by id
	known     map[codeStack]int32
	sequences map[uint64]uint32 // of the last event of each thread
	metadata  map[uint32]int32  // numbers of types by id
	threadIDs map[uint64]int32  // numbers of threads, by id or index
	labelIDs  map[uint32]int32  // numbers of lists of labels since the last sequence point, by id
	version6  bool
	flushed   bool  // threads were forgotten at a sequence point
	found     bool  // there was a trace object
	pushing   error // of the sorter
}

// errDamaged is the error for bytes that are not as the format says.
var errDamaged = errors.New("damaged")

func read(in *format.Input) error {
	r := &reader{in: in, r: bufio.NewReaderSize(in, bufferBytes), event: token.NewWriter(in.Store), parser: newParser(in.Context),
		stacks: map[uint32]stack{}, known: map[codeStack]int32{}, sequences: map[uint64]uint32{}, metadata: map[uint32]int32{},
		threadIDs: map[uint64]int32{}, labelIDs: map[uint32]int32{}}
	r.events = in.Sorter.NewStream(r.parser)
	if head, _ := r.r.Peek(len(magic) + len(stream)); string(head) != magic+stream {
		if len(head) >= len(magic)+8 && binary.LittleEndian.Uint32(head[len(magic):]) == 0 {
			return r.blocks(binary.LittleEndian.Uint32(head[len(magic)+4:]))
		}
		return format.Errorf(format.ErrCorrupt, int64(len(magic)), "the header is damaged")
	}
	r.skip(len(magic) + len(stream))
	return r.objects()
}

// damaged counts a damaged part at an offset.
func (r *reader) damaged(offset int64) { r.in.File.LogAt(statParseErrors, offset, nil) }

func truncated(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }

// skip discards bytes, all of which were peeked at.
func (r *reader) skip(n int) {
	n, _ = r.r.Discard(n)
	r.offset += int64(n)
}

// take returns the next bytes, which must be few. They are valid until the next call.
func (r *reader) take(n int) ([]byte, error) {
	b, err := r.r.Peek(n)
	if err != nil {
		return nil, err
	}
	r.skip(n)
	return b, nil
}

// begin reads what the description of a trace begins with: its clock. A trace has one: stacks depend on the size of a pointer.
func (r *reader) begin(c *cursor) bool {
	if r.found {
		return false
	}
	var date [8]int
	for i := range date {
		date[i] = int(int16(c.uint(2)))
	}
	r.sync, r.frequency, r.pointer = int64(c.uint(8)), int64(c.uint(8)), int(c.uint(4))
	if c.failed || r.frequency <= 0 || r.frequency > math.MaxInt64/int64(time.Second) || r.pointer != 4 && r.pointer != 8 {
		return false
	}
	// The third number is the day of the week.
	t := time.Date(date[0], time.Month(date[1]), date[3], date[4], date[5], date[6], date[7]*int(time.Millisecond), time.UTC)
	clock := uint32(model.ClockRealtime)
	if r.start = t.UnixNano(); t.Year() < 2000 || t.Year() > 2200 {
		clock, r.start = model.ClockTraceFile, 0
	}
	r.in.UseClock(clock)
	r.found = true
	return true
}

// setProcess sets the process that was traced.
func (r *reader) setProcess(pid int64) {
	r.pid = pid
	r.Machine.Process(pid)
}

// time converts ticks to ns since 1970.
func (r *reader) time(ticks int64) int64 {
	since := ticks - r.sync
	seconds, rest := since/r.frequency, since%r.frequency
	if seconds > math.MaxInt64/int64(time.Second)/4 || seconds < math.MinInt64/int64(time.Second)/4 {
		return math.MaxInt64
	}
	return r.start + seconds*int64(time.Second) + rest*int64(time.Second)/r.frequency
}

// blob is an event, or a description of one in a block of metadata.
type blob struct {
	metadata, sequence uint32
	thread, capturer   uint64
	processor, stack   uint32
	ticks              uint64
	labels             uint32 // of version 6, the others have activities
	activity, related  [16]byte
	payload            []byte
	offset             int64
}

// The flags that say which parts of a header follow. The other parts are those of the blob before.
const (
	hasMetadata = 1 << iota
	hasSequence
	hasThread
	hasStack
	hasActivity // of version 6, labels
	hasRelated
	isSorted
	hasSize
)

// blobs calls f with each blob of a block, and reports whether the block could be read to its end. f reports whether the blob
// is as it should be.
func (r *reader) blobs(block []byte, base int64, f func(*blob) bool) bool {
	c := cursor{b: block}
	header, flags := c.uint(2), c.uint(2)
	if c.failed || header < 4 || header > uint64(len(block)) {
		return false
	}
	c = cursor{b: block, at: int(header)}
	var e blob
	var size uint64
	for c.at < len(c.b) {
		e.offset = base + int64(c.at)
		if flags&1 == 0 {
			end := c.at + 4
			end += int(c.uint(4))
			e.metadata, e.sequence = uint32(c.uint(4))&math.MaxInt32, uint32(c.uint(4))
			e.thread, e.capturer = c.uint(8), c.uint(8)
			e.processor, e.stack, e.ticks = uint32(c.uint(4)), uint32(c.uint(4)), c.uint(8)
			if r.version6 {
				e.labels = uint32(c.uint(4))
			} else {
				c.read(e.activity[:])
				c.read(e.related[:])
			}
			e.payload = c.take(c.uint(4))
			if c.failed || end < c.at || end > len(c.b) {
				return false
			}
			c.at = end
			if !r.version6 {
				c.at = min(len(c.b), end+int(-(base+int64(end))&3))
			}
		} else {
			has := c.uint(1)
			if has&hasMetadata != 0 {
				e.metadata = uint32(c.varint())
			}
			if has&hasSequence != 0 {
				e.sequence += uint32(c.varint())
				e.capturer = c.varint()
				e.processor = uint32(c.varint())
			}
			if e.metadata != 0 {
				e.sequence++
			}
			if has&hasThread != 0 {
				e.thread = c.varint()
			}
			if has&hasStack != 0 {
				e.stack = uint32(c.varint())
			}
			e.ticks += c.varint()
			switch {
			case has&hasActivity == 0:
			case r.version6:
				e.labels = uint32(c.varint())
			default:
				c.read(e.activity[:])
			}
			if has&hasRelated != 0 && !r.version6 {
				c.read(e.related[:])
			}
			if has&hasSize != 0 {
				size = c.varint()
			}
			e.payload = c.take(size)
		}
		if c.failed {
			return false
		}
		if !f(&e) {
			r.damaged(e.offset)
		}
	}
	return true
}

// codeStack is a stack of addresses, the innermost first, in a process.
type codeStack struct {
	addresses string
	pid       int64
}

// stack is a stack that events may refer to.
type stack struct {
	codeStack
	number int32 // or noStack if it was not used yet
}

// stackBlock reads the stacks in a block.
func (r *reader) stackBlock(block []byte) bool {
	c := cursor{b: block}
	id := uint32(c.uint(4))
	for range c.uint(4) {
		addresses := c.take(c.uint(4))
		if c.failed || len(addresses)%r.pointer != 0 {
			return false
		}
		r.stacks[id] = stack{codeStack{addresses: string(addresses)}, noStack}
		id++
	}
	return true
}

// stackOf returns the number of a stack in a process.
func (r *reader) stackOf(id uint32, pid int64) (number int32, ok bool) {
	s, ok := r.stacks[id]
	if !ok {
		return noStack, false
	}
	if s.number == noStack || s.pid != pid {
		s.pid = pid
		if s.number, ok = r.known[s.codeStack]; !ok {
			s.number = r.addStack(s.codeStack)
			r.known[s.codeStack] = s.number
		}
		r.stacks[id] = s
	}
	return s.number, true
}

// sequence counts the events of a thread that are missing before one with this number.
func (r *reader) sequence(thread uint64, number uint32, offset int64) {
	last, known := r.sequences[thread]
	// A thread that begins with 1 has the id of one that ended.
	if missing := int32(number - last - 1); missing > 0 && number != 1 && (known || !r.flushed) {
		r.in.File.LogAt(statEventsLost, offset, nil)
		r.in.File.Add(statEventsLost, model.None, int64(missing)-1)
	}
	r.sequences[thread] = number
}

// noStack is the number of an event without a stack.
const noStack = -1

// pushEvent pushes an event, or takes the names of code from it.
func (r *reader) pushEvent(e *blob) bool {
	r.sequence(e.capturer, e.sequence, e.offset)
	number, ok := r.metadata[e.metadata]
	if !ok {
		return false
	}
	t := r.types[number]
	thread, ok := r.threadOf(e)
	pid := r.threads[thread].pid
	if t.learn != nil && t.learn(r.parser, pid, e.payload) && t.silent {
		return ok
	}
	ts, onClock := r.in.TraceTime(r.time(int64(e.ticks)), e.offset)
	if !onClock {
		return true
	}
	stack := int32(noStack)
	if e.stack != 0 {
		var there bool
		stack, there = r.stackOf(e.stack, pid)
		ok = ok && there
	}
	labels := int32(noLabels)
	if e.labels != 0 {
		var there bool
		labels, there = r.labelIDs[e.labels]
		if ok = ok && there; !there {
			labels = noLabels
		}
	}
	w := r.event
	w.Reset()
	w.Uint(uint64(number))
	w.Uint(uint64(thread))
	w.Int(int64(stack))
	w.Int(int64(labels))
	w.Uint(uint64(e.processor))
	for _, id := range [][16]byte{e.activity, e.related} {
		if id == [16]byte{} {
			w.Raw(nil)
		} else {
			w.Raw(id[:])
		}
	}
	w.Rest(e.payload)
	if err := r.events.Push(ts, w.Bytes()); err != nil {
		r.pushing = err
	}
	return ok
}

// threadOf returns the number of an event's thread. In versions before 6, events have the id of the system's thread.
func (r *reader) threadOf(e *blob) (number int32, ok bool) {
	number, ok = r.threadIDs[e.thread]
	if ok {
		return number, true
	}
	t := thread{tid: int64(e.thread), pid: r.pid, utid: model.None}
	if r.version6 {
		t.tid = model.None
	}
	number = r.addThread(t)
	r.threadIDs[e.thread] = number
	return number, !r.version6
}
