// Package hprof reads Java heap dumps in the HPROF format, as Android's runtime and JVMs
// write them.
//
// A file has records: names, loaded classes, and segments of the heap dump. A segment has
// roots, the layouts of classes, instances with the bytes of their fields, and arrays.
// References and the layouts of instances can only be resolved after everything has been
// read, so the file is read twice. The first pass only keeps the offset of each object.
package hprof

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jvm"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/internal/spill"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/heap"
)

// Format is the format of HPROF heap dumps.
var Format = &format.Format{
	Name: "art_hprof", Title: "HPROF",
	Sniff: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte("JAVA PROFILE ")) && !bytes.HasPrefix(head, []byte(agentText))
	},
	Read:        read,
	Unsupported: []format.Signature{{Name: "a text of Java's hprof agent", Bytes: agentText}},
}

// agentText begins what the JDK's hprof agent wrote without format=b, until Java 8.
const agentText = "JAVA PROFILE 1.0.1, created "

// The records of a file.
const (
	recordText        = 0x01
	recordLoadClass   = 0x02
	recordDump        = 0x0c
	recordDumpSegment = 0x1c
)

const nsPerMS = 1_000_000

// recordEnd marks the end of the segments of a heap dump.
const recordEnd = 0x2c

// unreadRecords are the other kinds of records, which make no rows.
var unreadRecords = map[byte]string{0x03: "unloaded class", 0x04: "stack frame", 0x05: "stack trace", 0x06: "list of allocation sites",
	0x07: "heap summary", 0x0a: "started thread", 0x0b: "ended thread", 0x0d: "list of CPU samples", 0x0e: "control setting"}

// The records of a heap dump. All others are roots.
const (
	dumpClass       = 0x20
	dumpInstance    = 0x21
	dumpObjects     = 0x22 // an array of objects
	dumpPrimitives  = 0x23
	dumpHeap        = 0xfe // sets the Android heap of the records after it
	dumpWithoutData = 0xc3 // a primitive array
)

// The kinds of roots that take precedence over others.
const (
	rootJNIGlobal   = 0x01
	rootJNILocal    = 0x02
	rootStickyClass = 0x05
)

// roots are the kinds of roots. extra is the number of bytes after the object's id, where
// -1 stands for the size of an id.
var roots = map[byte]struct {
	name  string
	extra int
}{
	rootJNIGlobal:   {"JNI_GLOBAL", -1},
	rootJNILocal:    {"JNI_LOCAL", 8},
	0x03:            {"JAVA_FRAME", 8},
	0x04:            {"NATIVE_STACK", 4},
	rootStickyClass: {"STICKY_CLASS", 0},
	0x06:            {"THREAD_BLOCK", 4},
	0x07:            {"MONITOR_USED", 0},
	0x08:            {"THREAD_OBJECT", 8},
	0x89:            {"INTERNED_STRING", 0},
	0x8a:            {"FINALIZING", 0},
	0x8b:            {"DEBUGGER", 0},
	0x8c:            {"UNKNOWN", 0}, // Android's reference cleanup
	0x8d:            {"VM_INTERNAL", 0},
	0x8e:            {"JNI_MONITOR", 8},
	0x90:            {"UNKNOWN", 0}, // Android's unreachable objects
	0xff:            {"UNKNOWN", 0},
}

// rootRank orders kinds of roots: an object with several kinds of roots gets the one with
// the lowest rank.
func rootRank(kind byte) int {
	switch kind {
	case rootStickyClass:
		return 0
	case rootJNIGlobal:
		return 1
	case rootJNILocal:
		return 2
	}
	return 3
}

// basicType is the type of a field or of the elements of an array.
type basicType byte

const (
	objectType  basicType = 2
	booleanType basicType = 4
	charType    basicType = 5
	floatType   basicType = 6
	doubleType  basicType = 7
	byteType    basicType = 8
	shortType   basicType = 9
	intType     basicType = 10
	longType    basicType = 11
)

