// Package format defines what a trace format is: a name, a way to recognise its first
// bytes, and a function that reads it.
//
// The function reads from an io.Reader, which may return any number of bytes at a time. It
// passes data without a timestamp straight to the trackers. It pushes timestamped events to
// the sorter as short tokens, to be parsed later. The sorter returns the tokens in
// timestamp order to the sinks of the format's streams, which turn them into rows through
// the trackers.
package format

import (
	"bytes"
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/ingest/internal/binaries"
	"github.com/tpconvert/tpconvert/internal/attached"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// HeadBytes is how many of an input's first bytes are used to recognise its format.
const HeadBytes = 64 << 10

// IndexFolder is a folder beside the files of a trace in several. It only says where their parts are, and is not read.
const IndexFolder = "index"

// Format is a kind of trace.
type Format struct {
	// Name is what trace_file and metadata call the format.
	Name string
	// Title is what messages call the format, "" if that is its name.
	Title string
	// Container formats hold other files and have no events of their own.
	Container bool
	// Folder is the name of the file that Sniff accepts if all other files in its folder belong to the trace, too, or "".
	Folder string
	// Turn is when an archive member in this format is read.
	Turn Turn
	// Sniff reports whether the input can be in this format. head is the input's first
	// HeadBytes bytes, or all of a shorter input. The first of the listed formats that
	// accepts the input reads it.
	Sniff func(head []byte) bool
	// Read reads the input to its end. It returns an Error if it cannot read on. If the
	// rest is still readable, the damage is counted in the file's stats and logged there
	// instead.
	Read func(*Input) error
	// Unsupported identify what Sniff does not accept but belongs to the format, for the error that names it.
	Unsupported []Signature
}

// Signature identifies a kind of file by bytes at an offset.
type Signature struct {
	Name   string
	Offset int
	Bytes  string
}

// IsText reports whether an input that starts with head is text: it has no control characters but those of texts. Messages of
// protobuf have others, because their numbers and sizes are small, but their first bytes can be letters.
func IsText(head []byte) bool {
	return bytes.IndexFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r) }) < 0
}

// String returns what messages call the format.
func (f *Format) String() string { return cmp.Or(f.Title, strings.ReplaceAll(f.Name, "_", " ")) }

// Turn orders the members of an archive as Trace Processor does: files that set up how
// others are read come first, files that add to others come last.
type Turn int8

// The turns, in order. Members of the same turn are read in name order.
const (
	TurnManifest  Turn = iota - 3
	TurnClocks         // has clock snapshots that relate the clocks of others
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
	// Part is true if Embedded reads this input: it is part of a file of another format,
	// which has already set up the clocks and the machine.
	Part bool
	// Crop asks to leave out track events before the range of interest that the trace
	// names.
	Crop bool
	// Analyze asks to add up the sizes of the fields in Perfetto's packets.
	Analyze bool
	// Cut asks to copy a part of a Perfetto trace, without making rows; nil asks for rows.
	Cut *Cut
	// Parents are the formats of the files that contain this one, outermost first.
	Parents []string
	// Override is what a manifest says about the file.
	Override Override
	// Overrides are what a manifest says about all files of the input.
	Overrides *Overrides
	// Beside are the paths of all members of the archives that contain this file.
	Beside []string
	// Parts are the other files of a trace in a Folder format, or nil if there is no folder.
	Parts []Part
	// Alone is true unless the file is in an archive with others, whose events may be older
	// than any read so far.
	Alone bool
	// At gives random access to the file's bytes, for archives. It is nil if they can only
	// be read in order.
	At *io.SectionReader
	// Binaries finds the binaries that the trace refers to.
	Binaries *binaries.Finder
	// Taken returns how many bytes of the whole input have been read so far.
	Taken func() int64
	// TempDir is where temporary files go; "" means the system's.
	TempDir string

	// Member reads a file found in this one, whatever its format. Containers call it; name
	// is the member's name, or "" if there is only one.
	Member func(name string, r io.Reader) error
	// Members reads the files of an archive. Members that cannot be read are counted, and
	// the others are read. It returns an error if none can be read.
	Members func([]Member) error
	// Embedded reads a part of this file that is in another format, as if it were a file of
	// that format. It returns ErrUnsupported for an unknown format.
	Embedded func(format string, r io.Reader) error
	// AtEnd registers a function to call after the file's events have been parsed.
	AtEnd func(func() error)
}

// Cut is the part of a trace to copy.
type Cut struct {
	Stays func(ts int64) bool // whether the events of a time are needed
	To    io.Writer
}

// Values are what formats share between all files of the input.
func (in *Input) Values() *attached.Values { return in.Store.Values() }

// Overrides are what a manifest says about the files of an input.
type Overrides struct {
	Read  bool // there was a manifest
	Files map[string]*Override
}

// Override is what a manifest says about a file.
type Override struct {
	Machine    int64            // raw id of the machine that recorded it
	Machines   map[uint32]int64 // raw ids of the machines in it by their ids there, nil to keep those
	OneMachine bool             // the file must have only one machine
	OneClock   bool             // the file must have only one clock
	Clocks     bool             // the manifest relates its clocks to others
	Offset     int64            // ns added to all its timestamps
}

// OfTrace reports whether it says what only a trace can have.
func (o *Override) OfTrace() bool { return o.Clocks || o.Machine != 0 || o.Offset != 0 }

// Member is a file in an archive.
type Member struct {
	Name     string
	Size     int64 // bytes in the archive, which may be compressed
	Modified time.Time
	Open     func() (io.ReadCloser, error)
}

// Part is another file of a trace in several.
type Part struct {
	Member
	File *model.File // its row in trace_file
}

// UseClock declares that all timestamps of the file are of the clock with this id in
// package model. The clock becomes the trace clock unless an earlier file chose another.
func (in *Input) UseClock(id uint32) {
	in.Clocks.SetTraceClock(id)
	in.Clocks.Assume(id)
	in.Clocks.SetDefault(id)
}

// TraceTime converts a timestamp of the file's clock, in ns, to the trace clock. If that
// fails, the error is counted and logged at the event's offset, and the caller leaves the
// event out.
func (in *Input) TraceTime(time, offset int64) (ts int64, ok bool) {
	ts, err := in.Clocks.DefaultToTrace(time)
	if err != nil {
		in.File.LogAt(err.Stat, offset, err)
		return 0, false
	}
	return ts, true
}

// Latest returns the wall-clock time of the latest event in the traces read before, in ns since 1970, or false if there is
// none or its clock does not say. It dates times that lack the year or the day.
func (in *Input) Latest() (wall int64, ok bool) {
	ts, ok := in.Sorter.MaxTimestamp()
	if !ok {
		return 0, false
	}
	wall, err := in.Clocks.FromTrace(ts, model.Clock{ID: model.ClockRealtime})
	return wall, err == nil
}
