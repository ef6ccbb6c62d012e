package otlp

import (
	"encoding/base64"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/spans"
	"github.com/tpconvert/tpconvert/ingest/otlp/profiles"
)

// A jsonKind is how a member of an object becomes a field.
type jsonKind int

const (
	jsonNumber jsonKind = iota
	jsonNumbers
	jsonTimes // fixed64
	jsonText
	jsonTexts
	jsonID
	jsonBase64
	jsonObject // or a list of them
	jsonAttributes
	jsonValue // AnyValue
	jsonNone  // makes no rows anywhere
)

// jsonField is a member of an object.
type jsonField struct {
	kind   jsonKind
	number protowire.Number
	object map[string]jsonField
	names  []string // of an enum
	walked bool     // its elements are read one by one
	deep   bool     // the members of each, too
	old    bool     // only releases before 1.8 have it, whose tables have no entry for nothing
}

// The objects of profiles, by the names that releases since version 1.4 give to their members.
var (
	jsonValueType = map[string]jsonField{"typeStrindex": {number: 1}, "unitStrindex": {number: 2}, "aggregationTemporality": {number: 3, names: temporalities}}
	temporalities = []string{"AGGREGATION_TEMPORALITY_UNSPECIFIED", "AGGREGATION_TEMPORALITY_DELTA", "AGGREGATION_TEMPORALITY_CUMULATIVE"}
	jsonSample    = map[string]jsonField{"stackIndex": {number: 1}, "attributeIndices": {kind: jsonNumbers, number: 2}, "linkIndex": {number: 3},
		"values": {kind: jsonNumbers, number: 4}, "value": {kind: jsonNumbers, number: 4, old: true},
		"timestampsUnixNano": {kind: jsonTimes, number: 5}, "locationsStartIndex": {number: profiles.OwnStackStart, old: true},
		"locationsLength": {number: profiles.OwnStackLength, old: true}}
	jsonMapping = map[string]jsonField{"memoryStart": {number: 1}, "memoryLimit": {number: 2}, "fileOffset": {number: 3}, "filenameStrindex": {number: 4},
		"attributeIndices": {kind: jsonNumbers, number: 5}, "hasFunctions": {kind: jsonNone}, "hasFilenames": {kind: jsonNone},
		"hasLineNumbers": {kind: jsonNone}, "hasInlineFrames": {kind: jsonNone}}
	jsonLine     = map[string]jsonField{"functionIndex": {number: 1}, "line": {number: 2}, "column": {number: 3}}
	jsonLocation = map[string]jsonField{"mappingIndex": {number: 1}, "address": {number: 2}, "lines": {kind: jsonObject, number: 3, object: jsonLine},
		"line": {kind: jsonObject, number: 3, object: jsonLine}, "isFolded": {kind: jsonNone}, "attributeIndices": {kind: jsonNumbers, number: 4}}
	jsonFunction = map[string]jsonField{"nameStrindex": {number: 1}, "systemNameStrindex": {number: 2}, "filenameStrindex": {number: 3},
		"startLine": {number: 4}}
	jsonLink      = map[string]jsonField{"traceId": {kind: jsonID, number: 1}, "spanId": {kind: jsonID, number: 2}}
	jsonAttribute = map[string]jsonField{"keyStrindex": {number: 1}, "key": {kind: jsonText, number: 1}, "value": {kind: jsonValue, number: 2},
		"unitStrindex": {number: 3}}
	jsonUnit  = map[string]jsonField{"attributeKeyStrindex": {number: 1}, "unitStrindex": {number: 2}}
	jsonStack = map[string]jsonField{"locationIndices": {kind: jsonNumbers, number: 1}}

	jsonDictionary = jsonTables(1)
	jsonProfile    = func() map[string]jsonField {
		all := jsonTables(profiles.OwnTables)
		for name, f := range map[string]jsonField{
			"sampleType": {kind: jsonObject, number: 1, object: jsonValueType}, "sample": {kind: jsonObject, number: 2, object: jsonSample, walked: true},
			"samples": {kind: jsonObject, number: 2, object: jsonSample, walked: true}, "timeUnixNano": {number: 3}, "timeNanos": {number: 3, old: true},
			"durationNano": {number: 4}, "durationNanos": {number: 4}, "periodType": {kind: jsonObject, number: 5, object: jsonValueType},
			"period": {number: 6}, "profileId": {kind: jsonID, number: 7}, "droppedAttributesCount": {number: 8},
			"originalPayloadFormat": {kind: jsonNone}, "originalPayload": {kind: jsonBase64, number: 10},
			"attributeIndices": {kind: jsonNumbers, number: 11}, "locationIndices": {kind: jsonNumbers, number: profiles.OwnLocationIndices, old: true},
			"commentStrindices": {kind: jsonNumbers, number: profiles.OwnComments}, "defaultSampleTypeIndex": {kind: jsonNone},
			"defaultSampleTypeStrindex": {kind: jsonNone},
		} {
			all[name] = f
		}
		return all
	}()
	jsonScope = map[string]jsonField{"name": {kind: jsonText, number: spans.ScopeName}, "version": {kind: jsonText, number: spans.ScopeVersion},
		"attributes": {kind: jsonAttributes, number: spans.ScopeAttributes}, "droppedAttributesCount": {number: spans.ScopeDropped}}
	jsonScopeProfiles = map[string]jsonField{"scope": {kind: jsonObject, number: 1, object: jsonScope},
		"profiles": {kind: jsonObject, number: 2, object: jsonProfile, walked: true, deep: true}, "schemaUrl": {kind: jsonText, number: 3}}
	jsonResource         = map[string]jsonField{"attributes": {kind: jsonAttributes, number: spans.ResourceAttributes}, "droppedAttributesCount": {number: 2}}
	jsonResourceProfiles = map[string]jsonField{"resource": {kind: jsonObject, number: 1, object: jsonResource},
		"scopeProfiles": {kind: jsonObject, number: 2, object: jsonScopeProfiles, walked: true, deep: true}, "schemaUrl": {kind: jsonText, number: 3}}

	// jsonData are the members of the object around. Version 1.6 has the tables there.
	jsonData = map[string]jsonField{"resourceProfiles": {kind: jsonObject, number: 1, object: jsonResourceProfiles, walked: true, deep: true},
		"dictionary": {kind: jsonObject, number: dataDictionary, object: jsonDictionary, walked: true, deep: true}}
)

