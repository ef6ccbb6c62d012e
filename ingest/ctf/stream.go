package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"

	"github.com/tpconvert/tpconvert/internal/pipeline"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// clock is a clock of the trace.
type clock struct {
	name          string
	frequency     uint64 // Hz
	offset        int64  // of its zero from 1970, in cycles
	offsetSeconds int64  // likewise, in addition
	zero          int64  // the second that its zero is in, in ns since 1970
	zeroCycles    uint64 // of its zero in that second
}

// ns converts a value to ns since 1970. It returns false if that does not fit.
func (c *clock) ns(cycles uint64) (int64, bool) {
	// Seconds and the rest apart, so that no precision is lost.
	rest := cycles%c.frequency + c.zeroCycles
	seconds := cycles/c.frequency + rest/c.frequency
	if seconds >= math.MaxInt64/1_000_000_000 {
		return 0, false
	}
	high, low := bits.Mul64(rest%c.frequency, 1e9)
	part, _ := bits.Div64(high, low, c.frequency)
	since := int64(seconds*1e9 + part)
	ns := c.zero + since
	return ns, c.zero < 0 || ns >= c.zero
}

// setZero computes the time of the value 0. It returns false if that is no time around 1970.
func (c *clock) setZero() bool {
	if math.Abs(float64(c.offsetSeconds)+float64(c.offset)/float64(c.frequency)) >= math.MaxInt64/1e9 {
		return false
	}
	f := int64(min(c.frequency, math.MaxInt64))
	seconds, rest := c.offset/f, c.offset%f
	if rest < 0 {
		seconds, rest = seconds-1, rest+f
	}
	c.zero, c.zeroCycles = (c.offsetSeconds+seconds)*1e9, uint64(rest)
	return true
}

// maxShared is how much of a packet each of its events has, in bytes.
const maxShared = 1 << 10

// maxEvent is the maximum size of an event, and of a packet's header with its context, in bytes.
const maxEvent = 16 << 20

// packetInfo is what a packet says about what was lost before its end.
type packetInfo struct {
	begin               uint64
	discarded, sequence uint64
	counts, numbered    bool // it says how many events were discarded, and the packet's number
}

// instance identifies a stream of a recorder, which may be in several files.
type instance struct {
	stream *streamClass
	number uint64
	file   *model.File // nil if the packets number the streams
}

// stream reads the packets of a file.
type stream struct {
	*reader
	decoder
	number int // in tokens
	file   *model.File
	from   io.ReadCloser
	offset int64 // of the packet in the file
	ended  bool  // the file has no more bytes than those in the window
	broken error // why, if that is not its end

	class   *streamClass
	events  *sort.Stream
	found   int64  // events in the file
	before  int64  // events in files that were read before
	time    uint64 // last value of the clock
	context []byte // encoded context of the packet
	batch   *batch // being filled, or nil
	helper  *pipeline.Helper[*batch]

	decoding *pipeline.Helper[*batch] // helper, to its owner
	failed   error                    // valid once the helper has ended
}

// fill reads more of the file, and drops what is before a position of the packet. It returns false at the end of the file.
func (s *stream) fill(keep int64) bool {
	if drop := keep - s.base; drop > 0 {
		drop = min(drop, int64(len(s.window)))
		s.window = s.window[:copy(s.window, s.window[drop:])]
		s.base += drop
	}
	if len(s.window) >= maxEvent {
		return false
	}
	have := len(s.window)
	if have >= cap(s.window)/2 {
		s.window = append(make([]byte, 0, max(2*cap(s.window), firstWindow)), s.window...)
	}
	n, err := io.ReadFull(s.from, s.window[have:cap(s.window)])
	s.window = s.window[:have+n]
	if s.ended = err != nil; err != io.EOF && err != io.ErrUnexpectedEOF {
		s.broken = err
	}
	return n > 0
}

const firstWindow = 256 << 10

// decode runs a function that decodes from the current position, again with more of the file when the window ends.
func (s *stream) decode(f func()) error {
	from, out := s.pos, len(s.out)
	for {
		f()
		if s.err != errWindow {
			return s.err
		}
		if !s.fill(from >> 3) {
			if len(s.window) >= maxEvent {
				s.err = damagedBy("an event of more than %d MiB", maxEvent>>20)
			}
			return s.err
		}
		s.pos, s.err, s.out = from, nil, s.out[:out]
	}
}

// read reads all packets, unless the file is no stream.
func (s *stream) read() error {
	if !s.more() {
		return nil
	}
	if s.hasMagic && !bytes.HasPrefix(s.window, s.magic[:]) && !bytes.Contains(s.window, s.magic[:]) {
		s.report(func() { s.file.Unread(model.StatUnreadFact, model.None, "file without packets").Add(model.LogEntry{}) })
		return nil
	}
	for s.more() {
		size, err := s.packet()
		switch {
		case err == nil:
		case err == errWindow:
			s.truncated(s.offset)
			return nil
		case !errors.Is(err, errDamaged):
			return err
		default:
			s.damagedAt(s.offset+s.pos>>3, err)
		}
		if size == 0 { // unknown
			if !s.resync() {
				return nil
			}
		} else if !s.skip(size) {
			return nil
		}
	}
	return nil
}

