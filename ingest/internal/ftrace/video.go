package ftrace

import (
	"fmt"
	"strings"

	"github.com/tpconvert/tpconvert/model"
)

// Constants from the kernel's include/uapi/linux/videodev2.h.
var (
	v4l2Types = []string{"", "VIDEO_CAPTURE", "VIDEO_OUTPUT", "VIDEO_OVERLAY", "VBI_CAPTURE", "VBI_OUTPUT",
		"SLICED_VBI_CAPTURE", "SLICED_VBI_OUTPUT", "VIDEO_OUTPUT_OVERLAY", "VIDEO_CAPTURE_MPLANE", "VIDEO_OUTPUT_MPLANE",
		"SDR_CAPTURE", "SDR_OUTPUT", "META_CAPTURE", "META_OUTPUT"}
	v4l2Fields    = []string{"ANY", "NONE", "TOP", "BOTTOM", "INTERLACED", "SEQ_TB", "SEQ_BT", "ALTERNATE", "INTERLACED_TB", "INTERLACED_BT"}
	v4l2Timecodes = []string{"", "24FPS", "25FPS", "30FPS", "50FPS", "60FPS"}
)

const v4l2Private = 0x80

// bitName is a name for numbers. Without exact, it applies if a bit of mask is
// set; with exact, if the masked bits equal value.
type bitName struct {
	mask  int64
	exact bool
	value int64
	name  string
}

var v4l2Flags = []bitName{
	{mask: 0x1, name: "MAPPED"}, {mask: 0x2, name: "QUEUED"}, {mask: 0x4, name: "DONE"}, {mask: 0x8, name: "KEYFRAME"},
	{mask: 0x10, name: "PFRAME"}, {mask: 0x20, name: "BFRAME"}, {mask: 0x40, name: "ERROR"}, {mask: 0x80, name: "IN_REQUEST"},
	{mask: 0x100, name: "TIMECODE"}, {mask: 0x200, name: "M2M_HOLD_CAPTURE_BUF"}, {mask: 0x400, name: "PREPARED"},
	{mask: 0x800, name: "NO_CACHE_INVALIDATE"}, {mask: 0x1000, name: "NO_CACHE_CLEAN"}, {mask: 0xe000, name: "TIMESTAMP_MASK"},
	{mask: -1, exact: true, name: "TIMESTAMP_UNKNOWN"}, {mask: 0x2000, name: "TIMESTAMP_MONOTONIC"}, {mask: 0x4000, name: "TIMESTAMP_COPY"},
	{mask: 0x70000, name: "TSTAMP_SRC_MASK"}, {mask: -1, exact: true, name: "TSTAMP_SRC_EOF"}, {mask: 0x10000, name: "TSTAMP_SRC_SOE"},
	{mask: 0x100000, name: "LAST"}, {mask: 0x800000, name: "REQUEST_FD"},
}

var timecodeFlags = []bitName{
	{mask: -1, exact: true, name: "USERBITS_USERDEFINED"}, {mask: 0x1, name: "FLAG_DROPFRAME"}, {mask: 0x2, name: "FLAG_COLORFRAME"},
	{mask: 0xc, exact: true, value: 0x4, name: "USERBITS_field(01)"}, {mask: 0xc, exact: true, value: 0x8, name: "USERBITS_field(10)"},
	{mask: 0xc, exact: true, value: 0xc, name: "USERBITS_field(11)"}, {mask: 0x8, name: "USERBITS_8BITCHARS"},
}

func bitNames(list []bitName, v int64) string {
	var names []string
	for _, b := range list {
		if masked := v & b.mask; b.exact && masked == b.value || !b.exact && masked != 0 {
			names = append(names, b.name)
		}
	}
	return strings.Join(names, "|")
}

func asName(list []string) func(*Parser, *Event, string) model.ArgValue {
	return func(p *Parser, e *Event, field string) model.ArgValue {
		i := e.Uint(field)
		if i < uint64(len(list)) && list[i] != "" {
			return model.StringArg(p.word(list[i]))
		}
		return model.StringArg(0)
	}
}

func asBits(list []bitName) func(*Parser, *Event, string) model.ArgValue {
	return func(p *Parser, e *Event, field string) model.ArgValue {
		return model.StringArg(p.word(bitNames(list, e.Int(field))))
	}
}

func asBufferType(p *Parser, e *Event, field string) model.ArgValue {
	if e.Int(field) == v4l2Private {
		return model.StringArg(p.word("PRIVATE"))
	}
	return asName(v4l2Types)(p, e, field)
}

// v4l2BufferArgs are specific to v4l2_qbuf and v4l2_dqbuf; all events of V4L2
// buffers have v4l2CommonArgs.
var (
	v4l2BufferArgs = []argument{{"minor", "minor", asInt}, {"index", "index", asInt}, {"type", "type", asBufferType}, {"bytesused", "bytesused", asInt}}
	v4l2CommonArgs = append([]argument{
		{"flags", "flags", asBits(v4l2Flags)}, {"field", "field", asName(v4l2Fields)}, {"timestamp", "timestamp", asInt},
		{"timecode_type", "timecode_type", asName(v4l2Timecodes)}, {"timecode_flags", "timecode_flags", asBits(timecodeFlags)},
	}, ints("timecode_frames", "timecode_seconds", "timecode_minutes", "timecode_hours", "timecode_userbits0",
		"timecode_userbits1", "timecode_userbits2", "timecode_userbits3", "sequence")...)
)