var typeNames = [...]string{booleanType: "boolean", charType: "char", floatType: "float", doubleType: "double",
	byteType: "byte", shortType: "short", intType: "int", longType: "long"}

// size returns the size of a value in bytes, or 0 for an invalid type.
func (r *reader) size(t basicType) int {
	switch t {
	case objectType:
		return r.idSize
	case booleanType, byteType:
		return 1
	case charType, shortType:
		return 2
	case floatType, intType:
		return 4
	case doubleType, longType:
		return 8
	}
	return 0
}

// field is a field of a class. In a layout, its name is qualified with the class name.
type field struct {
	name model.StringID
	typ  basicType
}

// class is a loaded class.
type class struct {
	name         string
	super        uint64
	loader       uint64
	size         int64 // of an instance in bytes
	fields       []field
	statics      []field // names are not qualified
	staticValues []byte  // values of the statics, concatenated
	dumped       bool

	number heap.ClassNumber // in the dump
	object heap.ClassNumber // the class object's class
	layout []field

	layoutBytes int64
}

// kind is the kind of an object.
type kind byte

const (
	instance kind = iota
	classObject
	objectArray
	primitiveArray
)

// object is an object as read from the file. There may be many millions of them.
type object struct {
	class    uint64            // for a primitive array, 0 until all objects are read
	data     int64             // offset of its bytes in the file, 0 if it has none
	elements uint32            // for an instance, the size of its data in bytes
	number   heap.ObjectNumber // in the dump, or heap.NoObject if the object is left out
	heap     model.StringID
	kind     kind
	elem     basicType
}

// length returns the size of an object's data in the file.
func (r *reader) length(o *object) int64 {
	switch {
	case o.data == 0:
		return 0
	case o.kind == instance:
		return int64(o.elements)
	}
	return int64(o.elements) * int64(r.size(o.elem))
}

// reader reads a file.
type reader struct {
	*bufio.Reader
	in     *format.Input
	file   *spool.File
	offset int64
	idSize int
	ts     int64

	texts   map[uint64]model.StringID
	classes map[uint64]*class
	order   []uint64 // ids of the classes in file order
	byName  map[string]uint64
	objects *spill.Map[object] // by reader.key of the id
	roots   *spill.Map[byte]   // kinds by reader.key of the id
	heap    model.StringID
	scratch []byte
}

func read(in *format.Input) error {
	source := &ending{Reader: in.Reader}
	in.Reader = source
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	r := &reader{Reader: bufio.NewReaderSize(io.NewSectionReader(file, 0, file.Size), 64<<10), in: in, file: file,
		heap: in.Store.Strings.Intern(""), texts: map[uint64]model.StringID{}, classes: map[uint64]*class{},
		byName: map[string]uint64{}, objects: spill.NewMap[object](in.Store.Space), roots: spill.NewMap[byte](in.Store.Space)}
	defer r.objects.Free()
	defer r.roots.Free()
	if err := r.header(); err != nil {
		return err
	}
	err = r.records()
	if err == io.ErrUnexpectedEOF || err == nil && source.cut {
		in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
	} else if err != nil {
		return err
	}
	if r.objects.Len() == 0 {
		return format.Errorf(format.ErrNoEvents, -1, "a heap dump without objects")
	}
	newGraph(r).write()
	return file.Err()
}

// ending treats a premature end of the input as its end, and sets cut.
type ending struct {
	io.Reader
	cut bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.ErrUnexpectedEOF {
		e.cut, err = true, io.EOF
	}
	return n, err
}

