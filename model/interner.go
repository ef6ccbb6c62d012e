package model

import (
	"cmp"
	"math"

	"github.com/tpconvert/tpconvert/model/handoff"
	"github.com/tpconvert/tpconvert/model/table"
)

const (
	argBatches = 16
	batchSets  = 1024
	batchBytes = 256 << 10
	// prefetchSets is how many sets ahead the index is prefetched.
	prefetchSets = 8
)

// argInterner gives arg sets their ids and fills the args table, and that of ftrace
// events, most of which is args. It does so on a goroutine of its own, which the
// ids come back from: a row that waits for the id of its set is pinned.
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

	ofThreads []threadSet // by utid
	sent      int64       // batches

	batch  *argBatch   // being filled
	spare  []*argBatch // empty ones
	made   int
	flying int                        // batches that are not back yet
	helper *handoff.Helper[*argBatch] // nil until there is a batch to work on
}

// argBatch is a run of sets on their way to their ids, and of rows of ftrace_event,
// which are stored where the ids are given. What the goroutine reads, what it
// writes, and what it needs not are apart: cores should not take memory from each
// other.
type argBatch struct {
	sets    []argSpan
	args    []byte // packed or raw; each set starts where the one before ends
	events  []FtraceEvent
	strings table.StringView
	targets []argTarget // of the sets that are not of events

	packed PackedArgs // sets that came raw
	work   []packedSet
	ids    []ArgSetID // for the targets
	err    error      // of the sinks of args and ftrace_event
}

// argSpan is a set in a batch.
type argSpan struct {
	packer ArgPacker // nil if the set is packed
	end    uint32    // in the batch's args
	event  bool      // it is of the next of the events
}

// packedSet is a set to be stored.
type packedSet struct {
	args PackedArgs
	hash uint64
}

// threadSet is the set of a thread, see setThreadArg. Its id is used when the batch
// with it must have come back, not as soon as it has, so that every conversion of
// a trace asks for the same sets.
type threadSet struct {
	id    ArgSetID
	batch int64 // in which it was asked for first
	asked bool
}

// argTarget is where the id of a set goes.
type argTarget struct {
	table  *table.Table
	column *table.Int64
	row    int64
	utid   UTID // the set is that of this thread, unless None
}

func (in *argInterner) init(s *Store) {
	in.store, in.batch, in.made = s, new(argBatch), 1
	in.strings = table.NewStringPool()
	s.set.Detach(&s.Args.Table, in.seal)
	s.set.Detach(&s.FtraceEvent.Table, func() table.StringView { return in.view })
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
	s.args.batch.args = set.Pack(s.args.batch.args)
	s.args.target(argTarget{t, column, row, None}, nil)
}

// setRawArgs is SetArgs for args that are packed later.
func (s *Store) setRawArgs(t *table.Table, column *table.Int64, row int64, raw []byte, packer ArgPacker) {
	s.args.batch.args = append(s.args.batch.args, raw...)
	s.args.target(argTarget{t, column, row, None}, packer)
}

// target ends a set of the batch and says where its id goes.
func (in *argInterner) target(to argTarget, packer ArgPacker) {
	to.table.Pin(to.row)
	in.batch.targets = append(in.batch.targets, to)
	in.add(argSpan{packer: packer})
}

// setThreadArg is SetArgs for the set of nothing but a utid, which is remembered.
func (s *Store) setThreadArg(t *table.Table, column *table.Int64, row int64, utid UTID) {
	in := &s.args
	for int64(len(in.ofThreads)) <= utid {
		in.ofThreads = append(in.ofThreads, threadSet{})
	}
	set := &in.ofThreads[utid]
	if set.asked && in.sent >= set.batch+argBatches {
		column.Set(row, set.id)
		return
	}
	if !set.asked {
		set.asked, set.batch = true, in.sent
	}
	in.batch.args = appendArg(in.batch.args, s.words.utid, uint64(ArgUint), uint64(utid))
	in.target(argTarget{t, column, row, utid}, nil)
}

// add ends a set of the batch.
func (in *argInterner) add(set argSpan) {
	b := in.batch
	set.end = uint32(len(b.args))
	b.sets = append(b.sets, set)
	if len(b.sets) >= batchSets || len(b.args) >= batchBytes {
		in.send()
	}
}

