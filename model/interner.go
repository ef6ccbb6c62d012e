package model

import (
	"math"

	"github.com/tpconvert/tpconvert/model/handoff"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	argBatches = 16
	batchSets  = 1024
	batchArgs  = 8 << 10
	batchText  = 256 << 10 // bytes
	// prefetchSets is how many sets ahead the index is prefetched.
	prefetchSets = 8
)

// argInterner gives arg sets their ids and fills the args table. It does so on a
// goroutine of its own, which the ids come back from: a row that waits for the id
// of its set is pinned.
type argInterner struct {
	store *Store
	ids   recentIDs

	// The strings of each chunk of args are interned anew, so that those that do
	// not come back take no memory.
	strings *table.StringPool
	known   []StringID // by the id that the store's own pool has for them
	types   [len(argKinds)]StringID
	view    table.StringView // of that pool, for the batch in work
	invalid int64            // texts of former chunks that are not UTF-8

	batch  *argBatch   // being filled
	spare  []*argBatch // empty ones
	made   int
	flying int // batches that are not back yet
	full   chan *argBatch
	done   chan *argBatch
}

// argBatch is a run of sets on their way to their ids. What the goroutine reads,
// what it writes, and what it needs not are apart: cores should not take memory
// from each other.
type argBatch struct {
	ends    []int32 // of the sets in args; each starts where the one before ends
	args    []Arg
	text    []byte
	strings table.StringView
	targets []argTarget // of the sets

	hashes []uint64
	ids    []ArgSetID
	err    error // of the sink of args
}

// argTarget is where the id of a set goes.
type argTarget struct {
	table  *table.Table
	column *table.Int64
	row    int64
}

func (in *argInterner) init(s *Store) {
	in.store, in.batch, in.made = s, new(argBatch), 1
	in.strings = table.NewStringPool()
	s.set.Detach(&s.Args.Table, in.seal)
}

// seal returns the strings of a chunk that is complete, and begins those of the
// next.
func (in *argInterner) seal() table.StringView {
	view := in.strings.View()
	in.invalid += in.strings.Invalid()
	in.strings = table.NewStringPool()
	clear(in.known)
	clear(in.types[:])
	return view
}

// typeOf returns the text of a kind of values.
func (in *argInterner) typeOf(kind ArgKind) StringID {
	if in.types[kind] == 0 {
		in.types[kind] = in.string(in.store.words.values[kind])
	}
	return in.types[kind]
}

// string returns the id that one of the store's strings has in the chunk.
func (in *argInterner) string(id StringID) StringID {
	if int(id) >= len(in.known) {
		in.known = append(in.known, make([]StringID, int(id)+1-len(in.known))...)
	}
	if in.known[id] == 0 && id != 0 {
		in.known[id] = in.strings.Intern(in.view.Get(id))
	}
	return in.known[id]
}

// SetArgs stores a set, which must not be empty, and its id in a row of a
// column. The id comes later, but before the row is sealed.
func (s *Store) SetArgs(t *table.Table, column *table.Int64, row int64, set *ArgSet) {
	t.Pin(row)
	b := s.args.batch
	b.args = append(b.args, set.args...)
	if len(set.text) > 0 {
		b.addText(set)
	}
	b.ends = append(b.ends, int32(len(b.args)))
	b.targets = append(b.targets, argTarget{t, column, row})
	if len(b.targets) >= batchSets || len(b.args) >= batchArgs || len(b.text) >= batchText {
		s.args.send()
	}
}

// addText adds the text of the set whose args are the last.
func (b *argBatch) addText(set *ArgSet) {
	base := textSpan{from: len(b.text)}.bits()
	b.text = append(b.text, set.text...)
	for i := range b.args[len(b.args)-len(set.args):] {
		if v := &b.args[len(b.args)-len(set.args)+i].Value; v.Kind == argText {
			v.bits += base
		}
	}
}

// setArgsOf stores what the source adds, and its id in a row of a column.
func (s *Store) setArgsOf(source ArgSource, t *table.Table, column *table.Int64, row int64, scratch *ArgSet) {
	if source == nil {
		return
	}
	scratch.Reset()
	source.AddArgs(scratch)
	if scratch.Len() > 0 {
		s.SetArgs(t, column, row, scratch)
	}
}

