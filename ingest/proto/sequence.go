package proto

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// sequence is one writer's packets, in order. There can be millions of them, so they
// and their states are kept small and in lists.
type sequence struct {
	state     *State
	losses    *Losses // all but Dependent; nil if there were none
	dependent int64   // becomes Losses.Dependent
	id        uint32
	// lost says that interned data may be missing: at first, and from the loss of a
	// packet until the sequence starts anew.
	lost bool
}

// Losses counts what is missing from a sequence's packets.
type Losses struct {
	Drops     int64             // how often packets were lost
	Causes    [LossCauses]int64 // the drops by cause
	Dependent int64             // packets that rely on earlier ones
	Skipped   int64             // such packets skipped because earlier ones were lost
}

// The causes are the bits of previous_packet_dropped from firstLossCause on.
const (
	firstLossCause = 1
	LossCauses     = 8
)

// Losses returns a sequence's losses, or false if there is no such sequence.
func (r *Reader) Losses(sequence uint32) (Losses, bool) {
	q := r.findSequence(sequence)
	if q == nil {
		return Losses{}, false
	}
	var l Losses
	if q.losses != nil {
		l = *q.losses
	}
	l.Dependent = q.dependent
	return l, true
}

// loss returns the sequence's counters of losses.
func (q *sequence) loss() *Losses {
	if q.losses == nil {
		q.losses = new(Losses)
	}
	return q.losses
}

// dropped counts a loss of packets. causes is a previous_packet_dropped.
func (q *sequence) dropped(causes uint32) {
	l := q.loss()
	l.Drops++
	for i := range l.Causes {
		l.Causes[i] += int64(causes >> (i + firstLossCause) & 1)
	}
}

func (r *Reader) sequenceID(place int) uint64 { return uint64(r.sequences.At(place).id) }

// findSequence returns a sequence, or nil.
func (r *Reader) findSequence(id uint32) *sequence {
	if place, ok := r.byID.Find(uint64(id), r.sequenceID); ok {
		return r.sequences.At(place)
	}
	return nil
}

func (r *Reader) newSequence(id uint32) *sequence {
	place := r.sequences.Append(sequence{id: id, lost: true})
	r.byID.Set(uint64(id), place, r.sequenceID)
	q := r.sequences.At(place)
	r.setState(q, State{interval: new(interval)})
	return q
}

// State is what a sequence's packets refer to: defaults and interned data. A packet
// keeps the state it was read in until it is parsed; data interned later only adds to
// that state, so what the packet refers to does not change.
type State struct {
	*interval
	defaults *defaults // nil if there are none
	reader   *Reader
	pending  int32  // tokens that refer to the state
	id       uint32 // place in the reader's states
	Sequence uint32
	// Valid is set when the sequence starts anew, and cleared when a packet is lost.
	Valid   bool
	current bool // the sequence's latest state
}

// Reader returns the reader of the sequence's packets.
func (s *State) Reader() *Reader { return s.reader }

// Hold keeps the state alive until Release, for example for a token in the sorter.
func (s *State) Hold() { s.pending++ }

// Release undoes a Hold.
func (s *State) Release() {
	s.pending--
	s.reader.drop(s)
}

// interval is the part of a state that lives until the sequence starts anew.
type interval struct {
	// Interned data stays encoded while it is small and rarely looked up, as in a
	// sequence of one packet.
	few     []byte // fields of InternedData
	tables  *internTables
	locals  *[Always + 1]attached.Values // by Lifetime; nil while there are none
	lookups int32                        // number of lookups in few
	states  int32                        // states in use
}

const (
	maxFewBytes   = 256
	maxFewLookups = 8
)

// internTables hold interned data by field of InternedData. Intervals may share them.
type internTables struct {
	byField   [64]*internTable
	others    map[uint32]*internTable
	pieces    [][]byte // memory for messages; a uvarint with its length precedes each
	intervals int32    // intervals in use
	bytes     int64    // approximate memory that the messages take
	held      int64    // bytes counted by the sorter
}

// place is a message's position: the index of its piece plus one in the upper half, and the
// offset in the piece in the lower half. 0 means none.
type place uint64

// internTable holds the places of the messages of one field of InternedData by their iid,
// which usually counts up from 1.
type internTable struct {
	dense  []place
	sparse map[uint64]place
	used   int                       // entries in dense
	texts  []model.StringID          // texts of dense, zero if not looked up yet
	others map[uint64]model.StringID // texts of sparse
}

