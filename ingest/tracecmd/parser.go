package tracecmd

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/model"
)

// parser turns events, in timestamp order, into rows.
type parser struct {
	*model.Context
	ftrace  *ftrace.Parser
	order   binary.ByteOrder
	formats map[uint16]*eventFormat
	symbols []symbol // by address
	printks map[uint64][]byte
	comms   map[int64]model.StringID // thread names at the end of the recording
	event   ftrace.Event
}

func newParser(c *model.Context) *parser {
	p := &parser{Context: c, ftrace: ftrace.NewParser(c), formats: map[uint16]*eventFormat{}, comms: map[int64]model.StringID{}}
	p.event.Symbols = p.symbol
	return p
}

// Event turns an event into rows. The token has the CPU and the kernel's data.
func (p *parser) Event(ts int64, token []byte) error {
	cpu, n := binary.Uvarint(token)
	data := token[n:]
	f := p.formats[p.order.Uint16(data)]
	if f.tracepoint == nil {
		p.prepare(f)
	}
	e := &p.event
	e.Reset(f.tracepoint)
	e.TS, e.CPU = ts, int64(cpu)
	e.TID, e.Flags = int64(int32(p.number(f.pid, data))), int64(p.number(f.flags, data))
	if comm, ok := p.comms[e.TID]; ok {
		delete(p.comms, e.TID)
		p.Machine.SetThreadName(p.Machine.Thread(e.TID), comm, model.ThreadNameFtrace)
	}
	for i := range f.fields {
		if !p.add(e, &f.fields[i], data) {
			p.File.LogTime(statParseErrors, ts, nil)
			return nil
		}
	}
	p.ftrace.Record(e)
	p.ftrace.Handle(e)
	return nil
}

// number returns the value of a field, or 0 if it is missing.
func (p *parser) number(f *field, data []byte) uint64 {
	if f == nil || f.offset+f.size > len(data) {
		return 0
	}
	return p.integer(data[f.offset:f.offset+f.size], f.signed)
}

// integer decodes a number of up to 8 bytes.
func (p *parser) integer(b []byte, signed bool) (n uint64) {
	if len(b) == 0 || len(b) > 8 {
		return 0
	}
	for i := range b {
		if p.order == binary.ByteOrder(binary.LittleEndian) {
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
func (p *parser) add(e *ftrace.Event, f *field, data []byte) bool {
	if f.offset+f.size > len(data) {
		return false
	}
	value := data[f.offset : f.offset+f.size]
	switch f.content {
	case number:
		for step := max(f.element, 1); len(value) >= step; value = value[step:] {
			e.AddInt(f.to, p.integer(value[:step], f.signed))
		}
	case device:
		e.AddInt(f.to, deviceNumber(p.integer(value, false)))
	case fixed:
		e.AddText(f.to, untilZero(value))
	case rest:
		e.AddText(f.to, untilZero(data[f.offset:]))
	case pointer:
		e.AddText(f.to, p.printks[p.integer(value, false)])
	case printk:
		at := data[f.format.offset : f.format.offset+f.format.size] // a field before this one
		if text, ok := p.printk(p.printks[p.integer(at, false)], data[f.offset:], f.format.size); ok {
			e.AddText(f.to, text)
		} else {
			p.File.LogTime(statParseErrors, e.TS, nil)
		}
	case located, relative:
		if len(value) != 4 {
			return false
		}
		at := p.order.Uint32(value)
		from, size := int(at&0xffff), int(at>>16)
		if f.content == relative {
			from += f.offset + f.size
		}
		if from+size > len(data) {
			return false
		}
		e.AddText(f.to, untilZero(data[from:from+size]))
	}
	return true
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
func (p *parser) symbol(address uint64) model.StringID {
	i, exact := slices.BinarySearchFunc(p.symbols, address, func(s symbol, a uint64) int { return cmp.Compare(s.address, a) })
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	s := &p.symbols[i]
	if s.id == 0 {
		s.id = p.Store.Strings.InternBytes(s.name)
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
func (p *parser) setComms(text []byte) {
	for line := range bytes.Lines(text) {
		pid, name, _ := bytes.Cut(bytes.TrimRight(line, "\n\x00"), []byte(" "))
		if n, err := strconv.ParseInt(string(pid), 10, 32); err == nil && string(name) != "<...>" {
			p.comms[n] = p.Store.Strings.InternBytes(name)
		}
	}
}