// InternArgs stores the set, unless an equal one was stored lately, and returns
// its id, which is the number of its first row in args. The set must not be
// empty. SetArgs costs far less.
func (s *Store) InternArgs(set *ArgSet) ArgSetID {
	s.args.settle()
	return s.args.intern(hashArgs(set.args, set.text), set.args, set.text)
}

// send passes the batch on and begins another.
func (in *argInterner) send() {
	if in.full == nil {
		in.full, in.done = make(chan *argBatch, argBatches), make(chan *argBatch, argBatches)
		go in.run(in.full, in.done)
	}
	in.batch.strings = in.store.Strings.View()
	in.full <- in.batch
	in.flying++
	for len(in.done) > 0 || len(in.spare) == 0 && in.made == argBatches {
		in.land()
	}
	if n := len(in.spare); n > 0 {
		in.batch, in.spare = in.spare[n-1], in.spare[:n-1]
		return
	}
	in.batch = new(argBatch)
	in.made++
}

// run interns batches and sends them back.
func (in *argInterner) run(full <-chan *argBatch, done chan<- *argBatch) {
	for {
		b, ok := handoff.Receive(full)
		if !ok {
			return
		}
		in.work(b)
		done <- b
	}
}

// work interns the sets of a batch.
func (in *argInterner) work(b *argBatch) {
	in.view = b.strings
	from := int32(0)
	for _, end := range b.ends {
		b.hashes = append(b.hashes, hashArgs(b.args[from:end], b.text))
		from = end
	}
	from = 0
	for i, hash := range b.hashes {
		if ahead := i + prefetchSets; ahead < len(b.hashes) {
			in.ids.prefetch(b.hashes[ahead])
		}
		b.ids = append(b.ids, in.intern(hash, b.args[from:b.ends[i]], b.text))
		from = b.ends[i]
	}
	b.err = in.store.Args.Err()
}

// land waits for a batch to come back.
func (in *argInterner) land() {
	b, _ := handoff.Receive(in.done)
	in.flying--
	in.finish(b)
	in.spare = append(in.spare, b)
}

// finish stores the ids in the rows that wait for them.
func (in *argInterner) finish(b *argBatch) {
	for i := range b.targets {
		t := &b.targets[i]
		t.column.Set(t.row, b.ids[i])
		t.table.Unpin(t.row)
	}
	in.store.set.Fail(b.err)
	b.hashes, b.ends, b.args, b.text = b.hashes[:0], b.ends[:0], b.args[:0], b.text[:0]
	b.targets, b.ids = b.targets[:0], b.ids[:0]
}

// invalidTexts is how many texts were not UTF-8. It settles.
func (in *argInterner) invalidTexts() int64 {
	in.settle()
	return in.invalid + in.strings.Invalid()
}

// settle interns all sets so far.
func (in *argInterner) settle() {
	for in.flying > 0 {
		in.land()
	}
	in.batch.strings = in.store.Strings.View()
	in.work(in.batch)
	in.finish(in.batch)
}

// stop ends the goroutine. Another begins should there be more sets.
func (in *argInterner) stop() {
	for in.flying > 0 {
		in.land()
	}
	if in.full != nil {
		close(in.full)
		in.full = nil
	}
}

// intern returns the id of a set.
func (in *argInterner) intern(hash uint64, args []Arg, text []byte) ArgSetID {
	t := &in.store.Args
	id, added := in.ids.insert(hash, t.Rows())
	if !added {
		return id
	}
	for i := range args {
		a := &args[i]
		row := t.Append() // which may seal a chunk, and its strings
		t.ArgSetID.Set(row, id)
		key := in.string(a.Key)
		t.Key.Set(row, key)
		if a.FlatKey != a.Key {
			key = in.string(a.FlatKey)
		}
		t.FlatKey.Set(row, key)
		switch a.Value.Kind {
		case ArgString, ArgJSON:
			t.StringValue.Set(row, in.string(StringID(a.Value.bits)))
		case argText:
			t.StringValue.Set(row, in.strings.InternBytes(spanOf(a.Value).of(text)))
		case ArgReal:
			t.RealValue.Set(row, math.Float64frombits(a.Value.bits))
		case ArgNull:
		default:
			t.IntValue.Set(row, int64(a.Value.bits))
		}
		t.ValueType.Set(row, in.typeOf(a.Value.Kind))
	}
	return id
}
