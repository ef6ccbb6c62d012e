package hprof

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
)

// graph turns the parsed dump into rows.
type graph struct {
	*reader
	dump   *heap.Dump
	data   window // on the object being stored
	chars  window // on arrays with texts
	fields map[fieldKey]heap.FieldNumber

	cleaners *spill.List[cleaner]
	thunks   *spill.Map[uint64] // registries by key of the cleaner thunk
	sizes    *spill.Map[int64]  // sizes of native memory registries, by key of the object
	block    []byte             // of elements, see blocks
	elems    []byte             // of the array being stored
	dangling *model.Unread      // counts dangling references, nil if there are none

	valueField, offsetField, countField, coderField model.StringID
	referentField, thunkField                       model.StringID
	registryField, sizeField                        model.StringID
	unknown                                         model.StringID
}

// fieldKey is a field with the class that it refers to, as in heap_graph_reference.
type fieldKey struct{ name, typ model.StringID }

// cleaner is a sun.misc.Cleaner object: the object that it cleans up after, and its
// thunk.
type cleaner struct{ referent, thunk uint64 }

// Classes with special treatment.
const (
	stringClass   = "java.lang.String"
	cleanerClass  = "sun.misc.Cleaner"
	thunkClass    = "libcore.util.NativeAllocationRegistry$CleanerThunk"
	registryClass = "libcore.util.NativeAllocationRegistry"
)

// unknownKind is the kind of classes that are not reference classes.
const unknownKind = "[unknown class kind]"

func newGraph(r *reader) *graph {
	intern, space := r.in.Store.Strings.Intern, r.in.Store.Space
	return &graph{
		reader: r, dump: heap.NewDump(r.in.Store, r.in.Machine.Process(0), r.ts),
		data: window{file: r.file, size: 64 << 10}, chars: window{file: r.file, size: 4 << 10}, fields: map[fieldKey]heap.FieldNumber{},
		cleaners: spill.NewList[cleaner](space), thunks: spill.NewMap[uint64](space), sizes: spill.NewMap[int64](space),
		valueField: intern(stringClass + ".value"), offsetField: intern(stringClass + ".offset"),
		countField: intern(stringClass + ".count"), coderField: intern(stringClass + ".coder"),
		referentField: intern("java.lang.ref.Reference.referent"), thunkField: intern(cleanerClass + ".thunk"),
		registryField: intern(thunkClass + ".this$0"), sizeField: intern(registryClass + ".size"),
		unknown: intern("unknown"),
	}
}

// write stores the dump.
func (g *graph) write() {
	g.addClasses()
	g.addObjects()
	for i := range g.objects.Len() {
		k, o := g.objects.At(i)
		if o.number == heap.NoObject {
			continue // left out
		}
		switch o.kind {
		case instance:
			g.instance(idOf(k), &o)
		case classObject:
			g.statics(&o)
		case objectArray:
			g.elements(&o)
		case primitiveArray:
			g.array(&o)
		}
	}
	g.nativeSizes()
	for i := range g.objects.Len() {
		k, o := g.objects.At(i)
		if kind, isRoot := g.roots.Find(k); isRoot && o.number != heap.NoObject {
			g.dump.AddRoot(o.number, g.in.Store.Strings.Intern(roots[kind].name))
		}
	}
	g.dump.Write()
	g.cleaners.Free()
	g.thunks.Free()
	g.sizes.Free()
}

// damaged counts an object that is damaged completely or partly.
func (g *graph) damaged(stat model.Stat, id uint64) {
	g.in.File.LogTime(stat, g.ts, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(g.in.Store.Strings.Intern("object_id"), model.UintArg(id))
	}))
}

