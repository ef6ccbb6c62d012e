// Package heapprofile reads V8's sampling heap profiles, .heapprofile files of Chrome and Node.js: a tree of calls with the
// bytes that each allocated and that were still in use.
package heapprofile

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/aggregate"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Format is the format of V8's heap profiles.
var Format = &format.Format{Name: "heapprofile", Title: "V8 heap profile", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1031, model.StatInfo{
	Name: "heap_profile_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Nodes of V8's heap profiles that cannot be read.",
})

// sniff accepts an object that begins with the root of the tree.
func sniff(head []byte) bool {
	l := jsonlex.Lexer{Buf: head}
	if c, err := l.Space(); err != nil || c != '{' {
		return false
	}
	l.Pos++
	key, err := l.Key()
	if err != nil || string(key) != "head" || l.Buf[l.Pos] != '{' {
		return false
	}
	rest := head[l.Pos:]
	return bytes.Contains(rest, []byte(`"callFrame"`)) && bytes.Contains(rest, []byte(`"selfSize"`))
}

// maxDepth is how deep calls may be nested. Deeper ones are left out and counted.
const maxDepth = 10_000

type reader struct {
	aggregate.Reader
	measure int
	mapping profile.MappingID
	frames  []profile.FrameID // by number of the node
}

func read(in *format.Input) error {
	r := &reader{Reader: aggregate.NewReader(in, statParseErrors), mapping: in.Store.Stacks.DummyMapping("")}
	r.measure = r.Measure(in.Name, "heap profile space", "space", "bytes")
	_, err := r.Peek()
	if err == nil {
		err = r.EachMember(func(key []byte) error {
			if string(key) == "head" && r.Buf[r.Pos] == '{' {
				return r.node(profile.EmptyStack, 0)
			}
			return r.Unread(string(key) + " member")
		})
	}
	r.Store(func(number int32) profile.FrameID { return r.frames[number] })
	return r.End(err, len(r.frames) > 0)
}

// node reads a node of the tree and those below it.
func (r *reader) node(parent profile.StackNumber, depth int) error {
	number := int32(len(r.frames))
	r.frames = append(r.frames, model.None)
	stack := r.Push(parent, number)
	return r.EachMember(func(key []byte) error {
		switch string(key) {
		case "callFrame":
			v, err := r.ReadValue()
			if err == nil {
				r.frames[number] = r.frame(v)
			}
			return err
		case "selfSize":
			v, err := r.ReadValue()
			switch v.Kind {
			case jsonlex.Integer:
				r.Add(r.measure, stack, float64(v.Int))
			case jsonlex.Double:
				r.Add(r.measure, stack, v.Float)
			default:
				if err == nil {
					r.Damaged()
				}
			}
			return err
		case "children":
			if r.Buf[r.Pos] != '[' || depth == maxDepth {
				r.Damaged()
				return r.Skip()
			}
			return r.EachElement(func() error {
				if r.Buf[r.Pos] != '{' {
					r.Damaged()
					return r.Skip()
				}
				return r.node(stack, depth+1)
			})
		case "id":
			return r.Skip()
		}
		return r.Unread("node member " + string(key))
	})
}

// frame returns the frame of a call.
func (r *reader) frame(v jsonlex.Value) profile.FrameID {
	strings := r.In.Store.Strings
	var name, url model.StringID
	var line int64
	l := jsonlex.Lexer{Buf: v.Raw}
	if v.Kind != jsonlex.Object || l.Members(func(key []byte, v jsonlex.Value) {
		switch string(key) {
		case "functionName":
			name = strings.InternBytes(v.Raw)
		case "url":
			if len(v.Raw) > 0 {
				url = strings.InternBytes(v.Raw)
			}
		case "lineNumber":
			line = v.Int + 1 // it counts from 0
		}
	}) != nil {
		r.Damaged()
	}
	return r.In.Store.Stacks.FunctionFrame(r.mapping, name, url, line)
}
