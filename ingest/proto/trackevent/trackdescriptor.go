package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/chromenames"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// parseDescriptor resolves a track and names its thread or process, which resolving
// may start.
func (t *trackEvents) parseDescriptor(e *proto.Event) {
	var uuid uint64
	var process, chromeProcess, thread, chromeThread []byte
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.TrackDescriptor_UUID:
			uuid = f.Uint64()
		case pb.TrackDescriptor_Process:
			process = f.Bytes()
		case pb.TrackDescriptor_Thread:
			thread = f.Bytes()
		case pb.TrackDescriptor_ChromeProcess:
			chromeProcess = f.Bytes()
		case pb.TrackDescriptor_ChromeThread:
			chromeThread = f.Bytes()
		}
	}
	if t.resolve(uuid) == nil {
		t.File.Count(model.StatTrackEventParserErrors)
		return
	}
	switch {
	case thread != nil:
		sandboxed, _ := wire.Find(chromeThread, pb.ChromeThreadDescriptor_IsSandboxedTID)
		utid := t.parseThread(thread, sandboxed.Bool())
		if kind, ok := wire.Find(chromeThread, pb.ChromeThreadDescriptor_ThreadType); ok {
			t.Machine.SetThreadName(utid, t.chromeName(chromenames.Threads, kind.Int32()), model.ThreadNameDescriptorType)
		}
	case process != nil:
		upid := t.parseProcess(e.TS, process)
		if chromeProcess != nil {
			t.parseChromeProcess(upid, chromeProcess)
		}
	}
}

// chromeName returns the name of a type of process or thread, or zero if it has none.
func (t *trackEvents) chromeName(names map[int32]string, kind int32) model.StringID {
	if name, ok := names[kind]; ok {
		return t.Store.Strings.Intern(name)
	}
	return 0
}

func (t *trackEvents) parseThread(data []byte, sandboxed bool) model.UTID {
	d := readThread(data)
	tid := d.tid
	if sandboxed {
		tid = syntheticTID(tid, int64(d.pid))
	}
	utid := t.Machine.ThreadOf(tid, int64(d.pid))
	var name model.StringID
	switch {
	case len(d.name) > 0:
		name = t.Store.Strings.InternBytes(d.name)
	case d.hasChromeType:
		name = t.chromeName(chromenames.Threads, d.chromeType)
	}
	t.Machine.SetThreadName(utid, name, model.ThreadNameDescriptor)
	return utid
}

// Chrome's types of renderer processes.
const (
	chromeRenderer          = 2
	chromeRendererExtension = 40
)

func (t *trackEvents) parseProcess(ts int64, data []byte) model.UPID {
	var pid, chromeType int32
	var hasChromeType bool
	var name []byte
	var start int64
	var labels []model.StringID
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ProcessDescriptor_PID:
			pid = f.Int32()
		case pb.ProcessDescriptor_ChromeProcessType:
			chromeType, hasChromeType = f.Int32(), true
		case pb.ProcessDescriptor_ProcessName:
			name = f.Bytes()
		case pb.ProcessDescriptor_StartTimestampNS:
			start = f.Int64()
		case pb.ProcessDescriptor_ProcessLabels:
			labels = append(labels, t.Store.Strings.InternBytes(f.Bytes()))
		}
	}
	upid := t.Machine.Process(int64(uint32(pid)))
	t.processes.describe(ts, upid)
	if len(name) > 0 {
		t.Machine.SetProcessName(upid, t.Store.Strings.InternBytes(name), model.ProcessNameDescriptor)
	}
	if start > 0 {
		t.Machine.SetProcessStart(upid, start)
	}
	if hasChromeType {
		priority := model.ProcessNameChromeLabel
		if chromeType == chromeRenderer {
			priority = model.ProcessNameChromeRenderer
		}
		t.Machine.SetProcessName(upid, t.chromeName(chromenames.Processes, chromeType), priority)
	}
	t.Machine.SetProcessLabels(upid, labels...)
	return upid
}

func (t *trackEvents) parseChromeProcess(upid model.UPID, data []byte) {
	strs := t.Store.Strings
	args := t.Machine.ProcessArgs(upid)
	kind, _ := wire.Find(data, pb.ChromeProcessDescriptor_ProcessType)
	name := t.chromeName(chromenames.Processes, kind.Int32())
	priority := model.ProcessNameChromeLabel
	if k := kind.Int32(); k == chromeRenderer || k == chromeRendererExtension {
		priority = model.ProcessNameChromeRenderer
	}
	t.Machine.SetProcessName(upid, name, priority)
	args.Add(strs.Intern("chrome.process_type"), model.StringArg(name))
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.ChromeProcessDescriptor_HostAppPackageName:
			args.Add(strs.Intern("chrome.host_app_package_name"), model.StringArg(strs.InternBytes(f.Bytes())))
		case pb.ChromeProcessDescriptor_CrashTraceID:
			args.Add(strs.Intern("chrome.crash_trace_id"), model.UintArg(f.Uint64()))
		}
	}
}
