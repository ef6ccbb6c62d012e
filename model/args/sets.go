package args

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/pipeline"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	batches    = 8
	batchBytes = 64 << 10
	// largeBatch is the size in bytes from which a batch is stored at once, so that
	// large batches do not pile up waiting for the goroutine that stores them.
	largeBatch = 256 << 10
)

// ID is the id of a set.
type ID = table.SetID[schema.Args]

// Target is what learns the id of a set, for a row: in most cases a column.
type Target interface {
	Set(row int64, id ID)
}

// Sets assigns ids to sets of args. A set's id is the number of its first row in
// args. A set that was stored recently is not stored again but keeps its id. A
// separate goroutine finds the ids and writes the rows of new sets, so targets learn
// them later, at the latest in Settle.
type Sets struct {
	strings *table.StringPool
	keeper  keeper

	batch  *batch // being filled
	spare  []*batch
	given  int                      // batches that the helper has
	helper *pipeline.Helper[*batch] // runs the keeper; nil until there is a full batch
}

// batch is a run of sets on their way to the keeper.
type batch struct {
	packed  []byte // the sets, one after the other
	sets    []packedSet
	strings table.StringView
}

// newBatch returns an empty batch with memory for all that it takes, because growing touches several times as much.
func newBatch() *batch { return &batch{packed: make([]byte, 0, batchBytes+batchBytes/8)} }

// packedSet is a set in a batch.
type packedSet struct {
	to     Target // nil if nothing wants to know the id
	row    int64
	end    int  // of its bytes
	single bool // whether it is stored even if it was before
	id     ID   // once the keeper has found it
}

// NewSets returns a Sets that fills the table args, whose keys and texts are in strings. detach is table.Set.Detach.
func NewSets(t *schema.Args, strings *table.StringPool, detach func(*table.Table, func() table.StringView)) *Sets {
	a := &Sets{strings: strings, batch: newBatch()}
	a.keeper.init(t, strings, detach)
	return a
}

// Assign stores a set, unless it is empty, and lets the target know its id.
func (a *Sets) Assign(to Target, row int64, set *Set) {
	if set.Len() > 0 {
		a.add(set, packedSet{to: to, row: row})
	}
}

// AssignOf is Assign for the set that the source adds. It overwrites scratch.
func (a *Sets) AssignOf(to Target, row int64, source Source, scratch *Set) {
	if source == nil {
		return
	}
	scratch.Reset()
	source.AddArgs(scratch)
	a.Assign(to, row, scratch)
}

// Append stores a set, which must not be empty, as it is, even if it was stored before. Its id is the number of args so far.
func (a *Sets) Append(set *Set) { a.add(set, packedSet{single: true}) }

// Next settles all sets, and returns the id that the next one that is new will have.
func (a *Sets) Next() ID {
	a.Settle()
	return ID(a.keeper.args.Rows())
}

// Intern returns the id of a set, which must not be empty. It waits for all sets before.
func (a *Sets) Intern(set *Set) ID {
	var id learned
	a.Assign(&id, 0, set)
	a.Settle()
	return id.ID
}

// learned is a target that keeps an id.
type learned struct{ ID }

// Set implements Target.
func (l *learned) Set(_ int64, id ID) { l.ID = id }

// add adds a set to the batch, and hands on a full one.
func (a *Sets) add(set *Set, s packedSet) {
	b := a.batch
	b.packed = set.pack(b.packed)
	s.end = len(b.packed)
	b.sets = append(b.sets, s)
	switch {
	case s.end >= largeBatch:
		a.Settle()
	case s.end >= batchBytes:
		a.send()
	}
}

// send hands the batch to the keeper and begins another.
func (a *Sets) send() {
	if a.helper == nil {
		a.helper = pipeline.Help(batches, a.keeper.run)
	}
	a.batch.strings = a.strings.View()
	a.helper.Give(a.batch)
	if a.given++; a.given == batches {
		a.take()
	}
	if n := len(a.spare); n > 0 {
		a.batch, a.spare = a.spare[n-1], a.spare[:n-1]
		return
	}
	a.batch = newBatch()
}

// take takes the next batch back, and lets its targets know the ids.
func (a *Sets) take() {
	b, _ := a.helper.Take()
	a.given--
	b.tell()
	a.spare = append(a.spare, b)
}

// tell lets the targets know the ids, and empties the batch.
func (b *batch) tell() {
	for i := range b.sets {
		if s := &b.sets[i]; s.to != nil {
			s.to.Set(s.row, s.id)
		}
	}
	clear(b.sets) // of targets
	b.packed, b.sets = b.packed[:0], b.sets[:0]
	if cap(b.packed) > 2*batchBytes {
		b.packed = nil // an unusually large text made it grow
	}
}

// Settle stores all sets, and lets all targets know their ids.
func (a *Sets) Settle() {
	for a.given > 0 {
		a.take()
	}
	if len(a.batch.sets) == 0 {
		return
	}
	a.batch.strings = a.strings.View()
	a.keeper.store(a.batch) // the helper waits
	a.batch.tell()
}

// Stop ends the goroutine that stores sets.
func (a *Sets) Stop() {
	if a.helper != nil {
		a.helper.Stop()
		a.helper, a.given = nil, 0
	}
}

// keeper finds the ids of sets, and fills the table args.
type keeper struct {
	args  *schema.Args
	ids   recentIDs
	names [len(kinds)]table.StringID // names of the kinds, in the strings of Sets

	// Each chunk has a string pool of its own, so that strings that do not recur take
	// no memory.
	strings *table.StringPool
	weighed int64                        // bytes of strings already reported to the table
	known   paged.Sparse[table.StringID] // chunk ids by the id in the strings of Sets
	types   [len(kinds)]table.StringID
	view    table.StringView // the strings of Sets as of the current batch
	invalid int64            // texts of earlier chunks that are not UTF-8
	hashes  []uint64         // scratch
}