func (r *reader) header() error {
	version, err := r.ReadSlice(0)
	if err != nil || len(version) > 32 {
		return format.Errorf(format.ErrCorrupt, 0, "cut off before its version")
	}
	r.offset = int64(len(version))
	b, err := r.take(12)
	if err != nil {
		return format.Errorf(format.ErrCorrupt, r.offset, "cut off before its records")
	}
	r.idSize = int(binary.BigEndian.Uint32(b))
	if r.idSize != 4 && r.idSize != 8 {
		return format.Errorf(format.ErrUnsupported, r.offset, "ids of %d bytes; 4 and 8 can be read", binary.BigEndian.Uint32(b))
	}
	r.in.UseClock(model.ClockRealtime)
	ns := int64(min(binary.BigEndian.Uint64(b[4:]), math.MaxInt64/nsPerMS) * nsPerMS)
	var ok bool
	if r.ts, ok = r.in.TraceTime(ns, r.offset); !ok { // which is counted
		r.ts = ns
	}
	return nil
}

// take reads n bytes, valid until the next read. It returns io.ErrUnexpectedEOF if there are fewer.
func (r *reader) take(n int) ([]byte, error) {
	b, err := r.Peek(n)
	if err != nil {
		return nil, cut(err)
	}
	r.offset += int64(n)
	_, err = r.Discard(n)
	return b, err
}

func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// skip skips n bytes.
func (r *reader) skip(n int64) error {
	for n > 0 {
		k, err := r.Discard(int(min(n, 1<<30)))
		r.offset += int64(k)
		if n -= int64(k); err != nil {
			return cut(err)
		}
	}
	return nil
}

func (r *reader) idIn(b []byte) uint64 {
	if r.idSize == 4 {
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

func (r *reader) id() (uint64, error) {
	b, err := r.take(r.idSize)
	if err != nil {
		return 0, err
	}
	return r.idIn(b), nil
}

func (r *reader) uint16() (uint16, error) {
	b, err := r.take(2)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint16(b), nil
}

// text returns the text with an id.
func (r *reader) text(id uint64) string {
	if text, ok := r.texts[id]; ok {
		return r.in.Store.Strings.Get(text)
	}
	return fmt.Sprintf("[unknown string ID: %d]", id)
}

const recordHead = 9

// records reads the records of the file.
func (r *reader) records() error {
	file := r.in.File
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return nil
		}
		b, err := r.take(recordHead)
		if err != nil {
			return err
		}
		kind, length := b[0], int64(binary.BigEndian.Uint32(b[5:]))
		end := r.offset + length
		switch kind {
		case recordText:
			file.Count(model.StatHprofStringCounter)
			err = r.textRecord(length)
		case recordLoadClass:
			file.Count(model.StatHprofClassCounter)
			err = r.loadClass(length)
		case recordDump, recordDumpSegment:
			file.Count(model.StatHprofHeapDumpCounter)
			if err = r.segment(end); err == nil && r.offset > end {
				// Some writers split their records when a segment is full.
				file.LogAt(model.StatHprofSegmentOvershootCounter, r.offset, nil)
			}
		case recordEnd:
		default:
			noun, known := unreadRecords[kind]
			if !known {
				noun = fmt.Sprintf("record of kind %d", kind)
			}
			file.Unread(model.StatUnreadFact, model.None, noun).AddAt(r.offset - recordHead)
		}
		if err == nil && r.offset < end {
			err = r.skip(end - r.offset)
		}
		if err != nil {
			return err
		}
	}
}

// maxText is the maximum size of a name in bytes.
const maxText = 1 << 20

func (r *reader) textRecord(length int64) error {
	if length < int64(r.idSize) || length > maxText {
		r.in.File.LogAt(model.StatHprofHeapDumpErrors, r.offset, nil)
		return nil
	}
	id, err := r.id()
	if err != nil {
		return err
	}
	r.scratch = slices.Grow(r.scratch[:0], int(length))[:length-int64(r.idSize)]
	n, err := io.ReadFull(r, r.scratch)
	r.offset += int64(n)
	if err != nil {
		return cut(err)
	}
	r.texts[id] = r.in.Store.Strings.InternBytes(jvm.Text(r.scratch))
	return nil
}

