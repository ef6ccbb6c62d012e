package proto

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// argWriter turns messages into args: each field into an arg with the path of the
// names of fields that lead to it as key, such as a.b[0].c.
type argWriter struct {
	reader *Reader
	pool   *descriptor.Pool
	// overrides are fields, by flat key, that are written in another way.
	// Functions return false to have a field written as usual.
	overrides    map[string]func(w *argWriter, at *argPath, f *wire.Field) bool
	translations map[string]*translation

	root argPath

	// What is written at present.
	set     *model.ArgSet
	state   *State
	unknown int64 // fields without a descriptor
}

// argPath is a path of names. Paths are kept, so that keys need to be put
// together once only.
type argPath struct {
	key, flat     string // flat has no indices
	keyID, flatID model.StringID
	names         map[model.StringID]*argPath
	items         []*argPath
	fields        map[argFieldKey]*argField
	override      func(w *argWriter, at *argPath, f *wire.Field) bool
	translation   *translation
	upid, utid    *argPath // where the process or thread of a number goes
}

type argFieldKey struct {
	message *descriptor.MessageType
	number  uint32
}

// argField is what is known of a field of a message at a path.
type argField struct {
	*descriptor.Field
	path    *argPath // without an index
	message *descriptor.MessageType
	enum    *descriptor.EnumType
	flags   *descriptor.EnumType
	unnamed bool // a debug annotation, which has a name of its own
}

// translation gives the numbers at a path a name.
type translation struct {
	names map[uint64]model.StringID
	key   string
	keyID model.StringID
}

// maxArgDepth is how deep messages may be nested.
const maxArgDepth = 1000

var (
	errTooDeep     = errors.New("messages are nested too deep")
	errNoInterned  = errors.New("interned message is not known")
	errUnnamed     = errors.New("debug annotation without a name")
	errMismatch    = errors.New("keys and values of a dictionary differ in number")
	debugType      = "perfetto.protos.DebugAnnotation"
	trackEventType = "perfetto.protos.TrackEvent"
)

func newArgWriter(r *Reader, pool *descriptor.Pool) *argWriter {
	return &argWriter{reader: r, pool: pool,
		overrides: map[string]func(*argWriter, *argPath, *wire.Field) bool{}, translations: map[string]*translation{}}
}

// child returns the path with another name at its end. The name stands for
// itself; id is what it is kept under.
func (w *argWriter) child(at *argPath, id model.StringID, name string) *argPath {
	if p, ok := at.names[id]; ok {
		return p
	}
	p := w.newPath(at, name, name)
	if at.names == nil {
		at.names = map[model.StringID]*argPath{}
	}
	at.names[id] = p
	return p
}

func (w *argWriter) newPath(at *argPath, name, flat string) *argPath {
	p := &argPath{key: name, flat: flat}
	if at.key != "" {
		p.key = at.key + "." + name
		p.flat = at.flat + "." + flat
	}
	p.override = w.overrides[p.flat]
	p.translation = w.translations[p.key]
	return p
}

// named is child by a name alone.
func (w *argWriter) named(at *argPath, name string) *argPath {
	return w.child(at, w.reader.Store.Strings.Intern(name), name)
}

// item returns the path of an array's entry.
func (at *argPath) item(i int) *argPath {
	for len(at.items) <= i {
		at.items = append(at.items, nil)
	}
	if at.items[i] == nil {
		at.items[i] = &argPath{key: model.ArrayKey(at.key, i), flat: at.flat, override: at.override}
	}
	return at.items[i]
}

// ids interns the path's keys.
func (w *argWriter) ids(at *argPath) (flat, key model.StringID) {
	if at.keyID == 0 {
		at.keyID = w.reader.Store.Strings.Intern(at.key)
		at.flatID = at.keyID
		if at.flat != at.key {
			at.flatID = w.reader.Store.Strings.Intern(at.flat)
		}
	}
	return at.flatID, at.keyID
}

func (w *argWriter) add(at *argPath, v model.ArgValue) {
	flat, key := w.ids(at)
	w.set.AddFlat(flat, key, v)
	if at.translation != nil && v.Kind == model.ArgUint {
		at.translation.add(w, uint64(v.Int()))
	}
}

