// Package args turns messages into args, using the descriptors of their types.
package args

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/descriptor"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Writer turns messages into args. Each field becomes an arg whose key is the path of
// field names that leads to it, such as a.b[0].c.
type Writer struct {
	reader       *proto.Reader
	pool         *descriptor.Pool
	overrides    map[string]Override // by flat key
	translations map[string]*translation

	root Path

	// The set being written.
	set     *model.ArgSet
	state   *proto.State
	unknown int64 // fields without a descriptor
}

// Override writes a field in a special way. It returns false to have the field written
// as usual.
type Override func(w *Writer, at *Path, f *wire.Field) bool

// Path is a path of names. Paths are kept, so that each key is built only once.
type Path struct {
	key, flat     string // flat has no indices
	keyID, flatID model.StringID
	names         map[model.StringID]*Path
	items         []*Path
	fields        map[fieldKey]*knownField
	override      Override
	translation   *translation
	upid, utid    *Path // where the process or thread for a number is written
}

type fieldKey struct {
	message *descriptor.MessageType
	number  uint32
}

// knownField is a message's field at a path.
type knownField struct {
	*descriptor.Field
	path    *Path // without an index
	message *descriptor.MessageType
	enum    *descriptor.EnumType
	flags   *descriptor.EnumType
	unnamed bool // a debug annotation, which contains its own name
}

// translation gives names for the numbers at a path.
type translation struct {
	names map[uint64]model.StringID
	key   string
	keyID model.StringID
}

// maxDepth limits how deep messages may be nested.
const maxDepth = 1000

// ErrNoInterned is the error for a reference to an unknown interned message.
var ErrNoInterned = errors.New("unknown interned message")

var (
	errTooDeep  = errors.New("messages are nested too deep")
	errUnnamed  = errors.New("debug annotation without a name")
	errMismatch = errors.New("a dictionary has different numbers of keys and values")
)

const debugType = "perfetto.protos.DebugAnnotation"

// NewWriter returns a writer of args.
func NewWriter(r *proto.Reader) *Writer {
	return &Writer{reader: r, pool: r.Types(), overrides: map[string]Override{}, translations: map[string]*translation{}}
}

// Override makes o write every field with the flat key.
func (w *Writer) Override(flat string, o Override) { w.overrides[flat] = o }

// Translate writes names for the numbers at a key to another key.
func (w *Writer) Translate(key string, names map[uint64]model.StringID, to string) {
	w.translations[key] = &translation{names: names, key: to}
}

// Root returns the path without a name.
func (w *Writer) Root() *Path { return &w.root }

// To begins writing into a set. What is written refers to the state.
func (w *Writer) To(set *model.ArgSet, state *proto.State) { w.set, w.state, w.unknown = set, state, 0 }

// State returns the state passed to To.
func (w *Writer) State() *proto.State { return w.state }

// Unknown returns how many fields had no descriptor since To.
func (w *Writer) Unknown() int64 { return w.unknown }

// child returns the path extended by a name. It is kept under id.
func (w *Writer) child(at *Path, id model.StringID, name string) *Path {
	if p, ok := at.names[id]; ok {
		return p
	}
	p := w.newPath(at, name, name)
	if at.names == nil {
		at.names = map[model.StringID]*Path{}
	}
	at.names[id] = p
	return p
}

func (w *Writer) newPath(at *Path, name, flat string) *Path {
	p := &Path{key: name, flat: flat}
	if at.key != "" {
		p.key = at.key + "." + name
		p.flat = at.flat + "." + flat
	}
	p.override = w.overrides[p.flat]
	p.translation = w.translations[p.key]
	return p
}

// Named returns the path extended by a name.
func (w *Writer) Named(at *Path, name string) *Path {
	return w.child(at, w.reader.Store.Strings.Intern(name), name)
}

// item returns the path of an array's entry.
func (at *Path) item(i int) *Path {
	for len(at.items) <= i {
		at.items = append(at.items, nil)
	}
	if at.items[i] == nil {
		at.items[i] = &Path{key: model.ArrayKey(at.key, i), flat: at.flat, override: at.override}
	}
	return at.items[i]
}

// ids interns the path's keys.
func (w *Writer) ids(at *Path) (flat, key model.StringID) {
	if at.keyID == 0 {
		at.keyID = w.reader.Store.Strings.Intern(at.key)
		at.flatID = at.keyID
		if at.flat != at.key {
			at.flatID = w.reader.Store.Strings.Intern(at.flat)
		}
	}
	return at.flatID, at.keyID
}

// Add writes a value.
func (w *Writer) Add(at *Path, v model.ArgValue) {
	flat, key := w.ids(at)
	w.set.AddFlat(flat, key, v)
	if at.translation != nil && v.Kind == model.ArgUint {
		at.translation.add(w, uint64(v.Int()))
	}
}

// AddIfAbsent writes a value unless its key has one.
func (w *Writer) AddIfAbsent(at *Path, v model.ArgValue) {
	flat, key := w.ids(at)
	w.set.AddIfAbsent(flat, key, v)
}

func (t *translation) add(w *Writer, hash uint64) {
	name, ok := t.names[hash]
	if !ok {
		return
	}
	if t.keyID == 0 {
		t.keyID = w.reader.Store.Strings.Intern(t.key)
	}
	w.set.Add(t.keyID, model.StringArg(name))
}

