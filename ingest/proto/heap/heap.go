// Package heap reads Java heap dumps and the reasons for making them.
package heap

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Modules read the packets of the family.
var Modules = proto.Family{heapGraphs, processMetadata}

// graphs reads dumps of ART's heap. A dump consists of many packets of one sequence.
type graphs struct {
	*proto.Reader
	dumps   map[uint32]*dump // by sequence
	ordered []*dump          // those not stored yet, in the order of their first packets
	words   words
}

// words are the interned names of enum values.
type words struct{ heapTypes, kinds, roots []model.StringID }

func newWords(s *model.Store) words {
	var w words
	for _, list := range []struct {
		to    *[]model.StringID
		names []string
	}{{&w.heapTypes, heapTypes}, {&w.kinds, kinds}, {&w.roots, rootTypes}} {
		for _, name := range list.names {
			*list.to = append(*list.to, s.Strings.Intern(name))
		}
	}
	return w
}

// word returns an enum value's name, or the first value's if it is unknown.
func word(words []model.StringID, value int32) model.StringID {
	if value < 0 || int(value) >= len(words) {
		value = 0
	}
	return words[value]
}

// The values of HeapGraphObject.HeapType, HeapGraphType.Kind and HeapGraphRoot.Type.
var (
	heapTypes = []string{"HEAP_TYPE_UNKNOWN", "HEAP_TYPE_APP", "HEAP_TYPE_ZYGOTE", "HEAP_TYPE_BOOT_IMAGE"}
	kinds     = []string{"KIND_UNKNOWN", "KIND_NORMAL", "KIND_NOREFERENCES", "KIND_STRING", "KIND_ARRAY", "KIND_CLASS", "KIND_CLASSLOADER",
		"KIND_DEXCACHE", "KIND_SOFT_REFERENCE", "KIND_WEAK_REFERENCE", "KIND_FINALIZER_REFERENCE", "KIND_PHANTOM_REFERENCE"}
	rootTypes = []string{"ROOT_UNKNOWN", "ROOT_JNI_GLOBAL", "ROOT_JNI_LOCAL", "ROOT_JAVA_FRAME", "ROOT_NATIVE_STACK", "ROOT_STICKY_CLASS",
		"ROOT_THREAD_BLOCK", "ROOT_MONITOR_USED", "ROOT_THREAD_OBJECT", "ROOT_INTERNED_STRING", "ROOT_FINALIZING", "ROOT_DEBUGGER",
		"ROOT_REFERENCE_CLEANUP", "ROOT_VM_INTERNAL", "ROOT_JNI_MONITOR"}
)

func heapGraphs(r *proto.Reader) *proto.Module {
	g := &graphs{Reader: r, dumps: map[uint32]*dump{}, words: newWords(r.Store)}
	return &proto.Module{Fields: []uint32{androidpb.ArtHeapGraphTracePacket_HeapGraph}, Parse: g.parse, End: g.end}
}

func (g *graphs) parse(e *proto.Event) {
	upid := g.Machine.Process(int64(uint32(message.Int32(e.Data, androidpb.HeapGraph_PID))))
	d := g.dumps[e.State.Sequence]
	if d == nil {
		d = g.newDump(upid, e.TS)
		g.dumps[e.State.Sequence] = d
		g.ordered = append(g.ordered, d)
	}
	index := message.Uint64(e.Data, androidpb.HeapGraph_Index)
	if index != d.next {
		d.truncated = true
		g.File.Add(model.StatHeapGraphMissingPacket, int64(d.UPID), 1)
	}
	d.next = index + 1
	// If a dump's end is missing, the packets of the next dump are not mixed into it.
	d.foreign = d.UPID != upid || d.TS != e.TS
	continued := false
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case androidpb.HeapGraph_HeapBytesAllocated:
			d.heapSize, d.hasHeapSize = f.Int64(), true
		case androidpb.HeapGraph_Continued:
			continued = f.Bool()
		case androidpb.HeapGraph_Objects:
			d.object(f.Bytes())
		case androidpb.HeapGraph_Types:
			d.class(f.Bytes())
		case androidpb.HeapGraph_FieldNames:
			d.field(f.Bytes())
		case androidpb.HeapGraph_LocationNames:
			d.location(f.Bytes())
		case androidpb.HeapGraph_Roots:
			d.root(f.Bytes())
		}
	}
	if !continued {
		d.complete = true
		delete(g.dumps, e.State.Sequence)
		for len(g.ordered) > 0 && g.ordered[0].complete {
			g.ordered[0].finish()
			g.ordered = g.ordered[1:]
		}
	}
}

// end stores the dumps whose end is missing, and those that began after one of them.
func (g *graphs) end() {
	if len(g.dumps) > 0 {
		g.File.Count(model.StatHeapGraphNonFinalizedGraph)
	}
	for _, d := range g.ordered {
		d.finish()
	}
	g.dumps, g.ordered = nil, nil
}

type graphID = table.ID[schema.HeapGraph]

// graphRows are the rows of heap_graph by dump. A dump and its metadata share a row.
type graphRows map[dumpKey]int64

type dumpKey struct {
	upid model.UPID
	ts   int64
}

var sharedRows = proto.Shared[graphRows]{New: func(*proto.Reader) *graphRows { return &graphRows{} }}

// graphRow returns a dump's row in heap_graph, adding it if there is none.
func graphRow(r *proto.Reader, upid model.UPID, ts int64) int64 {
	rows, key := *sharedRows.Of(r), dumpKey{upid, ts}
	row, known := rows[key]
	if !known {
		t := &r.Store.HeapGraph
		row = t.Append()
		rows[key] = row
		t.UPID.Set(row, upid)
		t.TS.Set(row, ts)
		t.Truncated.Set(row, false)
	}
	return row
}

// internedText reads an InternedString.
func internedText(data []byte) (iid uint64, text []byte) {
	return message.Uint64(data, pb.InternedString_IID), message.Bytes(data, pb.InternedString_Str)
}