// toEnd is the size of a packet that ends with the file.
const toEnd = math.MaxInt64 >> 3

// errDamaged is the reason why a packet cannot be read any further.
var errDamaged = errors.New("damaged")

func damagedBy(format string, args ...any) error {
	return fmt.Errorf("%w packet: %s", errDamaged, fmt.Sprintf(format, args...))
}

// damagedAt counts a damaged part.
func (s *stream) damagedAt(offset int64, err error) {
	s.report(func() { s.logDamage(s.file, offset, err) })
}

// truncated counts that the file ends too early, unless that has another reason.
func (s *stream) truncated(offset int64) {
	if s.broken != nil {
		return
	}
	s.report(func() { s.file.LogAt(model.StatTruncatedInput, offset, nil) })
}

// more reports whether there is another packet.
func (s *stream) more() bool {
	for len(s.window) == 0 && !s.ended {
		s.fill(s.base)
	}
	return len(s.window) > 0
}

// skip goes to the packet behind one of this size in bytes. It returns false at the end of the file.
func (s *stream) skip(size int64) bool {
	for s.base+int64(len(s.window)) < size {
		left := size - s.base - int64(len(s.window))
		s.base, s.window = s.base+int64(len(s.window)), s.window[:0]
		if !s.fill(s.base) {
			if size != toEnd {
				s.truncated(s.offset + size - left)
			}
			return false
		}
	}
	s.window = s.window[:copy(s.window, s.window[size-s.base:])]
	s.base, s.pos = 0, 0
	s.offset += size
	return true
}

// resync goes to the next packet by its magic number. It returns false if there is none.
func (s *stream) resync() bool {
	if !s.hasMagic || !s.skip(max(s.base, 1)) {
		return false
	}
	for {
		for len(s.window) < len(s.magic) && !s.ended {
			s.fill(0)
		}
		if i := bytes.Index(s.window, s.magic[:]); i >= 0 {
			return s.skip(int64(i))
		}
		if s.ended {
			return false
		}
		s.skip(int64(len(s.window) - len(s.magic) + 1))
	}
}

// packet reads a packet, and returns its size in bytes, or 0 if that is unknown.
func (s *stream) packet() (int64, error) {
	s.pos, s.err, s.has, s.limit = 0, nil, 0, toEnd<<3-maxAlign
	s.out = s.out[:0]
	if err := s.decode(func() { s.field(s.packetHeader) }); err != nil {
		return 0, reason(err)
	}
	if magic, ok := s.known(magicRole); ok && magic != packetMagic {
		return 0, damagedBy("it begins with %#x", magic)
	}
	id, ok := s.known(streamRole)
	if s.class = s.streams[id]; !ok && s.only != nil { // packets need not name it
		s.class = s.only
	}
	if s.class == nil {
		return 0, damagedBy("there is no stream %d", id)
	}
	s.out = s.out[:0]
	if err := s.decode(func() { s.field(s.class.packetContext) }); err != nil {
		return 0, reason(err)
	}
	s.context = append(s.context[:0], s.out...)
	if s.class.extra && len(s.context) > maxShared {
		s.context = nil
		s.report(func() {
			s.file.Unread(model.StatUnreadFact, model.None, "packet's context above "+strconv.Itoa(maxShared)+" bytes").Add(model.LogEntry{})
		})
	}
	size, err := s.sizes()
	if err != nil {
		return size, err
	}
	if begin, ok := s.known(beginRole); ok {
		s.time = begin
	}
	s.note()
	for s.pos < s.limit {
		if size == toEnd { // up to the end of the file
			if s.atEnd() {
				return size, nil
			}
		}
		if err := s.event(); err != nil {
			return size, reason(err)
		}
	}
	return size, nil
}

// atEnd reports whether a packet that ends with the file is read.
func (s *stream) atEnd() bool {
	return s.pos>>3 >= s.base+int64(len(s.window)) && (s.ended || !s.fill(s.pos>>3))
}

// reason marks errors of decoding as damage.
func reason(err error) error {
	if errors.Is(err, errWindow) || errors.Is(err, errDamaged) {
		return err
	}
	switch err {
	case errPastEnd, errVariant, errAlign, errSteps:
		return damagedBy("%v", err)
	}
	return err
}

// field decodes a field that the trace may not have.
func (s *stream) field(c *class) {
	if c != nil {
		s.value(c)
	}
}

