package tracecmd

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/rawftrace"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Record kinds in a page. Lower kinds are the length of the data in words.
const (
	kindPadding = 29 + iota
	kindTimeExtend
	kindTimeStamp
)

// The bits of a page's commit field.
const (
	commitMask   = 1<<27 - 1
	missedStored = 1 << 30 // how many follows the data
	missedEvents = 1 << 31
)

const deltaBits = 27

// maxPage is larger than any page size that tracefs supports.
const maxPage = 16 << 20

// pages reads the pages of a CPU in a buffer.
type pages struct {
	*reader
	cpu    int64
	clock  model.Clock
	tsc    *tscClock // nil if times are in ns
	stream *sort.Stream
	token  []byte
	unread map[uint16]*model.Unread // events of unknown formats
}

// readCPU reads the pages of a CPU.
func (r *reader) readCPU(b *buffer, data cpuData) error {
	packed := b.compressed && data.size > 0
	if packed {
		data.size += 4 // the size does not include the number of chunks
	}
	end := data.offset + data.size
	var in io.Reader = bufio.NewReaderSize(io.NewSectionReader(r.file, data.offset, max(min(data.size, r.file.Size-data.offset), 0)), 64<<10)
	if data.cpu >= model.MaxCPUs || b.pageSize < r.dataOffset || b.pageSize > maxPage {
		r.damaged(data.offset, fmt.Errorf("CPU %d has an invalid page size of %d bytes", data.cpu, b.pageSize))
		return nil
	}
	p := &pages{reader: r, cpu: data.cpu, clock: clockOf(b.clock), unread: map[uint16]*model.Unread{}}
	if b.clock == "x86-tsc" || b.clock == "tsc2nsec" {
		p.tsc = r.tsc
	}
	p.stream = r.in.Sorter.NewStream(parser{r.decoder})
	if packed {
		in = &chunkReader{reader: r, in: in}
	}
	page := make([]byte, b.pageSize)
	for at := int64(0); ; at += b.pageSize {
		n, err := io.ReadFull(in, page)
		if n > 0 {
			place := data.offset + at
			if packed {
				place = data.offset
			}
			if err := p.page(page[:n], place); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
			continue
		case r.file.Err() != nil:
			return r.file.Err()
		case end > r.file.Size:
			r.in.File.LogAt(model.StatTruncatedInput, r.file.Size, nil)
		case err != io.EOF && err != io.ErrUnexpectedEOF:
			r.damaged(data.offset, err)
		}
		return nil
	}
}

// damaged counts a damaged part.
func (r *reader) damaged(offset int64, err error) {
	strs := r.in.Store.Strings
	r.in.File.LogAt(statParseErrors, offset, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("message"), model.StringArg(strs.Intern(err.Error())))
	}))
}

// chunkReader decompresses the pages of a CPU, chunk by chunk.
type chunkReader struct {
	*reader
	in      io.Reader
	started bool
	chunks  uint32 // chunks left
	rest    []byte
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if !c.started {
			count, err := c.number()
			if err != nil {
				return 0, err
			}
			c.started, c.chunks = true, count
		}
		if c.chunks == 0 {
			return 0, io.EOF
		}
		c.chunks--
		packed, err := c.number()
		if err != nil {
			return 0, err
		}
		size, err := c.number()
		if err != nil {
			return 0, err
		}
		if int64(packed) > c.file.Size {
			return 0, rawftrace.ErrTruncated
		}
		data := make([]byte, packed)
		if _, err := io.ReadFull(c.in, data); err != nil {
			return 0, rawftrace.ErrTruncated
		}
		if c.rest, err = c.decompress(data, size); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *chunkReader) number() (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(c.in, b[:]); err != nil {
		return 0, rawftrace.ErrTruncated
	}
	return c.order.Uint32(b[:]), nil
}

var errRecord = errors.New("a record extends past the end of its page")