func (t *translation) add(w *argWriter, hash uint64) {
	name, ok := t.names[hash]
	if !ok {
		return
	}
	if t.keyID == 0 {
		t.keyID = w.reader.Store.Strings.Intern(t.key)
	}
	w.set.Add(t.keyID, model.StringArg(name))
}

func (w *argWriter) text(s string) model.ArgValue {
	return model.StringArg(w.reader.Store.Strings.Intern(s))
}

// addText adds a text that need not be kept.
func (w *argWriter) addText(at *argPath, text []byte) {
	flat, key := w.ids(at)
	w.set.AddText(flat, key, text)
}

func (w *argWriter) textOf(b []byte) model.ArgValue {
	return model.StringArg(w.reader.Store.Strings.InternBytes(b))
}

// counts are the next indices of the repeated fields of one message.
type counts struct {
	numbers [4]uint32
	next    [4]int
	n       int
	more    map[uint32]int
}

func (c *counts) index(number uint32) int {
	for i := range c.n {
		if c.numbers[i] == number {
			c.next[i]++
			return c.next[i]
		}
	}
	if c.n < len(c.numbers) {
		c.numbers[c.n] = number
		c.n++
		return 0
	}
	if c.more == nil {
		c.more = map[uint32]int{}
	}
	i := c.more[number]
	c.more[number] = i + 1
	return i
}

// message writes a message. A message without fields is an arg of its own, NULL.
func (w *argWriter) message(m *descriptor.MessageType, data []byte, at *argPath, depth int) error {
	if depth > maxArgDepth {
		return errTooDeep
	}
	var c counts
	empty := true
	for r := wire.Read(data); r.Next(); empty = false {
		if err := w.field(m, &r.Field, at, &c, depth); err != nil {
			return err
		}
	}
	if empty {
		w.add(at, model.NullArg())
	}
	return nil
}

// field writes a field of a message of type m.
func (w *argWriter) field(m *descriptor.MessageType, f *wire.Field, at *argPath, c *counts, depth int) error {
	known := at.fields[argFieldKey{m, f.Number}]
	if known == nil {
		if known = w.newField(m, f.Number, at); known == nil {
			w.unknown++
			return nil
		}
	}
	if !known.Repeated {
		return w.single(known, f, known.path, depth)
	}
	if f.Type != wire.Bytes || known.Type == descriptor.String || known.Type == descriptor.Bytes || known.Type == descriptor.Message {
		return w.single(known, f, known.path.item(c.index(f.Number)), depth)
	}
	return w.packed(known, f, c)
}

func (w *argWriter) newField(m *descriptor.MessageType, number uint32, at *argPath) *argField {
	d := m.Field(number)
	if d == nil {
		return nil
	}
	field := &argField{Field: d, path: w.newPath(at, d.Name, d.Name)}
	switch d.Type {
	case descriptor.Message:
		field.message = w.pool.Message(d.TypeName)
		field.unnamed = d.TypeName == debugType
	case descriptor.Enum:
		field.enum = w.pool.Enum(d.TypeName)
	}
	if d.Flags != "" {
		field.flags = w.pool.Enum(d.Flags)
	}
	if at.fields == nil {
		at.fields = map[argFieldKey]*argField{}
	}
	if field.unnamed {
		field.path = at
	}
	at.fields[argFieldKey{m, number}] = field
	return field
}

