// Package format says what a trace format is to the rest of the house: a name, a
// way to recognise its first bytes, and a function that reads it.
//
// A format's function takes its input from an io.Reader, which may return any
// number of bytes at a time, and does two things with it: what has no time goes
// straight to the trackers; events with a time go to the sorter, as the few bytes
// that it takes to parse them later. The sorter gives the events back in the
// order of time, to the sinks of the format's streams, which turn them into rows
// through the trackers.
package format

import (
	"io"
	"time"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// HeadBytes is how many bytes of the beginning a format is recognised by.
const HeadBytes = 64 << 10

// Format is a kind of trace.
type Format struct {
	// Name is what trace_file and metadata call the format.
	Name string
	// Container formats hold other files and have no events of their own.
	Container bool
	// Turn is when a member of an archive in this format is read.
	Turn Turn
	// Sniff reports whether the input can be in this format. head is its first
	// HeadBytes bytes, or all of it. The first format in the list of formats that
	// accepts the input reads it.
	Sniff func(head []byte) bool
	// Read reads the input to its end. Its error means that the input cannot be
	// read on; see Error. Damage that leaves the rest readable is counted in the
	// file's stats and logged there instead.
	Read func(*Input) error
}

// Turn orders the members of an archive, as Trace Processor does: what sets up the
// reading of others comes before them, what is about others after them.
type Turn int8

// The turns, in order. Members of one turn are read in the order of their names.
const (
	TurnManifest  Turn = iota - 3
	TurnClocks         // has snapshots of clocks that place others
	TurnContainer      // is an archive or compressed itself
	TurnTrace
	TurnSymbols
)

// Input is one trace file and all that a format needs to read it.
type Input struct {
	io.Reader // the file's bytes, decompressed
	*model.Context
	Sorter *sort.Sorter
	Name   string // for messages
	// Part is true of what Embedded reads: the file is another format's, which has
	// set up its clocks and the machine.
	Part bool
	// Crop asks to leave out track events before the range of interest that the
	// trace names.
	Crop bool
	// Parents are the formats of the files that this one was found in, outermost
	// first.
	Parents []string
	// Override is what a manifest says of the file.
	Override Override
	// Overrides are what a manifest says of all files of the input.
	Overrides *Overrides
	// Beside are the paths of all members of the archives that it is in.
	Beside []string
	// Shared is for what formats keep for all files of the input.
	Shared map[any]any
	// Alone is true unless the file is a member of an archive with others. Events of
	// those may be older than any that was read.
	Alone bool
	// At reads the file's bytes at any place, for archives. It is nil if they come in their
	// order only.
	At io.ReaderAt
	// Taken is how many bytes of the input that it is in, or is, were read so far.
	Taken func() int64
	// TempDir is where temporary files go; "" means the system's.
	TempDir string

	// Member reads a file found in this one, in whatever format it is. Containers
	// call it; name is the member's name, or "" for the only one.
	Member func(name string, r io.Reader) error
	// Members reads the files in an archive. What cannot be read of one is counted,
	// and the others are read; it is an error if none can be.
	Members func([]Member) error
	// Embedded reads a part of this file that is in another format, as if it were
	// that format's file. It returns ErrUnsupported if the format is not known.
	Embedded func(format string, r io.Reader) error
	// AtEnd asks for a call when the file's events have been parsed.
	AtEnd func(func() error)
}

// Overrides are what a manifest says of the files of an input.
type Overrides struct {
	Read  bool // there was a manifest
	Files map[string]*Override
}

// Override is what a manifest says of a file.
type Override struct {
	Machine    int64            // raw id of the machine that recorded it
	Machines   map[uint32]int64 // raw ids of the machines in it, nil if they keep theirs
	OneMachine bool             // there must be but one machine in it
	OneClock   bool             // there must be but one clock in it
	Clocks     bool             // the manifest relates its clocks to others
	Offset     int64            // ns that all its times are moved by
}

// Member is a file in an archive.
type Member struct {
	Name     string
	Size     int64 // bytes that it takes in the archive
	Modified time.Time
	Open     func() (io.ReadCloser, error)
}

// UseClock says that all times of the file are of one clock, by its id in package
// model. It becomes the trace clock unless a file before chose another.
func (in *Input) UseClock(id uint32) {
	in.Clocks.SetTraceClock(id)
	in.Clocks.Assume(id)
	in.Clocks.SetDefault(id)
}

// TraceTime converts a time of the clock that the file uses, in ns, to the trace
// clock. A time that cannot be converted is counted and logged at the offset of its
// event, which is to be left out.
func (in *Input) TraceTime(time, offset int64) (ts int64, ok bool) {
	ts, err := in.Clocks.DefaultToTrace(time)
	if err != nil {
		in.File.LogAt(err.Stat, offset, err)
		return 0, false
	}
	return ts, true
}
