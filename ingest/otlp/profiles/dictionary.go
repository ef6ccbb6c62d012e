package profiles

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// dictionary has the tables that profiles refer to by index, and what of them was stored. Slices of bytes are parts of the message.
type dictionary struct {
	texts      []model.StringID
	mappings   []mapping
	locations  []location
	lines      [][]byte // of locations
	functions  []function
	links      []link
	attributes []attribute
	units      map[model.StringID]model.StringID // by the key of an attribute
	stacks     [][]byte                          // packed indices of locations, the innermost first
	known      map[uint64]stack                  // by their index or, if there is no table of them, place in the indices of a profile
}

type mapping struct {
	start, limit, offset uint64 // bytes
	file, build          int
	attributes           []uint64
	id                   profile.MappingID
	stored               bool
}

type location struct {
	mapping    int // or model.None
	address    uint64
	from, to   int // range in lines: functions inlined here, the innermost first
	kind       int // of the frame, or model.None
	attributes []uint64
	frame      profile.FrameID
	stored     bool
}

type function struct {
	name, system, file int
	startLine          int64
}

type link struct {
	trace, span     []byte
	traceID, spanID model.StringID // in hexadecimal, once used
}

// attribute is an entry of the table of attributes. The value is a message AnyValue.
type attribute struct {
	key, unit model.StringID
	value     []byte
	keyIndex  int // of a key in the table of texts, or model.None
	unitIndex int

	argKey model.StringID // of args, once used
	plain  plain
}

// plain is the value of an attribute that is a text or a number.
type plain struct {
	known, ok bool
	text      model.StringID
	number    int64
}

// table adds an entry to a table. It returns false for a damaged one.
func (r *Reader) table(table role, f *wire.Field) bool {
	if f.Type != wire.Bytes {
		return table == locationIndices
	}
	d, message := &r.dictionary, f.Bytes()
	switch table {
	case stringTable:
		d.texts = append(d.texts, r.in.Store.Strings.InternBytes(message))
	case mappingTable:
		return r.mapping(message)
	case locationTable:
		return r.location(message)
	case functionTable:
		return r.function(message)
	case stackTable:
		stack, _ := wire.Find(message, stackIndices)
		d.stacks = append(d.stacks, stack.Bytes())
	case linkTable:
		var l link
		m := wire.Read(message)
		for m.Next() {
			switch m.Number {
			case linkTrace:
				l.trace = m.Bytes()
			case linkSpan:
				l.span = m.Bytes()
			}
		}
		d.links = append(d.links, l)
		return !m.Bad()
	case attributeTable:
		a, ok := r.attribute(message)
		d.attributes = append(d.attributes, a)
		return ok
	case attributeUnits:
		key, _ := wire.Find(message, unitKey)
		unit, _ := wire.Find(message, unitUnit)
		r.unitIndices = append(r.unitIndices, [2]int{int(key.Int32()), int(unit.Int32())})
	}
	return true
}

func (r *Reader) mapping(message []byte) bool {
	m := mapping{build: model.None}
	fields := wire.Read(message)
	for fields.Next() {
		switch roleOf(r.release.mapping, &fields.Field) {
		case memoryStart:
			m.start = fields.Uint64()
		case memoryLimit:
			m.limit = fields.Uint64()
		case fileOffset:
			m.offset = fields.Uint64()
		case fileName:
			m.file = int(fields.Int32())
		case buildID:
			m.build = int(fields.Int32())
		case attributes:
			m.attributes = fields.AppendVarints(m.attributes)
		case unread:
			r.unreadField("mapping", &fields.Field)
		}
	}
	r.dictionary.mappings = append(r.dictionary.mappings, m)
	return !fields.Bad()
}

func (r *Reader) location(message []byte) bool {
	d := &r.dictionary
	l := location{mapping: model.None, kind: model.None, from: len(d.lines)}
	if r.release == experimental {
		l.mapping = 0 // which is not written
	}
	fields := wire.Read(message)
	for fields.Next() {
		switch roleOf(r.release.location, &fields.Field) {
		case mappingIndex:
			if l.mapping = int(fields.Int32()); r.release.zeroIsNone && l.mapping == 0 {
				l.mapping = model.None
			}
		case address:
			l.address = fields.Uint64()
		case line:
			d.lines = append(d.lines, fields.Bytes())
		case frameType:
			l.kind = int(fields.Int32())
		case attributes:
			l.attributes = fields.AppendVarints(l.attributes)
		case unread:
			r.unreadField("location", &fields.Field)
		}
	}
	l.to = len(d.lines)
	d.locations = append(d.locations, l)
	return !fields.Bad()
}