// jsonTables are the tables of a dictionary, numbered from first.
func jsonTables(first protowire.Number) map[string]jsonField {
	all := map[string]jsonField{"stringTable": {kind: jsonTexts, number: first + 4}}
	for name, f := range map[string]jsonField{"mappingTable": {number: 0, object: jsonMapping}, "locationTable": {number: 1, object: jsonLocation},
		"functionTable": {number: 2, object: jsonFunction}, "linkTable": {number: 3, object: jsonLink}, "attributeTable": {number: 5, object: jsonAttribute},
		"stackTable": {number: 6, object: jsonStack}, "attributeUnits": {number: 7, object: jsonUnit}} {
		all[name] = jsonField{kind: jsonObject, number: first + f.number, object: f.object, walked: true}
	}
	return all
}

// profilesMember adds a member of an object with profiles to the message of that object, or returns false if it is none.
func (r *reader) profilesMember(key []byte) (is bool, err error) {
	name := camel(key)
	f, is := jsonData[name]
	table, isTable := jsonDictionary[name] // of version 1.6
	if !is && !isTable {
		return false, nil
	}
	r.Message, r.data, r.inProfiles = r.data, r.Message, true
	if is {
		err = r.walk(f)
	} else {
		r.Message.Nested(dataDictionary, func() { err = r.walk(table) })
	}
	r.Message, r.data, r.inProfiles = r.data, r.Message, false
	return true, err
}

// readData reads the profiles of an object at its end.
func (r *reader) readData(offset int64) error {
	if len(r.data) == 0 {
		return nil
	}
	if r.profiles == nil {
		r.profiles = profiles.New(r.In, r.Spans)
	}
	err := r.profiles.ReadOwn(r.data, offset, !r.old)
	if r.profiles.Found() {
		r.Spans.Found()
	}
	r.data, r.old = r.data[:0], false
	return err
}

// walk adds the value at the position.
func (r *reader) walk(f jsonField) (err error) {
	r.old = r.old || f.old
	if !f.walked && f.kind != jsonTexts {
		v, err := r.ReadValue()
		if err == nil {
			r.add(f, v)
		}
		return err
	}
	object := func() error {
		if len(r.Message) > maxProfiles {
			return tooLarge(r.Offset())
		}
		if f.kind == jsonTexts {
			v, err := r.ReadValue()
			r.Message.Bytes(f.number, v.Raw)
			return err
		}
		if !f.deep {
			v, err := r.ReadValue()
			if err == nil {
				r.addObject(f, v)
			}
			return err
		}
		var err error
		r.Message.Nested(f.number, func() {
			err = r.EachMember(func(key []byte) error {
				inner, ok := f.object[camel(key)]
				if !ok {
					return r.Unread(key)
				}
				return r.walk(inner)
			})
		})
		return err
	}
	switch r.Buf[r.Pos] {
	case '[':
		return r.EachElement(object)
	case '{':
		return object()
	case 'n':
	default:
		r.Damaged()
	}
	return r.Skip()
}

// add adds a value.
func (r *reader) add(f jsonField, v jsonlex.Value) {
	r.old = r.old || f.old
	m := &r.Message
	if v.Kind == jsonlex.Null {
		return
	}
	switch f.kind {
	case jsonNumber:
		m.Varint(f.number, r.enum(f.names, v))
	case jsonNumbers, jsonTimes:
		m.Nested(f.number, func() {
			r.Elements(v, func(v jsonlex.Value) {
				if f.kind == jsonTimes {
					*m = protowire.AppendFixed64(*m, r.Number(v))
				} else {
					*m = protowire.AppendVarint(*m, r.Number(v))
				}
			})
		})
	case jsonText:
		if len(v.Raw) > 0 {
			m.Bytes(f.number, v.Raw)
		}
	case jsonID:
		m.Bytes(f.number, r.binary(v))
	case jsonBase64:
		b, err := base64.StdEncoding.DecodeString(string(v.Raw))
		if err != nil {
			r.Damaged()
		}
		if len(b) > 0 {
			m.Bytes(f.number, b)
		}
	case jsonAttributes:
		r.attributes(f.number, v)
	case jsonValue:
		m.Nested(f.number, func() { r.value(v, 0) })
	case jsonObject:
		if v.Kind == jsonlex.Array {
			r.Elements(v, func(v jsonlex.Value) { r.addObject(f, v) })
		} else {
			r.addObject(f, v)
		}
	}
}

func (r *reader) addObject(f jsonField, v jsonlex.Value) {
	r.Message.Nested(f.number, func() {
		r.Members(v, func(key []byte, v jsonlex.Value) {
			if inner, ok := f.object[camel(key)]; ok {
				r.add(inner, v)
			} else {
				r.UnreadIn("profile", key)
			}
		})
	})
}

// camel returns a name in camel case, which protobuf's own names may not be in.
func camel(key []byte) string {
	to, upper := make([]byte, 0, len(key)), false
	for _, c := range key {
		if c == '_' {
			upper = true
			continue
		}
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		to, upper = append(to, c), false
	}
	return string(to)
}
