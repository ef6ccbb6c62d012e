package proto

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// sequence is one writer's packets, in order. There can be millions of them, so they
// and their states are kept small and in lists.
type sequence struct {
	state  *State
	losses *Losses // but for needy; nil if there were none
	needy  int64   // see Losses
	id     uint32
	// lost is set until the sequence starts anew, at first and when a packet was
	// lost: interned data may be missing.
	lost bool
}

// Losses are what is missing of a sequence's packets.
type Losses struct {
	Drops   int64             // how often packets were lost
	Causes  [LossCauses]int64 // of them, by cause
	Needy   int64             // packets that rely on earlier ones
	Skipped int64             // those of them that came when earlier ones were lost
}

// Of previous_packet_dropped the bits from firstLossCause on are the causes.
const (
	firstLossCause = 1
	LossCauses     = 8
)

// Losses returns what is missing of a sequence, false if there is no such sequence.
func (r *Reader) Losses(sequence uint32) (Losses, bool) {
	q := r.findSequence(sequence)
	if q == nil {
		return Losses{}, false
	}
	var l Losses
	if q.losses != nil {
		l = *q.losses
	}
	l.Needy = q.needy
	return l, true
}

// loss returns what is missing of the sequence, to count.
func (q *sequence) loss() *Losses {
	if q.losses == nil {
		q.losses = new(Losses)
	}
	return q.losses
}

// dropped counts that packets were lost, for causes as previous_packet_dropped has
// them.
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

// newSequence adds a sequence.
func (r *Reader) newSequence(id uint32) *sequence {
	place := r.sequences.Append(sequence{id: id, lost: true})
	r.byID.Set(uint64(id), place, r.sequenceID)
	q := r.sequences.At(place)
	r.setState(q, State{interval: new(interval)})
	return q
}

// State is what packets of a sequence refer to: defaults and interned data. A
// packet keeps the state that it was read in until it is parsed; what is interned
// later is added to that state, so that nothing changes for it.
type State struct {
	*interval
	defaults *defaults // nil if there are none
	reader   *Reader
	pending  int32  // tokens that refer to it
	id       uint32 // place in the reader's states
	Sequence uint32
	// Valid is set once the sequence has said that it starts anew and no packet
	// has been lost since.
	Valid   bool
	current bool // of its sequence
}

// Reader is the reader of the packets.
func (s *State) Reader() *Reader { return s.reader }

// Hold keeps the state until Release, as tokens in the sorter do.
func (s *State) Hold() { s.pending++ }

// Release takes back a Hold.
func (s *State) Release() {
	s.pending--
	s.reader.drop(s)
}

// interval is the part of a state that lives until the sequence starts anew.
type interval struct {
	// Interned data is kept as it came as long as it is little and seldom looked
	// up, as with a sequence of one packet.
	few     []byte // fields of InternedData
	tables  *internTables
	locals  *[]any // by slot; nil while there are none
	lookups int32  // in few
}

const (
	maxFewBytes   = 256
	maxFewLookups = 8
)

// internTables hold interned data by field of InternedData.
type internTables struct {
	byField [64]*internTable
	others  map[uint32]*internTable
	arena   []byte
}

// internTable holds the messages of one field of InternedData by their iid,
// which usually counts up from 1.
type internTable struct {
	dense  [][]byte // nil where there is none
	sparse map[uint64][]byte
	used   int                       // of dense
	texts  []model.StringID          // of dense, zero if not looked up yet
	others map[uint64]model.StringID // of sparse
}

// maxDenseIID is how large an iid may be to be kept in an array of which less than
// half is in use.
const maxDenseIID = 1024

func (t *internTable) find(iid uint64) []byte {
	if iid < uint64(len(t.dense)) {
		return t.dense[iid]
	}
	return t.sparse[iid]
}