// sizes sets where the packet's contents end, and returns the packet's size in bytes.
func (s *stream) sizes() (int64, error) {
	size, sized := s.known(packetSizeRole)
	content, limited := s.known(contentSizeRole)
	switch {
	case !sized && !limited:
		return toEnd, nil
	case !sized:
		size = (content + 7) &^ 7
	case !limited:
		content = size
	}
	if size == 0 || size%8 != 0 || size >= toEnd<<3-maxAlign || content > size || int64(content) < s.pos {
		return 0, damagedBy("%d bits of contents in a packet of %d bits", content, size)
	}
	s.limit = int64(content)
	return int64(size >> 3), nil
}

// note keeps what the packet says about what was lost.
func (s *stream) note() {
	p := packetInfo{begin: s.time}
	p.discarded, p.counts = s.known(discardedRole)
	p.sequence, p.numbered = s.known(sequenceRole)
	if !p.counts && !p.numbered {
		return
	}
	key := instance{stream: s.class, file: s.file}
	if number, ok := s.known(instanceRole); ok {
		key.number, key.file = number, nil
	}
	s.report(func() { s.packets[key] = append(s.packets[key], p) })
}

// ofEvent is the bit set of the roles that belong to a single event.
const ofEvent = 1<<roles - 1<<eventRole

// event reads an event into the batch.
func (s *stream) event() error {
	s.align(s.class.align())
	if s.err != nil || s.pos == s.limit {
		s.pos, s.err = s.limit, nil
		return nil
	}
	from, offset := s.pos, s.offset+s.pos>>3
	var e *eventClass
	s.out = s.out[:0]
	err := s.decode(func() {
		s.has &^= ofEvent
		s.field(s.class.eventHeader)
		id, _ := s.known(eventRole)
		if e = s.class.events[id]; e == nil {
			if s.err == nil {
				s.err = damagedBy("there is no event %d in stream %d", id, s.class.id)
			}
			return
		}
		s.out = s.out[:0]
		s.field(s.class.eventContext)
		s.field(e.context)
		s.field(e.fields)
	})
	switch {
	case err != nil:
		return err
	case s.pos == from: // there would be any number of them
		return damagedBy("an event without contents")
	}
	s.found++
	now, ok := s.now(offset)
	if !ok {
		return nil
	}
	b := s.room()
	if b == nil {
		return errStopped
	}
	it := item{time: now, offset: offset}
	cpu, hasCPU := s.known(cpuRole)
	if hasCPU = hasCPU && cpu < model.MaxCPUs; !hasCPU {
		cpu = 0
	}
	if tid, ok := s.known(previousRole); ok && hasCPU {
		state, _ := s.known(stateRole)
		it.switched = switched{true, int64(cpu), int64(int32(tid)), state}
	}
	w := b.tokens
	w.Uint(uint64(e.number))
	w.Uint(uint64(s.number))
	w.Int(signed(cpu, hasCPU))
	tid, hasTID := s.known(tidRole)
	w.Int(signed(tid, hasTID))
	pid, hasPID := s.known(pidRole)
	w.Int(signed(pid, hasPID))
	if _, ok := s.known(threadNameRole); !ok {
		s.threadName = nil
	}
	w.Raw(s.threadName)
	if s.class.extra {
		w.Raw(s.context)
	}
	w.Rest(s.out)
	it.end = len(w.Bytes())
	b.items = append(b.items, it)
	return nil
}

// errStopped is the reason to stop when no more events are wanted.
var errStopped = errors.New("stopped")

// signed returns a number of 32 bits, or none.
func signed(n uint64, ok bool) int64 {
	if !ok || int32(n) < 0 {
		return none
	}
	return int64(int32(n))
}

// align is the alignment of an event.
func (c *streamClass) align() int {
	if c.eventHeader == nil {
		return 1
	}
	return c.eventHeader.align
}

// now returns the time of the event: ns since 1970, or its number if the trace has no times.
func (s *stream) now(offset int64) (int64, bool) {
	if n, ok := s.known(timestampRole); ok {
		if size := s.stamp.size; size < 64 { // the lowest bits, which may have wrapped around once
			mask := uint64(1)<<size - 1
			if n &= mask; n < s.time&mask {
				s.time += mask + 1
			}
			n |= s.time &^ mask
		}
		s.time = n
	}
	if s.class.clock == nil {
		if s.timed {
			s.report(func() { s.file.Unread(model.StatUnreadEvent, model.None, "event without a time").AddAt(offset) })
			return 0, false
		}
		return s.before + s.found, true
	}
	ns, ok := s.class.clock.ns(s.time)
	if !ok {
		s.damagedAt(offset, errors.New("a time after the year 2262"))
		return 0, false
	}
	return ns, true
}

// magicBytes are the first bytes of each packet of the trace.
func magicBytes(big bool) (b [4]byte) {
	if big {
		binary.BigEndian.PutUint32(b[:], packetMagic)
	} else {
		binary.LittleEndian.PutUint32(b[:], packetMagic)
	}
	return b
}