// v4l2Buffer identifies a queued buffer.
type v4l2Buffer struct{ minor, sequence, kind, index int64 }

func v4l2BufferOf(e *Event) v4l2Buffer {
	return v4l2Buffer{e.Int("minor"), e.Int("sequence"), e.Int("type"), e.Int("index")}
}

func (p *Parser) v4l2Slice(e *Event, name string, args []argument) model.SliceID {
	return p.Slices.Scoped(e.TS, 0, onThread(p, e), p.word("Video 4 Linux 2"), p.word(name), p.argsOf(e, args))
}

var v4l2QueueArgs = append(append([]argument(nil), v4l2BufferArgs...), v4l2CommonArgs...)

func v4l2Queue(p *Parser, e *Event) {
	b := v4l2BufferOf(e)
	p.queued[b] = p.v4l2Slice(e, b.name("VIDIOC_QBUF"), v4l2QueueArgs)
}

func v4l2Dequeue(p *Parser, e *Event) {
	b := v4l2BufferOf(e)
	slice := p.v4l2Slice(e, b.name("VIDIOC_DQBUF"), v4l2QueueArgs)
	if from, ok := p.queued[b]; ok {
		delete(p.queued, b)
		if from != model.None && slice != model.None {
			p.Flows.Link(from, slice)
		}
	}
}

func (b v4l2Buffer) name(operation string) string {
	return cut(fmt.Sprintf("%s minor=%d seq=%d type=%d index=%d", operation, b.minor, b.sequence, b.kind, b.index), 63)
}

var vb2Args = append([]argument{{"minor", "minor", asInt}}, v4l2CommonArgs...)

func vb2Buffer(operation string) handler {
	return func(p *Parser, e *Event) {
		b := v4l2Buffer{minor: e.Int("minor"), sequence: e.Int("sequence")}
		p.v4l2Slice(e, b.name(operation), vb2Args)
	}
}

var (
	virtioVideoQueues = model.AsyncBlueprint(model.Blueprint{Classification: "virtio_video_queue_event",
		Dims: []string{"virtio_stream_id", "virtio_queue_type"}, NameOf: func(_ *model.Store, dims []model.Dim) string {
			return fmt.Sprintf("virtio_video stream #%d %s", dims[0].Int(), virtioQueueType(dims[1].Int()))
		}})
	virtioVideoCommands = model.AsyncBlueprint(model.Blueprint{Classification: "virtio_video_command",
		Dims: []string{"virtio_stream_id", "is_response"}, NameOf: func(_ *model.Store, dims []model.Dim) string {
			return fmt.Sprintf("virtio_video stream #%d %s", dims[0].Int(), [...]string{"Requests", "Responses"}[dims[1].Int()])
		}})
)

// The queues of a stream, from the kernel's virtio_video_queue_type.
const (
	virtioQueueInput  = 0x100
	virtioQueueOutput = 0x101
)

func virtioQueueType(kind int64) string {
	switch kind {
	case virtioQueueInput:
		return "INPUT"
	case virtioQueueOutput:
		return "OUTPUT"
	}
	return "Unknown"
}

// virtioVideoNames are the commands, starting at 0x100.
var virtioVideoNames = [...]string{"QUERY_CAPABILITY", "STREAM_CREATE", "STREAM_DESTROY", "STREAM_DRAIN", "RESOURCE_CREATE",
	"RESOURCE_QUEUE", "RESOURCE_DESTROY_ALL", "QUEUE_CLEAR", "GET_PARAMS", "SET_PARAMS", "QUERY_CONTROL", "GET_CONTROL",
	"SET_CONTROL", "GET_PARAMS_EXT", "SET_PARAMS_EXT"}

// virtioVideoDur is the duration of a command's slice in ns, because the events
// do not tell the real one.
const virtioVideoDur = 100_000

func virtioVideoCommand(response int64) handler {
	return func(p *Parser, e *Event) {
		name := "Unknown"
		if i := e.Uint("type") - 0x100; i < uint64(len(virtioVideoNames)) {
			name = virtioVideoNames[i]
		}
		track := p.Async.Scoped(virtioVideoCommands, nil, e.TS, virtioVideoDur, model.IntDim(e.Int("stream_id")), model.IntDim(response))
		p.Slices.Scoped(e.TS, virtioVideoDur, track, 0, p.word(name), nil)
	}
}

func virtioVideoQueue(p *Parser, e *Event) {
	id := e.Int("resource_id")
	track := p.Async.Begin(virtioVideoQueues, nil, id, model.IntDim(e.Int("stream_id")), model.IntDim(e.Int("queue_type")))
	p.Slices.Begin(e.TS, track, 0, p.word(fmt.Sprintf("Resource #%d", id)), nil)
}

var virtioVideoArgs = append(append(ints("stream_id", "resource_id"),
	argument{"queue_type", "queue_type", func(p *Parser, e *Event, field string) model.ArgValue {
		return model.StringArg(p.word(virtioQueueType(e.Int(field))))
	}}), append(ints("data_size0", "data_size1", "data_size2", "data_size3"), uints("timestamp")...)...)

func virtioVideoDone(p *Parser, e *Event) {
	track := p.Async.End(virtioVideoQueues, nil, e.Int("resource_id"), model.IntDim(e.Int("stream_id")), model.IntDim(e.Int("queue_type")))
	p.Slices.End(e.TS, track, 0, 0, p.argsOf(e, virtioVideoArgs))
}
