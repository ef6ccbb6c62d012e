package etw

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	fileTracks = model.AsyncBlueprint(model.Blueprint{Classification: "etw_fileio", Dims: []string{"utid"}})
	diskTracks = model.AsyncBlueprint(model.Blueprint{Classification: "etw_diskio", Dims: []string{"utid"}})
)

// openOperation is a file operation that has not ended. Its key is the address of its I/O request packet (IRP).
type openOperation struct {
	ts   int64
	utid model.UTID
	name model.StringID
}

// argKind is how a field is stored in args.
type argKind uint8

const (
	unsigned argKind = iota
	signed
	pointer // also flags, which are shown in hex
	text
	infoClass // a FILE_INFORMATION_CLASS
	classInfo // information in FileIoInfoEtwEvent, which has a key by its class
)

type argField struct {
	number uint32
	key    string
	kind   argKind
}

// operation is a message about a file operation.
type operation struct {
	irp, opcode uint32 // their fields, 0 if there is none
	name        string // of an operation without a known opcode
	ends        bool   // it is the end of an operation
	args        []argField
}

// fileOperations are the messages in an EtwTraceEvent that are about files.
var fileOperations = map[uint32]*operation{
	pb.EtwTraceEvent_FileIOCreate: {irp: pb.FileIoCreateEtwEvent_IrpPtr, name: "CreateFile", args: []argField{
		{pb.FileIoCreateEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoCreateEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoCreateEtwEvent_Ttid, "Thread ID", unsigned},
		{pb.FileIoCreateEtwEvent_CreateOptions, "Create Options", pointer},
		{pb.FileIoCreateEtwEvent_FileAttributes, "File Attributes", pointer},
		{pb.FileIoCreateEtwEvent_ShareAccess, "Share Access", pointer},
		{pb.FileIoCreateEtwEvent_OpenPath, "Open Path", text},
	}},
	pb.EtwTraceEvent_FileIODirEnum: {irp: pb.FileIoDirEnumEtwEvent_IrpPtr, opcode: pb.FileIoDirEnumEtwEvent_Opcode, name: "DirEnum", args: []argField{
		{pb.FileIoDirEnumEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoDirEnumEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoDirEnumEtwEvent_FileKey, "File Key", pointer},
		{pb.FileIoDirEnumEtwEvent_Ttid, "Thread ID", unsigned},
		{pb.FileIoDirEnumEtwEvent_Length, "Length", unsigned},
		{pb.FileIoDirEnumEtwEvent_InfoClass, "Info Class", infoClass},
		{pb.FileIoDirEnumEtwEvent_FileIndex, "File Index", unsigned},
		{pb.FileIoDirEnumEtwEvent_FileName, "Enumeration Path", text},
	}},
	pb.EtwTraceEvent_FileIOInfo: {irp: pb.FileIoInfoEtwEvent_IrpPtr, opcode: pb.FileIoInfoEtwEvent_Opcode, name: "Info", args: []argField{
		{pb.FileIoInfoEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoInfoEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoInfoEtwEvent_FileKey, "File Key", pointer},
		{pb.FileIoInfoEtwEvent_ExtraInfo, extraInfo, classInfo},
		{pb.FileIoInfoEtwEvent_Ttid, "Thread ID", unsigned},
		{pb.FileIoInfoEtwEvent_InfoClass, "Info Class", infoClass},
	}},
	pb.EtwTraceEvent_FileIOReadWrite: {irp: pb.FileIoReadWriteEtwEvent_IrpPtr, opcode: pb.FileIoReadWriteEtwEvent_Opcode, name: "ReadOrWrite", args: []argField{
		{pb.FileIoReadWriteEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoReadWriteEtwEvent_Offset, "Offset", unsigned},
		{pb.FileIoReadWriteEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoReadWriteEtwEvent_FileKey, "File Key", pointer},
		{pb.FileIoReadWriteEtwEvent_Ttid, "Thread ID", unsigned},
		{pb.FileIoReadWriteEtwEvent_IOSize, "I/O Size", unsigned},
		{pb.FileIoReadWriteEtwEvent_IOFlags, "I/O Flags", pointer},
	}},
	pb.EtwTraceEvent_FileIOSimpleOp: {irp: pb.FileIoSimpleOpEtwEvent_IrpPtr, opcode: pb.FileIoSimpleOpEtwEvent_Opcode, name: "SimpleOp", args: []argField{
		{pb.FileIoSimpleOpEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoSimpleOpEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoSimpleOpEtwEvent_FileKey, "File Key", pointer},
		{pb.FileIoSimpleOpEtwEvent_Ttid, "Thread ID", unsigned},
	}},
	pb.EtwTraceEvent_FileIOOpEnd: {irp: pb.FileIoOpEndEtwEvent_IrpPtr, name: "EndOperation", ends: true, args: []argField{
		{pb.FileIoOpEndEtwEvent_ExtraInfo, extraInfo, unsigned},
		{pb.FileIoOpEndEtwEvent_NtStatus, "NT Status", pointer},
	}},
	pb.EtwTraceEvent_FileIOPathOperation: {irp: pb.FileIoPathOperationEtwEvent_IrpPtr, opcode: pb.FileIoPathOperationEtwEvent_Opcode, name: "PathOperation", args: []argField{
		{pb.FileIoPathOperationEtwEvent_IrpPtr, "I/O Request Packet", pointer},
		{pb.FileIoPathOperationEtwEvent_FileObject, "File Object", pointer},
		{pb.FileIoPathOperationEtwEvent_FileKey, "File Key", pointer},
		{pb.FileIoPathOperationEtwEvent_ExtraInfo, extraInfo, unsigned},
		{pb.FileIoPathOperationEtwEvent_Ttid, "Thread ID", unsigned},
		{pb.FileIoPathOperationEtwEvent_InfoClass, "Info Class", infoClass},
		{pb.FileIoPathOperationEtwEvent_FileName, "File Name", text},
	}},
}