// packed writes the values of a packed repeated field.
func (w *argWriter) packed(known *argField, f *wire.Field, c *counts) error {
	size := 0
	t := wire.Fixed64
	switch known.Type {
	case descriptor.Fixed32, descriptor.Sfixed32, descriptor.Float:
		size, t = 4, wire.Fixed32
	case descriptor.Fixed64, descriptor.Sfixed64, descriptor.Double:
		size = 8
	case descriptor.Int32, descriptor.Int64, descriptor.Uint32, descriptor.Uint64, descriptor.Enum, descriptor.Bool:
		for v := range f.Varints {
			if err := w.scalar(known, wire.NewField(f.Number, wire.Varint, v), known.path.item(c.index(f.Number))); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("field %s cannot be packed", known.Name)
	}
	for v := range f.Fixed(size) {
		if err := w.scalar(known, wire.NewField(f.Number, t, v), known.path.item(c.index(f.Number))); err != nil {
			return err
		}
	}
	return nil
}

// single writes one value of a field.
func (w *argWriter) single(known *argField, f *wire.Field, at *argPath, depth int) error {
	if at.override != nil && at.override(w, at, f) {
		return nil
	}
	switch {
	case known.unnamed:
		return w.annotation(f.Bytes(), known.path, depth+1)
	case known.Type != descriptor.Message:
		return w.scalar(known, *f, at)
	case known.message == nil:
		return fmt.Errorf("message type %s is not known", known.TypeName)
	}
	return w.message(known.message, f.Bytes(), at, depth+1)
}

func (w *argWriter) scalar(known *argField, f wire.Field, at *argPath) error {
	switch known.Type {
	case descriptor.Int32, descriptor.Sfixed32, descriptor.Int64, descriptor.Sfixed64:
		v := f.Int64()
		narrow := known.Type == descriptor.Int32 || known.Type == descriptor.Sfixed32
		if narrow {
			v = int64(int32(v))
		}
		if known.flags != nil {
			if narrow {
				v = int64(uint32(v))
			}
			w.flags(known.flags, uint64(v), at)
			return nil
		}
		w.add(at, model.IntArg(v))
		w.addOwner(known, v, at)
	case descriptor.Sint32, descriptor.Sint64:
		w.add(at, model.IntArg(f.Sint64()))
	case descriptor.Uint32, descriptor.Fixed32:
		w.add(at, model.UintArg(uint64(f.Uint32())))
	case descriptor.Uint64, descriptor.Fixed64:
		w.add(at, model.UintArg(f.Uint64()))
	case descriptor.Bool:
		w.add(at, model.BoolArg(f.Bool()))
	case descriptor.Double, descriptor.Float:
		w.add(at, model.RealArg(f.Float64()))
	case descriptor.Bytes:
		w.add(at, w.text(base64.StdEncoding.EncodeToString(f.Bytes())))
	case descriptor.String:
		w.addText(at, f.Bytes())
	case descriptor.Enum:
		v := f.Int32()
		name := ""
		if known.enum != nil {
			name = known.enum.Name(v)
		}
		if name == "" {
			name = strconv.Itoa(int(v))
		}
		w.add(at, w.text(name))
	default:
		return fmt.Errorf("field %s is of unknown type %d", known.Name, known.Type)
	}
	return nil
}

// flags writes the names of the bits of a number, and those without a name
// together.
func (w *argWriter) flags(enum *descriptor.EnumType, v uint64, at *argPath) {
	names, rest := enum.Flags(v)
	for i, name := range names {
		w.add(at.item(i), w.text(name))
	}
	if rest != 0 {
		w.add(at.item(len(names)), w.text("0x"+strconv.FormatUint(rest, 16)))
	}
}

// addOwner writes the process or thread that a number stands for, if it is known.
func (w *argWriter) addOwner(known *argField, v int64, at *argPath) {
	if known.PID {
		if upid := w.reader.Machine.LiveProcess(v); upid != model.None {
			if at.upid == nil {
				at.upid = at.renamed("pid", "upid")
			}
			w.add(at.upid, model.IntArg(upid))
		}
	}
	if known.TID {
		if utid := w.reader.Machine.LiveThread(v); utid != model.None {
			if at.utid == nil {
				at.utid = at.renamed("tid", "utid")
			}
			w.add(at.utid, model.IntArg(utid))
		}
	}
}

// renamed returns the path with another end of its last name.
func (at *argPath) renamed(from, to string) *argPath {
	rename := func(s string) string {
		if short, ok := strings.CutSuffix(s, from); ok {
			return short + to
		}
		return s + "_" + to
	}
	return &argPath{key: rename(at.key), flat: rename(at.flat)}
}

// annotation writes a DebugAnnotation below a path.
func (w *argWriter) annotation(data []byte, at *argPath, depth int) error {
	if w.plain(data, at) {
		return nil
	}
	a, path, err := w.readAnnotation(data, at)
	if err != nil {
		return err
	}
	_, err = w.annotated(a, path, depth)
	return err
}

// plain writes an annotation if it is one number or text under an interned name
// that was used before, as most are.
func (w *argWriter) plain(data []byte, at *argPath) bool {
	var iid, kind, value uint64
	var text []byte
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return false
		}
		i = next
		switch tag {
		case 1<<3 | tagVarint:
			iid = v
		case annotationBool<<3 | tagVarint, annotationUint<<3 | tagVarint, annotationInt<<3 | tagVarint,
			annotationDouble<<3 | tagFixed, annotationString<<3 | tagBytes, annotationPointer<<3 | tagVarint:
			if kind != 0 {
				return false
			}
			kind, value = tag>>3, v
			if kind == annotationString {
				text = data[i-int(v) : i]
			}
		default:
			return false
		}
	}
	names := w.state.table(internedAnnotationNames)
	if kind == 0 || names == nil {
		return false
	}
	id := names.text(iid)
	path := at.names[id]
	if id == 0 || path == nil {
		return false
	}
	switch kind {
	case annotationBool:
		w.add(path, model.BoolArg(value != 0))
	case annotationUint:
		w.add(path, model.UintArg(value))
	case annotationInt:
		w.add(path, model.IntArg(int64(value)))
	case annotationDouble:
		w.add(path, model.RealArg(math.Float64frombits(value)))
	case annotationString:
		w.addText(path, text)
	case annotationPointer:
		w.add(path, model.PointerArg(value))
	}
	return true
}

