package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/internal/paged"
)

// EventType is the type of the events on a track.
type EventType uint8

// The event types of tracks.
const (
	SliceTrack EventType = iota
	CounterTrack
	StateTrack
)

var eventTypes = [...]string{"slice", "counter", "state"}

// Dim is the value of one dimension of a track.
type Dim struct {
	value ArgValue
}

// IntDim returns a dimension that is a number, such as a utid.
func IntDim[T ~int | ~int64](v T) Dim { return Dim{IntArg(v)} }

// StringDim returns a dimension that is text.
func StringDim(v StringID) Dim { return Dim{StringArg(v)} }

// Int returns the dimension's number.
func (d Dim) Int() int64 { return d.value.Int() }

// IsText reports whether the dimension is text.
func (d Dim) IsText() bool { return d.value.Kind == ArgString }

// String returns the dimension's text.
func (d Dim) String() StringID { return d.value.String() }

// Blueprint describes the tracks of one classification. The classification and
// the values of the dimensions identify a track.
type Blueprint struct {
	Classification string
	Event          EventType
	Dims           []string // names of the dimensions
	Name           string   // name of all its tracks, unless NameOf or TrackOptions set another
	Unit           string   // unit of its counters, unless TrackOptions sets another
	// NameOf computes the name from the dimensions, and Describe the description,
	// which is stored as an arg.
	NameOf   func(s *Store, dims []Dim) string
	Describe func(s *Store, dims []Dim) string
	OneOpen  bool // a cookie of AsyncTracks has at most one open slice
}

// TrackOptions are the optional properties of a track.
type TrackOptions struct {
	Name, Unit StringID
	Parent     TrackID // the parent, if HasParent is set
	HasParent  bool
	Args       ArgSource
}

// Tracks creates and finds tracks.
type Tracks struct {
	context *Context
	byKey   paged.Map[int32]
	threads paged.Sparse[int32] // thread_execution tracks by utid, plus one
	scratch ArgSet
}

// Intern returns the blueprint's track with these dimensions, and creates it if
// it does not exist.
func (t *Tracks) Intern(b *Blueprint, o *TrackOptions, dims ...Dim) TrackID {
	key := t.key(b, dims)
	if id := t.byKey.Get(key); id != nil {
		return TrackID(*id)
	}
	var options TrackOptions // a copy, so that looking up a known track allocates nothing
	if o != nil {
		options = *o
	}
	id := t.Create(b, &options, slices.Clone(dims)...)
	t.byKey.Add(key, int32(id))
	return id
}

func (t *Tracks) key(b *Blueprint, dims []Dim) uint64 {
	key := xxh3.HashString(b.Classification)
	for _, d := range dims {
		key = paged.Mix(key^uint64(d.value.Kind), d.value.Bits())
	}
	return key
}

var threadExecution = Blueprint{Classification: "thread_execution", Dims: []string{"utid"}}

// Thread returns the main slice track of a thread.
func (t *Tracks) Thread(utid UTID) TrackID {
	track := t.threads.At(int(utid))
	if *track == 0 {
		*track = int32(t.Create(&threadExecution, nil, IntDim(utid))) + 1
	}
	return TrackID(*track - 1)
}

// Create adds a track, even if one with the same dimensions exists.
func (t *Tracks) Create(b *Blueprint, o *TrackOptions, dims ...Dim) TrackID {
	s := t.context.Store
	if o == nil {
		o = &TrackOptions{}
	}
	tracks := &s.Track
	row := tracks.Append()
	t.scratch.Reset()
	for i, d := range dims {
		v := d.value
		switch name := b.Dims[i]; {
		case v.Kind != ArgInt:
		case name == "utid":
			tracks.UTID.Set(row, UTID(v.Int()))
		case name == "upid":
			tracks.UPID.Set(row, UPID(v.Int()))
		case name == "cpu" && v.Int() >= 0 && v.Int() <= math.MaxInt32:
			t.context.Machine.CPU(v.Int())
			tracks.CPU.Set(row, int32(v.Int()))
		case name == "ugpu":
			tracks.UGPU.Set(row, UGPU(v.Int()))
		}
		t.scratch.Add(s.Strings.Intern(b.Dims[i]), v)
	}
	s.SetArgs(&tracks.DimensionArgSetID, row, &t.scratch)
	tracks.MachineID.Set(row, t.context.Machine.ID)
	tracks.Classification.Set(row, s.Strings.Intern(b.Classification))
	tracks.EventType.Set(row, s.Strings.Intern(eventTypes[b.Event]))
	switch {
	case o.Name != 0:
		tracks.Name.Set(row, o.Name)
	case b.NameOf != nil:
		tracks.Name.Set(row, s.Strings.Intern(b.NameOf(s, dims)))
	case b.Name != "":
		tracks.Name.Set(row, s.Strings.Intern(b.Name))
	}
	switch {
	case o.Unit != 0:
		tracks.CounterUnit.Set(row, o.Unit)
	case b.Unit != "":
		tracks.CounterUnit.Set(row, s.Strings.Intern(b.Unit))
	}
	if o.HasParent {
		tracks.ParentID.Set(row, o.Parent)
	}
	t.scratch.Reset()
	if b.Describe != nil {
		t.scratch.Add(s.words.description, StringArg(s.Strings.Intern(b.Describe(s, dims))))
	}
	if o.Args != nil {
		o.Args.AddArgs(&t.scratch)
	}
	s.SetArgs(&tracks.SourceArgSetID, row, &t.scratch)
	return TrackID(row)
}

// NameOf returns a function that formats track names. The format refers to
// dimensions by index, as in "Irq Cpu %[1]d".
func NameOf(format string) func(*Store, []Dim) string {
	if !strings.Contains(format, "%") {
		return func(*Store, []Dim) string { return format }
	}
	return func(s *Store, dims []Dim) string {
		values := make([]any, len(dims))
		for i, d := range dims {
			if d.IsText() {
				values[i] = s.Strings.Get(d.String())
			} else {
				values[i] = d.Int()
			}
		}
		return fmt.Sprintf(format, values...)
	}
}
