// Package memorygraph reads Chrome's memory-infra dumps: the allocators of each process, how much memory each allocator
// holds, and which allocators own memory of others. Chromium's docs/memory-infra describes them.
package memorygraph

import (
	"maps"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Modules read the packets of the family.
var Modules = proto.Family{snapshots}

// The ids of rows.
type (
	snapshotID = table.ID[schema.MemorySnapshot]
	processID  = table.ID[schema.ProcessMemorySnapshot]
	nodeID     = table.ID[schema.MemorySnapshotNode]
)

// reader combines the packets with the same time into one dump.
type reader struct {
	*proto.Reader
	ts        int64
	detail    string
	processes map[int32]*dump // by pid
}

// dump is what one process reports.
type dump struct {
	allocators map[string]*allocator // by path
	edges      map[uint64]ownership  // by the owner's id
}

// allocator is an allocator, or a part of one, as reported by a process.
type allocator struct {
	id      uint64
	entries []entry
}

// entry is a named value of an allocator.
type entry struct {
	name   string
	text   bool
	value  string // if text
	number uint64
	unit   string
}

type ownership struct {
	target     uint64
	importance uint32
}

func snapshots(r *proto.Reader) *proto.Module {
	m := &reader{Reader: r}
	return &proto.Module{Fields: []uint32{pb.TracePacket_MemoryTrackerSnapshot}, Parse: m.parse, End: m.flush}
}

var details = map[int32]string{
	pb.MemoryTrackerSnapshot_LevelOfDetail_DetailLight:      "light",
	pb.MemoryTrackerSnapshot_LevelOfDetail_DetailBackground: "background",
}

func (m *reader) parse(e *proto.Event) {
	if e.TS != m.ts {
		m.flush()
	}
	if m.processes == nil {
		m.processes = map[int32]*dump{}
	}
	m.ts, m.detail = e.TS, "detailed"
	if detail, ok := details[message.Int32(e.Data, pb.MemoryTrackerSnapshot_LevelOfDetail)]; ok {
		m.detail = detail
	}
	for data := range message.Messages(e.Data, pb.MemoryTrackerSnapshot_ProcessMemoryDumps) {
		pid := message.Int32(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_PID)
		if m.processes[pid] != nil {
			m.File.LogTime(model.StatMemorySnapshotParserFailure, e.TS, nil) // a second dump of the process
			continue
		}
		m.processes[pid] = m.dump(data)
	}
}

func (m *reader) dump(data []byte) *dump {
	d := &dump{map[string]*allocator{}, map[uint64]ownership{}}
	for node := range message.Messages(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_AllocatorDumps) {
		path := string(message.Bytes(node, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_AbsoluteName))
		if d.allocators[path] != nil || depthOf(path) > maxDepth {
			m.File.LogTime(model.StatMemorySnapshotParserFailure, m.ts, nil)
			continue
		}
		d.allocators[path] = m.allocator(node)
	}
	for edge := range message.Messages(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryEdges) {
		source := message.Uint64(edge, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryEdge_SourceID)
		if _, known := d.edges[source]; known {
			m.File.LogTime(model.StatMemorySnapshotParserFailure, m.ts, nil)
			continue
		}
		d.edges[source] = ownership{message.Uint64(edge, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryEdge_TargetID),
			message.Uint32(edge, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryEdge_Importance)}
	}
	return d
}

const (
	bytesUnit   = "bytes"
	objectsUnit = "objects"
)

func (m *reader) allocator(data []byte) *allocator {
	a := &allocator{id: message.Uint64(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_ID)}
	if size, ok := wire.Find(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_SizeBytes); ok {
		a.entries = append(a.entries, entry{name: sizeName, number: size.Uint64(), unit: bytesUnit})
	}
	for item := range message.Messages(data, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_Entries) {
		e := entry{name: string(message.Bytes(item, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_MemoryNodeEntry_Name)), unit: objectsUnit}
		if message.Int32(item, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_MemoryNodeEntry_Units) ==
			pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_MemoryNodeEntry_Units_Bytes {
			e.unit = bytesUnit
		}
		if number, ok := wire.Find(item, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_MemoryNodeEntry_ValueUint64); ok {
			e.number = number.Uint64()
		} else if text, ok := wire.Find(item, pb.MemoryTrackerSnapshot_ProcessSnapshot_MemoryNode_MemoryNodeEntry_ValueString); ok {
			e.text, e.value = true, string(text.Bytes())
		} else {
			m.File.LogTime(model.StatMemorySnapshotParserFailure, m.ts, nil)
			continue
		}
		a.entries = append(a.entries, e)
	}
	return a
}

var globalInstants = model.Blueprint{Classification: "legacy_chrome_global_instants"}

// flush stores the dump, which is complete.
func (m *reader) flush() {
	if len(m.processes) == 0 {
		return
	}
	g := newGraph(m.processes)
	m.processes = nil
	g.attribute()
	strs := m.Store.Strings
	track := m.Tracks.Intern(&globalInstants, &model.TrackOptions{Args: model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("source"), model.StringArg(strs.Intern("chrome")))
	})})
	snapshot := m.Store.MemorySnapshot.Append()
	m.Store.MemorySnapshot.Timestamp.Set(snapshot, m.ts)
	m.Store.MemorySnapshot.TrackID.Set(snapshot, track)
	m.Store.MemorySnapshot.DetailLevel.Set(snapshot, strs.Intern(m.detail))

	ids := map[uint64]nodeID{} // by the allocator's
	for _, pid := range slices.Sorted(maps.Keys(g.processes)) {
		m.process(snapshotID(snapshot), int64(uint32(pid)), g.processes[pid], ids)
	}
	// Shared allocators are attributed to process 0.
	m.process(snapshotID(snapshot), 0, g.shared, ids)
	t := &m.Store.MemorySnapshotEdge
	for _, e := range slices.Backward(g.edges) {
		source, known := ids[e.source.id]
		target, alsoKnown := ids[e.target.id]
		if !known || !alsoKnown {
			continue
		}
		row := t.Append()
		t.SourceNodeID.Set(row, source)
		t.TargetNodeID.Set(row, target)
		t.Importance.Set(row, int64(uint32(e.priority)))
	}
}