// addClasses adds the classes, then the classes of the class objects.
func (g *graph) addClasses() {
	strings := g.in.Store.Strings
	for _, id := range g.order {
		c := g.classes[id]
		c.number = g.dump.AddClass()
		to := g.dump.Class(c.number)
		to.Name = strings.Intern(c.name)
		kind, weak := g.referenceKind(c)
		to.Kind, to.Weak = strings.Intern(kind), weak
	}
	for _, id := range g.order {
		c := g.classes[id]
		if super := g.classes[c.super]; super != nil {
			g.dump.SetSuper(c.number, super.number)
		}
		if c.dumped {
			c.object = g.dump.AddClass()
			to := g.dump.Class(c.object)
			to.Name, to.Kind = strings.Intern(heap.JavaType{Name: c.name, Static: true}.String()), strings.Intern(unknownKind)
		}
	}
}

// maxSupers limits the number of superclasses that are followed, because there may be
// cycles.
const maxSupers = 100

// supers calls f with a class and its superclasses, until f returns false.
func (g *graph) supers(c *class, f func(*class) bool) {
	for range maxSupers {
		if c == nil || !f(c) {
			return
		}
		c = g.classes[c.super]
	}
}

// referenceKind returns the kind of a reference class, and whether its references are too
// weak to keep an object alive.
func (g *graph) referenceKind(c *class) (kind string, weak bool) {
	kind = unknownKind
	g.supers(c, func(c *class) bool {
		switch c.name {
		case "java.lang.ref.WeakReference":
			kind, weak = "KIND_WEAK_REFERENCE", true
		case "java.lang.ref.SoftReference":
			kind = "KIND_SOFT_REFERENCE"
		case "java.lang.ref.PhantomReference":
			kind, weak = "KIND_PHANTOM_REFERENCE", true
		case "java.lang.ref.FinalizerReference":
			kind, weak = "KIND_FINALIZER_REFERENCE", true
		}
		return kind == unknownKind
	})
	return kind, weak
}

// layoutOf returns the fields of instances: the class's fields, then those of its
// superclasses.
func (g *graph) layoutOf(c *class) []field {
	if c.layout == nil {
		c.layout = []field{}
		g.supers(c, func(super *class) bool {
			for _, f := range super.fields {
				c.layout = append(c.layout, field{g.in.Store.Strings.Intern(super.name + "." + g.in.Store.Strings.Get(f.name)), f.typ})
			}
			return true
		})
		for _, f := range c.layout {
			c.layoutBytes += int64(g.size(f.typ))
		}
	}
	return c.layout
}

// addObjects adds the objects of known classes to the dump.
func (g *graph) addObjects() {
	arrays := map[basicType]uint64{}
	for t, name := range typeNames {
		if id, ok := g.byName[name+"[]"]; ok && name != "" {
			arrays[basicType(t)] = id
		}
	}
	var classSize int64
	if c := g.classes[g.byName["java.lang.Class"]]; c != nil {
		classSize = c.size
	}
	for i := range g.objects.Len() {
		k, o := g.objects.At(i)
		if o.kind == primitiveArray {
			o.class = arrays[o.elem]
		}
		c := g.classes[o.class]
		if c == nil {
			stat := model.StatHprofClassErrors
			if o.kind == primitiveArray {
				stat = model.StatHprofPrimitiveArrayParsingErrors
			}
			g.damaged(stat, idOf(k))
			g.objects.Edit(i).number = heap.NoObject
			continue
		}
		number := g.dump.AddObject()
		placed := g.objects.Edit(i)
		placed.number, placed.class = number, o.class
		to := g.dump.Edit(number)
		to.Class, to.Type, to.SelfSize = c.number, o.heap, c.size
		switch o.kind {
		case classObject:
			to.Class, to.SelfSize = c.object, classSize+int64(len(c.staticValues))
		case objectArray, primitiveArray:
			to.SelfSize += int64(o.elements) * int64(g.size(o.elem))
		}
	}
	for _, c := range g.classes {
		if c.loader == 0 {
			continue
		}
		if loader, ok := g.find(c.loader); ok {
			g.dump.Class(c.number).Loader = loader.number
		}
	}
}