// setArgsOf stores what the source adds, and its id in a row of a column.
func (s *Store) setArgsOf(source ArgSource, t *table.Table, column *table.Int64, row int64, scratch *ArgSet) {
	if source == nil {
		return
	}
	if source, ok := source.(RawSource); ok {
		if raw, packer := source.RawArgs(); packer != nil {
			s.setRawArgs(t, column, row, raw, packer)
			return
		}
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
	packed := set.Pack(nil)
	return s.args.intern(packed.hash(), packed)
}

// send passes the batch on and begins another.
func (in *argInterner) send() {
	if in.helper == nil {
		in.helper = handoff.Help(argBatches, in.run)
	}
	in.batch.strings = in.store.Strings.View()
	in.helper.Give(in.batch)
	in.sent++
	in.flying++
	for in.helper.Ready() > 0 || len(in.spare) == 0 && in.made == argBatches {
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
func (in *argInterner) run(h *handoff.Helper[*argBatch]) {
	for {
		b, ok := h.Next()
		if !ok {
			return
		}
		in.work(b)
		h.Done(b)
	}
}

// work stores the sets and events of a batch.
func (in *argInterner) work(b *argBatch) {
	in.view = b.strings
	from := uint32(0)
	for i := range b.sets {
		set := &b.sets[i]
		args := PackedArgs(b.args[from:set.end])
		from = set.end
		if set.packer != nil {
			start := len(b.packed)
			b.packed = set.packer.PackArgs(b.packed, args)
			args = b.packed[start:]
		}
		b.work = append(b.work, packedSet{args, args.hash()})
	}
	events := 0
	for i := range b.sets {
		if ahead := i + prefetchSets; ahead < len(b.work) {
			in.ids.prefetch(b.work[ahead].hash)
		}
		set := b.work[i]
		id := None
		if len(set.args) > 0 {
			id = in.intern(set.hash, set.args)
		}
		if b.sets[i].event {
			b.events[events].args = id
			events++
		} else {
			b.ids = append(b.ids, id)
		}
	}
	in.store.storeEvents(b.events)
	b.err = cmp.Or(in.store.Args.Err(), in.store.FtraceEvent.Err())
}

// land waits for a batch to come back.
func (in *argInterner) land() {
	b, _ := in.helper.Take()
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
		if t.utid != None {
			in.ofThreads[t.utid].id = b.ids[i]
		}
	}
	in.store.set.Fail(b.err)
	b.sets, b.args, b.events, b.targets = b.sets[:0], b.args[:0], b.events[:0], b.targets[:0]
	b.packed, b.work, b.ids = b.packed[:0], b.work[:0], b.ids[:0]
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
	if in.helper != nil {
		in.helper.Stop()
		in.helper = nil
	}
}

// intern returns the id of a set, which must not be empty.
func (in *argInterner) intern(hash uint64, args PackedArgs) ArgSetID {
	t := &in.store.Args
	id, added := in.ids.insert(hash, t.Rows())
	if !added {
		return id
	}
	for n := args.len(); n > 0; {
		row, some := t.AppendRows(n) // which may seal a chunk, and its strings
		ids, types := t.ArgSetID.Fill(row, some), t.ValueType.Fill(row, some)
		keys, flatKeys := t.Key.Fill(row, some), t.FlatKey.Fill(row, some)
		for i := range ids {
			var a packedArg
			a, args = args.next()
			ids[i], types[i] = id, in.typeOf(a.Value.Kind)
			keys[i] = in.string(a.Key)
			flatKeys[i] = keys[i]
			if a.FlatKey != a.Key {
				flatKeys[i] = in.string(a.FlatKey)
			}
			row := row + int64(i)
			switch a.Value.Kind {
			case ArgString, ArgJSON:
				t.StringValue.Set(row, in.string(StringID(a.Value.bits)))
			case argText:
				t.StringValue.Set(row, in.strings.InternBytes(a.text))
			case ArgReal:
				t.RealValue.Set(row, math.Float64frombits(a.Value.bits))
			case ArgNull:
			default:
				t.IntValue.Set(row, int64(a.Value.bits))
			}
		}
		n -= some
	}
	return id
}
