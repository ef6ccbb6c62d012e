// Package heap stores dumps of managed heaps: graphs of objects.
package heap

import (
	"iter"
	"slices"

	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// The numbers of a dump's objects, classes and fields, from 0.
type (
	ObjectNumber int32
	ClassNumber  int32
	FieldNumber  int32
)

// The ids of rows.
type (
	ObjectID = table.ID[schema.HeapGraphObject]
	ClassID  = table.ID[schema.HeapGraphClass]
	DataID   = table.ID[schema.HeapGraphObjectData]
	ArrayID  = table.ID[schema.HeapGraphArray]
)

// Dump is a dump of a managed heap. It is kept until Write,
// because reachability and the origin of names are only known once it is complete. Objects
// and references that do not fit in the store's space are in a temporary file.
type Dump struct {
	UPID model.UPID
	TS   int64 // ns of the trace clock

	store      *model.Store
	objects    *spill.List[Object]
	references *spill.List[reference]
	roots      *spill.List[root]
	classes    []Class
	fields     []Field
}

// Object is an object of a dump.
type Object struct {
	SelfSize   int64  // bytes
	NativeSize int64  // bytes
	Data       DataID // its contents, or None if they are unknown
	Class      ClassNumber
	Type       model.StringID // part of the heap
	root       model.StringID
	from, to   int32 // range of the object's references, empty at first
	distance   int32 // number of references from the nearest root, or unreachable
}

const unreachable int32 = -1

// Class is a class of objects.
type Class struct {
	Name, Location, Kind model.StringID
	// Loader is the object that loaded the class, or NoObject if unknown.
	Loader ObjectNumber
	// Weak is set for classes whose Reference.referent does not keep an object alive.
	Weak  bool
	super ClassNumber // NoClass if unknown
}

// Field is a field through which objects refer to others.
type Field struct {
	Name, Type, Deobfuscated model.StringID
	Weak                     bool // what it refers to is not kept alive
}

// The numbers of a missing object, class or field.
const (
	NoObject ObjectNumber = -1
	NoClass  ClassNumber  = -1
	NoField  FieldNumber  = -1
)

type reference struct {
	owner, owned ObjectNumber // owned is NoObject for null
	field        FieldNumber
}

type root struct {
	object ObjectNumber
	kind   model.StringID
}

// NewDump begins a dump of a process at ts (ns).
func NewDump(s *model.Store, upid model.UPID, ts int64) *Dump {
	return &Dump{UPID: upid, TS: ts, store: s, objects: spill.NewList[Object](s.Space),
		references: spill.NewList[reference](s.Space), roots: spill.NewList[root](s.Space)}
}

// AddObject adds an object without any contents yet, and returns its number.
func (d *Dump) AddObject() ObjectNumber {
	return ObjectNumber(d.objects.Append(Object{SelfSize: -1, Data: model.None, distance: unreachable}))
}

// Object returns an object.
func (d *Dump) Object(number ObjectNumber) Object { return d.objects.Get(int(number)) }

// Edit returns an object for the caller to change. The pointer is valid until the next call that may
// use the store's space.
func (d *Dump) Edit(number ObjectNumber) *Object { return d.objects.Edit(int(number)) }

// Objects returns the number of objects.
func (d *Dump) Objects() int { return d.objects.Len() }

// AddClass adds a class and returns its number.
func (d *Dump) AddClass() ClassNumber {
	d.classes = append(d.classes, Class{Loader: NoObject, super: NoClass})
	return ClassNumber(len(d.classes) - 1)
}

// SetSuper sets the superclass of a class, for dumps whose objects do not have it.
func (d *Dump) SetSuper(class, super ClassNumber) { d.classes[class].super = super }

// Class returns a class. The pointer is valid until another class is added.
func (d *Dump) Class(number ClassNumber) *Class { return &d.classes[number] }

// AddField adds a field and returns its number.
func (d *Dump) AddField(f Field) FieldNumber {
	d.fields = append(d.fields, f)
	return FieldNumber(len(d.fields) - 1)
}

// Field returns a field. The pointer is valid until another field is added.
func (d *Dump) Field(number FieldNumber) *Field { return &d.fields[number] }

// Refer adds a reference from one object to another, or NoObject for null. All
// references of an object must be added in one run: a second run replaces the first,
// which is still written but no longer followed.
func (d *Dump) Refer(owner, owned ObjectNumber, field FieldNumber) {
	o := d.Edit(owner)
	if n := int32(d.references.Len()); o.to != n || o.from == o.to {
		o.from, o.to = n, n
	}
	o.to++
	d.references.Append(reference{owner, owned, field})
}

// SetField sets the field of an object's reference, where reference counts from 0 in each object.
func (d *Dump) SetField(owner ObjectNumber, reference int, field FieldNumber) {
	d.references.Edit(d.place(owner, reference)).field = field
}

// place returns the place of an object's reference among those of all objects.
func (d *Dump) place(owner ObjectNumber, reference int) int {
	return int(d.Object(owner).from) + reference
}

// referencesOf yields the references of an object.
func (d *Dump) referencesOf(o Object) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		for i := o.from; i < o.to; i++ {
			if !yield(d.references.Get(int(i))) {
				return
			}
		}
	}
}

