package nettrace

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/model"
)

// eventType is a kind of events.
type eventType struct {
	provider string
	id       uint64
	version  uint64
	title    string // what the trace calls the event
	name     model.StringID
	category model.StringID // the provider
	fields   []field
	pair     *pair // nil unless the event begins or ends a slice
	learn    func(p *parser, pid int64, payload []byte) bool
	silent   bool // an event that names something makes no rows
}

// field is a part of an event's payload.
type field struct {
	name    string
	kind    kind
	element *field  // of an array
	fields  []field // of an object
	count   uint64  // of a fixed array
}

type kind uint8

// The kinds of fields, by the numbers of .NET's TypeCode, and some that only descriptions here have.
const (
	kindEmpty    kind = 0
	kindObject   kind = 1
	kindDBNull   kind = 2
	kindBool     kind = 3
	kindChar     kind = 4
	kindInt8     kind = 5
	kindUint8    kind = 6
	kindInt16    kind = 7
	kindUint16   kind = 8
	kindInt32    kind = 9
	kindUint32   kind = 10
	kindInt64    kind = 11
	kindUint64   kind = 12
	kindFloat32  kind = 13
	kindFloat64  kind = 14
	kindDecimal  kind = 15
	kindDateTime kind = 16
	kindGUID     kind = 17
	kindText     kind = 18
	kindArray    kind = 19
	kindVarInt   kind = 20 // since version 6, as all behind it
	kindVarUint  kind = 21
	kindFixed    kind = 22
	kindUTF8     kind = 23
	kindRelative kind = 24
	kindAbsolute kind = 25
	kindBool8    kind = 26
	kindPointer  kind = 100
	kindRest     kind = 101 // what is not read
	kindSystem   kind = 102 // a time of version 6
	kindUnit     kind = 103 // a character of version 6, of which arrays are texts
	kindShort    kind = 104 // a text of what is universal, described as a character in UTF-8
)

// The providers of the runtime. The metadata of their events has neither names nor fields.
const (
	runtime  = "Microsoft-Windows-DotNETRuntime"
	rundown  = "Microsoft-Windows-DotNETRuntimeRundown"
	sampler  = "Microsoft-DotNETCore-SampleProfiler"
	pipe     = "Microsoft-DotNETCore-EventPipe"
	sampleID = 0
	// What machine-wide recorders write, in version 6.
	universal = "Universal.Events"
	system    = "Universal.System"
)

// runtimeEvents has the events of the runtime's manifest: a line with the id, the name, and fields with their type. After a
// point, an id has the version that a line is about; other lines are about all others.
//
//go:embed events.txt
var runtimeEvents string

// fieldKinds are the types of fields in events.txt.
var fieldKinds = map[string]kind{"u1": kindUint8, "u2": kindUint16, "u4": kindUint32, "u8": kindUint64, "i4": kindInt32, "i8": kindInt64,
	"b": kindBool, "d": kindFloat64, "f": kindFloat32, "g": kindGUID, "s": kindText, "p": kindPointer, "?": kindRest}

// manifest returns the lines about the runtime's events by "PROVIDER ID".
func manifest() map[string][]string {
	lines := map[string][]string{}
	provider := ""
	for line := range strings.Lines(runtimeEvents) {
		words := strings.Fields(line)
		if words[0] == "#" {
			provider = words[1]
			continue
		}
		lines[provider+" "+words[0]] = words[1:]
	}
	return lines
}

// addType reads the description of a kind of events.
func (r *reader) addType(e *blob) bool {
	c := cursor{b: e.payload}
	id := uint32(c.uint(4))
	t := &eventType{provider: c.text(), id: c.uint(4)}
	name := c.text()
	c.uint(8) // keywords
	t.version = c.uint(4)
	c.uint(4) // the level
	t.fields = c.fields(false, 0)
	for c.at < len(c.b) && !c.failed {
		const paramsTag = 2
		size, tag := c.uint(4), c.uint(1)
		more := cursor{b: c.take(size)}
		if tag == paramsTag {
			t.fields = more.fields(true, 0)
			c.failed = c.failed || more.failed
		}
	}
	if c.failed {
		return false
	}
	r.define(id, t, name)
	return true
}