// extraInfo is the key of information whose meaning depends on its class.
const extraInfo = "Extra Info"

// fileEvent begins or ends a file operation. An event without an IRP is an instant, and so is an end without a
// beginning.
func (w *windows) fileEvent(ts int64, utid model.UTID, o *operation, data []byte) {
	w.fill(o.args, data)
	name := o.name
	if known := fileOpcodes[message.Uint32(data, o.opcode)]; o.opcode != 0 && known != "" {
		name = known
	}
	irp, ok := wire.Find(data, o.irp)
	switch {
	case !ok:
		w.instant(ts, utid, name)
	case !o.ends:
		w.begin(ts, irp.Uint64(), utid, w.word(name))
	default:
		if _, begun := w.open[irp.Uint64()]; !begun {
			w.set.Add(w.word("Missing Event"), model.StringArg(w.word("Start")))
			w.instant(ts, utid, name)
			return
		}
		w.end(ts, irp.Uint64(), &w.set)
	}
}

func (w *windows) instant(ts int64, utid model.UTID, name string) {
	track := w.Async.Scoped(fileTracks, nil, ts, 0, model.IntDim(utid))
	w.Slices.Scoped(ts, 0, track, 0, w.word(name), &w.set)
}

// begin begins an operation. If another has the same IRP, the event of its end is missing.
func (w *windows) begin(ts int64, irp uint64, utid model.UTID, name model.StringID) {
	w.abandon(irp)
	track := w.Async.Begin(fileTracks, nil, int64(irp), model.IntDim(utid))
	w.Slices.Begin(ts, track, 0, name, &w.set)
	w.open[irp] = openOperation{ts, utid, name}
}

// end ends an operation on the thread that began it. Windows may complete it on another one.
func (w *windows) end(ts int64, irp uint64, args model.ArgSource) {
	o := w.open[irp]
	delete(w.open, irp)
	track := w.Async.End(fileTracks, nil, int64(irp), model.IntDim(o.utid))
	w.Slices.End(ts, track, 0, o.name, args)
}

