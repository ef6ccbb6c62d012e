package model

import (
	"fmt"

	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model/args"
	"github.com/tpconvert/tpconvert/model/clock"
	"github.com/tpconvert/tpconvert/model/facts"
	"github.com/tpconvert/tpconvert/model/machine"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// StringID identifies an interned string; zero is NULL.
type StringID = table.StringID

// The ids of rows.
type (
	TrackID   = schema.TrackID
	SliceID   = schema.SliceID
	UTID      = schema.UTID
	UPID      = schema.UPID
	UCPU      = schema.UCPU
	UGPU      = schema.UGPU
	MachineID = schema.MachineID
	FileID    = schema.FileID
	CounterID = schema.CounterID
)

// None is the id of nothing.
const None = table.None

// Options are the options of a store.
type Options struct {
	ChunkRows int        // rows per chunk; 0 means table.DefaultChunkRows
	Sink      table.Sink // receives sealed chunks; nil drops them
	Parking   table.Parking
	Memory    int64 // for heap dumps, in bytes; what is beyond it goes to a temporary file. 0 means spill.DefaultMemory
	Terse     bool  // import_log and stats say nothing in words of the traces
	// Unset is called for each column that is not set in a row although it may not be NULL. Tests set it.
	Unset func(table, column string)
}

// Store is the state of one conversion: the tables, strings and arg sets that
// all its traces share. A store has one writer.
type Store struct {
	schema.Tables
	facts.Facts // of all traces
	Strings     *table.StringPool
	Space       *spill.Space // for state that may exceed memory

	set  *table.Set
	args *args.Sets
	// threadSets are the ids plus one of the sets that hold only a utid, by utid; 0 if there is none.
	threadSets paged.Sparse[ArgSetID]
	slices     sliceStacks
	groups     int32 // number of track groups so far
	machines   *machine.Machines
	files      []*File
	// filesRead is the number of files whose reading has begun.
	filesRead int64
	stats     statCounts
	// statTexts describe what is counted at an index.
	statTexts map[statKey]string
	terse     bool
	bounds    *table.Bounds
	clocks    clocks
	words     words
	values    attached.Values
	Stacks    *profile.Stacks
}

// NewStore returns a store with empty tables.
func NewStore(o Options) *Store {
	s := &Store{
		Strings:   table.NewStringPool(),
		Space:     spill.NewSpace(o.Memory, o.Parking.Dir),
		stats:     statCounts{},
		statTexts: map[statKey]string{},
		terse:     o.Terse,
	}
	s.bounds = table.NewBounds(o.Sink)
	s.set = table.NewSet(&s.Tables, s.Strings, o.ChunkRows, s.bounds, o.Parking)
	if o.Unset != nil {
		s.set.Check(o.Unset)
	}
	s.Facts = s.newFacts(None, None)
	s.Stacks = profile.NewStacks(&s.Tables, s.Strings)
	s.clocks = clocks{Graph: clock.NewGraph(Clock{ID: ClockTraceFile}), links: map[int]ClockLink{}, first: map[*Machine]*File{}}
	s.words = newWords(s.Strings)
	s.args = args.NewSets(&s.Args, s.Strings, s.set.Detach)
	s.set.BeforeSealing(s.args.Settle)
	s.machines = machine.New(&s.Tables, s.Strings, s.args)
	s.slices.store = s
	return s
}

func (s *Store) newFacts(trace FileID, machine MachineID) facts.Facts {
	return facts.New(&s.Metadata, s.Strings, trace, machine)
}

// Values are what formats share between all files.
func (s *Store) Values() *attached.Values { return &s.values }

// Err returns the first error of the sink. After an error, rows are dropped.
func (s *Store) Err() error { return s.set.Err() }

// Finish writes everything known only at the end and seals every table. Nothing
// may be appended after it.
func (s *Store) Finish() error {
	s.machines.Finish()
	// Ending slices may take much memory, so what is not needed any more is freed first.
	for _, f := range s.files {
		for _, c := range f.contexts {
			*c.Tracks, *c.Async = Tracks{}, AsyncTracks{}
		}
	}
	s.slices.flush()
	s.slices = sliceStacks{}
	s.machines.StoreCPUs()
	s.args.Settle()
	s.writeStats()
	s.set.Finish()
	s.writeBounds()
	s.set.Finish()
	s.set.Fail(s.Args.Err())
	if err := s.Space.Err(); err != nil {
		s.set.Fail(fmt.Errorf("a heap dump: %w", err))
	}
	return s.Err()
}

// Close frees the resources held outside memory. It may be called at any time.
func (s *Store) Close() {
	s.args.Stop()
	s.set.Close()
	s.Space.Close()
}

// Table returns the table with this name, or nil.
func (s *Store) Table(name string) *table.Table { return s.set.Table(name) }

// Rows returns the number of rows in each table, by name.
func (s *Store) Rows() map[string]int64 {
	s.args.Settle() // another goroutine stores them
	return s.set.Rows()
}

// words are strings that trackers store often.
type words struct {
	source, chrome, upid, utid, description StringID
	slice                                   StringID
}

func newWords(p *table.StringPool) words {
	return words{
		source: p.Intern("source"), chrome: p.Intern("chrome"),
		upid: p.Intern("upid"), utid: p.Intern("utid"),
		description: p.Intern("description"),
		slice:       p.Intern("slice"),
	}
}

// writeBounds fills trace_bounds from all tables sealed so far. A trace without
// events has no bounds.
func (s *Store) writeBounds() {
	start, end, any := s.bounds.Of()
	if !any {
		return
	}
	if start == end {
		end++ // Trace Processor never reports an empty range
	}
	row := s.TraceBounds.Append()
	s.TraceBounds.StartTS.Set(row, start)
	s.TraceBounds.EndTS.Set(row, end)
}
