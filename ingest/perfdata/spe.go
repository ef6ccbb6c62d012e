package perfdata

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Arm SPE writes records of packets. A packet has a header of one byte, or two if
// extended, and a payload. A timestamp packet or an end packet ends a record. See the
// Arm Architecture Reference Manual, chapter D17.

// maxSPERecord is the maximum size of a record, in bytes.
const maxSPERecord = 64 << 10

const (
	speEnd       = 0x01
	speTimestamp = 0x71
)

// spePacket returns the index and the size, header included, of the packet at the
// start of data. ok is false if data ends inside the header.
func spePacket(data []byte) (header byte, index, headerSize, size int, ok bool) {
	header, headerSize = data[0], 1
	if extended := header&0xe0 == 0x20; extended {
		if len(data) < 2 {
			return 0, 0, 0, 0, false
		}
		index = int(header&3) << 3
		header, headerSize = data[1], 2
	}
	index += int(header & 7)
	size = headerSize
	if header&0xe0 != 0 {
		size += 1 << (header >> 4 & 3)
	}
	return header, index, headerSize, size, true
}

// speDecoder splits a CPU's data into records, and pushes them.
type speDecoder struct {
	of     *auxStreams
	left   []byte // start of an incomplete record
	stream *sort.Stream
}

func newSPEDecoder(streams *auxStreams) *speDecoder {
	p := streams.tokenizer.parser
	return &speDecoder{of: streams, stream: streams.tokenizer.in.Sorter.NewStream(&speParser{parser: p})}
}

// restart drops an incomplete record.
func (d *speDecoder) restart() {
	if d != nil {
		d.left = d.left[:0]
	}
}

// read reads data that a kernel record describes.
func (d *speDecoder) read(aux *auxRecord, data []byte) error {
	d.left = append(d.left, data...)
	rest := d.left
	for {
		record, timed := speRecord(rest)
		if record == nil {
			break
		}
		if err := d.push(aux, record, timed); err != nil {
			return err
		}
		rest = rest[len(record):]
	}
	if len(rest) > maxSPERecord {
		d.of.count(model.StatPerfAuxLost, uint64(len(rest)))
		rest = nil
	}
	d.left = append(d.left[:0], rest...)
	return nil
}

// speRecord returns the record at the start of data, or nil if it is incomplete, and
// whether it ends with a timestamp.
func speRecord(data []byte) (record []byte, timed bool) {
	for at := 0; at < len(data); {
		header, _, headerSize, size, ok := spePacket(data[at:])
		if !ok || size > len(data)-at {
			return nil, false
		}
		at += size
		if headerSize == 1 && (header == speEnd || header == speTimestamp) {
			return data[:at], header == speTimestamp
		}
	}
	return nil, false
}

// push pushes a record at its own time, or else at the kernel record's time.
func (d *speDecoder) push(aux *auxRecord, record []byte, timed bool) error {
	in := d.of.tokenizer.in
	time := aux.id.time
	switch {
	case !timed:
		in.File.Count(model.StatSPENoTimestamp)
	case d.of.clock == nil:
		in.File.Count(model.StatPerfNoTscData)
	default:
		time = d.of.clock.perfTime(binary.LittleEndian.Uint64(record[len(record)-8:]))
	}
	if time == 0 {
		latest, _ := in.Sorter.MaxTimestamp()
		return d.stream.Push(latest, record)
	}
	ts, failed := in.Clocks.ToTrace(aux.event.clock, int64(time))
	if failed != nil {
		in.File.Log(failed.Stat, model.LogEntry{Args: failed})
		return nil
	}
	return d.stream.Push(ts, record)
}

// speParser turns the records of a CPU into rows.
type speParser struct {
	parser  *parser
	unknown *mapping // for addresses without a mapping, nil until needed
}

var (
	speLevels  = [...]string{"EL0", "EL1", "EL2", "EL3"}
	speSources = map[uint64]string{0: "L1D", 8: "L2", 9: "PEER_CORE", 10: "LOCAL_CLUSTER", 11: "SYS_CACHE",
		12: "PEER_CLUSTER", 13: "REMOTE", 14: "DRAM"}
)

