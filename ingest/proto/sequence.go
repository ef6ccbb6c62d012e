package proto

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model"
)

// sequence is one writer's packets, in order.
type sequence struct {
	id    uint32
	state *State
	// lost is set until the sequence starts anew, at first and when a packet was
	// lost: interned data may be missing.
	lost   bool
	losses Losses
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
	q := r.sequences[sequence]
	if q == nil {
		return Losses{}, false
	}
	return q.losses, true
}

// State is what packets of a sequence refer to: defaults and interned data. A
// packet keeps the state that it was read in until it is parsed; what is interned
// later is added to that state, so that nothing changes for it.
type State struct {
	Sequence uint32
	// Valid is set once the sequence has said that it starts anew and no packet
	// has been lost since.
	Valid bool
	*interval

	defaults *defaults // nil if there are none
	reader   *Reader
	id       uint32
	pending  int  // tokens that refer to it
	current  bool // of its sequence
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
	interned [64]*internTable // by field of InternedData
	others   map[uint32]*internTable
	arena    []byte
	locals   []any // by slot
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

// internArenaBytes is how much memory interned messages get at a time.
const internArenaBytes = 4 << 10

func (iv *interval) keep(data []byte) []byte {
	if len(data) > internArenaBytes/4 {
		return append(make([]byte, 0, len(data)), data...)
	}
	if len(data) > cap(iv.arena)-len(iv.arena) {
		iv.arena = make([]byte, 0, internArenaBytes)
	}
	from := len(iv.arena)
	iv.arena = append(iv.arena, data...)
	return iv.arena[from:len(iv.arena):len(iv.arena)]
}

func (iv *interval) table(field uint32) *internTable {
	if field < uint32(len(iv.interned)) {
		return iv.interned[field]
	}
	return iv.others[field]
}

func (iv *interval) setTable(field uint32, t *internTable) {
	if field < uint32(len(iv.interned)) {
		iv.interned[field] = t
		return
	}
	if iv.others == nil {
		iv.others = map[uint32]*internTable{}
	}
	iv.others[field] = t
}

// intern adds an InternedData.
func (s *State) intern(data []byte) {
	for r := wire.Read(data); r.Next(); {
		iid, ok := wire.Find(r.Bytes(), pb.InternedString_IID)
		if !ok {
			s.reader.File.Count(model.StatInternedDataTokenizerErrors)
			continue
		}
		table := s.table(r.Number)
		if table == nil {
			table = new(internTable)
			s.setTable(r.Number, table)
		}
		table.add(iid.Uint64(), s.keep(r.Bytes()))
	}
}

// Interned returns the message that a field of InternedData has for the iid. It
// counts it if there is none.
func (s *State) Interned(field uint32, iid uint64) ([]byte, bool) {
	if table := s.table(field); table != nil {
		if data := table.find(iid); data != nil {
			return data, true
		}
	}
	s.reader.File.Count(model.StatInternedDataTokenizerErrors)
	return nil, false
}

// InternedString returns the text of an interned message whose field 2 it is, as
// in all that are but a name.
func (s *State) InternedString(field uint32, iid uint64) (model.StringID, bool) {
	table := s.table(field)
	if table != nil {
		if id := table.text(iid); id != 0 {
			return id, true
		}
	}
	data, ok := s.Interned(field, iid)
	if !ok {
		return 0, false
	}
	value, _ := wire.Find(data, pb.InternedString_Str)
	id := s.reader.Store.Strings.InternBytes(value.Bytes())
	table.setText(iid, id)
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
	r.setState(q, &State{Valid: true, interval: &interval{locals: q.state.keptLocals(Always)}})
}

// lose begins a state in which what is interned can no longer be relied on, but
// for the packets before.
func (q *sequence) lose(r *Reader) {
	q.lost = true
	old := q.state.interval
	kept := &interval{interned: old.interned, others: old.others, locals: old.keptLocals(UntilAnew)}
	r.setState(q, &State{defaults: q.state.defaults, interval: kept})
}

// setDefaults begins a state with new defaults and the same interned data.
func (q *sequence) setDefaults(r *Reader, data []byte) {
	r.setState(q, &State{Valid: q.state.Valid, defaults: newDefaults(data), interval: q.state.interval})
}

// setState makes a state the sequence's current one.
func (r *Reader) setState(q *sequence, s *State) {
	s.Sequence, s.reader, s.current = q.id, r, true
	if old := q.state; old != nil {
		old.current = false
		r.drop(old)
	}
	if n := len(r.freeStates); n > 0 {
		s.id, r.freeStates = r.freeStates[n-1], r.freeStates[:n-1]
		r.states[s.id] = s
	} else {
		s.id = uint32(len(r.states))
		r.states = append(r.states, s)
	}
	q.state = s
}

// drop forgets a state that neither its sequence nor a token needs.
func (r *Reader) drop(s *State) {
	if !s.current && s.pending == 0 {
		r.states[s.id] = nil
		r.freeStates = append(r.freeStates, s.id)
	}
}
