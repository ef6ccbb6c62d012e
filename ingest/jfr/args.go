package jfr

import (
	"math"
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
func (a *args) add(f *field, v value, flat, key string, depth int) {
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
	switch v.kind {
	case list:
		r, element := cursor{b: v.data}, *f
		element.array = false
		for i := range v.n {
			if a.full() {
				break
			}
			a.add(&element, a.element(&r, &element), flat, key+"["+strconv.FormatUint(i, 10)+"]", depth)
		}
	case object:
		if v.class.name == stackClass {
			a.head(flat, key, argInt).Int(int64(a.stack(v).callsite))
			return
		}
		if name := a.name(v); name != 0 {
			a.head(flat, key, argWord).Uint(uint64(name))
			if utid := a.thread(v); utid != model.None {
				a.head(flat+".utid", key+".utid", argInt).Int(int64(utid))
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
			a.add(f, a.chunk.read(&r, f), flat+"."+f.name, key+"."+f.name, depth+1)
		}
	case text:
		a.head(flat, key, argText).Raw(v.text)
	case boolean:
		a.head(flat, key, argBool).Uint(v.n)
	case real:
		a.head(flat, key, argReal).Uint(v.n)
	default:
		a.number(f, v, flat, key)
	}
}

// number adds an integer. Times are in ns.
func (a *args) number(f *field, v value, flat, key string) {
	n := int64(v.n)
	switch {
	case (f.timespan != 0 || f.timestamp != 0) && n == math.MinInt64: // none
	case f.timestamp == inTicks:
		a.head(flat, key, argInt).Int(a.time(v.n))
	case f.timespan == inTicks:
		a.head(flat, key, argInt).Int(a.span(n))
	case f.timespan != 0 || f.timestamp != 0:
		unit := max(f.timespan, f.timestamp)
		a.head(flat, key, argInt).Int(min(max(n, math.MinInt64/unit), math.MaxInt64/unit) * unit)
	case f.address:
		a.head(flat, key, argPointer).Uint(v.n)
	case f.unsigned:
		switch f.class.name {
		case "byte":
			v.n = uint64(uint8(v.n))
		case "short":
			v.n = uint64(uint16(v.n))
		case "int":
			v.n = uint64(uint32(v.n))
		}
		a.head(flat, key, argUint).Uint(v.n)
	default:
		a.head(flat, key, argInt).Int(n)
	}
}

func (a *args) head(flat, key string, kind uint64) *token.Writer {
	words := a.in.Store.Strings
	a.w.Uint(uint64(words.Intern(flat)))
	a.w.Uint(uint64(words.Intern(key)))
	a.w.Uint(kind)
	return a.w
}
