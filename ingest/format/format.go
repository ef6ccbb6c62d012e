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

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// HeadBytes is how many bytes of the beginning a format is recognised by.
const HeadBytes = 64 << 10

// Format is a kind of trace.
type Format struct {
	// Name is what trace_file and metadata call the format.
	Name string
	// Priority orders detection: of the formats whose Sniff likes the same bytes,
	// the one with the lowest wins.
	Priority int
	// Container formats hold other files and have no events of their own.
	Container bool
	// Sniff reports whether the input can be in this format. head is its first
	// HeadBytes bytes, or all of it.
	Sniff func(head []byte) bool
	// Read reads the input to its end. Its error means that the input cannot be
	// read on; see Error. Damage that leaves the rest readable is counted in the
	// file's stats and logged there instead.
	Read func(*Input) error
}

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

	// Member reads a file found in this one, in whatever format it is. Containers
	// call it; name is the member's name, or "" for the only one.
	Member func(name string, r io.Reader) error
	// Embedded reads a part of this file that is in another format, as if it were
	// that format's file. It returns ErrUnsupported if the format is not known.
	Embedded func(format string, r io.Reader) error
	// AtEnd asks for a call when the file's events have been parsed.
	AtEnd func(func() error)
}