// page pushes the events of a page.
func (p *pages) page(page []byte, offset int64) error {
	if int64(len(page)) < p.dataOffset {
		return nil // truncation is counted elsewhere
	}
	time := p.order.Uint64(page)
	commit := p.commit(page[8:])
	if commit&missedEvents != 0 {
		p.in.SetStat(model.StatFtraceCPUHasDataLoss, p.cpu, 1)
	}
	events := page[p.dataOffset:]
	if size := commit & commitMask; size < uint64(len(events)) {
		if after := events[size:]; commit&missedStored != 0 && int64(len(after)) >= p.commitSize {
			p.in.File.Add(ftrace.StatEventsLost, p.cpu, int64(p.commit(after)&math.MaxInt64))
		}
		events = events[:size]
	}
	for i := 0; i+4 <= len(events); {
		at := offset + p.dataOffset + int64(i)
		kind, delta := p.head(events[i:])
		i += 4
		var word uint64 // second word of some kinds
		if kind == 0 || kind >= kindPadding {
			if kind == kindPadding && delta == 0 {
				return nil // end of the data
			}
			if i+4 > len(events) {
				return p.cut(page, at)
			}
			word = uint64(p.order.Uint32(events[i:]))
		}
		switch kind {
		case kindTimeExtend:
			time += word<<deltaBits + delta
			i += 4
			continue
		case kindTimeStamp:
			// The record lacks the upper bits of the time.
			time = time&^(1<<59-1) | (word<<deltaBits + delta)
			i += 4
			continue
		}
		time += delta
		size := uint64(kind) * 4
		if kind == 0 || kind == kindPadding {
			if size = (word + 3) &^ 3; size < 4 {
				return p.cut(page, at)
			}
		}
		if size > uint64(len(events)-i) {
			return p.cut(page, at)
		}
		data := events[i : i+int(size)]
		i += int(size)
		if kind == kindPadding {
			continue // a discarded event
		}
		if kind == 0 {
			data = data[4:]
		}
		if err := p.push(time, data, at); err != nil {
			return err
		}
	}
	return nil
}

// commit reads a number of the size of a page's commit field.
func (r *reader) commit(b []byte) uint64 {
	if r.commitSize == 8 {
		return r.order.Uint64(b)
	}
	return uint64(r.order.Uint32(b))
}

// cut ends a page at an incomplete record. That is damage, except in the last page of a truncated file.
func (p *pages) cut(page []byte, offset int64) error {
	if len(page) == cap(page) {
		p.damaged(offset, errRecord)
	}
	return nil
}

// head decodes the head of a record: its kind, or length in words, and the time since the previous record.
func (p *pages) head(b []byte) (kind uint32, delta uint64) {
	n := p.order.Uint32(b)
	if p.order == binary.ByteOrder(binary.BigEndian) {
		return n >> deltaBits, uint64(n & (1<<deltaBits - 1))
	}
	return n & 31, uint64(n >> 5)
}

// push pushes an event.
func (p *pages) push(time uint64, data []byte, offset int64) error {
	if len(data) < 2 {
		p.damaged(offset, errors.New("an event without a format number"))
		return nil
	}
	if id, described := p.decoder.Format(data); !described {
		u := p.unread[id]
		if u == nil {
			u = p.in.File.Unread(model.StatUnreadEvent, model.None, fmt.Sprintf("unknown format %d event", id))
			p.unread[id] = u
		}
		u.AddAt(offset)
		return nil
	}
	if p.tsc != nil {
		high, low := bits.Mul64(time, uint64(p.tsc.mult))
		time = high<<(64-p.tsc.shift) | low>>p.tsc.shift
	}
	ts, fault := p.in.Clocks.ToTrace(p.clock, int64(time)+p.offset)
	if fault != nil {
		p.in.File.LogAt(fault.Stat, offset, fault)
		return nil
	}
	p.token = binary.AppendUvarint(p.token[:0], uint64(p.cpu))
	p.token = append(p.token, data...)
	return p.stream.Push(ts, p.token)
}
