// Package simpleperfproto reads the output of simpleperf's report_sample --protobuf: a
// signature, a version and records, up to a record of size 0. Each record is a size
// and a message of cmd_report_sample.proto.
package simpleperfproto

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/perfetto/simpleperfpb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is simpleperf's samples in Protocol Buffers.
var Format = &format.Format{
	Name: "simpleperf_proto", Title: "simpleperf", Read: read,
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, signature) },
}

var signature = []byte("SIMPLEPERF")

const (
	version    = 1
	headerSize = 12
	maxRecord  = 256 << 20 // bytes
)

// recordNames are the records without rows.
var recordNames = map[uint32]string{simpleperfpb.Record_ContextSwitch: "context_switch"}

// facts are the texts of MetaInfo.
var facts = map[uint32]string{simpleperfpb.MetaInfo_AppPackageName: "app_package_name", simpleperfpb.MetaInfo_AppType: "app_type",
	simpleperfpb.MetaInfo_AndroidSDKVersion: "android_sdk_version", simpleperfpb.MetaInfo_AndroidBuildType: "android_build_type"}

// unwindErrors are the values of Sample.UnwindingResult.ErrorCode, as they are called in other traces.
var unwindErrors = []string{"none", "unknown", "not_enough_stack", "memory_invalid", "unwind_info", "invalid_map", "max_frames_exceeded",
	"repeated_frame", "invalid_elf"}

// reader reads records. It handles files at once, and pushes samples and threads to
// the sorter, threads with the time of the record before them.
type reader struct {
	in     *format.Input
	offset int64
	files  map[uint32]*file
	types  []model.StringID // names of the events
	events *sort.Stream
	ts     int64 // of the last record with a time
}

// file is a file that contains code.
type file struct {
	mapping   profile.MappingID
	functions []model.StringID
}

func read(in *format.Input) error {
	in.UseClock(model.ClockMonotonic)
	r := &reader{in: in, files: map[uint32]*file{}}
	r.events = in.Sorter.NewStream(r)
	data := bufio.NewReader(in)
	header, _ := data.Peek(headerSize)
	if len(header) < headerSize {
		return format.Errorf(format.ErrCorrupt, 0, "truncated header")
	}
	if v := binary.LittleEndian.Uint16(header[len(signature):]); v != version {
		return format.Errorf(format.ErrUnsupported, 0, "version %d; the supported version is %d", v, version)
	}
	n, err := data.Discard(headerSize)
	for r.offset = int64(n); err == nil; {
		var size [4]byte
		if _, err = io.ReadFull(data, size[:]); err != nil {
			break
		}
		n := int64(binary.LittleEndian.Uint32(size[:]))
		if n == 0 {
			return nil
		}
		if n > maxRecord {
			return format.Errorf(format.ErrCorrupt, r.offset, "a record of %d bytes", n)
		}
		var record bytes.Buffer
		if _, err = io.CopyN(&record, data, n); err != nil {
			break
		}
		if err = r.record(record.Bytes()); err != nil {
			return err
		}
		r.offset += int64(len(size)) + n
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
		err = nil
	}
	return err
}