// The contents of packets, by the index or class in their header; see the Arm
// Architecture Reference Manual, "Statistical Profiling Extension Sample Record".
const (
	// addresses
	speProgramCounter  = 0
	speVirtualAddress  = 2
	spePhysicalAddress = 3
	// counters
	speTotalLatency       = 0
	speIssueLatency       = 1
	speTranslationLatency = 2
	// operations
	speOther     = 0
	speLoadStore = 1
	speBranch    = 2
)

// The exception levels of programs and the kernel.
const (
	speUser   = 0
	speKernel = 1
)

// Event stores a record.
func (s *speParser) Event(ts int64, data []byte) error {
	p := s.parser
	t := &p.Store.SPERecord
	text := p.Store.Strings.Intern
	row := t.Append()
	t.TS.Set(row, ts)
	utid := model.UTID(model.None)
	var address uint64
	level := -1
	var virtual, physical, events, total, issue, translation int64
	for len(data) > 0 {
		header, index, headerSize, size, _ := spePacket(data)
		payload := speNumber(data[headerSize:size])
		data = data[size:]
		switch {
		case header&0xf8 == 0xb0:
			switch at := payload & (1<<60 - 1); index {
			case speProgramCounter:
				address, level = at, int(payload>>61&3)
			case speVirtualAddress:
				virtual = int64(at)
			case spePhysicalAddress:
				physical = int64(at)
			}
		case header&0xf8 == 0x98:
			switch latency := int64(uint16(payload)); index {
			case speTotalLatency:
				total = latency
			case speIssueLatency:
				issue = latency
			case speTranslationLatency:
				translation = latency
			}
		case headerSize > 1:
		case header&0xcf == 0x42:
			events = int64(payload)
		case header&0xfc == 0x64:
			utid = p.Machine.Thread(int64(uint32(payload)))
		case header&0xfc == 0x48:
			t.Operation.Set(row, text(speOperation(header&3, byte(payload))))
		case header&0xcf == 0x43:
			from, ok := speSources[payload]
			if !ok {
				from = "UNKNOWN"
			}
			t.DataSource.Set(row, text(from))
		}
	}
	t.DataVirtualAddress.Set(row, virtual)
	t.DataPhysicalAddress.Set(row, physical)
	t.EventsBitmask.Set(row, events)
	t.TotalLatency.Set(row, total)
	t.IssueLatency.Set(row, issue)
	t.TranslationLatency.Set(row, translation)
	if utid != model.None {
		t.UTID.Set(row, utid)
	}
	if level >= 0 {
		t.ExceptionLevel.Set(row, text(speLevels[level]))
		t.InstructionFrameID.Set(row, s.frame(utid, level, address))
	}
	return nil
}

// frame returns the frame of an instruction.
func (s *speParser) frame(utid model.UTID, level int, address uint64) profile.FrameID {
	p := s.parser
	var m mapping
	ok := false
	switch level {
	case speUser:
		if utid != model.None {
			if upid := p.Machine.ProcessOf(utid); upid != model.None {
				m, ok = p.process(uint32(p.Machine.PID(upid))).files.Find(address)
			}
		}
	case speKernel:
		m, ok = p.kernel.find(address)
	}
	if !ok {
		if s.unknown == nil {
			s.unknown = &mapping{id: p.Store.Stacks.DummyMapping("spe_dummy")}
		}
		m = *s.unknown
	}
	return p.Store.Stacks.Frame(m.id, address-m.start+m.offset, p.noName)
}

func speNumber(payload []byte) uint64 {
	var b [8]byte
	copy(b[:], payload)
	return binary.LittleEndian.Uint64(b[:])
}

// speOperation returns the kind of an instruction, from its class and the payload.
func speOperation(class, payload byte) string {
	switch class {
	case speOther:
		switch {
		case payload&0xfe == 0:
			return "OTHER"
		case payload&0x89 == 0x08:
			return "SVE_VEC_OP"
		}
	case speLoadStore:
		if payload&1 != 0 {
			return "STORE"
		}
		return "LOAD"
	case speBranch:
		return "BRANCH"
	}
	return "UNKNOWN"
}