// define adds a kind of events. Those of the runtime may have neither a name nor fields.
func (r *reader) define(id uint32, t *eventType, name string) {
	if r.lines == nil {
		r.lines = manifest()
	}
	key := fmt.Sprint(t.provider, " ", t.id)
	words, ok := r.lines[fmt.Sprint(key, ".", t.version)]
	if !ok {
		words = r.lines[key]
	}
	if len(words) > 0 && len(t.fields) == 0 {
		name = words[0]
		for _, word := range words[1:] {
			owner, kind, _ := strings.Cut(word, ":")
			t.fields = append(t.fields, field{name: owner, kind: fieldKinds[kind]})
		}
	}
	switch {
	case name != "":
	case t.provider == sampler && t.id == sampleID:
		name = "ThreadSample"
	default:
		name = fmt.Sprint("event ", t.id)
	}
	word := r.Store.Strings.Intern
	t.title, t.category = name, word(t.provider)
	if t.provider == universal || t.provider == system {
		for i := range t.fields {
			if t.fields[i].kind == kindUTF8 {
				t.fields[i].kind = kindShort
			}
		}
	}
	t.pair, t.learn = pairs[t.provider+" "+name], learners[t.provider+" "+name]
	t.silent = t.provider == rundown || t.provider == system && slices.Contains(silent, name)
	if t.pair != nil {
		name = t.pair.name
	}
	t.name = word(name)
	r.metadata[id] = int32(len(r.types))
	r.types = append(r.types, t)
}

const (
	maxFields = 10_000
	maxNested = 8
)

// fields reads the descriptions of fields.
func (c *cursor) fields(sized bool, depth int) (all []field) {
	n := c.uint(4)
	if n > maxFields || depth > maxNested {
		c.failed = true
		return nil
	}
	for range n {
		var f field
		if sized {
			start := c.at
			size := c.uint(4)
			f.name = c.text()
			c.fieldType(&f, sized, depth)
			end := uint64(start) + size
			if end < uint64(c.at) || end > uint64(len(c.b)) {
				c.failed = true
			}
			if c.failed {
				return nil
			}
			c.at = int(end)
		} else {
			c.fieldType(&f, sized, depth)
			f.name = c.text()
		}
		if c.failed {
			return nil
		}
		all = append(all, f)
	}
	return all
}

func (c *cursor) fieldType(f *field, sized bool, depth int) {
	f.kind = kind(min(c.uint(4), math.MaxUint8))
	switch {
	case f.kind == kindObject:
		f.fields = c.fields(sized, depth+1)
	case f.kind == kindArray && sized && depth <= maxNested:
		f.element = &field{}
		c.fieldType(f.element, sized, depth+1)
	case f.kind == kindArray, f.kind > kindArray, f.kind == kindEmpty:
		c.failed = true
	}
}

// text returns a text in UTF-16 that ends with a zero.
func (c *cursor) text() string {
	var units []uint16
	for {
		u := c.uint(2)
		if u == 0 {
			return string(utf16.Decode(units))
		}
		units = append(units, uint16(u))
	}
}

// values adds the values of fields to a set of args.
type values struct {
	*parser
	cursor
	set  *model.ArgSet
	ts   int64
	left int // how many more values may be added
	end  int // of the arrays that are not in their field
}

// maxArgs is the maximum number of values of an event.
const maxArgs = 100_000

// fields adds the values of fields, as far as there are some: later versions of an event add fields.
func (v *values) fields(fields []field, prefix string) {
	for i := range fields {
		if v.at == len(v.b) || v.failed {
			return
		}
		f := &fields[i]
		name := prefix + f.name
		v.field(f, name, name)
	}
}