// AddRoot marks an object as a root of the given kind.
func (d *Dump) AddRoot(object ObjectNumber, kind model.StringID) {
	d.roots.Append(root{object, kind})
}

// referenceBy returns the object that a field of an object refers to, or NoObject if
// there is none.
func (d *Dump) referenceBy(owner ObjectNumber, field model.StringID) ObjectNumber {
	for r := range d.referencesOf(d.Object(owner)) {
		if r.field != NoField && d.fields[r.field].Name == field {
			return r.owned
		}
	}
	return NoObject
}

// rootRanks are the kinds of roots that take precedence when an object has several, highest first.
var rootRanks = []string{"ROOT_STICKY_CLASS", "ROOT_JNI_GLOBAL", "ROOT_JNI_LOCAL"}

// reach finds the roots and everything reachable from them, in order of distance.
func (d *Dump) reach() {
	reached := &reach{Dump: d, found: spill.NewList[ObjectNumber](d.store.Space), seen: spill.NewList[uint64](d.store.Space),
		referent: d.store.Strings.Intern("java.lang.ref.Reference.referent")}
	defer reached.found.Free()
	defer reached.seen.Free()
	reached.seen.Extend(d.Objects()/64 + 1)
	d.setRoots()
	for i := range d.roots.Len() {
		reached.find(d.roots.Get(i).object)
	}
	for next, distance := 0, int32(0); next < reached.found.Len(); distance++ {
		for end := reached.found.Len(); next < end; {
			next = reached.follow(next, end, distance)
		}
	}
}

// setRoots sets the kinds of the roots.
func (d *Dump) setRoots() {
	rank := func(kind model.StringID) int {
		if i := slices.Index(rootRanks, d.store.Strings.Get(kind)); i >= 0 {
			return i
		}
		return len(rootRanks)
	}
	for i := range d.roots.Len() {
		root := d.roots.Get(i)
		if o := d.Edit(root.object); o.root == 0 || rank(root.kind) < rank(o.root) {
			o.root = root.kind
		}
	}
}

// reach is the search for the reachable objects of a dump.
type reach struct {
	*Dump
	found    *spill.List[ObjectNumber] // objects in order of distance
	seen     *spill.List[uint64]       // a bit for each object: whether it is in found
	batch    []ObjectNumber
	referent model.StringID
}

// find adds an object, unless it was found before.
func (r *reach) find(object ObjectNumber) {
	place, bit := int(object)/64, uint64(1)<<(object%64)
	if r.seen.Get(place)&bit == 0 {
		*r.seen.Edit(place) |= bit
		r.found.Append(object)
	}
}

// maxBatch is the number of objects of one distance that are sorted, 4 MB of numbers.
const maxBatch = 1 << 20

// follow goes on from the objects found at next, all of the same distance, up to end at most. It takes
// them in the order of their numbers, so that each page is only needed once. It returns the next place.
func (r *reach) follow(next, end int, distance int32) int {
	r.batch = r.batch[:0]
	for ; next < end && len(r.batch) < maxBatch; next++ {
		r.batch = append(r.batch, r.found.Get(next))
	}
	slices.Sort(r.batch)
	for _, number := range r.batch {
		r.Edit(number).distance = distance
		o := r.Object(number)
		weak := len(r.classes) > 0 && r.classes[o.Class].Weak
		for ref := range r.referencesOf(o) {
			if ref.owned == NoObject || ref.field != NoField && (r.fields[ref.field].Weak || weak && r.fields[ref.field].Name == r.referent) {
				continue
			}
			r.find(ref.owned)
		}
	}
	return next
}

// className identifies a class by its name and file.
type className struct{ name, location model.StringID }

// superclasses finds the superclass of each class from the superClass field of the
// java.lang.Class object that represents it.
func (d *Dump) superclasses() {
	strs := d.store.Strings
	superClass := strs.Intern("java.lang.Class.superClass")
	byName := map[className]ClassNumber{}
	types := make([]JavaType, len(d.classes))
	for i, c := range d.classes {
		byName[className{c.Name, c.Location}] = ClassNumber(i)
		types[i] = ParseJavaType(strs.Get(c.Name))
	}
	supers := map[className]className{}
	for i := range d.Objects() {
		o := d.objects.Get(i)
		if len(d.classes) == 0 || !types[o.Class].Static || types[o.Class].Arrays > 0 {
			continue
		}
		super := d.referenceBy(ObjectNumber(i), superClass)
		if super == NoObject {
			continue // Object and primitive types have no superclass
		}
		class, to := &d.classes[o.Class], d.Object(super).Class
		supers[className{strs.Intern(types[o.Class].Name), class.Location}] =
			className{strs.Intern(types[to].Name), d.classes[to].Location}
	}
	for i := range d.classes {
		if c := &d.classes[i]; !types[i].Static && types[i].Arrays == 0 {
			if super, ok := supers[className{c.Name, c.Location}]; ok {
				if number, ok := byName[super]; ok {
					c.super = number
				}
			}
		}
	}
}

