// Package rawftrace decodes events of ftrace as the kernel's buffers have them, by the descriptions of tracefs: those in the files of
// trace-cmd, and those in samples of perf.
package rawftrace

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// Decoder decodes the events of a recording. Its descriptions come before the first event.
type Decoder struct {
	*ftrace.Parser
	Order   binary.ByteOrder
	long    int        // size of a long, bytes
	damaged model.Stat // counts events that end before their fields
	formats map[uint16]*eventFormat
	symbols []symbol // by address
	printks map[uint64][]byte
	comms   map[int64]model.StringID // thread names at the end of the recording
	event   ftrace.Event
}

// NewDecoder returns a decoder. long is the size of a long in bytes, and damaged counts events that end before their fields.
func NewDecoder(c *model.Context, order binary.ByteOrder, long int, damaged model.Stat) *Decoder {
	d := &Decoder{Parser: ftrace.NewParser(c), Order: order, long: long, damaged: damaged, formats: map[uint16]*eventFormat{}, comms: map[int64]model.StringID{}}
	d.event.Symbols = d.symbol
	return d
}

// Format returns the number of an event's format, and whether it is described.
func (d *Decoder) Format(data []byte) (id uint16, described bool) {
	if len(data) < 2 {
		return 0, false
	}
	id = d.Order.Uint16(data)
	return id, d.formats[id] != nil
}

// Decode decodes an event whose format is described. The event is valid until the next one, and nil if it is damaged.
func (d *Decoder) Decode(ts, cpu int64, data []byte) *ftrace.Event {
	f := d.formats[d.Order.Uint16(data)]
	if f.tracepoint == nil {
		d.prepare(f)
	}
	e := &d.event
	e.Reset(f.tracepoint)
	e.TS, e.CPU = ts, cpu
	e.TID, e.Flags = int64(int32(d.number(f.pid, data))), int64(d.number(f.flags, data))
	if comm, ok := d.comms[e.TID]; ok {
		delete(d.comms, e.TID)
		d.Machine.SetThreadName(d.Machine.Thread(e.TID), comm, model.ThreadNameFtrace)
	}
	for i := range f.fields {
		if !d.add(e, &f.fields[i], data) {
			d.File.LogTime(d.damaged, ts, nil)
			return nil
		}
	}
	return e
}

// number returns the value of a field, or 0 if it is missing.
func (d *Decoder) number(f *field, data []byte) uint64 {
	if f == nil || f.offset+f.size > len(data) {
		return 0
	}
	return d.integer(data[f.offset:f.offset+f.size], f.signed)
}

// integer decodes a number of up to 8 bytes.
func (d *Decoder) integer(b []byte, signed bool) (n uint64) {
	if len(b) == 0 || len(b) > 8 {
		return 0
	}
	for i := range b {
		if d.Order == binary.ByteOrder(binary.LittleEndian) {
			i = len(b) - 1 - i
		}
		n = n<<8 | uint64(b[i])
	}
	if unused := 64 - 8*len(b); signed {
		return uint64(int64(n<<unused) >> unused)
	}
	return n
}

// add adds a field to the event. It returns false if the field is not within the event.
func (d *Decoder) add(e *ftrace.Event, f *field, data []byte) bool {
	if f.offset+f.size > len(data) {
		return false
	}
	value := data[f.offset : f.offset+f.size]
	switch f.content {
	case number:
		d.addNumbers(e, f, value)
	case device:
		e.AddInt(f.to, deviceNumber(d.integer(value, false)))
	case fixed:
		e.AddText(f.to, untilZero(value))
	case rest:
		e.AddText(f.to, untilZero(data[f.offset:]))
	case pointer:
		e.AddText(f.to, d.printks[d.integer(value, false)])
	case printk:
		at := data[f.format.offset : f.format.offset+f.format.size] // a field before this one
		if text, ok := d.printk(d.printks[d.integer(at, false)], data[f.offset:], f.format.size); ok {
			e.AddText(f.to, text)
		} else {
			d.File.LogTime(d.damaged, e.TS, nil)
		}
	case located, numbers:
		if len(value) != 4 {
			return false
		}
		at := d.Order.Uint32(value)
		from, size := int(at&0xffff), int(at>>16)
		if f.relative {
			from += f.offset + f.size
		}
		if from+size > len(data) {
			return false
		}
		if value = data[from : from+size]; f.content == located {
			e.AddText(f.to, untilZero(value))
			return true
		}
		d.addNumbers(e, f, value)
		return size%f.element == 0
	}
	return true
}

// addNumbers adds a number, or each element of an array.
func (d *Decoder) addNumbers(e *ftrace.Event, f *field, value []byte) {
	for step := max(f.element, 1); len(value) >= step; value = value[step:] {
		e.AddInt(f.to, d.integer(value[:step], f.signed))
	}
}

func untilZero(text []byte) []byte {
	text, _, _ = bytes.Cut(text, []byte{0})
	return text
}

// deviceNumber converts a device number from the kernel's encoding to the user-space encoding.
func deviceNumber(n uint64) uint64 {
	major, minor := n>>20, n&(1<<20-1)
	return minor&0xff | major<<8 | (minor&^0xff)<<12
}

// symbol is a kernel function.
type symbol struct {
	address uint64
	name    []byte
	id      model.StringID
}

// symbol returns the name of the function at an address, or zero.
func (d *Decoder) symbol(address uint64) model.StringID {
	i, exact := slices.BinarySearchFunc(d.symbols, address, func(s symbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	s := &d.symbols[i]
	if s.id == 0 {
		s.id = d.Store.Strings.InternBytes(s.name)
	}
	return s.id
}

// parseKallsyms reads lines such as "ffffffff81000000 T _text [module]" and sorts them.
func parseKallsyms(text []byte) (all []symbol) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) < 3 {
			continue
		}
		// The kernel shows zeros to users other than root.
		if address, err := strconv.ParseUint(string(words[0]), 16, 64); err == nil && address != 0 {
			all = append(all, symbol{address: address, name: words[2]})
		}
	}
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.address, b.address) })
	return all
}

// parsePrintks reads lines such as `0xffffffff82c7b6b0 : "text"`: constant kernel texts that events point to.
func parsePrintks(text []byte) map[uint64][]byte {
	all := map[uint64][]byte{}
	for line := range bytes.Lines(text) {
		address, quoted, ok := bytes.Cut(line, []byte(":"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(address)), 0, 64)
		text := bytes.Trim(bytes.TrimSpace(quoted), `"`)
		if ok && err == nil {
			all[n] = bytes.ReplaceAll(text, []byte(`\n`), []byte("\n"))
		}
	}
	return all
}

// setComms reads lines such as "1234 name": thread names.
func (d *Decoder) setComms(text []byte) {
	for line := range bytes.Lines(text) {
		pid, name, _ := bytes.Cut(bytes.TrimRight(line, "\n\x00"), []byte(" "))
		if n, err := strconv.ParseInt(string(pid), 10, 32); err == nil && string(name) != "<...>" {
			d.comms[n] = d.Store.Strings.InternBytes(name)
		}
	}
}
