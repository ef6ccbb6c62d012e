package heap

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
)

// dump is a dump being read. Objects come before their classes, and classes before the
// names of fields and files, so references are resolved when the dump is complete.
type dump struct {
	*graphs
	*heap.Dump
	foreign  bool // the current packet belongs to another dump
	complete bool // the last packet was read

	next      uint64 // index of the next packet
	truncated bool
	heapSize  int64 // bytes

	hasHeapSize bool
	lastObject  uint64
	lastType    int32

	objects   *spill.Map[struct{}] // by id; the places are the numbers
	classes   map[uint64]heap.ClassNumber
	fields    map[uint64]heap.FieldNumber // a field may be referred to before its name is known
	locations map[uint64]model.StringID
	types     map[uint64]*classFields
	// implied are objects whose references follow the order of their class's fields.
	implied   *spill.List[impliedFields]
	rootIDs   *spill.List[rootID]
	internal  heap.FieldNumber               // the field for the runtime's internal references
	vmObjects *spill.List[heap.ObjectNumber] // never collected
	native    *spill.Map[int64]              // sizes of registries, by number of the object
}

// classFields is a HeapGraphType.
type classFields struct {
	name        model.StringID
	location    uint64
	hasLocation bool
	size        int64
	fields      []heap.FieldNumber // by number
	super       uint64
	loader      uint64
	kind        int32
	// above is the next superclass that has fields, or nil.
	above      *classFields
	aboveKnown bool
}

type impliedFields struct {
	object     heap.ObjectNumber
	references int32
}

type rootID struct {
	id   uint64
	kind model.StringID
}

func (g *graphs) newDump(upid model.UPID, ts int64) *dump {
	d := &dump{
		graphs: g, Dump: heap.NewDump(g.Store, upid, ts),
		objects: spill.NewMap[struct{}](g.Store.Space), classes: map[uint64]heap.ClassNumber{}, fields: map[uint64]heap.FieldNumber{},
		implied: spill.NewList[impliedFields](g.Store.Space), rootIDs: spill.NewList[rootID](g.Store.Space),
		vmObjects: spill.NewList[heap.ObjectNumber](g.Store.Space), native: spill.NewMap[int64](g.Store.Space),
		locations: map[uint64]model.StringID{}, types: map[uint64]*classFields{},
	}
	d.internal = d.AddField(heap.Field{Name: g.Store.Strings.Intern("runtimeInternalObjects")})
	return d
}

func (d *dump) malformed() { d.File.Add(model.StatHeapGraphMalformedPacket, int64(d.UPID), 1) }

func (d *dump) objectOf(id uint64) heap.ObjectNumber {
	if number, known := d.objects.Place(id); known {
		return heap.ObjectNumber(number)
	}
	d.objects.Add(id, struct{}{})
	return d.AddObject()
}

func (d *dump) classOf(id uint64) heap.ClassNumber {
	number, known := d.classes[id]
	if !known {
		number = d.AddClass()
		d.classes[id] = number
	}
	return number
}

func (d *dump) fieldOf(id uint64) heap.FieldNumber {
	number, known := d.fields[id]
	if !known {
		number = d.AddField(heap.Field{})
		d.fields[id] = number
	}
	return number
}

// object reads a HeapGraphObject.
func (d *dump) object(data []byte) {
	var id, delta, class, size, base uint64
	heapType := d.lastType
	var registered int64
	hasRegistered := false
	var bitmap bitmapFields
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.HeapGraphObject_ID:
			id = f.Uint64()
		case androidpb.HeapGraphObject_IDDelta:
			delta = f.Uint64()
		case androidpb.HeapGraphObject_TypeID:
			class = f.Uint64()
		case androidpb.HeapGraphObject_SelfSize:
			size = f.Uint64()
		case androidpb.HeapGraphObject_ReferenceFieldIDBase: // applies to object ids, despite its name
			base = f.Uint64()
		case androidpb.HeapGraphObject_HeapTypeDelta:
			heapType = f.Int32()
		case androidpb.HeapGraphObject_NativeAllocationRegistrySizeField:
			registered, hasRegistered = f.Int64(), true
		default:
			bitmap.read(&f.Field)
		}
	}
	if delta != 0 {
		id = d.lastObject + delta
	}
	if !d.foreign {
		d.lastObject, d.lastType = id, heapType // later objects count from this one, even if it is malformed
	}
	var fields, owned []uint64
	for v := range message.Numbers(data, androidpb.HeapGraphObject_ReferenceFieldID) {
		fields = append(fields, v)
	}
	for v := range message.Numbers(data, androidpb.HeapGraphObject_ReferenceObjectID) {
		if v != 0 {
			v += base
		}
		owned = append(owned, v)
	}
	if len(fields) > 0 && len(fields) != len(owned) {
		d.malformed()
		return
	}
	if d.foreign {
		d.File.Count(model.StatHeapGraphNonFinalizedGraph)
		return
	}
	number, classNumber := d.objectOf(id), d.classOf(class)
	o := d.Edit(number)
	o.SelfSize, o.Class = int64(size), classNumber
	if heapType != androidpb.HeapGraphObject_HeapType_Unknown {
		o.Type = word(d.words.heapTypes, heapType)
	}
	o.Data = bitmap.store(d.Store)
	switch heapType {
	case androidpb.HeapGraphObject_HeapType_Zygote, androidpb.HeapGraphObject_HeapType_BootImage:
		d.vmObjects.Append(number)
	}
	if hasRegistered {
		d.native.Add(uint64(number), registered)
	}
	for i, v := range owned {
		to, field := heap.NoObject, heap.NoField
		if v != 0 {
			to = d.objectOf(v)
		}
		if len(fields) > 0 {
			field = d.fieldOf(fields[i])
		}
		d.Refer(number, to, field)
	}
	if len(owned) > 0 && len(fields) == 0 {
		d.implied.Append(impliedFields{number, int32(len(owned))})
	}
	for v := range message.Numbers(data, androidpb.HeapGraphObject_RuntimeInternalObjectID) {
		d.Refer(number, d.objectOf(v), d.internal)
	}
}

