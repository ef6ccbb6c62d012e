package model

import (
	"math"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// StringID names an interned string; zero is NULL.
type StringID = table.StringID

// Ids of rows. They are plain integers because they are stored as such.
type (
	TrackID    = int64
	SliceID    = int64
	UTID       = int64 // thread.id
	UPID       = int64 // process.id
	ArgSetID   = int64
	FrameID    = int64
	CallsiteID = int64
	MappingID  = int64
)

// None stands for the absent id.
const None int64 = -1

// Options of a store.
type Options struct {
	ChunkRows int        // rows of a chunk; 0 means table.DefaultChunkRows
	Sink      table.Sink // where sealed chunks go; nil drops them
	Parking   table.Parking
}

// Store is the state of one conversion: the tables, the strings and the arg
// sets that all traces in it share. A store has one writer.
type Store struct {
	schema.Tables
	facts   // of all traces
	Strings *table.StringPool

	set      *table.Set
	args     argSets
	groups   int32 // track groups given out
	machines map[int64]*Machine
	// machineRows are ids by raw id, also of machines without a state.
	machineRows   map[int64]int64
	namedMachines int64
	oddCPUs       []oddCPU
	files         []*File
	// filesRead is how many of the files were or are being read.
	filesRead int64
	stats     statCounts
	// statTexts tell what is counted at an index.
	statTexts map[statKey]string
	bounds    bounds
	clocks    *clockGraph
	words     words
	Stacks    *Stacks
}

// NewStore returns a store of empty tables.
func NewStore(o Options) *Store {
	s := &Store{
		Strings:     table.NewStringPool(),
		machines:    map[int64]*Machine{},
		machineRows: map[int64]int64{},
		stats:       statCounts{},
		statTexts:   map[statKey]string{},
	}
	s.bounds.start, s.bounds.to = math.MaxInt64, o.Sink
	s.set = table.NewSet(&s.Tables, s.Strings, o.ChunkRows, &s.bounds, o.Parking)
	s.facts = newFacts(s, None, None)
	s.Stacks = newStacks(s)
	s.clocks = newClockGraph(s)
	s.words = newWords(s.Strings)
	s.args.init(s)
	return s
}

// Err is the first error of the sink. Rows are dropped from then on.
func (s *Store) Err() error { return s.set.Err() }

// Finish writes what is only known at the end and seals every table. Nothing
// may be appended after it.
func (s *Store) Finish() error {
	for _, m := range s.sortedMachines() {
		m.finish()
	}
	s.storeCPUs()
	s.args.settle()
	s.writeStats()
	s.set.Finish()
	s.writeBounds()
	s.set.Finish()
	s.set.Fail(s.Args.Err())
	return s.Err()
}

// Close frees what the store holds outside memory. It may be called at any time.
func (s *Store) Close() {
	s.args.stop()
	s.set.Close()
}

// Rows is how many rows each table has, by name.
func (s *Store) Rows() map[string]int64 { return s.set.Rows() }

// words are strings that trackers store often.
type words struct {
	source, chrome, upid, utid, description StringID
	values                                  [len(argKinds)]StringID
	slice, thread                           StringID
}

func newWords(p *table.StringPool) words {
	w := words{
		source: p.Intern("source"), chrome: p.Intern("chrome"),
		upid: p.Intern("upid"), utid: p.Intern("utid"),
		description: p.Intern("description"),
		slice:       p.Intern("slice"), thread: p.Intern("thread"),
	}
	for kind, name := range argKinds {
		w.values[kind] = p.Intern(name)
	}
	return w
}