// AddNativeSizes adds the native memory registered with the garbage collector to the
// sizes of its objects. sizes are the registries' sizes, by number of the object.
//
// A Cleaner refers to the object (referent) and to a thunk, which refers to the registry
// (this$0).
func (d *Dump) AddNativeSizes(sizes *spill.Map[int64]) {
	strs := d.store.Strings
	cleaner, referent := strs.Intern("sun.misc.Cleaner"), strs.Intern("java.lang.ref.Reference.referent")
	thunk, next := strs.Intern("sun.misc.Cleaner.thunk"), strs.Intern("sun.misc.Cleaner.next")
	registry := strs.Intern("libcore.util.NativeAllocationRegistry$CleanerThunk.this$0")
	if sizes.Len() == 0 || len(d.classes) == 0 {
		return
	}
	for i := range d.Objects() {
		if d.classes[d.objects.Get(i).Class].Name != cleaner {
			continue
		}
		object := ObjectNumber(i)
		of, by := d.referenceBy(object, referent), d.referenceBy(object, thunk)
		if of == NoObject || by == NoObject || d.referenceBy(object, next) == object { // cleaned already
			continue
		}
		const malloced = 1 // a bit that says how the memory was allocated
		if at := d.referenceBy(by, registry); at != NoObject {
			size, _ := sizes.Find(uint64(at))
			d.Edit(of).NativeSize += size &^ malloced
		}
	}
}

// Write stores the dump, which cannot be changed any more but for its classes and fields. It returns
// the id of the first class; the other classes follow in order.
func (d *Dump) Write() (firstClass ClassID) {
	d.superclasses()
	d.reach()
	firstClass = ClassID(d.store.HeapGraphClass.Rows())
	firstObject := ObjectID(d.store.HeapGraphObject.Rows())
	d.writeClasses(firstClass, firstObject)
	d.writeObjects(firstClass, d.store.HeapGraphReference.Rows())
	d.writeReferences(firstObject)
	d.objects.Free()
	d.references.Free()
	d.roots.Free()
	return firstClass
}

func (d *Dump) writeClasses(first ClassID, firstObject ObjectID) {
	t := &d.store.HeapGraphClass
	for _, c := range d.classes {
		row := t.Append()
		t.Name.Set(row, c.Name)
		t.Location.Set(row, c.Location)
		t.Kind.Set(row, c.Kind)
		if c.super != NoClass {
			t.SuperclassID.Set(row, first+ClassID(c.super))
		}
		if c.Loader != NoObject {
			t.ClassloaderID.Set(row, firstObject+ObjectID(c.Loader))
		}
	}
}

func (d *Dump) writeObjects(firstClass ClassID, firstReference int64) {
	t := &d.store.HeapGraphObject
	for i := range d.Objects() {
		o := d.objects.Get(i)
		row := t.Append()
		t.UPID.Set(row, d.UPID)
		t.GraphSampleTS.Set(row, d.TS)
		t.SelfSize.Set(row, o.SelfSize)
		t.NativeSize.Set(row, o.NativeSize)
		t.Reachable.Set(row, o.distance != unreachable)
		t.HeapType.Set(row, o.Type)
		t.TypeID.Set(row, firstClass+ClassID(o.Class))
		t.RootType.Set(row, o.root)
		t.RootDistance.Set(row, int64(o.distance))
		if o.from < o.to {
			t.ReferenceSetID.Set(row, firstReference+int64(o.from))
		}
		if o.Data != model.None {
			t.ObjectDataID.Set(row, o.Data)
		}
	}
}

func (d *Dump) writeReferences(firstObject ObjectID) {
	t := &d.store.HeapGraphReference
	first, from, owner := t.Rows(), 0, NoObject
	for i := range d.references.Len() {
		r := d.references.Get(i)
		if r.owner != owner {
			owner, from = r.owner, i
		}
		row := t.Append()
		t.ReferenceSetID.Set(row, first+int64(from))
		t.OwnerID.Set(row, firstObject+ObjectID(r.owner))
		if r.owned != NoObject {
			t.OwnedID.Set(row, firstObject+ObjectID(r.owned))
		}
		if r.field != NoField {
			f := &d.fields[r.field]
			t.FieldName.Set(row, f.Name)
			t.FieldTypeName.Set(row, f.Type)
			t.DeobfuscatedFieldName.Set(row, f.Deobfuscated)
		}
	}
}
