package heap

import (
	"bytes"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/packages"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// metadataReader reads what ART says about the process whose heap it dumps and, if a
// failed allocation caused the dump, about that allocation.
type metadataReader struct {
	*proto.Reader
	stacks profile.MappingID // mapping of stack frames; None until used
}

func processMetadata(r *proto.Reader) *proto.Module {
	m := &metadataReader{r, model.None}
	return &proto.Module{Fields: []uint32{pb.TracePacket_ArtProcessMetadata}, Parse: m.parse}
}

func (m *metadataReader) parse(e *proto.Event) {
	var v struct {
		name, packageName, message, stack []byte
		pid, uid                          uint32
		hasUID, failed                    bool
		size, free, untilFailure          int64
	}
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.ArtProcessMetadata_PID:
			v.pid = f.Uint32()
		case pb.ArtProcessMetadata_UID:
			v.uid, v.hasUID = f.Uint32(), true
		case pb.ArtProcessMetadata_ProcessName:
			v.name = f.Bytes()
		case pb.ArtProcessMetadata_PackageName:
			v.packageName = f.Bytes()
		case pb.ArtProcessMetadata_OOMAllocationSize:
			v.size, v.failed = f.Int64(), true
		case pb.ArtProcessMetadata_OOMTotalBytesFree:
			v.free = f.Int64()
		case pb.ArtProcessMetadata_OOMFreeBytesUntilOOM:
			v.untilFailure = f.Int64()
		case pb.ArtProcessMetadata_OOMThreadJavaStack:
			v.stack = f.Bytes()
		case pb.ArtProcessMetadata_OOMErrorMsg:
			v.message = f.Bytes()
		}
	}
	pid := int64(v.pid)
	utid := m.Machine.ThreadOf(pid, pid)
	upid := m.Machine.Process(pid)
	if v.name != nil {
		m.Machine.SetProcessName(upid, m.TextID(v.name), model.ProcessNameDescriptor)
	}
	if v.hasUID {
		m.Machine.SetUID(upid, int64(v.uid))
	}
	if v.packageName != nil && v.hasUID {
		name, uid := m.TextID(v.packageName), int64(int32(v.uid))
		if packages.Of(m.Reader).Add(name, uid) {
			t := &m.Store.PackageList
			row := t.Append()
			t.PackageName.Set(row, name)
			t.UID.Set(row, uid)
			t.Debuggable.Set(row, false)
			t.ProfileableFromShell.Set(row, false)
			t.VersionCode.Set(row, 0)
		}
	}
	graph := graphRow(m.Reader, upid, e.TS)
	if !v.failed {
		return
	}
	m.Store.HeapGraph.DumpReason.Set(graph, m.Store.Strings.Intern("OOME"))
	t := &m.Store.HeapGraphJavaOOMEDetails
	row := t.Append()
	t.HeapGraphID.Set(row, graphID(graph))
	t.AllocationSizeBytes.Set(row, v.size)
	t.TotalBytesFree.Set(row, v.free)
	t.FreeBytesUntilOOM.Set(row, v.untilFailure)
	t.ErrorMsg.Set(row, m.TextID(v.message))
	if v.stack != nil {
		m.callsite(graphID(graph), upid, utid, v.stack)
	}
}

// callsite stores the stack of the thread whose allocation failed. The innermost frame
// comes first.
func (m *metadataReader) callsite(graph graphID, upid model.UPID, utid model.UTID, stack []byte) {
	if m.stacks == model.None {
		m.stacks = m.Store.Stacks.DummyMapping("art_process_metadata")
	}
	var frames [][]byte
	for frame := range message.Messages(stack, pb.JavaStack_Frames) {
		if message.Has(frame, pb.JavaFrame_MethodName) {
			frames = append(frames, frame)
		}
	}
	callsite := profile.CallsiteID(model.None)
	for _, frame := range slices.Backward(frames) {
		name := m.TextID(methodName(message.Bytes(frame, pb.JavaFrame_MethodName)))
		id := m.Store.Stacks.FunctionFrame(m.stacks, name, m.TextField(frame, pb.JavaFrame_SourceFile),
			int64(max(message.Int32(frame, pb.JavaFrame_LineNumber), 0))) // below 0 if ART does not know it
		callsite = m.Store.Stacks.Callsite(callsite, id)
	}
	javanames.Of(m.Reader).Stacked(upid, callsite)
	t := &m.Store.HeapGraphThreadCallsite
	row := t.Append()
	t.HeapGraphID.Set(row, graph)
	t.UTID.Set(row, utid)
	if callsite != model.None {
		t.CallsiteID.Set(row, callsite)
	}
}

// methodName returns a method's name without its result and parameters: for
// void com.example.Main.run(int), it is com.example.Main.run.
func methodName(signature []byte) []byte {
	name, _, _ := bytes.Cut(signature, []byte("("))
	return name[bytes.LastIndexByte(name, ' ')+1:]
}