// find returns the object with an id, or false if it is not in the dump.
func (g *graph) find(id uint64) (object, bool) {
	o, ok := g.objects.Find(key(id))
	return o, ok && o.number != heap.NoObject
}

// refer adds a reference in a field; known is false if the object is missing.
func (g *graph) refer(owner *object, name model.StringID, owned object, known bool) {
	number, typ := heap.NoObject, g.unknown
	if known {
		number = owned.number
		typ = g.dump.Class(g.classes[owned.class].number).Name // of a class object, the class that it represents
	}
	g.in.File.Count(model.StatHprofReferenceCounter)
	key := fieldKey{name, typ}
	field, ok := g.fields[key]
	if !ok {
		field = g.dump.AddField(heap.Field{Name: name, Type: typ})
		g.fields[key] = field
	}
	g.dump.Refer(owner.number, number, field)
}

// dangle counts a dangling reference, which is left out.
func (g *graph) dangle() {
	if g.dangling == nil {
		g.dangling = g.in.File.Unread(model.StatUnreadFact, model.None, "dangling reference")
	}
	g.dangling.Add(model.LogEntry{TS: g.ts, HasTS: true})
}

// instance stores the fields of an instance.
func (g *graph) instance(id uint64, o *object) {
	c := g.classes[o.class]
	layout := g.layoutOf(c)
	data := g.data.bytes(o.data, min(g.length(o), c.layoutBytes))
	values := values{graph: g, row: model.None, set: model.None}
	var text javaString
	var clean cleaner
	for _, f := range layout {
		size := g.size(f.typ)
		if len(data) == 0 {
			break
		}
		if len(data) < size {
			g.damaged(model.StatHprofFieldValueErrors, id)
			break
		}
		value := bitsOf(data[:size])
		data = data[size:]
		switch f.name {
		case g.valueField:
			text.array = value
		case g.offsetField:
			text.offset = int64(int32(value))
		case g.countField:
			text.count, text.hasCount = int64(int32(value)), true
		case g.coderField:
			text.coder = value
		case g.referentField:
			clean.referent = value
		case g.thunkField:
			clean.thunk = value
		case g.registryField:
			if c.name == thunkClass {
				g.thunks.Add(key(id), value)
			}
		case g.sizeField:
			if c.name == registryClass {
				g.sizes.Add(key(id), signed(f.typ, value))
			}
		}
		switch {
		case f.typ != objectType:
			values.add(f, value)
		case value != 0:
			owned, known := g.find(value)
			g.refer(o, f.name, owned, known)
		}
	}
	switch c.name {
	case stringClass:
		if decoded, ok := g.decode(text); ok {
			g.in.Store.HeapGraphObjectData.ValueString.Set(values.data(), g.in.Store.Strings.Intern(decoded))
		}
	case cleanerClass:
		if clean.referent != 0 && clean.thunk != 0 {
			g.cleaners.Append(clean)
		}
	}
	g.dump.Edit(o.number).Data = heap.DataID(values.row)
}

// statics stores the static fields of a class.
func (g *graph) statics(o *object) {
	c := g.classes[o.class]
	data := c.staticValues
	values := values{graph: g, row: model.None, set: model.None}
	for _, f := range c.statics {
		size := g.size(f.typ)
		value := bitsOf(data[:size])
		data = data[size:]
		if f.typ != objectType {
			values.add(f, value)
		} else if owned, known := g.find(value); known {
			g.refer(o, g.in.Store.Strings.Intern(c.name+"."+g.in.Store.Strings.Get(f.name)), owned, true)
		} else if value != 0 {
			g.dangle()
		}
	}
	g.dump.Edit(o.number).Data = heap.DataID(values.row)
}