// abandon ends an operation when it began, because its end is not known.
func (w *windows) abandon(irp uint64) {
	if o, ok := w.open[irp]; ok {
		w.end(o.ts, irp, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(w.word("Missing Event"), model.StringArg(w.word("End")))
		}))
	}
}

func (w *windows) endAll() {
	irps := slices.SortedFunc(maps.Keys(w.open), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(w.open[a].ts, w.open[b].ts), cmp.Compare(a, b))
	})
	for _, irp := range irps {
		w.abandon(irp)
	}
}

// diskOperations are the names of DiskIoEtwEvent.opcode.
var diskOperations = map[uint32]string{
	10: "DiskRead", 11: "DiskWrite", 12: "DiskReadInit", 13: "DiskWriteInit", 14: "DiskFlush", 15: "DiskFlushInit",
}

var diskArgs = []argField{
	{pb.DiskIoEtwEvent_IrpPtr, "Irp Ptr", pointer},
	{pb.DiskIoEtwEvent_DiskNumber, "Disk Number", unsigned},
	{pb.DiskIoEtwEvent_IrpFlags, "Irp Flags", pointer},
	{pb.DiskIoEtwEvent_TransferSize, "Transfer Size", unsigned},
	{pb.DiskIoEtwEvent_ByteOffset, "Byte Offset", signed},
	{pb.DiskIoEtwEvent_FileObject, "File Object", pointer},
	{pb.DiskIoEtwEvent_ResponseTime, "Response Time (microseconds)", signed},
	{pb.DiskIoEtwEvent_IssuingThreadID, "Issuing Thread ID", unsigned},
}

// responseTime returns how long a disk operation took, in ns.
func responseTime(data []byte) int64 {
	microseconds := message.Int64(data, pb.DiskIoEtwEvent_ResponseTime)
	return 1000 * min(max(microseconds, 0), math.MaxInt64/1000)
}

// diskEvent adds an operation, from its start on, to the thread that issued it. The event may be of any other thread.
func (w *windows) diskEvent(ts int64, event, data []byte) {
	name := diskOperations[message.Uint32(data, pb.DiskIoEtwEvent_Opcode)]
	if name == "" {
		w.File.LogTime(model.StatMissingDiskIOEventName, ts, nil)
		return
	}
	w.fill(diskArgs, data)
	var utid model.UTID
	if message.Has(data, pb.DiskIoEtwEvent_IssuingThreadID) {
		utid = w.thread(data, pb.DiskIoEtwEvent_IssuingThreadID)
	} else {
		utid = w.thread(event, pb.EtwTraceEvent_ThreadID)
	}
	dur := responseTime(data)
	track := w.Async.Scoped(diskTracks, nil, ts, dur, model.IntDim(utid))
	w.Slices.Scoped(ts, dur, track, w.word("ETW Disk I/O"), w.word(name), &w.set)
}

// fill replaces the args by the fields that the message has.
func (w *windows) fill(fields []argField, data []byte) {
	w.set.Reset()
	for _, a := range fields {
		f, ok := wire.Find(data, a.number)
		if !ok {
			continue
		}
		key, value := a.key, model.UintArg(f.Uint64())
		switch a.kind {
		case signed:
			value = model.IntArg(f.Int64())
		case pointer:
			value = model.PointerArg(f.Uint64())
		case text:
			value = model.StringArg(w.TextID(f.Bytes()))
		case infoClass:
			if name := infoClassName(f.Uint32()); name != "" {
				value = model.StringArg(w.word(name))
			}
		case classInfo:
			switch message.Uint32(data, pb.FileIoInfoEtwEvent_InfoClass) {
			case dispositionInformation:
				key = "Disposition"
			case allocationInformation, endOfFileInformation:
				key = "File Size"
			}
		}
		w.set.Add(w.word(key), value)
	}
}
