package args

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/internal/handoff"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	batches    = 16
	batchBytes = 256 << 10
	// largeBatch is the size in bytes from which a batch is written at once, so that
	// large batches do not pile up waiting for the writer.
	largeBatch = 512 << 10
)

// ID is the id of a set.
type ID = table.SetID[schema.Args]

// Sets assigns ids to sets of args. A set's id is the number of its first row in
// args. A set that was stored recently is not stored again but keeps its id. A
// separate goroutine writes the rows of new sets.
type Sets struct {
	strings *table.StringPool
	ids     recentIDs
	rows    int64 // rows taken by all sets so far
	writer  writer

	batch  *batch // being filled
	made   int
	helper *handoff.Helper[*batch] // runs the writer; nil until there is a full batch
}

// batch is a run of new sets on their way to the writer.
type batch struct {
	packed  []byte // the sets, one after the other
	strings table.StringView
}

// NewSets returns a Sets that fills the table args, whose keys and texts are in strings. detach is table.Set.Detach.
func NewSets(t *schema.Args, strings *table.StringPool, detach func(*table.Table, func() table.StringView)) *Sets {
	a := &Sets{strings: strings, batch: new(batch), made: 1}
	a.writer.init(t, strings, detach)
	return a
}

// Intern returns the id of a set, which must not be empty.
func (a *Sets) Intern(set *Set) ID {
	b := a.batch
	from := len(b.packed)
	b.packed = set.pack(b.packed)
	id, added := a.ids.insert(xxh3.Hash(b.packed[from:])|1, a.rows)
	if !added {
		b.packed = b.packed[:from]
		return ID(id)
	}
	a.added(set)
	return ID(id)
}

// Append stores a set, which must not be empty, as it is, even if it was stored before. Its id is the number of args so far.
func (a *Sets) Append(set *Set) ID {
	id := a.rows
	a.batch.packed = set.pack(a.batch.packed)
	a.added(set)
	return ID(id)
}

// added counts the rows of a set that was added to the batch, and sends a full batch.
func (a *Sets) added(set *Set) {
	a.rows += int64(set.Len())
	switch n := len(a.batch.packed); {
	case n >= largeBatch:
		a.Settle()
	case n >= batchBytes:
		a.send()
	}
}

// InternOf returns the id of the set that the source adds, or table.None if it adds
// nothing. It overwrites scratch.
func (a *Sets) InternOf(source Source, scratch *Set) ID {
	if source == nil {
		return table.None
	}
	scratch.Reset()
	source.AddArgs(scratch)
	if scratch.Len() == 0 {
		return table.None
	}
	return a.Intern(scratch)
}

// send hands the batch to the writer and begins another.
func (a *Sets) send() {
	if a.helper == nil {
		a.helper = handoff.Help(batches, a.writer.run)
	}
	a.batch.strings = a.strings.View()
	a.helper.Give(a.batch)
	if a.made < batches {
		a.batch = new(batch)
		a.made++
		return
	}
	a.batch, _ = a.helper.Take()
}

// Settle writes all pending sets.
func (a *Sets) Settle() {
	a.Stop()
	a.batch.strings = a.strings.View()
	a.writer.write(a.batch)
}

// Stop waits for the writer to finish. The next full batch starts another.
func (a *Sets) Stop() {
	if a.helper == nil {
		return
	}
	for range a.made - 1 {
		a.helper.Take()
	}
	a.helper.Stop()
	a.helper, a.made = nil, 1
}

// writer fills the table args.
type writer struct {
	args  *schema.Args
	names [len(kinds)]table.StringID // names of the kinds, in the strings of Sets

	// Each chunk has a string pool of its own, so that strings that do not recur take
	// no memory.
	strings *table.StringPool
	weighed int64                        // bytes of strings already reported to the table
	known   paged.Sparse[table.StringID] // chunk ids by the id in the strings of Sets
	types   [len(kinds)]table.StringID
	view    table.StringView // the strings of Sets as of the current batch
	invalid int64            // texts of earlier chunks that are not UTF-8
}

func (w *writer) init(t *schema.Args, strings *table.StringPool, detach func(*table.Table, func() table.StringView)) {
	w.args, w.strings = t, table.NewStringPool()
	for kind, name := range kinds {
		w.names[kind] = strings.Intern(name)
	}
	detach(&t.Table, w.seal)
}

// seal returns the strings of a complete chunk and starts an empty pool for the next.
func (w *writer) seal() table.StringView {
	view := w.strings.View()
	w.invalid += w.strings.Invalid()
	w.strings, w.weighed = table.NewStringPool(), 0
	w.known = paged.Sparse[table.StringID]{}
	clear(w.types[:])
	return view
}

// typeOf returns the chunk's string for a kind of value.
func (w *writer) typeOf(kind Kind) table.StringID {
	if w.types[kind] == 0 {
		w.types[kind] = w.string(w.names[kind])
	}
	return w.types[kind]
}

// string returns the chunk's id for one of the strings of Sets.
func (w *writer) string(id table.StringID) table.StringID {
	known := w.known.At(int(id))
	if *known == 0 && id != 0 {
		*known = w.strings.Intern(w.view.Get(id))
	}
	return *known
}

// Invalid counts the texts that were not UTF-8.
func (a *Sets) Invalid() int64 { return a.writer.invalid + a.writer.strings.Invalid() }

// run writes batches and sends them back empty.
func (w *writer) run(h *handoff.Helper[*batch]) {
	for {
		b, ok := h.Next()
		if !ok {
			return
		}
		w.write(b)
		h.Done(b)
	}
}

// write stores the sets of a batch and empties it.
func (w *writer) write(b *batch) {
	w.view = b.strings
	for rest := b.packed; len(rest) > 0; {
		rest = w.writeSet(rest)
		w.args.Weigh(w.strings.Size() - w.weighed)
		w.weighed = w.strings.Size()
	}
	b.packed = b.packed[:0]
	if cap(b.packed) > 2*batchBytes {
		b.packed = nil // an unusually large text made it grow
	}
}

// writeSet stores the first of the packed sets and returns the others.
func (w *writer) writeSet(packed []byte) (rest []byte) {
	t := w.args
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
			ids[i], types[i] = id, w.typeOf(a.Value.Kind)
			keys[i] = w.string(a.Key)
			flatKeys[i] = keys[i]
			if a.FlatKey != a.Key {
				flatKeys[i] = w.string(a.FlatKey)
			}
			row := row + int64(i)
			switch a.Value.Kind {
			case KindString, KindJSON:
				t.StringValue.Set(row, w.string(table.StringID(a.Value.bits)))
			case kindText:
				t.StringValue.Set(row, w.strings.InternBytes(a.text))
			case KindReal:
				t.RealValue.Set(row, math.Float64frombits(a.Value.bits))
			case KindNull:
			default:
				t.IntValue.Set(row, int64(a.Value.bits))
			}
		}
		n -= some
	}
	return packed
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