// elements stores the references in an array.
func (g *graph) elements(o *object) {
	var name []byte
	for i := range int64(o.elements) {
		target := g.idIn(g.data.bytes(o.data+i*int64(g.idSize), int64(g.idSize)))
		if owned, known := g.find(target); known {
			name = append(strconv.AppendInt(append(name[:0], '['), i, 10), ']')
			g.refer(o, g.in.Store.Strings.InternBytes(name), owned, true)
		} else if target != 0 {
			g.dangle()
		}
	}
}

// maxKept is the maximum number of bytes of an array whose elements are stored: they are in memory, and in a Parquet page.
const maxKept = 128 << 20

// array stores the data of a primitive array.
func (g *graph) array(o *object) {
	length := g.length(o)
	if length == 0 {
		return
	}
	store := g.in.Store
	array := store.HeapGraphArray.Append()
	hash, kept := newMurmur(length), length <= maxKept
	g.elems = g.elems[:0]
	for block := range g.blocks(o) {
		hash.add(block)
		if kept {
			g.elems = append(g.elems, block...)
		}
	}
	if kept {
		store.HeapGraphArray.Data.Set(array, g.elems)
	} else {
		g.in.File.Unread(model.StatUnreadFact, model.None, "elements of a large array").AddAt(o.data)
	}
	t := &store.HeapGraphObjectData
	row := t.Append()
	t.ArrayElementType.Set(row, store.Strings.Intern(typeNames[o.elem]))
	t.ArrayElementCount.Set(row, int64(o.elements))
	t.ArrayDataID.Set(row, heap.ArrayID(array))
	t.ArrayDataHash.Set(row, hash.sum())
	g.dump.Edit(o.number).Data = heap.DataID(row)
}

// nativeSizes adds registered native memory to the sizes of objects.
//
// A Cleaner refers to the object and to a thunk. The thunk refers to the registry, which
// has the size.
func (g *graph) nativeSizes() {
	for i := range g.cleaners.Len() {
		c := g.cleaners.Get(i)
		if o, known := g.find(c.referent); known {
			registry, _ := g.thunks.Find(key(c.thunk))
			if size, _ := g.sizes.Find(key(registry)); size > 0 {
				g.dump.Edit(o.number).NativeSize += size
			}
		}
	}
}

// bitsOf returns the bits of a big-endian value.
func bitsOf(data []byte) (n uint64) {
	for _, b := range data {
		n = n<<8 | uint64(b)
	}
	return n
}

// signed converts the bits of a value to a number.
func signed(t basicType, bits uint64) int64 {
	switch t {
	case shortType:
		return int64(int16(bits))
	case intType:
		return int64(int32(bits))
	}
	return int64(bits)
}

// values stores the primitive fields of an object.
type values struct {
	*graph
	row int64 // in heap_graph_object_data, or None
	set int64 // in heap_graph_primitive
}

// data returns the row of the object's data. It adds the row if necessary.
func (v *values) data() int64 {
	if v.row == model.None {
		v.row = v.in.Store.HeapGraphObjectData.Append()
	}
	return v.row
}

// add adds a field.
func (v *values) add(f field, bits uint64) {
	t := &v.in.Store.HeapGraphPrimitive
	row := t.Append()
	if v.set == model.None {
		v.set = row
		v.in.Store.HeapGraphObjectData.FieldSetID.Set(v.data(), row)
	}
	t.FieldSetID.Set(row, v.set)
	t.FieldName.Set(row, f.name)
	t.FieldType.Set(row, v.in.Store.Strings.Intern(typeNames[f.typ]))
	n := signed(f.typ, bits)
	switch f.typ {
	case booleanType:
		t.BoolValue.Set(row, n != 0)
	case byteType:
		t.ByteValue.Set(row, n)
	case charType:
		t.CharValue.Set(row, n)
	case shortType:
		t.ShortValue.Set(row, n)
	case intType:
		t.IntValue.Set(row, n)
	case longType:
		t.LongValue.Set(row, n)
	case floatType:
		t.FloatValue.Set(row, float64(math.Float32frombits(uint32(bits))))
	case doubleType:
		t.DoubleValue.Set(row, math.Float64frombits(bits))
	}
}

