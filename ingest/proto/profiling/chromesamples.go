package profiling

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/javanames"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/ingest/proto/stacks"
	"github.com/tpconvert/tpconvert/ingest/proto/thread"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/saturating"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// chromeReader reads the samples of Chrome's profiler, many in each packet.
type chromeReader struct {
	*proto.Reader
	stream *proto.Stream
	token  []byte
}

func chromeSamples(r *proto.Reader) *proto.Module {
	c := &chromeReader{Reader: r}
	c.stream = r.NewStream(c.parse)
	return &proto.Module{Fields: []uint32{pb.TracePacket_StreamingProfilePacket}, Tokenize: c.tokenize}
}

// tokenize finds the time of each sample, which is a delta from the last. A token holds
// the sample's call stack and the priority of the process.
func (c *chromeReader) tokenize(p *proto.Packet, f *wire.Field) bool {
	var deltas, callsites []uint64
	for v := range message.Numbers(f.Bytes(), pb.StreamingProfilePacket_TimestampDeltaUS) {
		deltas = append(deltas, v)
	}
	for v := range message.Numbers(f.Bytes(), pb.StreamingProfilePacket_CallstackIID) {
		callsites = append(callsites, v)
	}
	priority := message.Int32(f.Bytes(), pb.StreamingProfilePacket_ProcessPriority)
	now := thread.TimesOf(p.State)
	ts := now.Time
	if ts < 0 {
		c.File.LogAt(model.StatStreamingProfileInvalidTimestamp, p.Offset, nil)
		return true
	}
	if converted, err := c.Clocks.ToTrace(model.Clock{ID: model.ClockMonotonic}, ts); err == nil {
		ts = converted
	}
	for i, delta := range deltas {
		if now.Advance(int64(delta)) < 0 {
			c.File.LogAt(model.StatStreamingProfileInvalidTimestamp, p.Offset, nil)
			return true
		}
		if i >= len(callsites) {
			continue
		}
		ts = saturating.Add(ts, saturating.Mul(int64(delta), 1000))
		c.token = binary.AppendVarint(binary.AppendUvarint(c.token[:0], callsites[i]), int64(priority))
		c.stream.Push(ts, p.State, c.token)
	}
	if len(callsites) > len(deltas) {
		c.File.LogAt(model.StatStackprofileParserError, p.Offset, nil)
	}
	return true
}

func (c *chromeReader) parse(ts int64, s *proto.State, token []byte) {
	stack, n := binary.Uvarint(token)
	priority, _ := binary.Varint(token[n:])
	owner := thread.Of(s)
	pid, tid := int64(uint32(owner.PID)), int64(uint32(owner.TID))
	v := profile.NewSample(ts, "chrome")
	v.UTID = c.Machine.ThreadOf(tid, pid)
	v.UPID = c.Machine.Process(pid)
	callsite, ok := stacks.Callsite(s, v.UPID, stack)
	if !ok {
		c.File.LogTime(model.StatStackprofileParserError, ts, model.ArgFunc(func(set *model.ArgSet) {
			set.Add(c.Store.Strings.Intern("callstack_iid"), model.UintArg(stack))
		}))
		return
	}
	v.Callsite = callsite
	javanames.Of(c.Reader).Sampled(v.UPID, callsite)
	sample := c.Store.Stacks.AddSample(v)
	if priority != 0 {
		t := &c.Store.ChromeStackSampleExtras
		row := t.Append()
		t.ProfilerSampleID.Set(row, sample)
		t.ProcessPriority.Set(row, int32(priority))
	}
}
