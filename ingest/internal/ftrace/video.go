package ftrace

import (
	"fmt"

	"github.com/tpconvert/tpconvert/ingest/internal/linux"
	"github.com/tpconvert/tpconvert/model"
)

// asName takes the name of a number, NULL if it has none.
func asName(name func(int64) string) func(*Parser, *Event, string) model.ArgValue {
	return func(p *Parser, e *Event, field string) model.ArgValue {
		if text := name(e.Int(field)); text != "" {
			return model.StringArg(p.word(text))
		}
		return model.StringArg(0)
	}
}

// asBits takes the names of a number's bits.
func asBits(names func(int64) string) func(*Parser, *Event, string) model.ArgValue {
	return func(p *Parser, e *Event, field string) model.ArgValue {
		return model.StringArg(p.word(names(e.Int(field))))
	}
}

// v4l2BufferArgs are specific to v4l2_qbuf and v4l2_dqbuf; all events of V4L2
// buffers have v4l2CommonArgs.
var (
	v4l2BufferArgs = []argument{{"minor", "minor", asInt}, {"index", "index", asInt}, {"type", "type", asName(linux.V4L2BufferType)}, {"bytesused", "bytesused", asInt}}
	v4l2CommonArgs = append([]argument{
		{"flags", "flags", asBits(linux.V4L2Flags)}, {"field", "field", asName(linux.V4L2Field)}, {"timestamp", "timestamp", asInt},
		{"timecode_type", "timecode_type", asName(linux.V4L2Timecode)}, {"timecode_flags", "timecode_flags", asBits(linux.V4L2TimecodeFlags)},
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
			return fmt.Sprintf("virtio_video stream #%d %s", dims[0].Int(), linux.VirtioVideoQueue(dims[1].Int()))
		}})
	virtioVideoCommands = model.AsyncBlueprint(model.Blueprint{Classification: "virtio_video_command",
		Dims: []string{"virtio_stream_id", "is_response"}, NameOf: func(_ *model.Store, dims []model.Dim) string {
			return fmt.Sprintf("virtio_video stream #%d %s", dims[0].Int(), [...]string{"Requests", "Responses"}[dims[1].Int()])
		}})
)

// virtioVideoDur is the duration of a command's slice in ns, because the events
// do not tell the real one.
const virtioVideoDur = 100_000

func virtioVideoCommand(response int64) handler {
	return func(p *Parser, e *Event) {
		track := p.Async.Scoped(virtioVideoCommands, nil, e.TS, virtioVideoDur, model.IntDim(e.Int("stream_id")), model.IntDim(response))
		p.Slices.Scoped(e.TS, virtioVideoDur, track, 0, p.word(linux.VirtioVideoCommand(e.Int("type"))), nil)
	}
}

func virtioVideoQueue(p *Parser, e *Event) {
	id := e.Int("resource_id")
	track := p.Async.Begin(virtioVideoQueues, nil, id, model.IntDim(e.Int("stream_id")), model.IntDim(e.Int("queue_type")))
	p.Slices.Begin(e.TS, track, 0, p.word(fmt.Sprintf("Resource #%d", id)), nil)
}

var virtioVideoArgs = append(append(ints("stream_id", "resource_id"),
	argument{"queue_type", "queue_type", func(p *Parser, e *Event, field string) model.ArgValue {
		return model.StringArg(p.word(linux.VirtioVideoQueue(e.Int(field))))
	}}), append(ints("data_size0", "data_size1", "data_size2", "data_size3"), uints("timestamp")...)...)

func virtioVideoDone(p *Parser, e *Event) {
	track := p.Async.End(virtioVideoQueues, nil, e.Int("resource_id"), model.IntDim(e.Int("stream_id")), model.IntDim(e.Int("queue_type")))
	p.Slices.End(e.TS, track, 0, 0, p.argsOf(e, virtioVideoArgs))
}