func (r *reader) loadClass(length int64) error {
	if length < int64(8+2*r.idSize) {
		r.in.File.LogAt(model.StatHprofClassErrors, r.offset, nil)
		return nil
	}
	b, err := r.take(8 + 2*r.idSize)
	if err != nil {
		return err
	}
	id, text := r.idIn(b[4:]), r.idIn(b[8+r.idSize:])
	name, ok := className(r.text(text))
	if !ok {
		r.in.File.LogAt(model.StatHprofClassErrors, r.offset, nil)
	}
	c := r.classes[id]
	if c == nil {
		c = &class{object: heap.NoClass}
		r.classes[id], r.order = c, append(r.order, id)
	}
	c.name = name // only the last one, if the class is loaded again
	r.byName[name] = id
	return nil
}

var primitives = map[byte]string{'Z': "boolean", 'B': "byte", 'C': "char", 'S': "short", 'I': "int", 'J': "long", 'F': "float", 'D': "double"}

// className returns a class's name as Android's runtime writes it: byte[] for [B, and
// java.lang.Object for java/lang/Object.
func className(name string) (_ string, ok bool) {
	element := strings.TrimLeft(name, "[")
	dimensions := len(name) - len(element)
	if dimensions > 0 {
		if element == "" {
			return name, false
		}
		primitive, isPrimitive := primitives[element[0]]
		switch {
		case isPrimitive:
			element = primitive
		case element[0] == 'L' && strings.HasSuffix(element, ";"):
			element = element[1 : len(element)-1]
		default:
			return name, false
		}
	}
	return strings.ReplaceAll(element, "/", ".") + strings.Repeat("[]", dimensions), true
}

