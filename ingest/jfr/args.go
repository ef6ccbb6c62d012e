package jfr

import (
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

const (
	maxArgs   = 10_000 // of an event
	maxShared = 1_000  // of an event's in constants, which any number of events may refer to
	// A file may have this many of those, and so many more for each event.
	allShared   = 5_000_000
	eventShared = 20
	maxNested   = 8 // objects in each other
)

// truncated is the key of the arg of events whose stack was cut off.
const truncated = "stackTrace.truncated"

// path is where a value is in the events of a type, which gives its arg the keys.
type path struct {
	flat, key     string
	flatID, keyID model.StringID // 0 until an arg has them
}

// step is the last step of a path: a field of the object at the path within, or an element of the list there.
type step struct {
	within *path // nil for a field of the event
	field  *field
	index  int // of the element, or none
}

const noIndex = -1

// utidField stands for the utid of a thread.
var utidField = &field{name: "utid"}

// path returns the path that a step leads to.
func (c *chunk) path(s step) *path {
	if s.within == nil {
		if s.field.path == nil {
			s.field.path = &path{flat: s.field.name, key: s.field.name}
		}
		return s.field.path
	}
	p := c.paths[s]
	if p == nil {
		p = &path{flat: s.within.flat, key: s.within.key}
		if s.index != noIndex {
			p.key += "[" + strconv.Itoa(s.index) + "]"
		} else {
			p.flat += "." + s.field.name
			p.key += "." + s.field.name
		}
		c.paths[s] = p
	}
	return p
}

// args packs the fields of an event for the parser.
type args struct {
	*chunk
	w            *token.Writer
	left, shared int // args that may be added, in all and in constants
	constants    int // that the value is in
}

// full reports whether no more args may be added.
func (a *args) full() bool { return a.left < 0 || a.constants > 0 && a.shared < 0 }

// add adds the value of a field, under the field's name and those of the objects it is in. A missing value has no arg.
func (a *args) add(f *field, v value, at step, depth int) {
	v = a.shown(v)
	if v.kind == null {
		return
	}
	a.left--
	if a.constants > 0 {
		a.shared--
	}
	if a.full() || depth > maxNested {
		a.in.File.Unread(model.StatUnreadFact, model.None, "deeply nested field").Add(model.LogEntry{})
		return
	}
	p := a.path(at)
	switch v.kind {
	case list:
		r, element := cursor{b: v.data}, *f
		element.array = false
		for i := range int(v.n) {
			if a.full() {
				break
			}
			a.add(&element, a.element(&r, &element), step{p, nil, i}, depth)
		}
	case object:
		if v.class.name == stackClass {
			a.head(p, argInt).Int(int64(a.stack(v).callsite))
			return
		}
		if name := a.name(v); name != 0 {
			a.head(p, argWord).Uint(uint64(name))
			if utid := a.thread(v); utid != model.None {
				a.head(a.path(step{p, utidField, noIndex}), argInt).Int(int64(utid))
			}
			return
		}
		if v.ref.class != nil {
			a.constants++
			defer func() { a.constants-- }()
		}
		r := cursor{b: v.data}
		for _, f := range v.class.fields {
			if a.full() {
				break
			}
			a.add(f, a.chunk.read(&r, f), step{p, f, noIndex}, depth+1)
		}
	case text:
		a.head(p, argText).Raw(v.text)
	case boolean:
		a.head(p, argBool).Uint(v.n)
	case real:
		a.head(p, argReal).Uint(v.n)
	default:
		a.number(f, v, p)
	}
}

// number adds an integer. Times are in ns.
func (a *args) number(f *field, v value, p *path) {
	switch {
	case (f.timespan != 0 || f.timestamp != 0) && v.n == none:
	case f.timestamp != 0:
		a.head(p, argInt).Int(a.timestamp(f.timestamp, v.n))
	case f.timespan != 0:
		a.head(p, argInt).Int(a.timespan(f.timespan, v.n))
	case f.address:
		a.head(p, argPointer).Uint(v.n)
	case f.unsigned:
		switch f.class.name {
		case "byte":
			v.n = uint64(uint8(v.n))
		case "short":
			v.n = uint64(uint16(v.n))
		case "int":
			v.n = uint64(uint32(v.n))
		}
		a.head(p, argUint).Uint(v.n)
	default:
		a.head(p, argInt).Int(int64(v.n))
	}
}

func (a *args) head(p *path, kind uint64) *token.Writer {
	if p.keyID == 0 {
		words := a.in.Store.Strings
		p.flatID, p.keyID = words.Intern(p.flat), words.Intern(p.key)
	}
	a.w.Uint(uint64(p.flatID))
	a.w.Uint(uint64(p.keyID))
	a.w.Uint(kind)
	return a.w
}