// javaString holds the fields of a java.lang.String.
type javaString struct {
	array         uint64
	offset, count int64 // characters
	hasCount      bool
	coder         uint64
}

// utf16Coder is the coder of strings whose byte array holds UTF-16.
const utf16Coder = 1

// decode returns the text of a string. Its array holds chars, or bytes of Latin-1 or
// UTF-16.
func (g *graph) decode(s javaString) (string, bool) {
	o, known := g.objects.Find(key(s.array))
	if !known || o.kind != primitiveArray || o.elem != charType && o.elem != byteType {
		return "", false
	}
	data := g.chars.bytes(o.data, g.length(&o))
	var chars []uint16
	switch {
	case o.elem == charType:
		for ; len(data) >= 2; data = data[2:] {
			chars = append(chars, binary.BigEndian.Uint16(data))
		}
	case o.elem == byteType && s.coder == utf16Coder: // in native byte order
		for ; len(data) >= 2; data = data[2:] {
			chars = append(chars, binary.LittleEndian.Uint16(data))
		}
	default:
		chars = make([]uint16, len(data))
		for i, b := range data {
			chars[i] = uint16(b)
		}
	}
	if !s.hasCount || o.elem == byteType {
		s.count = int64(len(chars)) - s.offset
	}
	if s.offset < 0 || s.count < 0 || s.offset+s.count > int64(len(chars)) {
		return "", false
	}
	return string(utf16.Decode(chars[s.offset : s.offset+s.count])), true
}

// blockBytes is the size of a block of elements, a multiple of the size of each type and of what a step of murmur takes.
const blockBytes = 32 << 10

// blocks yields the elements of a primitive array in little-endian byte order, a boolean as 0 or 1.
func (g *graph) blocks(o *object) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		size, end := g.size(o.elem), o.data+g.length(o)
		for at := o.data; at < end; at += blockBytes {
			block := append(g.block[:0], g.data.bytes(at, min(end-at, blockBytes))...)
			g.block = block
			if o.elem == booleanType {
				for i, b := range block {
					block[i] = min(b, 1)
				}
			}
			for i := 0; size > 1 && i < len(block); i += size {
				slices.Reverse(block[i : i+size])
			}
			if !yield(block) {
				return
			}
		}
	}
}

// murmur computes MurmurHash64A, which Trace Processor uses for the contents of arrays.
type murmur uint64

const (
	murmurSeed  = 0xe17a1465
	murmurPrime = 0xc6a4a7935bd1e995
	murmurShift = 47
)

func newMurmur(length int64) murmur { return murmur(murmurSeed ^ uint64(length)*murmurPrime) }

// add adds bytes, a multiple of 8 of them unless they are the last.
func (h *murmur) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		k := binary.LittleEndian.Uint64(data) * murmurPrime
		k ^= k >> murmurShift
		*h = (*h ^ murmur(k*murmurPrime)) * murmurPrime
	}
	if len(data) == 0 {
		return
	}
	for i, b := range data {
		*h ^= murmur(b) << (8 * i)
	}
	*h *= murmurPrime
}

func (h murmur) sum() int64 {
	h ^= h >> murmurShift
	h *= murmurPrime
	return int64(h ^ h>>murmurShift)
}

// window keeps a part of a file in memory.
type window struct {
	file *spool.File
	size int64
	at   int64
	buf  []byte
}

// bytes returns n bytes of the file, valid until the next call. If they cannot be read, they
// are zero, and the file keeps the error.
func (w *window) bytes(offset, n int64) []byte {
	if offset < w.at || offset+n > w.at+int64(len(w.buf)) {
		w.buf = slices.Grow(w.buf[:0], int(max(n, w.size)))[:max(n, w.size)]
		read, _ := w.file.ReadAt(w.buf, offset)
		clear(w.buf[read:])
		w.at = offset
	}
	return w.buf[offset-w.at:][:n]
}
