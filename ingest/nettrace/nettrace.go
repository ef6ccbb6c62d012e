// Package nettrace reads traces of .NET's EventPipe (.nettrace), versions 4 and 5, which dotnet-trace and the runtime itself
// write: blocks of events, of the metadata that describes them, and of the stacks that they refer to. The names of methods
// come as events, mostly at the end.
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
var Format = &format.Format{Name: "nettrace", Title: ".NET nettrace", Sniff: sniff, Read: read}

const (
	magic  = "Nettrace"
	stream = "\x14\x00\x00\x00!FastSerialization.1" // follows the magic up to version 5
)

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// The tags around objects.
const (
	nullTag  = 1
	beginTag = 5
	endTag   = 6
)

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

	start     int64             // ns since 1970 when the clock had the value sync
	sync      int64             // ticks
	frequency int64             // ticks in a second
	stacks    map[uint32]int32  // numbers of the stacks since the last sequence point, by id
	known     map[string]int32  // numbers of all stacks, by their addresses
	sequences map[uint64]uint32 // of the last event of each thread
	metadata  map[uint32]int32  // numbers of types by id
	found     bool              // there was a trace object
	pushing   error             // of the sorter
}

// errDamaged is the error for bytes that are not as the format says.
var errDamaged = errors.New("damaged")

func read(in *format.Input) error {
	r := &reader{in: in, r: bufio.NewReaderSize(in, bufferBytes), event: token.NewWriter(in.Store), parser: newParser(in.Context),
		stacks: map[uint32]int32{}, known: map[string]int32{}, sequences: map[uint64]uint32{}, metadata: map[uint32]int32{}}
	r.events = in.Sorter.NewStream(r.parser)
	if head, _ := r.r.Peek(len(magic) + len(stream)); string(head) != magic+stream {
		if len(head) >= len(magic)+4 && binary.LittleEndian.Uint32(head[len(magic):]) == 0 {
			return format.Errorf(format.ErrUnsupported, 0, "version 6 of the format")
		}
		return format.Errorf(format.ErrCorrupt, int64(len(magic)), "the header is damaged")
	}
	r.skip(len(magic) + len(stream))
	objects := 0 // that are damaged
	for {
		at := r.offset
		ended, err := r.object()
		if r.pushing != nil {
			return r.pushing
		}
		switch {
		case err == nil && !ended:
			continue
		case !r.found && err != nil && (err == errDamaged || truncated(err)):
			return format.Errorf(format.ErrCorrupt, at, "the trace object is damaged")
		case err == nil:
		case truncated(err):
			in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
		case err == errDamaged:
			r.damaged(at)
			if objects++; objects > maxDamaged {
				return nil
			}
			if err := r.resync(); err == nil {
				continue
			} else if !truncated(err) {
				return err
			}
		default:
			return err
		}
		return nil
	}
}

// damaged counts a damaged part at an offset.
func (r *reader) damaged(offset int64) { r.in.File.LogAt(model.StatNettraceParseErrors, offset, nil) }

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

// expect reads a byte, which must be this one.
func (r *reader) expect(tag byte) error {
	b, err := r.take(1)
	if err == nil && b[0] != tag {
		err = errDamaged
	}
	return err
}

// begin is how each object begins: with the object for its type.
var begin = []byte{beginTag, beginTag, nullTag}

// resync moves to what looks like the next object.
func (r *reader) resync() error {
	for {
		b, err := r.r.Peek(len(begin))
		if err != nil {
			return err
		}
		if bytes.Equal(b, begin) {
			return nil
		}
		r.skip(1)
	}
}

// object reads an object, or the end of them.
func (r *reader) object() (ended bool, err error) {
	tag, err := r.r.Peek(1)
	if err != nil {
		return false, err
	}
	if tag[0] == nullTag && r.found {
		return true, nil
	}
	// The bytes of the beginning are only skipped if they are right, so that resync finds the next object behind damage.
	const sizes = 12 // of the version, the least version of readers, and the name
	head, err := r.r.Peek(len(begin) + sizes)
	if err != nil {
		return false, io.ErrUnexpectedEOF
	}
	n := binary.LittleEndian.Uint32(head[len(begin)+sizes-4:])
	if !bytes.HasPrefix(head, begin) || n > maxName {
		r.skip(1)
		return false, errDamaged
	}
	r.skip(len(head))
	b, err := r.take(int(n))
	if err != nil {
		return false, err
	}
	name := string(b)
	if err := r.expect(endTag); err != nil {
		return false, err
	}
	if name == "Trace" {
		b, err := r.take(traceBytes)
		if err != nil {
			return false, err
		}
		if !r.trace(b) {
			return false, errDamaged
		}
		return false, r.expect(endTag)
	}
	if !r.found {
		return false, errDamaged
	}
	block, base, err := r.block()
	if err == nil {
		err = r.expect(endTag)
	}
	if err != nil {
		// The size may be too large. Then the block has the next object, too.
		if i := bytes.Index(block, begin); i >= 0 {
			r.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(block[i:]), r.r), bufferBytes)
			r.offset, block, err = base+int64(i), block[:i], errDamaged
		}
	}
	if !r.content(name, block, base) && err == nil {
		r.damaged(base)
	}
	return false, err
}

// content reads the content of a block, and reports whether it could be read to its end.
func (r *reader) content(name string, block []byte, base int64) bool {
	switch name {
	case "EventBlock":
		return r.blobs(block, base, r.pushEvent)
	case "MetadataBlock":
		return r.blobs(block, base, r.addType)
	case "StackBlock":
		return r.stackBlock(block)
	case "SPBlock":
		return r.sequencePoint(block)
	}
	r.in.File.Unread(model.StatUnreadEvent, model.None, name+" object").AddAt(base)
	return true
}