// annotation is a DebugAnnotation: the one value that it has.
type annotation struct {
	nameIID      uint64
	name         []byte
	named        bool
	entries      bool // dict_entries, array_values are in data
	items        bool
	value        wire.Field // of a scalar; Number is 0 if there is none
	stringIID    uint64
	hasStringIID bool
	json         []byte
	proto        []byte
	protoType    []byte
	protoTypeIID uint64
	nested       []byte
	data         []byte
}

// Fields of DebugAnnotation.
const (
	annotationBool    = 2
	annotationUint    = 3
	annotationInt     = 4
	annotationDouble  = 5
	annotationString  = 6
	annotationPointer = 7
	annotationNested  = 8
	annotationJSON    = 9
	annotationEntries = 11
	annotationItems   = 12
)

func decodeAnnotation(data []byte) (a annotation) {
	a.data = data
	for r := wire.Read(data); r.Next(); {
		switch r.Number {
		case 1:
			a.nameIID = r.Uint64()
		case 10:
			a.name, a.named = r.Bytes(), true
		case annotationBool, annotationUint, annotationInt, annotationDouble, annotationString, annotationPointer:
			a.value = r.Field
		case annotationNested:
			a.nested = r.Bytes()
		case annotationJSON:
			a.json = r.Bytes()
		case annotationEntries:
			a.entries = true
		case annotationItems:
			a.items = true
		case 13:
			a.protoTypeIID = r.Uint64()
		case 14:
			a.proto = r.Bytes()
		case 16:
			a.protoType = r.Bytes()
		case 17:
			a.stringIID, a.hasStringIID = r.Uint64(), true
		}
	}
	return a
}

// Fields of InternedData.
const (
	internedCategories      = 1
	internedEventNames      = 2
	internedAnnotationNames = 3
	internedSourceLocations = 4
	internedFunctionNames   = 5
	internedFrames          = 6
	internedCallstacks      = 7
	internedBuildIDs        = 16
	internedMappingPaths    = 17
	internedSourcePaths     = 18
	internedMappings        = 19
	internedLogBodies       = 20
	internedHistograms      = 25
	internedTypeNames       = 27
	internedUnsymbolized    = 28
	internedStrings         = 29
	internedCorrelations    = 43
	internedAndroidJobs     = 44
)

// pathNames replaces what has a meaning in keys.
var pathNames = strings.NewReplacer(".", "_", "[", "_", "]", "_")

// readAnnotation decodes an annotation and finds its path by its name.
func (w *argWriter) readAnnotation(data []byte, at *argPath) (annotation, *argPath, error) {
	a := decodeAnnotation(data)
	strs := w.reader.Store.Strings
	var id model.StringID
	switch {
	case a.nameIID != 0:
		var ok bool
		if id, ok = w.state.InternedString(internedAnnotationNames, a.nameIID); !ok {
			return a, nil, errNoInterned
		}
	case a.named:
		id = strs.InternBytes(a.name)
	default:
		return a, nil, errUnnamed
	}
	path, ok := at.names[id]
	if !ok {
		path = w.child(at, id, pathNames.Replace(strs.Get(id)))
	}
	return a, path, nil
}