// maxDenseIID is the largest iid for which dense may be less than half full.
const maxDenseIID = 1024

func (t *internTable) find(iid uint64) place {
	if iid < uint64(len(t.dense)) {
		return t.dense[iid]
	}
	return t.sparse[iid]
}

// add adds the place of a message whose iid is new.
func (t *internTable) add(iid uint64, at place) {
	if len(t.sparse) == 0 && iid <= uint64(max(maxDenseIID, 2*t.used)) {
		for uint64(len(t.dense)) <= iid {
			t.dense, t.texts = append(t.dense, 0), append(t.texts, 0)
		}
	}
	if iid < uint64(len(t.dense)) {
		t.dense[iid] = at
		t.used++
		return
	}
	if t.sparse == nil {
		t.sparse, t.others = map[uint64]place{}, map[uint64]model.StringID{}
	}
	t.sparse[iid] = at
}

func (t *internTable) text(iid uint64) model.StringID {
	if iid < uint64(len(t.texts)) {
		return t.texts[iid]
	}
	return t.others[iid]
}

func (t *internTable) setText(iid uint64, id model.StringID) {
	if iid < uint64(len(t.texts)) {
		t.texts[iid] = id
		return
	}
	t.others[iid] = id
}

// Each piece of memory is twice as large as the last, within these limits.
const (
	minPieceBytes = 256
	maxPieceBytes = 4 << 10
	// internedBytes is the approximate overhead of a message.
	internedBytes = 16
)

// keep copies a message.
func (t *internTables) keep(data []byte) place {
	size := len(data) + binary.MaxVarintLen32
	last := len(t.pieces) - 1
	if last < 0 || size > cap(t.pieces[last])-len(t.pieces[last]) {
		before := 0
		if last >= 0 {
			before = min(cap(t.pieces[last]), maxPieceBytes/2)
		}
		t.pieces = append(t.pieces, make([]byte, 0, max(minPieceBytes, size, 2*before)))
		last++
	}
	piece := &t.pieces[last]
	from := len(*piece)
	*piece = append(binary.AppendUvarint(*piece, uint64(len(data))), data...)
	t.bytes += int64(len(data)) + internedBytes
	return place(last+1)<<32 | place(from)
}

// message returns the message at a place.
func (t *internTables) message(at place) []byte {
	piece := t.pieces[at>>32-1][uint32(at):]
	n, head := binary.Uvarint(piece)
	end := head + int(n)
	return piece[head:end:end]
}

// table returns the table of a field, or nil.
func (t *internTables) table(field uint32) *internTable {
	if field < uint32(len(t.byField)) {
		return t.byField[field]
	}
	return t.others[field]
}

// add adds a message by its field and iid.
func (t *internTables) add(field uint32, iid uint64, data []byte) {
	table := t.table(field)
	if table == nil {
		table = new(internTable)
		if field < uint32(len(t.byField)) {
			t.byField[field] = table
		} else {
			if t.others == nil {
				t.others = map[uint32]*internTable{}
			}
			t.others[field] = table
		}
	}
	if table.find(iid) == 0 {
		table.add(iid, t.keep(data))
	}
}

// table returns the table of a field, or nil.
func (iv *interval) table(field uint32) *internTable {
	if iv.tables == nil {
		return nil
	}
	return iv.tables.table(field)
}

// makeTables moves the interned data into tables.
func (iv *interval) makeTables() {
	iv.tables = &internTables{intervals: 1}
	for f := wire.Read(iv.few); f.Next(); {
		iv.tables.add(f.Number, message.Uint64(f.Bytes(), pb.InternedString_IID), f.Bytes())
	}
	iv.few = nil
}

// findFew looks for a message among the interned data that is still encoded.
func (iv *interval) findFew(field uint32, iid uint64) []byte {
	for f := wire.Read(iv.few); f.Next(); {
		if f.Number == field && message.Uint64(f.Bytes(), pb.InternedString_IID) == iid {
			return f.Bytes()
		}
	}
	return nil
}