func (k *keeper) init(t *schema.Args, strings *table.StringPool, detach func(*table.Table, func() table.StringView)) {
	k.args, k.strings = t, table.NewStringPool()
	for kind, name := range kinds {
		k.names[kind] = strings.Intern(name)
	}
	detach(&t.Table, k.seal)
}

// seal returns the strings of a complete chunk and starts an empty pool for the next.
func (k *keeper) seal() table.StringView {
	view := k.strings.View()
	k.invalid += k.strings.Invalid()
	k.strings, k.weighed = table.NewStringPool(), 0
	k.known = paged.Sparse[table.StringID]{}
	clear(k.types[:])
	return view
}

// typeOf returns the chunk's string for a kind of value.
func (k *keeper) typeOf(kind Kind) table.StringID {
	if k.types[kind] == 0 {
		k.types[kind] = k.string(k.names[kind])
	}
	return k.types[kind]
}

// string returns the chunk's id for one of the strings of Sets.
func (k *keeper) string(id table.StringID) table.StringID {
	known := k.known.At(int(id))
	if *known == 0 && id != 0 {
		*known = k.strings.Intern(k.view.Get(id))
	}
	return *known
}

// Invalid counts the texts that were not UTF-8.
func (a *Sets) Invalid() int64 { return a.keeper.invalid + a.keeper.strings.Invalid() }

// run stores batches and sends them back.
func (k *keeper) run(h *pipeline.Helper[*batch]) {
	for {
		b, ok := h.Next()
		if !ok {
			return
		}
		k.store(b)
		h.Done(b)
	}
}

// store finds the ids of the sets of a batch, and writes those that are new.
func (k *keeper) store(b *batch) {
	k.view = b.strings
	k.hashes = k.hashes[:0]
	from := 0
	for i := range b.sets {
		s := &b.sets[i]
		k.hashes = append(k.hashes, xxh3.Hash(b.packed[from:s.end])|1)
		from = s.end
	}
	k.ids.fetch(k.hashes)
	from = 0
	for i := range b.sets {
		s := &b.sets[i]
		next := k.args.Rows()
		id, added := next, true
		if !s.single {
			id, added = k.ids.insert(k.hashes[i], next)
		}
		if s.id = ID(id); added {
			k.writeSet(b.packed[from:s.end])
			k.args.Weigh(k.strings.Size() - k.weighed)
			k.weighed = k.strings.Size()
		}
		from = s.end
	}
}

// writeSet stores a packed set.
func (k *keeper) writeSet(packed []byte) {
	t := k.args
	id := t.Rows()
	n := int(binary.LittleEndian.Uint32(packed))
	packed = packed[packedHead:]
	for n > 0 {
		row, some := t.AppendRows(n) // this may seal a chunk and replace its string pool
		ids, types := t.ArgSetID.Fill(row, some), t.ValueType.Fill(row, some)
		keys, flatKeys := t.Key.Fill(row, some), t.FlatKey.Fill(row, some)
		for i := range ids {
			var a packedArg
			a, packed = unpack(packed)
			ids[i], types[i] = id, k.typeOf(a.Value.Kind)
			keys[i] = k.string(a.Key)
			flatKeys[i] = keys[i]
			if a.FlatKey != a.Key {
				flatKeys[i] = k.string(a.FlatKey)
			}
			row := row + int64(i)
			switch a.Value.Kind {
			case KindString, KindJSON:
				t.StringValue.Set(row, k.string(table.StringID(a.Value.bits)))
			case kindText:
				t.StringValue.Set(row, k.strings.InternBytes(a.text))
			case KindReal:
				t.RealValue.Set(row, math.Float64frombits(a.Value.bits))
			case KindNull:
			default:
				t.IntValue.Set(row, int64(a.Value.bits))
			}
		}
		n -= some
	}
}

// A packed set starts with its number of args (32 bits). Each arg follows: key (32
// bits), kind and flags (32 bits), value (64 bits), the flat key if it differs (32
// bits), and the text if the value is a text's length. Equal sets have equal packed
// bytes.
const (
	packedHead  = 4
	packedBytes = 16
	packedFlat  = 1 << 8 // a flag beside the kind
)

// pack appends the packed set to b.
func (s *Set) pack(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.args)))
	for i := range s.args {
		a := &s.args[i]
		kind, bits := uint64(a.Value.Kind), a.Value.bits
		var text []byte
		if a.Value.Kind == kindText {
			text = spanOf(a.Value).of(s.text)
			bits = uint64(len(text))
		}
		if a.FlatKey != a.Key {
			kind |= packedFlat
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(uint32(a.Key))|kind<<32)
		b = binary.LittleEndian.AppendUint64(b, bits)
		if a.FlatKey != a.Key {
			b = binary.LittleEndian.AppendUint32(b, uint32(a.FlatKey))
		}
		b = append(b, text...)
	}
	return b
}

// packedArg is an arg of a packed set.
type packedArg struct {
	Arg
	text []byte
}

// unpack returns the first arg and the bytes after it.
func unpack(b []byte) (a packedArg, rest []byte) {
	head := binary.LittleEndian.Uint64(b)
	a.Key, a.FlatKey = table.StringID(head), table.StringID(head)
	a.Value = Value{Kind(head >> 32), binary.LittleEndian.Uint64(b[8:])}
	b = b[packedBytes:]
	if head>>32&packedFlat != 0 {
		a.FlatKey = table.StringID(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	if a.Value.Kind == kindText {
		a.text, b = b[:a.Value.bits], b[a.Value.bits:]
	}
	return a, b
}