// annotated writes the value of an annotation and reports whether there was one.
func (w *argWriter) annotated(a annotation, at *argPath, depth int) (added bool, err error) {
	if depth > maxArgDepth {
		return false, errTooDeep
	}
	switch {
	case a.entries:
		for r := wire.Read(a.data); r.Next(); {
			if r.Number == annotationEntries {
				if err := w.annotation(r.Bytes(), at, depth+1); err != nil {
					return true, err
				}
			}
		}
		return true, nil
	case a.items:
		_, key := w.ids(at)
		i := w.set.Index(key)
		for r := wire.Read(a.data); r.Next(); {
			if r.Number != annotationItems {
				continue
			}
			one, err := w.annotated(decodeAnnotation(r.Bytes()), at.item(i), depth+1)
			if err != nil {
				return added, err
			}
			if one {
				added = true
				w.set.NextIndex(key)
				i = w.set.Index(key)
			}
		}
		return added, nil
	case a.value.Number != 0:
		switch v := &a.value; v.Number {
		case annotationBool:
			w.add(at, model.BoolArg(v.Bool()))
		case annotationUint:
			w.add(at, model.UintArg(v.Uint64()))
		case annotationInt:
			w.add(at, model.IntArg(v.Int64()))
		case annotationDouble:
			w.add(at, model.RealArg(v.Float64()))
		case annotationString:
			w.addText(at, v.Bytes())
		case annotationPointer:
			w.add(at, model.PointerArg(v.Uint64()))
		}
		return true, nil
	case a.hasStringIID:
		text, ok := w.state.InternedString(internedStrings, a.stringIID)
		if !ok {
			return false, errNoInterned
		}
		w.add(at, model.StringArg(text))
		return true, nil
	case a.json != nil:
		w.json(a.json, at)
		return true, nil
	case a.proto != nil:
		return true, w.annotatedMessage(a, at, depth)
	case a.nested != nil:
		return w.nested(a.nested, at, depth+1)
	}
	return false, nil
}

func (w *argWriter) annotatedMessage(a annotation, at *argPath, depth int) error {
	name := string(a.protoType)
	if a.protoType == nil {
		id, ok := w.state.InternedString(internedTypeNames, a.protoTypeIID)
		if !ok {
			return errNoInterned
		}
		name = w.reader.Store.Strings.Get(id)
	}
	name = strings.TrimPrefix(name, ".")
	if name == debugType {
		return w.annotation(a.proto, at, depth+1)
	}
	m := w.pool.Message(name)
	if m == nil {
		return fmt.Errorf("message type %s is not known", name)
	}
	return w.message(m, a.proto, at, depth+1)
}

const (
	nestedDict  = 1
	nestedArray = 2
)

// nested writes a DebugAnnotation.NestedValue.
func (w *argWriter) nested(data []byte, at *argPath, depth int) (added bool, err error) {
	if depth > maxArgDepth {
		return false, errTooDeep
	}
	var kind int32
	var value wire.Field
	var keys, values, items [][]byte
	for r := wire.Read(data); r.Next(); {
		switch r.Number {
		case 1:
			kind = r.Int32()
		case 2:
			keys = append(keys, r.Bytes())
		case 3:
			values = append(values, r.Bytes())
		case 4:
			items = append(items, r.Bytes())
		case 5, 6, 7, 8:
			value = r.Field
		}
	}
	switch kind {
	case nestedDict:
		if len(keys) != len(values) {
			return true, errMismatch
		}
		for i, key := range keys {
			if _, err := w.nested(values[i], w.named(at, pathNames.Replace(string(key))), depth+1); err != nil {
				return true, err
			}
		}
		return true, nil
	case nestedArray:
		_, key := w.ids(at)
		i := w.set.Index(key)
		for _, item := range items {
			one, err := w.nested(item, at.item(i), depth+1)
			if err != nil {
				return added, err
			}
			if one {
				added = true
				w.set.NextIndex(key)
				i = w.set.Index(key)
			}
		}
		return added, nil
	}
	switch value.Number {
	case 5:
		w.add(at, model.IntArg(value.Int64()))
	case 6:
		w.add(at, model.RealArg(value.Float64()))
	case 7:
		w.add(at, model.BoolArg(value.Bool()))
	case 8:
		w.addText(at, value.Bytes())
	}
	return value.Number != 0, nil
}
