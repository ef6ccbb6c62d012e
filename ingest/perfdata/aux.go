package perfdata

import (
	"math"

	"github.com/tpconvert/tpconvert/model"
)

// The flags of an aux record.
const (
	auxTruncated = 1 << 0
	auxPartial   = 1 << 2
	auxCollision = 1 << 3
)

// armSPE is the only supported type of aux data: Arm's Statistical Profiling
// Extension.
const armSPE = 4

// maxAuxWaiting is how much aux data of all CPUs may wait for the records that
// describe it, in bytes.
const maxAuxWaiting = 256 << 20

// sampleIDs are the fields at the end of a kernel record.
type sampleIDs struct {
	pid, tid uint32 // gone if absent
	time     uint64
	cpu      int64 // None if absent
}

// readSampleID reads the sample id at the end of a record.
func (e *event) readSampleID(rec *record) sampleIDs {
	id := sampleIDs{pid: gone, tid: gone, cpu: model.None}
	size := e.sampleIDSize()
	if !e.sampleIDAll || size > len(rec.data) {
		return id
	}
	w := words{data: rec.data[len(rec.data)-size:], swapped: rec.swapped}
	if e.sampleType&sampleTID != 0 {
		id.pid, id.tid = w.uint32(), w.uint32()
	}
	if e.sampleType&sampleTime != 0 {
		id.time = w.uint64()
	}
	if e.sampleType&sampleID != 0 {
		w.take(8)
	}
	if e.sampleType&sampleStreamID != 0 {
		w.take(8)
	}
	if e.sampleType&sampleCPU != 0 {
		id.cpu = int64(w.uint32())
	}
	return id
}

// auxStreams matches, for each CPU, the pieces of its tracing unit's data with the
// kernel's records about them.
type auxStreams struct {
	tokenizer *tokenizer
	known     bool // the type of the data is known
	spe       bool // the data is Arm SPE's
	clock     *clockConversion
	streams   map[int64]*auxStream
	order     []*auxStream
	waiting   int
}

// auxStream is the data of one CPU. Offsets count from its start.
type auxStream struct {
	of         *auxStreams
	records    []auxRecord
	pieces     []auxPiece
	recordsEnd uint64      // offset up to which there were records
	piecesEnd  uint64      // offset up to which there were pieces
	done       uint64      // offset up to which data was read or is lost
	decoder    *speDecoder // nil for unsupported data
}

// auxRecord says that the kernel copied data out, or that tracing restarted.
type auxRecord struct {
	restart      bool
	offset, size uint64
	event        *event
	id           sampleIDs
}

// auxPiece is a piece of data, without bytes if they are not read.
type auxPiece struct {
	offset, size uint64
	bytes        []byte
}

// info reads the type of the data.
func (a *auxStreams) info(rec *record) {
	if kind := rec.uint32(); !a.known && !rec.short {
		a.known, a.spe = true, kind == armSPE
		return
	}
	a.tokenizer.skipped(rec, "aux data with no kind, or with two")
}

func (a *auxStreams) count(stat model.Stat, n uint64) {
	if n > 0 {
		a.tokenizer.in.File.Add(stat, model.None, int64(n))
	}
}

// timeConversion reads how the tracing unit's clock relates to perf's.
func (a *auxStreams) timeConversion(rec *record) {
	c := &clockConversion{shift: rec.uint64(), mult: rec.uint64(), zero: rec.uint64()}
	if len(rec.data) > 0 { // before Linux 5.10, perf's record ends here
		c.cycles, c.mask = rec.uint64(), rec.uint64()
		rec.uint8()
		c.short = rec.uint8() != 0
	}
	if rec.short || c.shift > 63 {
		a.tokenizer.skipped(rec, "no time conversion")
		return
	}
	a.clock = c
}

// clockConversion is a linear conversion between two clocks.
type clockConversion struct {
	shift, mult, zero, cycles, mask uint64
	short                           bool // the counter is only as wide as the mask
}

// perfTime converts a counter value to ns of perf's clock.
func (c *clockConversion) perfTime(v uint64) uint64 {
	if c.short {
		v = c.cycles + (v-c.cycles)&c.mask
	}
	return c.zero + v>>c.shift*c.mult + v&(1<<c.shift-1)*c.mult>>c.shift
}

