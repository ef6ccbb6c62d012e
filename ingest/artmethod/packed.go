package artmethod

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"strconv"
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
	dual := binary.LittleEndian.Uint16(h[4:])&^streaming == 5
	start, frequency := int64(binary.LittleEndian.Uint64(h[6:])), binary.LittleEndian.Uint64(h[22:])
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
			if err := r.entries(dual, start, frequency); err != nil {
				return err
			}
		case packedSummary:
			return r.packedSummary()
		default:
			return r.corrupt("unknown part of kind %d", kind)
		}
	}
}

// entries reads a block of a thread's records, which are deltas to the previous
// record: the time, with the action in its lowest bits; the thread's CPU time, if
// there are two clocks; and the method, if it is entered.
func (r *reader) entries(dual bool, start int64, frequency uint64) error {
	b, err := r.take(4 + 3 + 4)
	if err != nil {
		return err
	}
	tid := int64(binary.LittleEndian.Uint32(b))
	count := binary.LittleEndian.Uint32(b[3:]) >> 8
	size := int64(binary.LittleEndian.Uint32(b[7:]))
	block := &leb128{r: r.Reader, left: size}
	var time, method uint64
	for range count {
		time += uint64(block.next())
		if dual {
			block.next() // its unit depends on the version of Android
			r.in.File.Unread(model.StatUnreadFact, model.None, "CPU time of a packed record").AddAt(r.offset)
		}
		action := time & 3
		if action == enter {
			method += uint64(block.next())
		}
		if block.bad {
			break
		}
		ns := time >> 2
		if frequency > 0 {
			hi, lo := bits.Mul64(ns, 1e9)
			if hi >= frequency {
				r.damaged()
				continue
			}
			ns, _ = bits.Div64(hi, lo, frequency)
		}
		at := start + int64(ns)
		if ns > math.MaxInt64 || at < start {
			r.damaged()
			continue
		}
		if err := r.push(tid, action, method, at, noTime); err != nil {
			return err
		}
	}
	if block.bad || block.left > 0 {
		r.damaged()
	}
	_, err = io.CopyN(io.Discard, r.Reader, block.left)
	r.offset += size
	return err
}

// leb128 reads signed LEB128 numbers.
type leb128 struct {
	r    *bufio.Reader
	left int64 // bytes
	bad  bool  // a number was missing
}

func (l *leb128) next() int64 {
	var v uint64
	for shift := 0; shift < 70 && l.left > 0; shift += 7 {
		b, err := l.r.ReadByte()
		if err != nil {
			break
		}
		l.left--
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if shift += 7; shift < 64 && b&0x40 != 0 {
				v |= math.MaxUint64 << shift
			}
			return int64(v)
		}
	}
	l.bad = true
	return 0
}

// packedSummary reads the end of the trace: properties of the recording.
func (r *reader) packedSummary() error {
	for {
		line, err := r.line()
		if strings.Contains(line, "*end") {
			r.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		fact := model.StringArg(r.in.Store.Strings.Intern(value))
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			fact = model.IntArg(n)
		}
		r.in.File.SetMetadata(key, fact)
	}
}