func (r *Reader) function(message []byte) bool {
	var f function
	fields := wire.Read(message)
	for fields.Next() {
		switch roleOf(r.release.function, &fields.Field) {
		case functionName:
			f.name = int(fields.Int32())
		case systemName:
			f.system = int(fields.Int32())
		case fileName:
			f.file = int(fields.Int32())
		case startLine:
			f.startLine = fields.Int64()
		case unread:
			r.unreadField("function", &fields.Field)
		}
	}
	r.dictionary.functions = append(r.dictionary.functions, f)
	return !fields.Bad()
}

// attribute reads a KeyValue, whose key is a text, or a KeyValueAndUnit, whose key is an index.
func (r *Reader) attribute(message []byte) (a attribute, ok bool) {
	a = attribute{keyIndex: model.None, unitIndex: 0}
	fields := wire.Read(message)
	for fields.Next() {
		switch {
		case fields.Number == spans.KeyValueKey && fields.Type == wire.Bytes:
			a.key = r.in.Store.Strings.InternBytes(fields.Bytes())
		case fields.Number == spans.KeyValueKey:
			a.keyIndex = int(fields.Int32())
		case fields.Number == spans.KeyValueValue && fields.Type == wire.Bytes:
			a.value = fields.Bytes()
		case fields.Number == attributeUnit && r.release.zeroIsNone:
			a.unitIndex = int(fields.Int32())
		case fields.Number == KeyTextIndex:
			a.keyIndex = int(fields.Int32())
		default:
			r.unreadField("attribute", &fields.Field)
		}
	}
	return a, !fields.Bad()
}

// resolve finds the keys and units of attributes, once all texts are known.
func (r *Reader) resolve() {
	d := &r.dictionary
	for _, u := range r.unitIndices {
		if d.units == nil {
			d.units = map[model.StringID]model.StringID{}
		}
		d.units[r.text(u[0])] = r.text(u[1])
	}
	for i := range d.attributes {
		a := &d.attributes[i]
		if a.keyIndex != model.None {
			a.key = r.text(a.keyIndex)
		}
		if a.unit = d.units[a.key]; a.unitIndex != 0 {
			a.unit = r.text(a.unitIndex)
		}
	}
}

// text returns an entry of the table of texts. One that is missing is damage.
func (r *Reader) text(index int) model.StringID {
	if index < 0 || index >= len(r.dictionary.texts) {
		if index != 0 {
			r.damaged()
		}
		return r.in.Store.Strings.Intern("")
	}
	return r.dictionary.texts[index]
}

// isEmpty reports whether a text is missing or "".
func (r *Reader) isEmpty(text model.StringID) bool {
	return text == 0 || r.in.Store.Strings.Get(text) == ""
}

// entry returns an index if a table of so many entries has it, or false.
func (r *Reader) entry(index uint64, length int) (int, bool) {
	if index >= uint64(length) {
		r.damaged()
		return 0, false
	}
	return int(index), index != 0 || !r.release.zeroIsNone
}

// unknown is the name of anything without a name.
const unknown = "[unknown]"

// The keys of attributes with build ids, the best one first.
var buildIDs = []string{"process.executable.build_id.gnu", "process.executable.build_id.go", "process.executable.build_id.htlhash"}

// frameTypeKey is the key of the attribute with the kind of a frame.
const frameTypeKey = "profile.frame.type"