// bitmapFields are the fields of an android.graphics.Bitmap.
type bitmapFields struct {
	id, source, width, height             int64
	hasID, hasSource, hasWidth, hasHeight bool
}

func (b *bitmapFields) read(f *wire.Field) {
	switch f.Number {
	case androidpb.HeapGraphObject_BitmapIDField:
		b.id, b.hasID = f.Int64(), true
	case androidpb.HeapGraphObject_BitmapSourceIDField:
		b.source, b.hasSource = f.Int64(), true
	case androidpb.HeapGraphObject_BitmapWidthField:
		b.width, b.hasWidth = int64(f.Uint32()), true
	case androidpb.HeapGraphObject_BitmapHeightField:
		b.height, b.hasHeight = int64(f.Uint32()), true
	}
}

// store stores the fields, if any, as the contents of an object.
func (b *bitmapFields) store(s *model.Store) (data heap.DataID) {
	if !b.hasID && !b.hasSource && !b.hasWidth && !b.hasHeight {
		return model.None
	}
	t := &s.HeapGraphPrimitive
	set := t.Rows()
	add := func(name, kind string, is bool) (row int64) {
		if is {
			row = t.Append()
			t.FieldSetID.Set(row, set)
			t.FieldName.Set(row, s.Strings.Intern("android.graphics.Bitmap."+name))
			t.FieldType.Set(row, s.Strings.Intern(kind))
		}
		return row
	}
	if row := add("mId", "long", b.hasID); b.hasID {
		t.LongValue.Set(row, b.id)
	}
	if row := add("mSourceId", "long", b.hasSource); b.hasSource {
		t.LongValue.Set(row, b.source)
	}
	if row := add("mWidth", "int", b.hasWidth); b.hasWidth {
		t.IntValue.Set(row, b.width)
	}
	if row := add("mHeight", "int", b.hasHeight); b.hasHeight {
		t.IntValue.Set(row, b.height)
	}
	row := s.HeapGraphObjectData.Append()
	s.HeapGraphObjectData.FieldSetID.Set(row, set)
	return heap.DataID(row)
}

// class reads a HeapGraphType.
func (d *dump) class(data []byte) {
	c := &classFields{}
	var id uint64
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.HeapGraphType_ID:
			id = f.Uint64()
		case androidpb.HeapGraphType_LocationID:
			c.location, c.hasLocation = f.Uint64(), true
		case androidpb.HeapGraphType_ClassName:
			c.name = d.Store.Strings.InternBytes(f.Bytes())
		case androidpb.HeapGraphType_ObjectSize:
			c.size = f.Int64()
		case androidpb.HeapGraphType_SuperclassID:
			c.super = f.Uint64()
		case androidpb.HeapGraphType_ReferenceFieldID:
			for v := range f.Varints {
				c.fields = append(c.fields, d.fieldOf(v))
			}
		case androidpb.HeapGraphType_Kind:
			c.kind = f.Int32()
		case androidpb.HeapGraphType_ClassloaderID:
			c.loader = f.Uint64()
		}
	}
	d.types[id] = c
}

// field reads a field's name, which its type may precede.
func (d *dump) field(data []byte) {
	iid, text := internedText(data)
	f := d.Field(d.fieldOf(iid))
	if f.Name != 0 {
		return
	}
	if kind, name, typed := bytes.Cut(text, []byte(" ")); typed {
		f.Type, text = d.Store.Strings.InternBytes(kind), name
	}
	f.Name = d.Store.Strings.InternBytes(text)
}

// location reads the name of a file that contains classes.
func (d *dump) location(data []byte) {
	iid, text := internedText(data)
	if _, known := d.locations[iid]; !known {
		d.locations[iid] = d.Store.Strings.InternBytes(text)
	}
}

