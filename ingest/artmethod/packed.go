package artmethod

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/jvm"
	"github.com/tpconvert/tpconvert/model"
)

// The parts of the packed layout. Each follows a byte with its kind.
const (
	packedThread  = 0
	packedMethod  = 1
	packedEntries = 2
	packedSummary = 3
)

// packed reads the packed layout.
func (r *reader) packed() error {
	h, err := r.take(headerSize)
	if err != nil {
		return r.corrupt("truncated header")
	}
	r.in.UseClock(r.clock)
	r.dual = binary.LittleEndian.Uint16(h[4:])&^streaming == 5
	r.start = int64(binary.LittleEndian.Uint64(h[6:])) // ns
	r.frequency = binary.LittleEndian.Uint64(h[22:])
	r.counted = binary.LittleEndian.Uint64(h[14:]) != 0 || r.frequency != 0
	for {
		b, err := r.take(1)
		if err != nil {
			return err
		}
		switch kind := b[0]; kind {
		case packedThread:
			if b, err = r.take(4); err != nil {
				return err
			}
			tid := int64(binary.LittleEndian.Uint32(b))
			name, err := r.text16()
			if err != nil {
				return err
			}
			r.thread(tid, []byte(strings.TrimSuffix(string(name), "\n")))
		case packedMethod:
			if b, err = r.take(8); err != nil {
				return err
			}
			id := binary.LittleEndian.Uint64(b)
			text, err := r.text16()
			if err != nil {
				return err
			}
			if _, known := r.methods[id]; !known {
				r.methods[id] = r.method(fields(strings.TrimSuffix(string(jvm.Text(text)), "\n")))
			}
		case packedEntries:
			if err := r.entries(); err != nil {
				return err
			}
		case packedSummary:
			return r.packedSummary()
		default:
			return r.corrupt("unknown part of kind %d", kind)
		}
	}
}

// entry is a record of the packed layout, or what the deltas of the next one refer to.
type entry struct {
	word, time, cpu uint64
}

// entries reads a block of a thread's records, which are deltas to the previous record.
//
// In Android 16, they are the method with the action in its lowest bits, the ns since the
// start and, if there are two clocks, the ns of the thread's CPU time. Later versions, whose
// header also has the start and the frequency of the counter, have the time with the action
// in its lowest bits, the CPU time, and the method if it is entered.
func (r *reader) entries() error {
	b, err := r.take(4 + 3 + 4)
	if err != nil {
		return err
	}
	tid := int64(binary.LittleEndian.Uint32(b))
	count := binary.LittleEndian.Uint32(b[3:]) >> 8
	size := int64(binary.LittleEndian.Uint32(b[7:]))
	block, read := &leb128{r: r.Reader, left: size}, uint32(0)
	t, e := r.state(tid), entry{}
	for block.left > 0 {
		var action, id, ns uint64
		cpu := int64(noTime)
		if r.counted {
			e.time += block.signed()
			if r.dual {
				block.signed() // its unit depends on the version of Android
				r.in.File.Unread(model.StatUnreadFact, model.None, "CPU time of a packed record").AddAt(r.offset)
			}
			if action = e.time & 3; action == enter {
				e.word += block.signed()
			}
			id, ns = e.word, r.nanoseconds(e.time>>2)
		} else {
			e.word += block.signed()
			e.time += block.unsigned()
			if r.dual {
				e.cpu += block.unsigned()
			}
			if read == 0 && e.time < t.last.time { // a buffer that did not fit into one block
				e = entry{e.word + t.last.word, e.time + t.last.time, e.cpu + t.last.cpu}
				read = t.read // the count includes these
			}
			action, id, ns = e.word&3, e.word&^3, e.time
			if r.dual {
				cpu = int64(e.cpu)
			}
		}
		if block.bad {
			break
		}
		read++
		at := r.start + int64(ns)
		if ns > math.MaxInt64 || at < r.start {
			r.damaged()
			continue
		}
		if err := r.push(tid, action, id, at, cpu); err != nil {
			return err
		}
	}
	t.last, t.read = e, read
	if uint16(read) != uint16(count) { // ART writes 16 of the 24 bits
		r.damaged()
	}
	_, err = io.CopyN(io.Discard, r.Reader, block.left)
	r.offset += size
	return err
}

// nanoseconds converts a time of the counter, or returns MaxUint64 if it is out of range.
func (r *reader) nanoseconds(count uint64) uint64 {
	if r.frequency == 0 {
		return count
	}
	hi, lo := bits.Mul64(count, 1e9)
	if hi >= r.frequency {
		return math.MaxUint64
	}
	ns, _ := bits.Div64(hi, lo, r.frequency)
	return ns
}

// leb128 reads LEB128 numbers.
type leb128 struct {
	r    *bufio.Reader
	left int64 // bytes
	bad  bool  // a number was missing
}

func (l *leb128) unsigned() uint64 {
	v, _, _ := l.next()
	return v
}

func (l *leb128) signed() uint64 {
	v, size, negative := l.next()
	if negative && size < 64 {
		v |= math.MaxUint64 << size
	}
	return v
}

// next returns a number, its size in bits, and its highest bit.
func (l *leb128) next() (v uint64, size int, negative bool) {
	for size < 70 && l.left > 0 {
		b, err := l.r.ReadByte()
		if err != nil {
			break
		}
		l.left--
		v |= uint64(b&0x7f) << size
		size += 7
		if b&0x80 == 0 {
			return v, size, b&0x40 != 0
		}
	}
	l.bad = true
	return 0, 0, false
}

// packedSummary reads the end of the trace: properties of the recording, after their size.
func (r *reader) packedSummary() error {
	if next, _ := r.Peek(2); string(next) != "*v" {
		if _, err := r.take(2); err != nil {
			return err
		}
	}
	err := r.sections("")
	r.ended = err == nil
	return err
}
