package args

import (
	"fmt"
	"math"
	"strings"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Annotation writes a DebugAnnotation below a path.
func (w *Writer) Annotation(data []byte, at *Path) error { return w.annotation(data, at, 0) }

func (w *Writer) annotation(data []byte, at *Path, depth int) error {
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

// Tags of fields.
const (
	tagVarint = uint64(wire.Varint)
	tagBytes  = uint64(wire.Bytes)
	tagFixed  = uint64(wire.Fixed64)
)

// plain writes the common kind of annotation: one number or text whose interned name was
// used before. It returns false for others.
func (w *Writer) plain(data []byte, at *Path) bool {
	var iid, kind, value uint64
	var text []byte
	for i := 0; i < len(data); {
		tag, v, next := wire.Scan(data, i)
		if next < 0 {
			return false
		}
		i = next
		switch tag {
		case pb.DebugAnnotation_NameIID<<pb.DebugAnnotation_UintValue | tagVarint:
			iid = v
		case pb.DebugAnnotation_BoolValue<<3 | tagVarint, pb.DebugAnnotation_UintValue<<3 | tagVarint, pb.DebugAnnotation_IntValue<<3 | tagVarint,
			pb.DebugAnnotation_DoubleValue<<3 | tagFixed, pb.DebugAnnotation_StringValue<<3 | tagBytes, pb.DebugAnnotation_PointerValue<<3 | tagVarint:
			if kind != 0 {
				return false
			}
			kind, value = tag>>3, v
			if kind == pb.DebugAnnotation_StringValue {
				text = data[i-int(v) : i]
			}
		default:
			return false
		}
	}
	if kind == 0 {
		return false
	}
	id := w.state.KnownString(pb.InternedData_DebugAnnotationNames, iid)
	path := at.names[id]
	if id == 0 || path == nil {
		return false
	}
	switch kind {
	case pb.DebugAnnotation_BoolValue:
		w.Add(path, model.BoolArg(value != 0))
	case pb.DebugAnnotation_UintValue:
		w.Add(path, model.UintArg(value))
	case pb.DebugAnnotation_IntValue:
		w.Add(path, model.IntArg(int64(value)))
	case pb.DebugAnnotation_DoubleValue:
		w.Add(path, model.RealArg(math.Float64frombits(value)))
	case pb.DebugAnnotation_StringValue:
		w.addText(path, text)
	case pb.DebugAnnotation_PointerValue:
		w.Add(path, model.PointerArg(value))
	}
	return true
}

// Annotation is a decoded DebugAnnotation, which has one value.
type Annotation struct {
	NameIID      uint64
	Name         []byte
	named        bool
	entries      bool // data has dict_entries; items says the same of array_values
	items        bool
	value        wire.Field // a scalar; Number is 0 if there is none
	stringIID    uint64
	hasStringIID bool
	JSON         []byte
	proto        []byte
	protoType    []byte
	protoTypeIID uint64
	nested       []byte
	data         []byte
}

// Text returns the annotation's text, or nil if it has none.
func (a *Annotation) Text() []byte {
	if a.value.Number != pb.DebugAnnotation_StringValue {
		return nil
	}
	return a.value.Bytes()
}

// DecodeAnnotation decodes a DebugAnnotation.
func DecodeAnnotation(data []byte) (a Annotation) {
	a.data = data
	for r := wire.Read(data); r.Next(); {
		switch r.Number {
		case pb.DebugAnnotation_NameIID:
			a.NameIID = r.Uint64()
		case pb.DebugAnnotation_Name:
			a.Name, a.named = r.Bytes(), true
		case pb.DebugAnnotation_BoolValue, pb.DebugAnnotation_UintValue, pb.DebugAnnotation_IntValue, pb.DebugAnnotation_DoubleValue, pb.DebugAnnotation_StringValue, pb.DebugAnnotation_PointerValue:
			a.value = r.Field
		case pb.DebugAnnotation_NestedValue:
			a.nested = r.Bytes()
		case pb.DebugAnnotation_LegacyJSONValue:
			a.JSON = r.Bytes()
		case pb.DebugAnnotation_DictEntries:
			a.entries = true
		case pb.DebugAnnotation_ArrayValues:
			a.items = true
		case pb.DebugAnnotation_ProtoTypeNameIID:
			a.protoTypeIID = r.Uint64()
		case pb.DebugAnnotation_ProtoValue:
			a.proto = r.Bytes()
		case pb.DebugAnnotation_ProtoTypeName:
			a.protoType = r.Bytes()
		case pb.DebugAnnotation_StringValueIID:
			a.stringIID, a.hasStringIID = r.Uint64(), true
		}
	}
	return a
}

// pathNames replaces the characters that have a special meaning in keys.
var pathNames = strings.NewReplacer(".", "_", "[", "_", "]", "_")

// readAnnotation decodes an annotation and finds its path, which its name determines.
func (w *Writer) readAnnotation(data []byte, at *Path) (Annotation, *Path, error) {
	a := DecodeAnnotation(data)
	strs := w.reader.Store.Strings
	var id model.StringID
	switch {
	case a.NameIID != 0:
		var ok bool
		if id, ok = w.state.InternedString(pb.InternedData_DebugAnnotationNames, a.NameIID); !ok {
			return a, nil, ErrNoInterned
		}
	case a.named:
		id = strs.InternBytes(a.Name)
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
func (w *Writer) annotated(a Annotation, at *Path, depth int) (added bool, err error) {
	if depth > maxDepth {
		return false, errTooDeep
	}
	switch {
	case a.entries:
		for r := wire.Read(a.data); r.Next(); {
			if r.Number == pb.DebugAnnotation_DictEntries {
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
			if r.Number != pb.DebugAnnotation_ArrayValues {
				continue
			}
			one, err := w.annotated(DecodeAnnotation(r.Bytes()), at.item(i), depth+1)
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
		case pb.DebugAnnotation_BoolValue:
			w.Add(at, model.BoolArg(v.Bool()))
		case pb.DebugAnnotation_UintValue:
			w.Add(at, model.UintArg(v.Uint64()))
		case pb.DebugAnnotation_IntValue:
			w.Add(at, model.IntArg(v.Int64()))
		case pb.DebugAnnotation_DoubleValue:
			w.Add(at, model.RealArg(v.Float64()))
		case pb.DebugAnnotation_StringValue:
			w.addText(at, v.Bytes())
		case pb.DebugAnnotation_PointerValue:
			w.Add(at, model.PointerArg(v.Uint64()))
		}
		return true, nil
	case a.hasStringIID:
		text, ok := w.state.InternedString(pb.InternedData_DebugAnnotationStringValues, a.stringIID)
		if !ok {
			return false, ErrNoInterned
		}
		w.Add(at, model.StringArg(text))
		return true, nil
	case a.JSON != nil:
		w.json(a.JSON, at)
		return true, nil
	case a.proto != nil:
		return true, w.annotatedMessage(a, at, depth)
	case a.nested != nil:
		return w.nested(a.nested, at, depth+1)
	}
	return false, nil
}

func (w *Writer) annotatedMessage(a Annotation, at *Path, depth int) error {
	name := string(a.protoType)
	if a.protoType == nil {
		id, ok := w.state.InternedString(pb.InternedData_DebugAnnotationValueTypeNames, a.protoTypeIID)
		if !ok {
			return ErrNoInterned
		}
		name = w.reader.Store.Strings.Get(id)
	}
	name = strings.TrimPrefix(name, ".")
	if name == debugType {
		return w.annotation(a.proto, at, depth+1)
	}
	m := w.pool.Message(name)
	if m == nil {
		return fmt.Errorf("unknown message type %s", name)
	}
	return w.message(m, a.proto, at, depth+1)
}

// nested writes a DebugAnnotation.NestedValue.
func (w *Writer) nested(data []byte, at *Path, depth int) (added bool, err error) {
	if depth > maxDepth {
		return false, errTooDeep
	}
	var kind int32
	var value wire.Field
	var keys, values, items [][]byte
	for r := wire.Read(data); r.Next(); {
		switch r.Number {
		case pb.DebugAnnotation_NestedValue_NestedType:
			kind = r.Int32()
		case pb.DebugAnnotation_NestedValue_DictKeys:
			keys = append(keys, r.Bytes())
		case pb.DebugAnnotation_NestedValue_DictValues:
			values = append(values, r.Bytes())
		case pb.DebugAnnotation_NestedValue_ArrayValues:
			items = append(items, r.Bytes())
		case pb.DebugAnnotation_NestedValue_IntValue, pb.DebugAnnotation_NestedValue_DoubleValue,
			pb.DebugAnnotation_NestedValue_BoolValue, pb.DebugAnnotation_NestedValue_StringValue:
			value = r.Field
		}
	}
	switch kind {
	case pb.DebugAnnotation_NestedValue_NestedType_Dict:
		if len(keys) != len(values) {
			return true, errMismatch
		}
		for i, key := range keys {
			if _, err := w.nested(values[i], w.Named(at, pathNames.Replace(string(key))), depth+1); err != nil {
				return true, err
			}
		}
		return true, nil
	case pb.DebugAnnotation_NestedValue_NestedType_Array:
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
	case pb.DebugAnnotation_NestedValue_IntValue:
		w.Add(at, model.IntArg(value.Int64()))
	case pb.DebugAnnotation_NestedValue_DoubleValue:
		w.Add(at, model.RealArg(value.Float64()))
	case pb.DebugAnnotation_NestedValue_BoolValue:
		w.Add(at, model.BoolArg(value.Bool()))
	case pb.DebugAnnotation_NestedValue_StringValue:
		w.addText(at, value.Bytes())
	}
	return value.Number != 0, nil
}
