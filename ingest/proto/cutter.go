package proto

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/tpconvert/tpconvert/internal/pipeline"
	"github.com/tpconvert/tpconvert/model"
)

const (
	batchesAhead = 16
	batchPackets = 512
	batchBytes   = 256 << 10
)

// batch is a run of packets on its way from the cutter to the reader.
type batch struct {
	packets []Packet
	bytes   int
	steps   []aheadStep
}

// aheadStep is a module's step with the values it decoded from the batch.
type aheadStep struct {
	field  uint32
	values aheadValues
}

func newBatch(steps []Step) *batch {
	b := &batch{packets: make([]Packet, 0, batchPackets)}
	for _, s := range steps {
		b.steps = append(b.steps, aheadStep{s.field(), s.values()})
	}
	return b
}

func (b *batch) clear() {
	b.packets, b.bytes = b.packets[:0], 0
	for i := range b.steps {
		b.steps[i].values.clear()
	}
}

// goAhead decodes the packet's first field that has a step.
func (b *batch) goAhead(p *Packet) {
	for i := range p.fields {
		f := &p.fields[i]
		for j := range b.steps {
			if s := &b.steps[j]; s.field == f.Number {
				p.ahead, p.aheadOf = s.values.decodeField(f.Bytes()), s.field
				return
			}
		}
	}
}

// each calls f with each packet until f returns false, then empties the batch.
func (b *batch) each(f func(*Packet) bool) bool {
	defer b.clear()
	for i := range b.packets {
		if !f(&b.packets[i]) {
			return false
		}
	}
	return true
}

// cutter cuts a trace into packets, including those inside compressed packets, and
// decodes whatever does not depend on other packets.
type cutter struct {
	next    func() (*batch, bool) // returns an empty batch, or false if no more packets are wanted
	done    func(*batch)
	packing *batch
	stopped bool
	zstd    *zstd.Decoder
	zlib    io.ReadCloser
	spare   []byte // for the packets in the next compressed packet: there may be many small ones
}

// cutAhead calls f with each packet, valid during the call, until f returns false.
// It cuts on its own goroutine, ahead of f. The error is nil if the cutting ended at
// the end of the trace.
func cutAhead(r io.Reader, steps []Step, f func(*Packet) bool) error {
	var err error
	helper := pipeline.Help(batchesAhead, func(h *pipeline.Helper[*batch]) {
		c := &cutter{next: h.Next, done: h.Done}
		err = c.all(r)
	})
	defer helper.Stop() // the helper reads the input, which belongs to the caller
	for range batchesAhead {
		helper.Give(newBatch(steps))
	}
	for {
		b, ok := helper.Take()
		if !ok {
			return err
		}
		if !b.each(f) {
			return nil
		}
		helper.Give(b)
	}
}

// cutHere is cutAhead on the caller's goroutine, for inputs that must be read there.
func cutHere(r io.Reader, steps []Step, f func(*Packet) bool) error {
	b, wanted := newBatch(steps), true
	c := &cutter{
		next: func() (*batch, bool) { return b, wanted },
		done: func(b *batch) { wanted = b.each(f) },
	}
	return c.all(r)
}

// all cuts the whole trace.
func (c *cutter) all(r io.Reader) error {
	err := c.frames(&frames{r: r}, -1)
	if c.packing != nil {
		c.done(c.packing)
	}
	if c.zstd != nil {
		c.zstd.Close()
	}
	return err
}

// packet returns the next packet to fill, or nil if no more are wanted.
func (c *cutter) packet(size int) *Packet {
	if b := c.packing; b != nil && (len(b.packets) == cap(b.packets) || b.bytes >= batchBytes) {
		c.done(b)
		c.packing = nil
	}
	if c.packing == nil {
		var ok bool
		if c.packing, ok = c.next(); !ok {
			c.stopped = true
			return nil
		}
	}
	b := c.packing
	b.packets = b.packets[:len(b.packets)+1]
	b.bytes += size
	return &b.packets[len(b.packets)-1]
}

// damage passes on a defect found at an offset.
func (c *cutter) damage(stat model.Stat, offset int64) {
	if p := c.packet(0); p != nil {
		p.damaged(stat, offset)
	}
}

// frames cuts an input into packets. within is the offset of the compressed packet
// that contains the input, or -1.
func (c *cutter) frames(f *frames, within int64) error {
	others := false // the last field was no packet
	for !c.stopped {
		data, offset, err := f.next()
		if within >= 0 {
			offset = within
		}
		switch {
		case err == io.EOF:
			return nil
		case err == io.ErrUnexpectedEOF:
			c.damage(model.StatTruncatedInput, offset)
			return nil
		case err != nil:
			return err
		case data == nil:
			if !others {
				c.damage(model.StatCorruptPacket, offset)
			}
			others = true
			continue
		}
		others = false
		p := c.packet(len(data))
		if p == nil {
			return nil
		}
		switch {
		case !p.read(data, offset) || p.rareFields().compressed != nil && within >= 0:
			p.damaged(model.StatCorruptPacket, offset)
		case p.rareFields().compressed != nil:
			c.unpack(p)
		default:
			c.packing.goAhead(p)
		}
	}
	return nil
}

// unpack replaces a compressed packet by the packets inside it.
func (c *cutter) unpack(p *Packet) {
	data, isZstd, offset := p.rare.compressed, p.rare.zstd, p.Offset
	c.packing.packets = c.packing.packets[:len(c.packing.packets)-1]
	if err := c.expand(data, isZstd, offset); err != nil {
		c.damage(model.StatCorruptPacket, offset)
	}
}

func (c *cutter) expand(data []byte, isZstd bool, offset int64) error {
	var r io.Reader
	var err error
	switch {
	case isZstd && c.zstd == nil:
		c.zstd, err = zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		r = c.zstd
	case isZstd:
		err = c.zstd.Reset(bytes.NewReader(data))
		r = c.zstd
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(bytes.NewReader(data))
	case c.zlib == nil:
		if c.zlib, err = zlib.NewReader(bytes.NewReader(data)); err != nil {
			c.zlib = nil
		}
		r = c.zlib
	default:
		err = c.zlib.(zlib.Resetter).Reset(bytes.NewReader(data), nil)
		r = c.zlib
	}
	if err != nil {
		return err
	}
	f := &frames{r: &expanded{r, maxPacketBytes}, buf: c.spare}
	err = c.frames(f, offset)
	c.spare = f.rest()
	return err
}

var errEndless = errors.New("the decompressed packet exceeds the maximum size of a message")

// expanded reads the contents of a compressed packet.
type expanded struct {
	r    io.Reader
	left int64 // bytes that may still come
}

func (e *expanded) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, errEndless
	}
	n, err := e.r.Read(b[:min(int64(len(b)), e.left)])
	e.left -= int64(n)
	return n, err
}