func (r *Reader) mappingID(index int) profile.MappingID {
	m := &r.dictionary.mappings[index]
	if m.stored {
		return m.id
	}
	m.stored = true
	build, best := model.StringID(0), len(buildIDs)
	if m.build != model.None {
		build = r.text(m.build)
	}
	for _, index := range m.attributes {
		i, ok := r.entry(index, len(r.dictionary.attributes))
		if !ok {
			continue
		}
		a := &r.dictionary.attributes[i]
		rank := slices.Index(buildIDs, r.in.Store.Strings.Get(a.key))
		value, _, _ := r.plain(a)
		switch {
		case rank < 0 || value == 0:
			r.unreadAttribute("mapping", a)
		case rank < best:
			build, best = value, rank
		}
	}
	name := r.text(m.file)
	if r.isEmpty(name) {
		name = r.in.Store.Strings.Intern(unknown)
	}
	m.id = r.in.Store.Stacks.Mapping(profile.Mapping{BuildID: build, ExactOffset: m.offset, Start: m.start, End: m.limit, Name: name})
	return m.id
}

// frame returns the frame of a location, with the functions inlined there, or None if the table does not have it.
func (r *Reader) frame(index uint64) profile.FrameID {
	i, ok := r.entry(index, len(r.dictionary.locations))
	if !ok {
		if i == 0 && index == 0 {
			r.damaged() // a stack has no place for nothing
		}
		return model.None
	}
	l := &r.dictionary.locations[i]
	if l.stored {
		return l.frame
	}
	l.stored = true
	id, relPC := r.placeOf(l)
	if symbols := r.symbols(l); len(symbols) > 0 {
		l.frame = r.in.Store.Stacks.SymbolizedFrame(id, relPC, symbols)
	} else {
		l.frame = r.in.Store.Stacks.Frame(id, relPC, r.in.Store.Strings.Intern(unknown))
	}
	return l.frame
}

// placeOf returns the mapping of a location, and its address in it.
func (r *Reader) placeOf(l *location) (id profile.MappingID, relPC uint64) {
	strings := r.in.Store.Strings
	kind := model.StringID(0)
	if l.kind != model.None {
		kind = r.text(l.kind)
	}
	for _, index := range l.attributes {
		i, ok := r.entry(index, len(r.dictionary.attributes))
		if !ok {
			continue
		}
		a := &r.dictionary.attributes[i]
		if value, _, _ := r.plain(a); strings.Get(a.key) == frameTypeKey && value != 0 {
			kind = value
		} else {
			r.unreadAttribute("location", a)
		}
	}
	if l.mapping != model.None && l.mapping < len(r.dictionary.mappings) && l.mapping >= 0 {
		m := &r.dictionary.mappings[l.mapping]
		if kind != 0 {
			r.unread("kind of frame")
		}
		relPC = l.address
		if relPC >= m.start {
			relPC -= m.start
		}
		return r.mappingID(l.mapping), relPC
	}
	if l.mapping != model.None && (l.mapping != 0 || len(r.dictionary.mappings) > 0) {
		r.damaged()
	}
	id, ok := r.unnamed[kind]
	if !ok {
		name := unknown
		if kind != 0 {
			name = "[" + strings.Get(kind) + "]"
		}
		id = r.in.Store.Stacks.DummyMapping(name)
		r.unnamed[kind] = id
	}
	return id, l.address
}

// inlined and outermost are values for Symbol.Inlined.
var inlined, outermost = true, false

// symbols returns the functions at a location, the innermost first.
func (r *Reader) symbols(l *location) (all []profile.Symbol) {
	for _, message := range r.dictionary.lines[l.from:l.to] {
		function, number := uint64(0), int64(0)
		for m := wire.Read(message); m.Next(); {
			switch m.Number {
			case lineFunction:
				function = uint64(uint32(m.Int32()))
			case lineNumber:
				number = m.Int64()
			case lineColumn:
				if m.Int64() != 0 {
					r.unread("column of a line")
				}
			}
		}
		if i, ok := r.entry(function, len(r.dictionary.functions)); ok {
			all = append(all, r.symbol(&r.dictionary.functions[i], number))
		}
	}
	if n := len(all); n > 0 {
		all[n-1].Inlined = &outermost
	}
	return all
}

func (r *Reader) symbol(f *function, line int64) profile.Symbol {
	name := r.text(f.name)
	if r.isEmpty(name) {
		name = r.text(f.system)
	}
	if r.isEmpty(name) {
		name = r.in.Store.Strings.Intern(unknown)
	}
	if line <= 0 {
		line = f.startLine
	}
	return profile.Symbol{Name: name, File: r.text(f.file), Line: line, Inlined: &inlined}
}