// Text returns a text as a value.
func (w *Writer) Text(s string) model.ArgValue {
	return model.StringArg(w.reader.Store.Strings.Intern(s))
}

// addText adds a text without interning it.
func (w *Writer) addText(at *Path, text []byte) {
	flat, key := w.ids(at)
	w.set.AddText(flat, key, text)
}

// TextOf is Text for bytes.
func (w *Writer) TextOf(b []byte) model.ArgValue {
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

// Fields writes fields of a message of type m below the root.
func (w *Writer) Fields(m *descriptor.MessageType, fields []wire.Field) error {
	var c counts
	for i := range fields {
		if err := w.field(m, &fields[i], &w.root, &c, 0); err != nil {
			return err
		}
	}
	return nil
}

// Message writes the fields of a message of type m below the root. If keep is not nil, it writes
// only those that keep accepts.
func (w *Writer) Message(m *descriptor.MessageType, data []byte, keep func(field uint32) bool) error {
	if keep == nil {
		return w.message(m, data, &w.root, 0)
	}
	var c counts
	for r := wire.Read(data); r.Next(); {
		if !keep(r.Number) {
			continue
		}
		if err := w.field(m, &r.Field, &w.root, &c, 0); err != nil {
			return err
		}
	}
	return nil
}

// message writes a message. A message without fields becomes one arg that is NULL.
func (w *Writer) message(m *descriptor.MessageType, data []byte, at *Path, depth int) error {
	if depth > maxDepth {
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
		w.Add(at, model.NullArg())
	}
	return nil
}

// field writes a field of a message of type m.
func (w *Writer) field(m *descriptor.MessageType, f *wire.Field, at *Path, c *counts, depth int) error {
	known := at.fields[fieldKey{m, f.Number}]
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

func (w *Writer) newField(m *descriptor.MessageType, number uint32, at *Path) *knownField {
	d := m.Field(number)
	if d == nil {
		return nil
	}
	field := &knownField{Field: d, path: w.newPath(at, d.Name, d.Name)}
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
		at.fields = map[fieldKey]*knownField{}
	}
	if field.unnamed {
		field.path = at
	}
	at.fields[fieldKey{m, number}] = field
	return field
}

// packed writes the values of a packed repeated field.
func (w *Writer) packed(known *knownField, f *wire.Field, c *counts) error {
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
func (w *Writer) single(known *knownField, f *wire.Field, at *Path, depth int) error {
	if at.override != nil {
		if field := *f; at.override(w, at, &field) { // a copy, so that f itself stays on the stack
			return nil
		}
	}
	switch {
	case known.unnamed:
		return w.annotation(f.Bytes(), known.path, depth+1)
	case known.Type != descriptor.Message:
		return w.scalar(known, *f, at)
	case known.message == nil:
		return fmt.Errorf("unknown message type %s", known.TypeName)
	}
	return w.message(known.message, f.Bytes(), at, depth+1)
}

func (w *Writer) scalar(known *knownField, f wire.Field, at *Path) error {
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
		w.Add(at, model.IntArg(v))
		w.addOwner(known, v, at)
	case descriptor.Sint32, descriptor.Sint64:
		w.Add(at, model.IntArg(f.Sint64()))
	case descriptor.Uint32, descriptor.Fixed32:
		w.Add(at, model.UintArg(uint64(f.Uint32())))
	case descriptor.Uint64, descriptor.Fixed64:
		w.Add(at, model.UintArg(f.Uint64()))
	case descriptor.Bool:
		w.Add(at, model.BoolArg(f.Bool()))
	case descriptor.Double, descriptor.Float:
		w.Add(at, model.RealArg(f.Float64()))
	case descriptor.Bytes:
		w.Add(at, w.Text(base64.StdEncoding.EncodeToString(f.Bytes())))
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
		w.Add(at, w.Text(name))
	default:
		return fmt.Errorf("field %s has unknown type %d", known.Name, known.Type)
	}
	return nil
}

// flags writes the names of the bits set in a number, and all bits without a name as
// one value.
func (w *Writer) flags(enum *descriptor.EnumType, v uint64, at *Path) {
	names, rest := enum.Flags(v)
	for i, name := range names {
		w.Add(at.item(i), w.Text(name))
	}
	if rest != 0 {
		w.Add(at.item(len(names)), w.Text("0x"+strconv.FormatUint(rest, 16)))
	}
}

// addOwner writes the process or thread with a number, if it is known.
func (w *Writer) addOwner(known *knownField, v int64, at *Path) {
	if known.PID {
		if upid := w.reader.Machine.LiveProcess(v); upid != model.None {
			if at.upid == nil {
				at.upid = at.renamed("pid", "upid")
			}
			w.Add(at.upid, model.IntArg(upid))
		}
	}
	if known.TID {
		if utid := w.reader.Machine.LiveThread(v); utid != model.None {
			if at.utid == nil {
				at.utid = at.renamed("tid", "utid")
			}
			w.Add(at.utid, model.IntArg(utid))
		}
	}
}

// renamed returns the path with the end of its last name replaced.
func (at *Path) renamed(from, to string) *Path {
	rename := func(s string) string {
		if short, ok := strings.CutSuffix(s, from); ok {
			return short + to
		}
		return s + "_" + to
	}
	return &Path{key: rename(at.key), flat: rename(at.flat)}
}