// root reads a HeapGraphRoot.
func (d *dump) root(data []byte) {
	if d.foreign {
		d.File.Count(model.StatHeapGraphNonFinalizedGraph)
		return
	}
	kind := word(d.words.roots, message.Int32(data, androidpb.HeapGraphRoot_RootType))
	for id := range message.Numbers(data, androidpb.HeapGraphRoot_ObjectIDs) {
		d.rootIDs.Append(rootID{id, kind})
	}
}

// finish resolves references and stores the dump.
func (d *dump) finish() {
	ids := slices.Sorted(maps.Keys(d.types))
	byNumber := make([]*classFields, 0, len(d.classes))
	for _, id := range ids {
		number := d.classOf(id)
		for int(number) >= len(byNumber) {
			byNumber = append(byNumber, nil)
		}
		byNumber[number] = d.types[id]
		d.resolveClass(d.types[id], number)
	}
	for len(byNumber) < len(d.classes) {
		byNumber = append(byNumber, nil)
	}
	d.resolveObjects(byNumber)
	for i := range d.rootIDs.Len() {
		root := d.rootIDs.Get(i)
		if number, known := d.objects.Place(root.id); known {
			d.AddRoot(heap.ObjectNumber(number), root.kind)
		}
	}
	internal := d.words.roots[androidpb.HeapGraphRoot_Type_RootVMInternal]
	for i := range d.vmObjects.Len() {
		d.AddRoot(d.vmObjects.Get(i), internal)
	}
	d.AddNativeSizes(d.native)
	d.write()
	d.free()
	row := graphRow(d.Reader, d.UPID, d.TS)
	if d.hasHeapSize {
		d.Store.HeapGraph.HeapSize.Set(row, d.heapSize)
	}
	if d.truncated {
		d.Store.HeapGraph.Truncated.Set(row, true)
	}
}

// free gives the space back.
func (d *dump) free() {
	d.objects.Free()
	d.implied.Free()
	d.rootIDs.Free()
	d.vmObjects.Free()
	d.native.Free()
}

// write stores the dump, with the names that its classes and fields had before
// obfuscation.
func (d *dump) write() {
	names := javanames.Of(d.Reader)
	for _, number := range d.fields {
		f := d.Field(number)
		f.Deobfuscated = names.Field(f.Name)
	}
	first := d.Write()
	for number := range heap.ClassNumber(len(d.classes)) {
		c := d.Class(number)
		names.Class(first+heap.ClassID(number), c.Name, c.Location, d.UPID)
	}
}

func (d *dump) resolveClass(class *classFields, number heap.ClassNumber) {
	c := d.Class(number)
	c.Name, c.Kind = class.name, word(d.words.kinds, class.kind)
	switch class.kind {
	case androidpb.HeapGraphType_Kind_WeakReference, androidpb.HeapGraphType_Kind_FinalizerReference, androidpb.HeapGraphType_Kind_PhantomReference:
		c.Weak = true
	}
	if class.hasLocation {
		location, known := d.locations[class.location]
		if !known {
			d.File.Add(model.StatHeapGraphInvalidStringID, int64(d.UPID), 1)
		}
		c.Location = location
	}
	if class.loader != 0 {
		c.Loader = d.objectOf(class.loader)
	}
}

// resolveObjects sets the sizes that objects take from their class, and the fields of
// their references.
func (d *dump) resolveObjects(classes []*classFields) {
	missing := false
	for number := range heap.ObjectNumber(d.Objects()) {
		if o := d.Object(number); o.SelfSize == 0 {
			if class := classes[o.Class]; class != nil {
				d.Edit(number).SelfSize = class.size
			} else {
				missing = true
			}
		}
	}
	for i := range d.implied.Len() {
		implied := d.implied.Get(i)
		class := classes[d.Object(implied.object).Class]
		if class == nil {
			missing = true
			continue
		}
		switch class.kind {
		case androidpb.HeapGraphType_Kind_Noreferences, androidpb.HeapGraphType_Kind_Array, androidpb.HeapGraphType_Kind_String:
			continue // without reference fields
		}
		d.resolveFields(implied, class)
	}
	if missing {
		d.malformed()
	}
}

// resolveFields sets the fields of an object's references: those of its class, then those
// of the superclasses.
func (d *dump) resolveFields(implied impliedFields, class *classFields) {
	next := 0
	for i := range int(implied.references) {
		for class != nil && next == len(class.fields) {
			class, next = d.superclass(class), 0
		}
		if class == nil {
			d.malformed()
			return
		}
		field := class.fields[next]
		next++
		if d.Field(field).Name == 0 {
			d.malformed()
			continue
		}
		d.SetField(implied.object, i, field)
	}
}

// superclass returns the next superclass that has fields, or nil if there is none. A
// cycle of superclasses without fields counts as none.
func (d *dump) superclass(class *classFields) *classFields {
	var path []*classFields
	at := class
	for !at.aboveKnown {
		at.aboveKnown = true
		path = append(path, at)
		super := d.types[at.super]
		if super == nil || at.super == 0 {
			break
		}
		if len(super.fields) > 0 {
			at.above = super
			break
		}
		at = super
	}
	for _, c := range path {
		c.above = at.above
	}
	return class.above
}