// plain returns the text or integer of an attribute, or false for one that is neither.
func (r *Reader) plain(a *attribute) (text model.StringID, number int64, ok bool) {
	v := &a.plain
	if v.known {
		return v.text, v.number, v.ok
	}
	v.known = true
	strings := r.in.Store.Strings
	if m := wire.Read(a.value); m.Next() {
		v.ok = true
		switch m.Number {
		case spans.ValueText:
			v.text = strings.InternBytes(m.Bytes())
		case ValueTextIndex:
			v.text = r.text(int(m.Int32()))
		case spans.ValueBool:
			v.text = strings.Intern(strconv.FormatBool(m.Bool()))
		case spans.ValueInt:
			v.number = m.Int64()
		case spans.ValueDouble:
			v.text = strings.Intern(strconv.FormatFloat(m.Float64(), 'g', -1, 64))
		default:
			v.ok = false
		}
	}
	return v.text, v.number, v.ok
}

// maxKey is how much of a key the name of what is not read has, in bytes.
const maxKey = 80

func (r *Reader) unreadAttribute(owner string, a *attribute) {
	key := r.in.Store.Strings.Get(a.key)
	r.unread(owner + " attribute " + key[:min(len(key), maxKey)])
}

// Fields that refer to the table of texts.
const (
	ValueTextIndex = 8
	KeyTextIndex   = 3
)

// described returns a Resource or scope whose attributes, fields with this number, have texts in place of indices.
func (r *Reader) described(message []byte, number protowire.Number) []byte {
	var to spans.Message
	for i := 0; i < len(message); {
		tag, v, next := wire.Scan(message, i)
		if next < 0 {
			r.damaged()
			break
		}
		if f := wire.ScannedField(message, tag, v, next); f.Number == uint32(number) && f.Type == wire.Bytes {
			to.Nested(number, func() { r.keyValue(&to, f.Bytes(), 0) })
		} else {
			to = append(to, message[i:next]...)
		}
		i = next
	}
	return to
}

// keyValue copies a KeyValue.
func (r *Reader) keyValue(to *spans.Message, message []byte, depth int) {
	for m := wire.Read(message); m.Next(); {
		switch {
		case m.Number == spans.KeyValueKey:
			to.Bytes(spans.KeyValueKey, m.Bytes())
		case m.Number == KeyTextIndex && m.Type == wire.Varint:
			r.copyText(to, spans.KeyValueKey, &m.Field)
		case m.Number == spans.KeyValueValue:
			to.Nested(spans.KeyValueValue, func() { r.value(to, m.Bytes(), depth) })
		}
	}
}

// copyText adds the text that a field refers to.
func (r *Reader) copyText(to *spans.Message, number protowire.Number, index *wire.Field) {
	text := r.in.Store.Strings.Get(r.text(int(index.Int32())))
	if !r.spend(len(text)) {
		r.unread("text of an attribute that many have")
		text = ""
	}
	to.Bytes(number, []byte(text))
}

// maxDepth is how deep values may be nested.
const maxDepth = 64

// value copies an AnyValue.
func (r *Reader) value(to *spans.Message, message []byte, depth int) {
	if depth == maxDepth {
		*to = append(*to, message...) // which is refused where it becomes args
		return
	}
	for i := 0; i < len(message); {
		tag, v, next := wire.Scan(message, i)
		if next < 0 {
			r.damaged()
			return
		}
		f := wire.ScannedField(message, tag, v, next)
		switch {
		case f.Number == ValueTextIndex && f.Type == wire.Varint:
			r.copyText(to, spans.ValueText, &f)
		case f.Number == spans.ValueArray:
			to.Nested(spans.ValueArray, func() {
				for e := wire.Read(f.Bytes()); e.Next(); {
					to.Nested(spans.ListValues, func() { r.value(to, e.Bytes(), depth+1) })
				}
			})
		case f.Number == spans.ValueList:
			to.Nested(spans.ValueList, func() {
				for e := wire.Read(f.Bytes()); e.Next(); {
					to.Nested(spans.ListValues, func() { r.keyValue(to, e.Bytes(), depth+1) })
				}
			})
		default:
			*to = append(*to, message[i:next]...)
		}
		i = next
	}
}
