package spans

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/table"
)

// maxDepth is how deep values may be nested. Deeper ones are left out and counted.
const maxDepth = 64

// args turns attributes into args. Their keys are the names of OpenTelemetry's fields; that of an attribute is attributes.
// and its key.
type args struct {
	file    *model.File
	strings *table.StringPool
	key     []byte
	text    []byte
}

func newArgs(f *model.File, strings *table.StringPool) *args { return &args{file: f, strings: strings} }

// keyValue returns the key and the value of a KeyValue.
func keyValue(message []byte) (key, value []byte) {
	for r := wire.Read(message); r.Next(); {
		switch r.Number {
		case KeyValueKey:
			key = r.Bytes()
		case KeyValueValue:
			value = r.Bytes()
		}
	}
	return key, value
}

// resource adds the args of a Resource.
func (a *args) resource(set *model.ArgSet, message []byte) {
	for r := wire.Read(message); r.Next(); {
		if r.Number == ResourceAttributes {
			a.attribute(set, "resource.attributes.", r.Bytes())
		} else {
			a.unread("resource", &r.Field)
		}
	}
}

// scope adds the args of an InstrumentationScope, but for its name.
func (a *args) scope(set *model.ArgSet, message []byte) {
	for r := wire.Read(message); r.Next(); {
		switch r.Number {
		case ScopeName:
		case ScopeVersion:
			a.addText(set, "scope.version", r.Bytes())
		case ScopeAttributes:
			a.attribute(set, "scope.attributes.", r.Bytes())
		case ScopeDropped:
			a.dropped(set, "scope.dropped_attributes_count", &r.Field)
		default:
			a.unread("scope", &r.Field)
		}
	}
}

// unread counts a field that makes no rows.
func (a *args) unread(message string, f *wire.Field) {
	a.file.Unread(model.StatUnreadFact, model.None, fmt.Sprintf("%s field %d", message, f.Number)).Add(model.LogEntry{})
}

// dropped adds how many parts the recorder dropped.
func (a *args) dropped(set *model.ArgSet, key string, f *wire.Field) {
	if n := f.Uint32(); n > 0 {
		set.Add(a.strings.Intern(key), model.IntArg(int64(n)))
		a.file.Add(statPartsDropped, model.None, int64(n))
	}
}

func (a *args) addText(set *model.ArgSet, key string, text []byte) {
	id := a.strings.Intern(key)
	set.AddText(id, id, text)
}

// addHex adds an id.
func (a *args) addHex(set *model.ArgSet, key string, id []byte) {
	if len(id) > 0 {
		a.text = hex.AppendEncode(a.text[:0], id)
		a.addText(set, key, a.text)
	}
}

// attribute adds a KeyValue, with keys that start with prefix.
func (a *args) attribute(set *model.ArgSet, prefix string, message []byte) {
	key, value := keyValue(message)
	a.key = append(append(a.key[:0], prefix...), key...)
	id := a.strings.InternBytes(a.key)
	a.value(set, id, id, value, 0)
}

// value adds an AnyValue.
func (a *args) value(set *model.ArgSet, flat, key model.StringID, message []byte, depth int) {
	if depth == maxDepth {
		a.file.Unread(model.StatUnreadFact, model.None, "deeply nested attribute").Add(model.LogEntry{})
		return
	}
	r := wire.Read(message)
	if !r.Next() {
		set.AddFlat(flat, key, model.NullArg())
		return
	}
	switch r.Number {
	case ValueText:
		set.AddText(flat, key, r.Bytes())
	case ValueBool:
		set.AddFlat(flat, key, model.BoolArg(r.Bool()))
	case ValueInt:
		set.AddFlat(flat, key, model.IntArg(r.Int64()))
	case ValueDouble:
		set.AddFlat(flat, key, model.RealArg(r.Float64()))
	case ValueArray:
		index := 0
		for m := wire.Read(r.Bytes()); m.Next(); index++ {
			a.value(set, flat, a.below(key, "["+strconv.Itoa(index)+"]"), m.Bytes(), depth+1)
		}
	case ValueList:
		for m := wire.Read(r.Bytes()); m.Next(); {
			name, value := keyValue(m.Bytes())
			suffix := "." + string(name)
			a.value(set, a.below(flat, suffix), a.below(key, suffix), value, depth+1)
		}
	case ValueBytes:
		a.text = base64.StdEncoding.AppendEncode(a.text[:0], r.Bytes())
		set.AddText(flat, key, a.text)
	default:
		a.unread("attribute", &r.Field)
	}
}

func (a *args) below(key model.StringID, suffix string) model.StringID {
	return a.strings.Intern(a.strings.Get(key) + suffix)
}
