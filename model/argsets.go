package model

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
	argBatches = 16
	batchBytes = 256 << 10
	// largeBatch is the size in bytes from which a batch is written at once, so that
	// large batches do not pile up waiting for the writer.
	largeBatch = 512 << 10
)

// argSets assigns ids to sets of args. A set's id is the number of its first row in
// args. A set that was stored recently is not stored again but keeps its id. A
// separate goroutine writes the rows of new sets.
type argSets struct {
	store   *Store
	ids     recentIDs
	rows    int64      // rows taken by all sets so far
	threads []ArgSetID // ids plus one of the sets of threadArgs, by utid; 0 if there is none
	writer  argWriter

	batch  *argBatch // being filled
	made   int
	helper *handoff.Helper[*argBatch] // runs the writer; nil until there is a full batch
}

// argBatch is a run of new sets on their way to the writer.
type argBatch struct {
	packed  []byte // the sets, one after the other
	strings table.StringView
}

func (a *argSets) init(s *Store) {
	a.store, a.batch, a.made = s, new(argBatch), 1
	a.writer.init(s)
}

// InternArgs returns the id of a set, which must not be empty.
func (s *Store) InternArgs(set *ArgSet) ArgSetID {
	a := &s.args
	b := a.batch
	from := len(b.packed)
	b.packed = set.pack(b.packed)
	id, added := a.ids.insert(xxh3.Hash(b.packed[from:])|1, a.rows)
	if !added {
		b.packed = b.packed[:from]
		return ArgSetID(id)
	}
	a.added(set)
	return ArgSetID(id)
}

// AppendArgs stores a set, which must not be empty, as it is, even if it was stored before. Its id is the number of args so far.
func (s *Store) AppendArgs(set *ArgSet) ArgSetID {
	a := &s.args
	id := a.rows
	a.batch.packed = set.pack(a.batch.packed)
	a.added(set)
	return ArgSetID(id)
}

// added counts the rows of a set that was added to the batch, and sends a full batch.
func (a *argSets) added(set *ArgSet) {
	a.rows += int64(set.Len())
	switch n := len(a.batch.packed); {
	case n >= largeBatch:
		a.settle()
	case n >= batchBytes:
		a.send()
	}
}

// internArgsOf returns the id of the set that the source adds, or None if it adds
// nothing. It overwrites scratch.
func (s *Store) internArgsOf(source ArgSource, scratch *ArgSet) ArgSetID {
	if source == nil {
		return None
	}
	scratch.Reset()
	source.AddArgs(scratch)
	if scratch.Len() == 0 {
		return None
	}
	return s.InternArgs(scratch)
}

// threadArgs returns the id of the set that holds only a utid. It overwrites scratch.
func (s *Store) threadArgs(utid UTID, scratch *ArgSet) ArgSetID {
	a := &s.args
	for len(a.threads) <= int(utid) {
		a.threads = append(a.threads, 0)
	}
	if a.threads[utid] == 0 {
		scratch.Reset()
		scratch.Add(s.words.utid, UintArg(uint64(utid)))
		a.threads[utid] = s.InternArgs(scratch) + 1
	}
	return a.threads[utid] - 1
}

// send hands the batch to the writer and begins another.
func (a *argSets) send() {
	if a.helper == nil {
		a.helper = handoff.Help(argBatches, a.writer.run)
	}
	a.batch.strings = a.store.Strings.View()
	a.helper.Give(a.batch)
	if a.made < argBatches {
		a.batch = new(argBatch)
		a.made++
		return
	}
	a.batch, _ = a.helper.Take()
}

// settle writes all pending sets.
func (a *argSets) settle() {
	a.stop()
	a.batch.strings = a.store.Strings.View()
	a.writer.write(a.batch)
}

// stop waits for the writer to finish. The next full batch starts another.
func (a *argSets) stop() {
	if a.helper == nil {
		return
	}
	for range a.made - 1 {
		a.helper.Take()
	}
	a.helper.Stop()
	a.helper, a.made = nil, 1
}

// argWriter fills the table args.
type argWriter struct {
	args  *schema.Args
	names [len(argKinds)]StringID // names of the kinds, in the store's strings

	// Each chunk has a string pool of its own, so that strings that do not recur take
	// no memory.
	strings *table.StringPool
	weighed int64                  // bytes of strings already reported to the table
	known   paged.Sparse[StringID] // chunk ids by the id in the store's pool
	types   [len(argKinds)]StringID
	view    table.StringView // the store's strings as of the current batch
	invalid int64            // texts of earlier chunks that are not UTF-8
}

func (w *argWriter) init(s *Store) {
	w.args, w.names = &s.Args, s.words.values
	w.strings = table.NewStringPool()
	s.set.Detach(&s.Args.Table, w.seal)
}

// seal returns the strings of a complete chunk and starts an empty pool for the next.
func (w *argWriter) seal() table.StringView {
	view := w.strings.View()
	w.invalid += w.strings.Invalid()
	w.strings, w.weighed = table.NewStringPool(), 0
	w.known = paged.Sparse[StringID]{}
	clear(w.types[:])
	return view
}

// typeOf returns the chunk's string for a kind of value.
func (w *argWriter) typeOf(kind ArgKind) StringID {
	if w.types[kind] == 0 {
		w.types[kind] = w.string(w.names[kind])
	}
	return w.types[kind]
}

// string returns the chunk's id for one of the store's strings.
func (w *argWriter) string(id StringID) StringID {
	known := w.known.At(int(id))
	if *known == 0 && id != 0 {
		*known = w.strings.Intern(w.view.Get(id))
	}
	return *known
}

// invalidTexts counts the texts that were not UTF-8.
func (w *argWriter) invalidTexts() int64 { return w.invalid + w.strings.Invalid() }

// run writes batches and sends them back empty.
func (w *argWriter) run(h *handoff.Helper[*argBatch]) {
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
func (w *argWriter) write(b *argBatch) {
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
func (w *argWriter) writeSet(packed []byte) (rest []byte) {
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
			case ArgString, ArgJSON:
				t.StringValue.Set(row, w.string(StringID(a.Value.bits)))
			case argText:
				t.StringValue.Set(row, w.strings.InternBytes(a.text))
			case ArgReal:
				t.RealValue.Set(row, math.Float64frombits(a.Value.bits))
			case ArgNull:
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
func (s *ArgSet) pack(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.args)))
	for i := range s.args {
		a := &s.args[i]
		kind, bits := uint64(a.Value.Kind), a.Value.bits
		var text []byte
		if a.Value.Kind == argText {
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
	a.Key, a.FlatKey = StringID(head), StringID(head)
	a.Value = ArgValue{ArgKind(head >> 32), binary.LittleEndian.Uint64(b[8:])}
	b = b[packedBytes:]
	if head>>32&packedFlat != 0 {
		a.FlatKey = StringID(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	if a.Value.Kind == argText {
		a.text, b = b[:a.Value.bits], b[a.Value.bits:]
	}
	return a, b
}