// record handles a Record at once or pushes it.
func (r *reader) record(message []byte) error {
	fields := wire.Read(message)
	if !fields.Next() || fields.Type != wire.Bytes {
		r.damaged()
		return nil
	}
	switch body := fields.Bytes(); fields.Number {
	case simpleperfpb.Record_File:
		r.file(body)
	case simpleperfpb.Record_MetaInfo:
		r.meta(body)
	case simpleperfpb.Record_Lost:
		if lost, ok := wire.Find(body, simpleperfpb.LostSituation_LostCount); ok {
			r.in.File.Add(model.StatPerfCPULostRecords, model.None, lost.Int64())
		}
		if samples, ok := wire.Find(body, simpleperfpb.LostSituation_SampleCount); ok { // simpleperf may have left some out
			r.in.File.SetMetadata("simpleperf.sample_count", model.IntArg(samples.Int64()))
		}
	case simpleperfpb.Record_Sample:
		var time int64
		if f, ok := wire.Find(body, simpleperfpb.Sample_Time); ok {
			time = f.Int64()
			r.ts = time
		}
		return r.push(time, message)
	case simpleperfpb.Record_Thread:
		return r.push(r.ts, message)
	default:
		if f, ok := wire.Find(body, simpleperfpb.ContextSwitch_Time); ok && fields.Number == simpleperfpb.Record_ContextSwitch {
			r.ts = f.Int64()
		}
		noun := cmp.Or(recordNames[fields.Number], fmt.Sprintf("field %d", fields.Number)) + " record"
		r.in.File.Unread(model.StatPerfUnknownRecordType, int64(fields.Number), noun).AddAt(r.offset)
	}
	if fields.Bad() {
		r.damaged()
	}
	return nil
}

// damaged counts a damaged record.
func (r *reader) damaged() { r.in.File.LogAt(model.StatCorruptPacket, r.offset, nil) }

func (r *reader) push(time int64, message []byte) error {
	ts, ok := r.in.TraceTime(time, r.offset)
	if !ok {
		return nil
	}
	return r.events.Push(ts, message)
}

// file reads a File.
func (r *reader) file(message []byte) {
	var id uint32
	var path string
	added := &file{}
	fields := wire.Read(message)
	for fields.Next() {
		switch fields.Number {
		case simpleperfpb.File_ID:
			id = fields.Uint32()
		case simpleperfpb.File_Path:
			path = string(fields.Bytes())
		case simpleperfpb.File_Symbol:
			added.functions = append(added.functions, r.in.Store.Strings.InternBytes(fields.Bytes()))
		case simpleperfpb.File_MangledSymbol:
			r.in.File.Unread(model.StatUnreadFact, model.None, "mangled symbol").AddAt(r.offset)
		}
	}
	if fields.Bad() {
		r.damaged()
	}
	added.mapping = r.in.Store.Stacks.DummyMapping(path)
	r.files[id] = added
}

// meta reads a MetaInfo.
func (r *reader) meta(message []byte) {
	r.types = nil
	fields := wire.Read(message)
	for fields.Next() {
		switch name, ok := facts[fields.Number]; {
		case fields.Number == simpleperfpb.MetaInfo_EventType:
			r.types = append(r.types, r.in.Store.Strings.InternBytes(fields.Bytes()))
		case ok:
			r.in.File.SetMetadata("simpleperf."+name, model.StringArg(r.in.Store.Strings.InternBytes(fields.Bytes())))
		case fields.Number == simpleperfpb.MetaInfo_TraceOffcpu:
			r.in.File.SetMetadata("simpleperf.trace_offcpu", model.BoolArg(fields.Bool()))
		}
	}
	if fields.Bad() {
		r.damaged()
	}
}

// eventName returns the name of an event by its place in MetaInfo.
func (r *reader) eventName(id uint32) model.StringID {
	if int64(id) < int64(len(r.types)) {
		return r.types[id]
	}
	return r.in.Store.Strings.Intern(fmt.Sprintf("event type %d", id))
}

// unwindError returns the name of an error, or 0 for none.
func (r *reader) unwindError(code uint32) model.StringID {
	switch {
	case code == 0:
		return 0
	case int64(code) >= int64(len(unwindErrors)):
		code = 1
	}
	return r.in.Store.Strings.Intern(unwindErrors[code])
}

// Event turns a Record into rows.
func (r *reader) Event(ts int64, message []byte) error {
	fields := wire.Read(message)
	if !fields.Next() {
		return nil
	}
	if fields.Number == simpleperfpb.Record_Thread {
		r.thread(fields.Bytes())
	} else {
		r.sample(ts, fields.Bytes())
	}
	return nil
}

