package json

import (
	"encoding/binary"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// v8Profiles reads the CPU profiles of V8, which come in events of phase P: one
// that says when the profile starts, then chunks of nodes of its call tree, of
// samples, each the number of a node, and of the times between them, in µs. A
// .cpuprofile file has the same parts.
type v8Profiles struct {
	in       *format.Input
	samples  *sort.Stream
	sessions []*v8Session
	byKey    map[v8Key]int
}

// v8Key tells profiles apart.
type v8Key struct {
	id  uint64
	pid uint32
}

type v8Session struct {
	pid      uint32
	known    bool  // whether there is a process
	ts       int64 // of the last sample, ns
	mapping  model.MappingID
	callsite map[uint32]model.CallsiteID
	parent   map[uint32]uint32 // of nodes that their parents list
}

const v8Source = "legacy_v8"

func newV8Profiles(in *format.Input) *v8Profiles {
	v := &v8Profiles{in: in, byKey: map[v8Key]int{}}
	v.samples = in.Sorter.NewStream(v)
	return v
}

// v8Node is a node of the call tree.
type v8Node struct {
	id, parent    uint32
	hasParent     bool
	children      []uint32
	function, url model.StringID
}

// v8Chunk is what an event tells of a profile.
type v8Chunk struct {
	start    int64 // µs
	hasStart bool
	nodes    []v8Node
	samples  []uint32
	deltas   []int64 // µs
}

// add reads an event of phase P.
func (v *v8Profiles) add(e *event) error {
	key := v8Key{e.id, e.pid}
	switch e.idKind {
	case idNone:
		v.in.File.Count(model.StatJSONTokenizerFailure)
		return nil
	case idText:
		n, ok := hexNumber(v.in.Store.Strings.Get(model.StringID(e.id)))
		if !ok {
			v.in.File.Count(model.StatJSONTokenizerFailure)
			return nil
		}
		key.id = n
	}
	var chunk v8Chunk
	if len(e.args) > 0 {
		l := lexer{buf: e.args}
		_ = l.members(func(key []byte, val value) {
			if string(key) == "data" {
				v.read(&chunk, val, true)
			}
		})
	}
	i, ok := v.byKey[key]
	if chunk.hasStart {
		if !ok {
			i = v.start(key.pid, true)
			v.byKey[key] = i
		}
		v.sessions[i].ts = chunk.start * 1000
		return nil
	}
	if !ok {
		if n := len(chunk.nodes); n > 0 {
			v.in.File.Add(model.StatLegacyV8CPUProfileInvalidCallsite, model.None, int64(n))
		}
		if n := len(chunk.samples); n > 0 {
			v.in.File.Add(model.StatLegacyV8CPUProfileInvalidSample, model.None, int64(n))
		}
		return nil
	}
	return v.extend(i, &chunk, e.tid)
}

func (v *v8Profiles) start(pid uint32, known bool) int {
	v.sessions = append(v.sessions, &v8Session{
		pid: pid, known: known,
		mapping:  v.in.Store.Stacks.DummyMapping(""),
		callsite: map[uint32]model.CallsiteID{},
		parent:   map[uint32]uint32{},
	})
	return len(v.sessions) - 1
}

// extend adds a chunk's nodes and samples to a profile.
func (v *v8Profiles) extend(i int, chunk *v8Chunk, tid uint32) error {
	s := v.sessions[i]
	for _, n := range chunk.nodes {
		if !v.node(s, n) {
			v.in.File.Count(model.StatLegacyV8CPUProfileInvalidCallsite)
		}
	}
	if len(chunk.samples) != len(chunk.deltas) {
		v.in.File.Count(model.StatJSONTokenizerFailure)
		return nil
	}
	for n, node := range chunk.samples {
		s.ts += chunk.deltas[n] * 1000
		if s.ts < 0 {
			v.in.File.Count(model.StatTraceSorterNegativeTimestampDropped)
			continue
		}
		b, err := v.samples.Reserve(s.ts, 12)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(b, uint32(i))
		binary.LittleEndian.PutUint32(b[4:], tid)
		binary.LittleEndian.PutUint32(b[8:], node)
	}
	return nil
}

// node adds a node to the call tree. Either it names its parent or the parent
// lists it among its children, before it or after.
func (v *v8Profiles) node(s *v8Session, n v8Node) bool {
	if _, ok := s.callsite[n.id]; ok {
		return false
	}
	stacks := v.in.Store.Stacks
	frame := stacks.FunctionFrame(s.mapping, n.function, n.url, 0)
	if !n.hasParent {
		n.parent, n.hasParent = s.parent[n.id]
	}
	parent := model.None
	if n.hasParent {
		id, ok := s.callsite[n.parent]
		if !ok {
			return false
		}
		parent = id
	}
	id := stacks.Callsite(parent, frame)
	s.callsite[n.id] = id
	for _, child := range n.children {
		if _, ok := s.parent[child]; ok {
			return false
		}
		s.parent[child] = n.id
		if callsite, ok := s.callsite[child]; ok && callsite != id {
			stacks.SetParent(callsite, id)
		}
	}
	return true
}

// Event adds a sample.
func (v *v8Profiles) Event(ts int64, token []byte) error {
	s := v.sessions[binary.LittleEndian.Uint32(token)]
	callsite, ok := s.callsite[binary.LittleEndian.Uint32(token[8:])]
	if !ok {
		v.in.File.Count(model.StatLegacyV8CPUProfileInvalidSample)
		return nil
	}
	sample := model.NewSample(ts, v8Source)
	sample.Callsite = callsite
	if s.known {
		tid := binary.LittleEndian.Uint32(token[4:])
		sample.UTID = v.in.Machine.ThreadOf(int64(tid), int64(s.pid))
		sample.UPID = v.in.Machine.Process(int64(s.pid))
	}
	v.in.Store.Stacks.AddSample(sample)
	return nil
}

// file reads the members of a .cpuprofile file.
func (v *v8Profiles) file(members map[string][]byte, samples []byte) error {
	var chunk v8Chunk
	members["samples"] = samples
	for key, raw := range members {
		l := lexer{buf: append(raw, ' ')}
		if val, err := l.value(); err == nil {
			v.field(&chunk, key, val)
		}
	}
	if len(chunk.nodes) == 0 {
		return nil
	}
	i := v.start(0, false)
	v.sessions[i].ts = chunk.start * 1000
	return v.extend(i, &chunk, 0)
}

// read reads the data of an event, or the profile within it, which has nodes and
// samples only.
func (v *v8Profiles) read(chunk *v8Chunk, data value, outer bool) {
	if data.kind != object {
		return
	}
	l := lexer{buf: data.raw}
	_ = l.members(func(key []byte, val value) {
		if k := string(key); outer || k == "nodes" || k == "samples" {
			v.field(chunk, k, val)
		}
	})
}

func (v *v8Profiles) field(chunk *v8Chunk, key string, val value) {
	switch key {
	case "startTime":
		if val.kind == integer || val.kind == double {
			chunk.start, chunk.hasStart = val.i, true
			if val.kind == double {
				chunk.start = int64(val.f)
			}
		}
	case "cpuProfile":
		v.read(chunk, val, false)
	case "nodes":
		if val.kind == array {
			l := lexer{buf: val.raw}
			_ = l.elements(func(val value) { chunk.nodes = append(chunk.nodes, v.nodeOf(val)) })
		}
	case "samples":
		chunk.samples = numbers[uint32](val)
	case "timeDeltas":
		chunk.deltas = numbers[int64](val)
	}
}

// numbers reads an array of integers, or nothing if it is none.
func numbers[T uint32 | int64](v value) []T {
	if v.kind != array {
		return nil
	}
	var all []T
	ok := true
	l := lexer{buf: v.raw}
	err := l.elements(func(v value) {
		all = append(all, T(v.i))
		ok = ok && v.kind == integer
	})
	if err != nil || !ok {
		return nil
	}
	return all
}

func (v *v8Profiles) nodeOf(node value) (n v8Node) {
	if node.kind != object {
		return n
	}
	strings := v.in.Store.Strings
	l := lexer{buf: node.raw}
	_ = l.members(func(key []byte, val value) {
		number := val.kind == integer && val.i >= 0 && val.i <= math.MaxUint32
		switch string(key) {
		case "id":
			if number {
				n.id = uint32(val.i)
			}
		case "parent":
			n.parent, n.hasParent = uint32(val.i), number
		case "children":
			n.children = numbers[uint32](val)
		case "callFrame":
			if val.kind != object {
				return
			}
			frame := lexer{buf: val.raw}
			_ = frame.members(func(key []byte, val value) {
				switch {
				case val.kind != text:
				case string(key) == "functionName":
					n.function = strings.InternBytes(val.raw)
				case string(key) == "url" && len(val.raw) > 0:
					n.url = strings.InternBytes(val.raw)
				}
			})
		}
	})
	return n
}
