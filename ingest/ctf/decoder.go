package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// role is what the reader needs a value for.
type role uint8

const (
	noRole role = iota
	// Of a packet's header.
	magicRole
	streamRole
	instanceRole
	// Of a packet's context.
	contentSizeRole
	packetSizeRole
	beginRole
	endRole
	discardedRole
	sequenceRole
	cpuRole
	// Of an event's header.
	eventRole
	timestampRole
	// Of an event's contexts and fields.
	tidRole
	pidRole
	threadNameRole
	previousRole // the thread that a CPU switched from
	stateRole    // and its state
	roles
)

// decoder decodes the fields of a packet. Values go to out, for the parser, and to what others need of them.
type decoder struct {
	window []byte
	base   int64 // offset of the window in the packet, in bytes
	pos    int64 // in the packet, in bits
	limit  int64 // end of the packet's contents, in bits
	err    error

	out        []byte
	slots      []uint64
	roles      [roles]uint64
	has        uint32 // bit set of the roles with a value
	stamp      *class // of the value in timestampRole
	threadName []byte
	steps      int64 // fields that may be decoded before there have to be more contents
}

var (
	errWindow  = errors.New("the window ends") // not an error of the trace
	errPastEnd = errors.New("an event extends past the end of its packet")
	errVariant = errors.New("a variant has no option for its tag")
	errAlign   = errors.New("alignment past the end of the packet")
	errSteps   = errors.New("too many fields without contents")
)

// Structures and arrays may take no space. These limit how many there are: freeSteps in a stream, and more for each number or text.
const (
	freeSteps     = 1 << 20
	stepsOfNumber = 32
)

// take returns the window from the current position, of which the next bits are within packet and window, or nil.
func (d *decoder) take(bits int64) []byte {
	end := d.pos + bits
	switch {
	case d.err != nil:
		return nil
	case end > d.limit || end < 0:
		d.err = errPastEnd
		return nil
	case (end+7)>>3-d.base > int64(len(d.window)):
		d.err = errWindow
		return nil
	}
	from := d.pos>>3 - d.base
	return d.window[from:]
}

func (d *decoder) align(bits int) {
	if bits > 1 && d.err == nil {
		d.pos = (d.pos + int64(bits) - 1) &^ (int64(bits) - 1)
		if d.pos > d.limit {
			d.err = errAlign
		}
	}
}

// number reads an integer of up to 64 bits. A signed one is extended to 64.
func (d *decoder) number(c *class) uint64 {
	d.align(c.align)
	if c.variable {
		return d.variable(c.signed)
	}
	b := d.take(int64(c.size))
	if b == nil {
		return 0
	}
	var n uint64
	d.steps += stepsOfNumber
	shift := int(d.pos & 7)
	d.pos += int64(c.size)
	switch {
	case c.order == littleEndian && shift+c.size <= 64 && len(b) >= 8:
		n = binary.LittleEndian.Uint64(b) >> shift
	case c.order == littleEndian:
		n = littleBits(b, shift, c.size)
	default:
		n = bigBits(b, shift, c.size)
	}
	return c.extend(n)
}

// variable reads an integer of as many bytes as it needs, LEB128. Bits above 64 are cut.
func (d *decoder) variable(signed bool) (n uint64) {
	d.steps += stepsOfNumber
	for shift := 0; ; shift += 7 {
		b := d.take(8)
		if b == nil {
			return 0
		}
		d.pos += 8
		if shift < 64 {
			n |= uint64(b[0]&0x7f) << shift
		}
		if b[0]&0x80 == 0 {
			if signed && b[0]&0x40 != 0 && shift+7 < 64 {
				n |= math.MaxUint64 << (shift + 7)
			}
			return n
		}
	}
}

// extend returns the lowest bits of n as an integer of the class.
func (c *class) extend(n uint64) uint64 {
	unused := uint(64 - c.size)
	if c.signed {
		return uint64(int64(n<<unused) >> unused)
	}
	return n << unused >> unused
}

// plain decodes plain fields that follow each other, unless the packet or the window may end in them.
func (d *decoder) plain(fields []field) bool {
	d.align(8)
	end := d.pos + int64(len(fields))*64
	if d.err != nil || end > d.limit || end>>3-d.base > int64(len(d.window)) {
		return false
	}
	b := d.window[d.pos>>3-d.base:]
	for i := range fields {
		c := fields[i].class
		d.addInteger(c, c.extend(binary.LittleEndian.Uint64(b)))
		b = b[c.size>>3:]
		d.pos += int64(c.size)
	}
	d.steps += int64(len(fields)) * (stepsOfNumber - 1)
	return true
}