func (t *internTable) add(iid uint64, data []byte) {
	if t.find(iid) != nil {
		return
	}
	if len(t.sparse) == 0 && iid <= uint64(max(maxDenseIID, 2*t.used)) {
		for uint64(len(t.dense)) <= iid {
			t.dense, t.texts = append(t.dense, nil), append(t.texts, 0)
		}
	}
	if iid < uint64(len(t.dense)) {
		t.dense[iid] = data
		t.used++
		return
	}
	if t.sparse == nil {
		t.sparse, t.others = map[uint64][]byte{}, map[uint64]model.StringID{}
	}
	t.sparse[iid] = data
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

// Memory for interned messages is taken in pieces, each twice as large as the one
// before.
const (
	minArenaBytes = 256
	maxArenaBytes = 4 << 10
)

func (t *internTables) keep(data []byte) []byte {
	if len(data) > maxArenaBytes/4 {
		return bytes.Clone(data)
	}
	if len(data) > cap(t.arena)-len(t.arena) {
		t.arena = make([]byte, 0, max(minArenaBytes, len(data), min(2*cap(t.arena), maxArenaBytes)))
	}
	from := len(t.arena)
	t.arena = append(t.arena, data...)
	return t.arena[from:len(t.arena):len(t.arena)]
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
	table.add(iid, t.keep(data))
}

// table returns the table of a field, nil if there is none.
func (iv *interval) table(field uint32) *internTable {
	if iv.tables == nil {
		return nil
	}
	return iv.tables.table(field)
}

// makeTables puts what is interned into tables.
func (iv *interval) makeTables() {
	iv.tables = new(internTables)
	for f := wire.Read(iv.few); f.Next(); {
		iv.tables.add(f.Number, message.Uint64(f.Bytes(), pb.InternedString_IID), f.Bytes())
	}
	iv.few = nil
}

// findFew looks for a message in what is not in tables.
func (iv *interval) findFew(field uint32, iid uint64) []byte {
	for f := wire.Read(iv.few); f.Next(); {
		if f.Number == field && message.Uint64(f.Bytes(), pb.InternedString_IID) == iid {
			return f.Bytes()
		}
	}
	return nil
}

// intern adds an InternedData.
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

// Interned returns the message that a field of InternedData has for the iid. It
// counts it if there is none.
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
		data = table.find(iid)
	}
	if data == nil {
		s.reader.File.Count(model.StatInternedDataTokenizerErrors)
	}
	return data, data != nil
}

// InternedString returns the text of an interned message whose field 2 it is, as
// in all that are but a name.
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

// KnownString returns the text of an interned message that InternedString found
// before, zero if there is none.
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

// lose begins a state in which what is interned can no longer be relied on, but
// for the packets before.
func (q *sequence) lose(r *Reader) {
	q.lost = true
	old := q.state.interval
	r.setState(q, State{defaults: q.state.defaults, interval: &interval{few: old.few, tables: old.tables, locals: old.keptLocals(UntilAnew)}})
}

// setDefaults begins a state with new defaults and the same interned data.
func (q *sequence) setDefaults(r *Reader, data []byte) {
	r.setState(q, State{Valid: q.state.Valid, defaults: newDefaults(data), interval: q.state.interval})
}

// setState makes a state the sequence's current one.
func (r *Reader) setState(q *sequence, s State) {
	s.Sequence, s.reader, s.current = q.id, r, true
	if old := q.state; old != nil {
		old.current = false
		r.drop(old)
	}
	if n := len(r.freeStates); n > 0 {
		s.id, r.freeStates = r.freeStates[n-1], r.freeStates[:n-1]
	} else {
		s.id = uint32(r.states.Len())
		r.states.Extend(r.states.Len() + 1)
	}
	q.state = r.states.At(int(s.id))
	*q.state = s
}

// drop forgets a state that neither its sequence nor a token needs.
func (r *Reader) drop(s *State) {
	if !s.current && s.pending == 0 {
		r.freeStates = append(r.freeStates, s.id)
		s.interval, s.defaults = nil, nil
	}
}