// intern adds the messages of an InternedData.
func (s *State) intern(data []byte) {
	if s.tables == nil && len(s.few)+len(data) > maxFewBytes {
		s.makeTables()
	}
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return
		}
		field := wire.ScannedField(data, tag, v, next)
		iid, ok := wire.Find(field.Bytes(), pb.InternedString_IID)
		switch {
		case !ok:
			s.reader.File.Count(model.StatInternedDataTokenizerErrors)
		case s.tables == nil:
			s.few = append(s.few, data[i:next]...)
		default:
			s.tables.add(field.Number, iid.Uint64(), field.Bytes())
		}
		i = next
	}
}

// Interns reports whether messages of a field of InternedData were interned.
func (s *State) Interns(field uint32) bool {
	for f := wire.Read(s.few); f.Next(); {
		if f.Number == field {
			return true
		}
	}
	return s.table(field) != nil
}

// Interned returns the message with the iid in a field of InternedData. It counts
// missing messages.
func (s *State) Interned(field uint32, iid uint64) ([]byte, bool) {
	var data []byte
	if s.tables == nil {
		if s.lookups++; s.lookups > maxFewLookups && s.few != nil {
			s.makeTables()
		} else {
			data = s.findFew(field, iid)
		}
	}
	if table := s.table(field); table != nil {
		if at := table.find(iid); at != 0 {
			data = s.tables.message(at)
		}
	}
	if data == nil {
		s.reader.File.Count(model.StatInternedDataTokenizerErrors)
	}
	return data, data != nil
}

// InternedString returns the text in field 2 of an interned message. All messages that
// only hold a name have it there.
func (s *State) InternedString(field uint32, iid uint64) (model.StringID, bool) {
	if id := s.KnownString(field, iid); id != 0 {
		return id, true
	}
	data, ok := s.Interned(field, iid)
	if !ok {
		return 0, false
	}
	value, _ := wire.Find(data, pb.InternedString_Str)
	id := s.reader.Store.Strings.InternBytes(value.Bytes())
	if table := s.table(field); table != nil {
		table.setText(iid, id)
	}
	return id, true
}

// KnownString returns the text of an interned message if InternedString has found it
// before, and zero otherwise.
func (s *State) KnownString(field uint32, iid uint64) model.StringID {
	if table := s.table(field); table != nil {
		return table.text(iid)
	}
	return 0
}

// startAnew begins a state without interned data or defaults.
func (q *sequence) startAnew(r *Reader) {
	q.lost = false
	r.setState(q, State{Valid: true, interval: &interval{locals: q.state.keptLocals(Always)}})
}

// lose begins a state whose interned data is no longer reliable. Earlier packets keep
// their state.
func (q *sequence) lose(r *Reader) {
	q.lost = true
	old := q.state.interval
	if old.tables != nil {
		old.tables.intervals++
	}
	r.setState(q, State{defaults: q.state.defaults, interval: &interval{few: old.few, tables: old.tables, locals: old.keptLocals(UntilAnew)}})
}

// setDefaults begins a state with new defaults and the same interned data.
func (q *sequence) setDefaults(r *Reader, data []byte) {
	r.setState(q, State{Valid: q.state.Valid, defaults: newDefaults(data), interval: q.state.interval})
}

// setState makes a state the sequence's current one.
func (r *Reader) setState(q *sequence, s State) {
	s.Sequence, s.reader, s.current = q.id, r, true
	s.states++
	r.leave(q)
	if n := len(r.freeStates); n > 0 {
		s.id, r.freeStates = r.freeStates[n-1], r.freeStates[:n-1]
	} else {
		s.id = uint32(r.states.Len())
		r.states.Extend(r.states.Len() + 1)
	}
	q.state = r.states.At(int(s.id))
	*q.state = s
}

// leave detaches the sequence's current state, which only tokens may still need.
func (r *Reader) leave(q *sequence) {
	if s := q.state; s != nil {
		q.state, s.current = nil, false
		r.drop(s)
	}
}

// drop frees a state unless its sequence or a token needs it.
func (r *Reader) drop(s *State) {
	if s.current || s.pending > 0 {
		return
	}
	if s.states--; s.states == 0 && s.tables != nil {
		if s.tables.intervals--; s.tables.intervals == 0 {
			r.in.Sorter.Hold(-s.tables.held)
		}
	}
	r.freeStates = append(r.freeStates, s.id)
	s.interval, s.defaults = nil, nil
}

// hold makes the sorter count the memory of interned data, because its events may keep it
// until they are delivered.
func (r *Reader) hold(t *internTables) {
	if t != nil {
		r.in.Sorter.Hold(t.bytes - t.held)
		t.held = t.bytes
	}
}