// data reads a piece of data, which follows its record.
func (a *auxStreams) data(rec *record) error {
	size, offset := rec.uint64(), rec.uint64()
	rec.take(8 + 4 + 4) // reference, index, thread
	cpu := rec.uint32()
	t := a.tokenizer
	if rec.short || size > math.MaxInt64 || offset > math.MaxUint64-size {
		t.skipped(rec, "truncated, or of invalid size")
		return errRecordSize
	}
	if !a.known || cpu == math.MaxUint32 {
		a.count(model.StatPerfAuxIgnored, size)
		return t.discard(int64(size))
	}
	st := a.stream(int64(cpu))
	if offset < st.piecesEnd {
		t.skipped(rec, "overlapping aux data")
		return t.discard(int64(size))
	}
	a.count(model.StatPerfAuxtraceMissing, offset-st.piecesEnd)
	piece := auxPiece{offset: offset, size: size}
	if !a.spe || a.waiting+int(min(size, maxAuxWaiting+1)) > maxAuxWaiting {
		if err := t.discard(int64(size)); err != nil {
			return err
		}
	} else {
		var err error
		if piece.bytes, err = t.take(int64(size)); err != nil {
			return err
		}
		a.waiting += len(piece.bytes)
	}
	st.piecesEnd = offset + size
	st.pieces = append(st.pieces, piece)
	return st.read()
}

func (a *auxStreams) stream(cpu int64) *auxStream {
	st := a.streams[cpu]
	if st == nil {
		st = &auxStream{of: a}
		if a.spe {
			st.decoder = newSPEDecoder(a)
		}
		if a.streams == nil {
			a.streams = map[int64]*auxStream{}
		}
		a.streams[cpu] = st
		a.order = append(a.order, st)
	}
	return st
}

// record reads a kernel's aux record. It returns false if the record is invalid.
func (a *auxStreams) record(rec *record, e *event) (bool, error) {
	r := auxRecord{offset: rec.uint64(), size: rec.uint64(), event: e}
	flags := rec.uint64()
	r.id = e.readSampleID(rec)
	if rec.short || !a.known || r.id.cpu == model.None || r.offset > math.MaxUint64-r.size {
		return false, nil
	}
	st := a.stream(r.id.cpu)
	if r.offset < st.recordsEnd {
		return false, nil
	}
	a.count(model.StatPerfAuxMissing, r.offset-st.recordsEnd)
	a.count(model.StatPerfAuxTruncated, flags&auxTruncated)
	a.count(model.StatPerfAuxPartial, flags&auxPartial/auxPartial)
	a.count(model.StatPerfAuxCollision, flags&auxCollision/auxCollision)
	st.recordsEnd = r.offset + r.size
	st.records = append(st.records, r)
	return true, st.read()
}

// restart notes that tracing restarted on a CPU.
func (a *auxStreams) restart(rec *record, e *event) {
	if id := e.readSampleID(rec); a.known && id.cpu != model.None {
		st := a.stream(id.cpu)
		st.records = append(st.records, auxRecord{restart: true})
	}
}

// read reads the data for which both the record and the bytes have arrived.
func (st *auxStream) read() error {
	for len(st.records) > 0 {
		r := &st.records[0]
		if r.restart || r.size == 0 {
			if r.restart {
				st.decoder.restart()
			}
			st.records = st.records[1:]
			continue
		}
		if len(st.pieces) == 0 {
			return nil
		}
		p := &st.pieces[0]
		start, end := max(r.offset, p.offset), min(r.offset+r.size, p.offset+p.size)
		if start >= p.offset+p.size {
			st.drop()
			continue
		}
		if start >= r.offset+r.size {
			st.records = st.records[1:]
			continue
		}
		st.lose(start)
		st.done = end
		if p.bytes == nil {
			st.of.count(model.StatPerfAuxIgnored, end-start)
		} else if err := st.decoder.read(r, p.bytes[start-p.offset:end-p.offset]); err != nil {
			return err
		}
		r.size -= end - r.offset
		r.offset = end
		if end == p.offset+p.size {
			st.drop()
		}
	}
	return nil
}

// drop drops the first piece, which has been read.
func (st *auxStream) drop() {
	st.of.waiting -= len(st.pieces[0].bytes)
	st.pieces[0].bytes = nil
	st.pieces = st.pieces[1:]
}

// lose counts the data up to an offset as lost.
func (st *auxStream) lose(offset uint64) {
	if offset <= st.done {
		return
	}
	if st.decoder == nil {
		st.of.count(model.StatPerfAuxLost, offset-st.done)
	}
	st.decoder.restart()
	st.done = offset
}

// finish counts the data that is left without a record or without bytes.
func (a *auxStreams) finish() {
	for _, st := range a.order {
		if st.recordsEnd < st.piecesEnd {
			a.count(model.StatPerfAuxMissing, st.piecesEnd-st.recordsEnd)
		} else {
			a.count(model.StatPerfAuxtraceMissing, st.recordsEnd-st.piecesEnd)
		}
		st.lose(max(st.recordsEnd, st.piecesEnd))
	}
}