// segment reads the records of a heap dump up to an offset.
func (r *reader) segment(end int64) error {
	file := r.in.File
	for r.offset < end {
		b, err := r.take(1)
		if err != nil {
			return err
		}
		switch kind := b[0]; kind {
		case dumpClass:
			err = r.class()
		case dumpInstance:
			file.Count(model.StatHprofInstanceCounter)
			err = r.instance()
		case dumpObjects:
			file.Count(model.StatHprofObjectArrayCounter)
			err = r.objectArray()
		case dumpPrimitives, dumpWithoutData:
			file.Count(model.StatHprofPrimitiveArrayCounter)
			err = r.primitiveArray(kind == dumpPrimitives)
		case dumpHeap:
			err = r.heapName()
		default:
			root, ok := roots[kind]
			if !ok {
				file.LogAt(model.StatHprofHeapDumpErrors, r.offset-1, nil)
				return nil // the rest of the segment is left out
			}
			file.Count(model.StatHprofRootCounter)
			err = r.root(kind, root.extra)
		}
		if err == errField {
			file.LogAt(model.StatHprofHeapDumpErrors, r.offset, nil)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) root(kind byte, extra int) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if extra < 0 {
		extra = r.idSize
	}
	if had, known := r.roots.Find(key(id)); !known || rootRank(kind) < rootRank(had) {
		r.roots.Add(key(id), kind)
	}
	return r.skip(int64(extra))
}

// key returns an id as a key of a map. Ids are addresses, most of them multiples of 8, so the keys of
// objects that are next to each other are near.
func key(id uint64) uint64 { return bits.RotateLeft64(id, -3) }

// idOf returns the id of a key.
func idOf(key uint64) uint64 { return bits.RotateLeft64(key, 3) }

func (r *reader) heapName() error {
	b, err := r.take(4 + r.idSize)
	if err == nil {
		r.heap = r.in.Store.Strings.Intern(r.text(r.idIn(b[4:])))
	}
	return err
}

// add adds an object and skips its data, which follows. A later dump of the same object
// replaces the first.
func (r *reader) add(id uint64, o object) error {
	if o.data != 0 {
		if err := r.skip(r.length(&o)); err != nil {
			return err
		}
	}
	o.heap = r.heap
	r.objects.Add(key(id), o)
	return nil
}

// errField is the error for a field of an invalid type.
var errField = fmt.Errorf("a field of an unknown type: %w", format.ErrCorrupt)

// class reads the layout of a class and the values of its static fields.
func (r *reader) class() error {
	at := r.offset
	b, err := r.take(8 + 7*r.idSize)
	if err != nil {
		return err
	}
	id := r.idIn(b)
	c := r.classes[id]
	if c == nil {
		r.in.File.LogAt(model.StatHprofClassErrors, at, nil)
		c = &class{} // read the record, but discard it
	}
	b = b[r.idSize+4:]
	c.super, c.loader = r.idIn(b), r.idIn(b[r.idSize:])
	c.size = int64(binary.BigEndian.Uint32(b[6*r.idSize:]))
	constants, err := r.uint16()
	for range constants {
		if err == nil {
			b, err = r.take(3)
		}
		if err == nil {
			err = r.value(basicType(b[2]), nil)
		}
	}
	if err != nil {
		return err
	}
	c.statics, c.staticValues, c.fields = nil, nil, nil
	statics, err := r.uint16()
	for range statics {
		var f field
		if err == nil {
			f, err = r.field()
		}
		if err == nil {
			err = r.value(f.typ, &c.staticValues)
		}
		if err == nil {
			c.statics = append(c.statics, f)
		}
	}
	if err != nil {
		return err
	}
	fields, err := r.uint16()
	for range fields {
		var f field
		if err == nil {
			f, err = r.field()
		}
		if err == nil {
			c.fields = append(c.fields, f)
		}
	}
	if _, known := r.objects.Place(key(id)); err == nil && c.name != "" && !known {
		c.dumped = true
		err = r.add(id, object{class: id, kind: classObject})
	}
	return err
}

// field reads the name and type of a field.
func (r *reader) field() (field, error) {
	b, err := r.take(r.idSize + 1)
	if err != nil {
		return field{}, err
	}
	f := field{r.in.Store.Strings.Intern(r.text(r.idIn(b))), basicType(b[r.idSize])}
	if r.size(f.typ) == 0 {
		return f, errField
	}
	return f, nil
}

// value reads a value and appends it to to, unless to is nil.
func (r *reader) value(t basicType, to *[]byte) error {
	n := r.size(t)
	if n == 0 {
		return errField
	}
	b, err := r.take(n)
	if err == nil && to != nil {
		*to = append(*to, b...)
	}
	return err
}

func (r *reader) instance() error {
	b, err := r.take(8 + 2*r.idSize)
	if err != nil {
		return err
	}
	return r.add(r.idIn(b), object{class: r.idIn(b[4+r.idSize:]), data: r.offset,
		elements: binary.BigEndian.Uint32(b[4+2*r.idSize:]), kind: instance})
}

func (r *reader) objectArray() error {
	b, err := r.take(8 + 2*r.idSize)
	if err != nil {
		return err
	}
	return r.add(r.idIn(b), object{class: r.idIn(b[8+r.idSize:]), data: r.offset,
		elements: binary.BigEndian.Uint32(b[4+r.idSize:]), kind: objectArray, elem: objectType})
}

func (r *reader) primitiveArray(withData bool) error {
	b, err := r.take(9 + r.idSize)
	if err != nil {
		return err
	}
	o := object{elements: binary.BigEndian.Uint32(b[4+r.idSize:]), kind: primitiveArray, elem: basicType(b[8+r.idSize])}
	if r.size(o.elem) == 0 || o.elem == objectType {
		r.in.File.LogAt(model.StatHprofPrimitiveArrayParsingErrors, r.offset, nil)
		return errField
	}
	if withData {
		o.data = r.offset
	}
	return r.add(r.idIn(b), o)
}