// block reads the bytes of a block, as far as there are some, and returns their offset.
func (r *reader) block() (b []byte, base int64, err error) {
	b, err = r.take(4)
	if err != nil {
		return nil, 0, err
	}
	size := binary.LittleEndian.Uint32(b)
	if size > maxBlock {
		return nil, 0, errDamaged
	}
	if _, err = r.take(int(-r.offset & 3)); err != nil {
		return nil, 0, err
	}
	base = r.offset
	var buf bytes.Buffer
	n, err := io.CopyN(&buf, r.r, int64(size))
	r.offset += n
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return buf.Bytes(), base, err
}

// trace reads the object that describes the trace.
func (r *reader) trace(b []byte) bool {
	c := cursor{b: b}
	var date [8]int
	for i := range date {
		date[i] = int(int16(c.uint(2)))
	}
	r.sync, r.frequency = int64(c.uint(8)), int64(c.uint(8))
	r.pointer = int(c.uint(4))
	pid := int64(c.uint(4))
	if r.frequency <= 0 || r.frequency > math.MaxInt64/int64(time.Second) || r.pointer != 4 && r.pointer != 8 {
		return false
	}
	// The third number is the day of the week.
	t := time.Date(date[0], time.Month(date[1]), date[3], date[4], date[5], date[6], date[7]*int(time.Millisecond), time.UTC)
	clock := uint32(model.ClockRealtime)
	if r.start = t.UnixNano(); t.Year() < 2000 || t.Year() > 2200 {
		clock, r.start = model.ClockTraceFile, 0
	}
	if !r.found {
		r.in.UseClock(clock)
	}
	r.found = true
	r.pid, r.upid = pid, r.Machine.Process(pid)
	r.in.File.SetMetadata("nettrace.NumberOfProcessors", model.IntArg(int64(c.uint(4))))
	r.in.File.SetMetadata("nettrace.ExpectedCPUSamplingRate", model.IntArg(int64(c.uint(4))))
	return true
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
	stack              uint32
	ticks              uint64
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
	hasActivity
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
			c.uint(4) // the processor
			e.stack, e.ticks = uint32(c.uint(4)), c.uint(8)
			c.read(e.activity[:])
			c.read(e.related[:])
			e.payload = c.take(c.uint(4))
			if c.failed || end < c.at || end > len(c.b) {
				return false
			}
			c.at = min(len(c.b), end+int(-(base+int64(end))&3))
		} else {
			has := c.uint(1)
			if has&hasMetadata != 0 {
				e.metadata = uint32(c.varint())
			}
			if has&hasSequence != 0 {
				e.sequence += uint32(c.varint())
				e.capturer = c.varint()
				c.varint() // the processor
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
			if has&hasActivity != 0 {
				c.read(e.activity[:])
			}
			if has&hasRelated != 0 {
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

// stackBlock reads the stacks in a block.
func (r *reader) stackBlock(block []byte) bool {
	c := cursor{b: block}
	id := uint32(c.uint(4))
	for range c.uint(4) {
		addresses := c.take(c.uint(4))
		if c.failed || len(addresses)%r.pointer != 0 {
			return false
		}
		number, ok := r.known[string(addresses)]
		if !ok {
			stack := string(addresses)
			number = r.addStack(stack)
			r.known[stack] = number
		}
		r.stacks[id] = number
		id++
	}
	return true
}

// sequencePoint ends what stack ids mean, and says which events of threads should have come.
func (r *reader) sequencePoint(block []byte) bool {
	clear(r.stacks)
	c := cursor{b: block}
	c.uint(8) // the time
	for range c.uint(4) {
		thread, sequence := c.uint(8), uint32(c.uint(4))
		if c.failed {
			return false
		}
		r.sequence(thread, sequence+1, r.offset)
		r.sequences[thread] = sequence
	}
	return true
}

// sequence counts the events of a thread that are missing before one with this number.
func (r *reader) sequence(thread uint64, number uint32, offset int64) {
	// A thread that begins with 1 has the id of one that ended.
	if missing := int32(number - r.sequences[thread] - 1); missing > 0 && number != 1 {
		r.in.File.LogAt(model.StatNettraceEventsLost, offset, nil)
		r.in.File.Add(model.StatNettraceEventsLost, model.None, int64(missing)-1)
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
	if t.learn != nil && t.learn(r.parser, e.payload) && t.provider == rundown {
		return true
	}
	ts, ok := r.in.TraceTime(r.time(int64(e.ticks)), e.offset)
	if !ok {
		return true
	}
	stack := int32(noStack)
	if e.stack != 0 {
		if stack, ok = r.stacks[e.stack]; !ok {
			stack = noStack
			r.damaged(e.offset)
		}
	}
	w := r.event
	w.Reset()
	w.Uint(uint64(number))
	w.Int(int64(e.thread))
	w.Int(int64(stack))
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
	return true
}

// cursor reads numbers of bytes. After the end it returns 0 and sets failed.
type cursor struct {
	b      []byte
	at     int
	failed bool
}

// take returns the next n bytes.
func (c *cursor) take(n uint64) []byte {
	if n > uint64(len(c.b)-c.at) {
		c.failed, c.at = true, len(c.b)
		return nil
	}
	b := c.b[c.at:][:n]
	c.at += int(n)
	return b
}

func (c *cursor) read(to []byte) { copy(to, c.take(uint64(len(to)))) }

// uint returns a number of up to 8 bytes.
func (c *cursor) uint(size int) (n uint64) {
	for i, b := range c.take(uint64(size)) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

func (c *cursor) varint() uint64 {
	n, size := binary.Uvarint(c.b[c.at:])
	if size <= 0 {
		c.failed, c.at = true, len(c.b)
		return 0
	}
	c.at += size
	return n
}