// littleBits reads an integer whose lowest bit is at shift, where bit 0 is the lowest of the first byte.
func littleBits(b []byte, shift, size int) (n uint64) {
	for have := -shift; have < size; have += 8 {
		if have < 0 {
			n = uint64(b[0]) >> -have
		} else {
			n |= uint64(b[0]) << have
		}
		b = b[1:]
	}
	return n & (math.MaxUint64 >> (64 - size))
}

// bigBits reads an integer whose highest bit is at shift, where bit 0 is the highest of the first byte.
func bigBits(b []byte, shift, size int) (n uint64) {
	n = uint64(b[0]) & (0xff >> shift)
	for left := size + shift - 8; ; left -= 8 { // bits of the integer behind those in n
		b = b[1:]
		switch {
		case left <= 0:
			return n >> -left
		case left < 8:
			return n<<left | uint64(b[0])>>(8-left)
		}
		n = n<<8 | uint64(b[0])
	}
}

// value decodes a field.
func (d *decoder) value(c *class) {
	if d.steps--; d.steps < 0 && d.err == nil {
		d.err = errSteps
	}
	if d.err != nil {
		return
	}
	switch c.kind {
	case integerClass:
		n := d.number(c)
		if c.slot != none {
			d.slots[c.slot] = n
		}
		if c.role != noRole {
			d.note(c, n)
		}
		d.addInteger(c, n)
	case floatClass:
		d.out = binary.LittleEndian.AppendUint64(d.out, math.Float64bits(d.float(c)))
	case textClass:
		d.text(c)
	case structClass:
		d.align(c.align)
		for i := 0; i < len(c.fields); {
			f := &c.fields[i]
			if f.plain > 1 && d.plain(c.fields[i:i+f.plain]) {
				i += f.plain
				continue
			}
			d.value(f.class)
			i++
		}
	case variantClass:
		d.variant(c)
	case arrayClass:
		d.array(c)
	}
}

func (d *decoder) addInteger(c *class, n uint64) {
	if c.signed {
		d.out = binary.AppendVarint(d.out, int64(n))
	} else {
		d.out = binary.AppendUvarint(d.out, n)
	}
}

func (d *decoder) note(c *class, n uint64) {
	d.roles[c.role] = n
	d.has |= 1 << c.role
	if c.role == timestampRole {
		d.stamp = c
	}
}

// known returns the value of a role, and whether there is one.
func (d *decoder) known(r role) (uint64, bool) { return d.roles[r], d.has&(1<<r) != 0 }

func (d *decoder) float(c *class) float64 {
	n := d.number(c)
	if c.size == 32 {
		return float64(math.Float32frombits(uint32(n)))
	}
	return math.Float64frombits(n)
}

func (d *decoder) text(c *class) {
	d.align(8)
	b := d.take(0)
	if d.err != nil {
		return
	}
	b = b[:min(int64(len(b)), (d.limit-d.pos)>>3)]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		if d.err = errPastEnd; d.base+int64(len(d.window)) < d.limit>>3 {
			d.err = errWindow
		}
		return
	}
	d.pos += int64(n+1) * 8
	d.addText(c, b[:n])
}

func (d *decoder) addText(c *class, text []byte) {
	d.steps += stepsOfNumber
	if c.role == threadNameRole {
		d.threadName = text
		d.has |= 1 << threadNameRole
	}
	d.out = binary.AppendUvarint(d.out, uint64(len(text)))
	d.out = append(d.out, text...)
}

func (d *decoder) variant(c *class) {
	if i, ok := c.choices.find(int64(d.slots[c.of])); ok || c.optional { // i is 0 if it chooses none
		d.out = binary.AppendUvarint(d.out, uint64(i))
		d.value(c.fields[i].class)
		return
	}
	if d.err == nil {
		d.err = errVariant
	}
}

func (d *decoder) array(c *class) {
	count := c.count
	if c.path != nil {
		count = d.slots[c.of]
	}
	d.align(c.align)
	if c.chars {
		if count > uint64(max(d.limit-d.pos, 0)>>3) && d.err == nil {
			d.err = errPastEnd
		}
		b := d.take(int64(count) * 8)
		if d.err != nil {
			return
		}
		d.pos += int64(count) * 8
		b, _, _ = bytes.Cut(b[:count], []byte{0})
		d.addText(c, b)
		return
	}
	d.out = binary.AppendUvarint(d.out, count)
	for ; count > 0 && d.err == nil; count-- {
		d.value(c.element)
	}
}