func (m *reader) process(snapshot snapshotID, pid int64, root *node, ids map[uint64]nodeID) {
	t := &m.Store.ProcessMemorySnapshot
	row := t.Append()
	t.SnapshotID.Set(row, snapshot)
	t.UPID.Set(row, m.Machine.Process(pid))
	m.children(processID(row), root, "", model.None, ids)
}

// children stores the nodes below a node. parent is that node, or None for the root.
func (m *reader) children(process processID, parentNode *node, path string, parent nodeID, ids map[uint64]nodeID) {
	for _, name := range slices.Sorted(maps.Keys(parentNode.children)) {
		child, at := parentNode.children[name], name
		if path != "" {
			at = path + "/" + name
		}
		id := m.node(process, child, at, parent)
		if _, known := ids[child.id]; !known {
			ids[child.id] = id
		}
		m.children(process, child, at, id, ids)
	}
}

func (m *reader) node(process processID, n *node, path string, parent nodeID) nodeID {
	strs, t := m.Store.Strings, &m.Store.MemorySnapshotNode
	row := t.Append()
	t.ProcessSnapshotID.Set(row, process)
	if parent != model.None {
		t.ParentNodeID.Set(row, parent)
	}
	t.Path.Set(row, strs.Intern(path))
	t.Size.Set(row, 0)
	t.EffectiveSize.Set(row, 0)
	var set model.ArgSet
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		e := n.entries[name]
		switch {
		case e.text:
			set.Add(strs.Intern(name+".value"), model.StringArg(strs.Intern(e.value)))
		case name == sizeName:
			t.Size.Set(row, int64(e.number))
		case name == effectiveSizeName:
			t.EffectiveSize.Set(row, int64(e.number))
		default:
			set.Add(strs.Intern(name+".value"), model.IntArg(int64(e.number)))
			set.Add(strs.Intern(name+".unit"), model.StringArg(strs.Intern(e.unit)))
		}
	}
	m.Store.SetArgs(&t.ArgSetID, row, &set)
	return nodeID(row)
}