func (r *reader) thread(message []byte) {
	var tid, pid int64
	var name model.StringID
	fields := wire.Read(message)
	for fields.Next() {
		switch fields.Number {
		case simpleperfpb.Thread_ThreadID:
			tid = int64(fields.Uint32())
		case simpleperfpb.Thread_ProcessID:
			pid = int64(fields.Uint32())
		case simpleperfpb.Thread_ThreadName:
			name = r.in.Store.Strings.InternBytes(fields.Bytes())
		}
	}
	if tid == 0 || pid == 0 {
		return
	}
	r.in.Machine.SetThreadName(r.in.Machine.ThreadOf(tid, pid), name, model.ThreadNameOther)
}

// sample stores a Sample, unless its stack is empty or refers to an unknown file.
func (r *reader) sample(ts int64, message []byte) {
	v := profile.NewSample(ts, "simpleperf")
	var frames []profile.FrameID // innermost first
	fields := wire.Read(message)
	known := true
	tid, period := int64(0), int64(model.None)
	event := uint32(0) // left out by the format if it is 0
	for fields.Next() {
		switch fields.Number {
		case simpleperfpb.Sample_ThreadID:
			tid = int64(fields.Uint32())
		case simpleperfpb.Sample_EventCount:
			period = int64(min(fields.Uint64(), math.MaxInt64))
		case simpleperfpb.Sample_EventTypeID:
			event = fields.Uint32()
		case simpleperfpb.Sample_UnwindingResult:
			if code, ok := wire.Find(fields.Bytes(), simpleperfpb.Sample_UnwindingResult_ErrorCode); ok {
				v.UnwindError = r.unwindError(code.Uint32())
			}
		case simpleperfpb.Sample_Callchain:
			frame, ok := r.frame(fields.Bytes())
			known = known && ok
			frames = append(frames, frame)
		}
	}
	v.UTID = r.in.Machine.Thread(tid)
	switch {
	case fields.Bad():
		r.in.File.LogTime(model.StatCorruptPacket, ts, nil)
		return
	case !known:
		r.in.File.LogTime(model.StatSimpleperfMissingFileMapping, ts, nil)
		return
	case len(frames) == 0:
		r.in.File.Unread(model.StatUnreadEvent, model.None, "sample without a stack").Say("sample without a stack", "samples without a stack").
			Add(model.LogEntry{TS: ts, HasTS: true})
		return
	}
	for i := len(frames) - 1; i >= 0; i-- {
		v.Callsite = r.in.Store.Stacks.Callsite(v.Callsite, frames[i])
	}
	sample := r.in.Store.Stacks.AddSample(v)
	if len(r.types) > 0 || event > 0 {
		r.in.Store.Stacks.AddSampleEvent(sample, r.eventName(event), period)
	}
}

// frame returns the frame of a CallChainEntry, or false if its file is unknown.
func (r *reader) frame(message []byte) (profile.FrameID, bool) {
	var address uint64
	var id uint32
	var symbol int32
	fields := wire.Read(message)
	for fields.Next() {
		switch fields.Number {
		case simpleperfpb.Sample_CallChainEntry_VaddrInFile:
			address = fields.Uint64()
		case simpleperfpb.Sample_CallChainEntry_FileID:
			id = fields.Uint32()
		case simpleperfpb.Sample_CallChainEntry_SymbolID:
			symbol = fields.Int32()
		case simpleperfpb.Sample_CallChainEntry_ExecutionType:
			if fields.Uint32() != 0 { // native code
				r.in.File.Unread(model.StatUnreadFact, model.None, "execution type of a frame").Say("execution type of a frame", "execution types of frames").Add(model.LogEntry{})
			}
		}
	}
	file := r.files[id]
	if file == nil {
		return model.None, false
	}
	var name model.StringID
	if symbol >= 0 && int(symbol) < len(file.functions) {
		name = file.functions[symbol]
	}
	return r.in.Store.Stacks.Frame(file.mapping, address, name), true
}