func (v *values) field(f *field, flat, key string) {
	if v.left--; v.left < 0 {
		v.failed = true
	}
	if v.failed {
		return
	}
	add := func(value model.ArgValue) {
		if !v.failed {
			word := v.Store.Strings.Intern
			v.set.AddFlat(word(flat), word(key), value)
		}
	}
	switch f.kind {
	case kindBool:
		add(model.BoolArg(v.uint(4) != 0))
	case kindInt8:
		add(model.IntArg(int64(int8(v.uint(1)))))
	case kindUint8:
		add(model.UintArg(v.uint(1)))
	case kindInt16:
		add(model.IntArg(int64(int16(v.uint(2)))))
	case kindUint16:
		add(model.UintArg(v.uint(2)))
	case kindInt32:
		add(model.IntArg(int64(int32(v.uint(4)))))
	case kindUint32:
		add(model.UintArg(v.uint(4)))
	case kindInt64:
		add(model.IntArg(int64(v.uint(8))))
	case kindUint64:
		add(model.UintArg(v.uint(8)))
	case kindPointer:
		add(model.PointerArg(v.uint(v.pointer)))
	case kindFloat32:
		add(model.RealArg(float64(math.Float32frombits(uint32(v.uint(4))))))
	case kindFloat64:
		add(model.RealArg(math.Float64frombits(v.uint(8))))
	case kindChar, kindUnit:
		v.addText(flat, key, string(utf16.Decode([]uint16{uint16(v.uint(2))})))
	case kindText:
		v.addText(flat, key, v.text())
	case kindDateTime:
		v.addText(flat, key, fileTime(v.uint(8)))
	case kindGUID:
		v.addText(flat, key, guid(v.take(16)))
	case kindDecimal:
		v.take(16)
		v.File.Unread(model.StatUnreadFact, model.None, "decimal field").Add(model.LogEntry{TS: v.ts, HasTS: true})
	case kindObject:
		for i := range f.fields {
			v.field(&f.fields[i], flat+"."+f.fields[i].name, key+"."+f.fields[i].name)
		}
	case kindArray:
		v.elements(f.element, v.uint(2), flat, key)
	case kindFixed:
		v.elements(f.element, f.count, flat, key)
	case kindVarInt:
		add(model.IntArg(v.zigzag()))
	case kindVarUint:
		add(model.UintArg(v.varint()))
	case kindUTF8:
		v.addText(flat, key, string(v.take(1)))
	case kindShort:
		v.addText(flat, key, v.short())
	case kindBool8:
		add(model.BoolArg(v.uint(1) != 0))
	case kindSystem:
		v.addText(flat, key, systemTime(v.take(16)))
	case kindRelative, kindAbsolute:
		v.elsewhere(f, flat, key)
	case kindRest:
		v.at = len(v.b)
		v.File.Unread(model.StatUnreadFact, model.None, "list field").Add(model.LogEntry{TS: v.ts, HasTS: true})
	}
}

// elements adds the elements of an array. Those of characters are a text in version 6.
func (v *values) elements(f *field, n uint64, flat, key string) {
	switch f.kind {
	case kindUTF8:
		v.addText(flat, key, string(v.take(n)))
		return
	case kindUnit:
		units := make([]uint16, 0, min(n, uint64(len(v.b))))
		for range n {
			if v.failed {
				return
			}
			units = append(units, uint16(v.uint(2)))
		}
		v.addText(flat, key, string(utf16.Decode(units)))
		return
	}
	for i := range n {
		if v.failed {
			return
		}
		v.field(f, flat, key+"["+strconv.FormatUint(i, 10)+"]")
	}
}

// elsewhere adds an array at another place in the payload.
func (v *values) elsewhere(f *field, flat, key string) {
	place := v.uint(4)
	at, size := place&math.MaxUint16, place>>16
	if f.kind == kindRelative {
		at += uint64(v.at)
	}
	if v.failed || at+size > uint64(len(v.b)) {
		v.failed = true
		return
	}
	back := v.cursor
	v.cursor = cursor{b: v.b[at:][:size]}
	switch f.element.kind {
	case kindUTF8:
		v.elements(f.element, size, flat, key)
	case kindUnit:
		v.elements(f.element, size/2, flat, key)
	default:
		for i := uint64(0); v.at < len(v.b) && !v.failed; i++ {
			v.field(f.element, flat, key+"["+strconv.FormatUint(i, 10)+"]")
		}
	}
	failed := v.failed
	v.cursor = back
	v.failed = failed
	v.end = max(v.end, int(at+size))
}

func (v *values) addText(flat, key, text string) {
	if !v.failed {
		word := v.Store.Strings.Intern
		v.set.AddText(word(flat), word(key), []byte(text))
	}
}

// fileTime returns a time in units of 100 ns since 1601.
func fileTime(n uint64) string {
	const second = 10_000_000
	const since1970 = 11_644_473_600
	return time.Unix(int64(n/second)-since1970, int64(n%second)*100).UTC().Format(time.RFC3339Nano)
}

// systemTime returns a time of which the bytes are its parts: year, month, day of the week, day, and so on to milliseconds.
func systemTime(b []byte) string {
	if len(b) < 16 {
		return ""
	}
	c := cursor{b: b}
	var n [8]int
	for i := range n {
		n[i] = int(c.uint(2))
	}
	t := time.Date(n[0], time.Month(n[1]), n[3], n[4], n[5], n[6], n[7]*int(time.Millisecond), time.UTC)
	return t.Format(time.RFC3339Nano)
}

// guid returns a GUID as .NET writes it.
func guid(b []byte) string {
	if len(b) < 16 {
		return ""
	}
	c := cursor{b: b}
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", c.uint(4), c.uint(2), c.uint(2), b[8:10], b[10:16])
}
