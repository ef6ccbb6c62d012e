// Package traceinfo reads what a trace says about itself and the recorder.
package traceinfo

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/proto/message"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{traceInfo, videoFrames, concurrentSessions, types, metatraceEvents}

// info reads what a trace says about itself: its configuration, the recorder's
// statistics and events, and what triggered it.
type info struct {
	*proto.Reader
	uuid    bool
	trigger uint32 // field of the trigger stored in metadata

	// Settings from the configuration that are needed at the end.
	streams       bool // write_into_file
	writePeriodMS uint32
	flushes       bool // flush_period_ms is set
	buffers       int64
	diagnosed     []byte // the configuration
}

func traceInfo(r *proto.Reader) *proto.Module {
	t := &info{Reader: r}
	return &proto.Module{
		Fields: []uint32{pb.TracePacket_TraceConfig, pb.TracePacket_TraceStats, pb.TracePacket_Trigger, pb.TracePacket_ServiceEvent, pb.TracePacket_UIState,
			pb.TracePacket_TraceUUID, pb.TracePacket_ChromeTrigger, pb.TracePacket_CloneSnapshotTrigger, pb.TracePacket_TraceAttributes},
		Read:  t.read,
		Parse: t.parse,
		End:   t.end,
	}
}

func (t *info) read(p *proto.Packet, f *wire.Field) bool {
	switch data := f.Bytes(); f.Number {
	case pb.TracePacket_TraceConfig:
		t.config(data)
	case pb.TracePacket_TraceStats:
		t.stats(data)
	case pb.TracePacket_ServiceEvent:
		t.serviceEvent(p, data)
	case pb.TracePacket_UIState:
		t.File.SetMetadata("ui_state", t.text(base64.StdEncoding.EncodeToString(data)))
	case pb.TracePacket_TraceUUID:
		t.setUUID(message.Int64(data, pb.TraceUuid_Msb), message.Int64(data, pb.TraceUuid_Lsb))
	case pb.TracePacket_TraceAttributes:
		t.attributes(data)
	default:
		return false
	}
	return true
}

func (t *info) text(s string) model.ArgValue { return model.StringArg(t.Store.Strings.Intern(s)) }

func (t *info) textOf(b []byte) model.ArgValue {
	return model.StringArg(t.Store.Strings.InternBytes(b))
}

func (t *info) setUUID(msb, lsb int64) {
	if msb == 0 && lsb == 0 {
		return
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(msb))
	b = binary.BigEndian.AppendUint64(b, uint64(lsb))
	parts := []string{hex.EncodeToString(b[:4]), hex.EncodeToString(b[4:6]), hex.EncodeToString(b[6:8]),
		hex.EncodeToString(b[8:10]), hex.EncodeToString(b[10:])}
	t.File.SetMetadata("trace_uuid", t.text(strings.Join(parts, "-")))
	t.uuid = true
}

// attributes sets custom metadata, chosen by whoever recorded the trace.
func (t *info) attributes(data []byte) {
	for f := wire.Read(data); f.Next(); {
		if f.Number != pb.TraceAttributes_Attribute {
			continue
		}
		var key string
		value := model.NullArg()
		for a := wire.Read(f.Bytes()); a.Next(); {
			switch a.Number {
			case pb.TraceAttributes_Attribute_Key:
				key = string(a.Bytes())
			case pb.TraceAttributes_Attribute_LongValue:
				value = model.IntArg(a.Int64())
			case pb.TraceAttributes_Attribute_StringValue:
				value = t.textOf(a.Bytes())
			}
		}
		if value.Kind != model.ArgNull {
			t.SetMetadata("trace_attribute."+key, value)
		}
	}
}

const fillPolicyDiscard = 2

func (t *info) config(data []byte) {
	t.streams, t.flushes, t.writePeriodMS, t.buffers = false, false, 0, 0
	t.diagnosed = bytes.Clone(data)
	var msb, lsb int64
	var discarding []int64
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.TraceConfig_Buffers:
			if message.Int64(f.Bytes(), pb.TraceConfig_BufferConfig_FillPolicy) == fillPolicyDiscard {
				discarding = append(discarding, t.buffers)
			}
			t.buffers++
		case pb.TraceConfig_WriteIntoFile:
			t.streams = f.Bool()
		case pb.TraceConfig_FileWritePeriodMS:
			t.writePeriodMS = f.Uint32()
		case pb.TraceConfig_FlushPeriodMS:
			t.flushes = f.Uint32() != 0
		case pb.TraceConfig_UniqueSessionName:
			t.File.SetMetadata("unique_session_name", t.textOf(f.Bytes()))
		case pb.TraceConfig_StatsdMetadata:
			if id, ok := wire.Find(f.Bytes(), pb.TraceConfig_StatsdMetadata_TriggeringSubscriptionID); ok {
				t.File.SetMetadata("statsd_triggering_subscription_id", model.IntArg(id.Int64()))
			}
		case pb.TraceConfig_TraceUUIDMsb:
			msb = f.Int64()
		case pb.TraceConfig_TraceUUIDLsb:
			lsb = f.Int64()
		case pb.TraceConfig_TraceAttributes:
			t.attributes(f.Bytes())
		}
	}
	if t.streams {
		for _, buffer := range discarding {
			t.File.Add(model.StatConfigWriteIntoFileDiscard, buffer, 1)
		}
	}
	if !t.uuid {
		t.setUUID(msb, lsb)
	}
	t.File.SetMetadata("trace_config_pbtxt", t.text(t.Types().Text("perfetto.protos.TraceConfig", data)))
}

// ringBufferPeriodMS is the write period from which a trace written into a file counts
// as a ring buffer, which keeps only the latest events.
const ringBufferPeriodMS = 24 * 60 * 60 * 1000

// automaticFlushes is the first recorder version that flushes automatically.
const automaticFlushes = 54

// end counts the losses that follow from the configuration, and says what is wrong with it.
func (t *info) end() {
	defer t.diagnose()
	if !t.streams {
		return
	}
	if t.writePeriodMS < ringBufferPeriodMS {
		for buffer := range t.buffers {
			if n := t.File.Stat(model.StatTracedBufBytesOverwritten, buffer); n > 0 {
				t.File.SetStat(model.StatLongTraceModeBytesOverwritten, buffer, n)
			}
		}
	}
	if t.flushes {
		return
	}
	version, _ := strings.CutPrefix(t.Machine.MetadataText("tracing_service_version"), "Perfetto v")
	major, _, _ := strings.Cut(strings.ReplaceAll(version, "-", "."), ".")
	if n, err := strconv.Atoi(major); err != nil || n < automaticFlushes {
		t.File.Count(model.StatConfigWriteIntoFileNoFlush)
	}
}

// serviceEvent reads a step in the life of the recording.
func (t *info) serviceEvent(p *proto.Packet, data []byte) {
	// The recorder stamps these with the boot clock, whatever the trace clock is.
	clock := model.Clock{ID: p.ClockID}
	if clock.ID == 0 {
		clock.ID = model.ClockBoottime
	}
	ts, err := t.Clocks.ToTrace(clock, p.Timestamp)
	if err != nil {
		ts = p.Timestamp
	}
	now := model.IntArg(ts)
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.TracingServiceEvent_SlowStartingDataSources:
			t.slowSources(f.Bytes())
		case pb.TracingServiceEvent_BufferCloned:
			t.File.SetStat(model.StatTracedBufCloneDoneTimestampNS, f.Int64(), ts)
		case pb.TracingServiceEvent_CloneStarted:
			t.File.SetStat(model.StatTracedCloneStartedTimestampNS, model.None, ts)
		}
		if !f.Bool() {
			continue
		}
		switch f.Number {
		case pb.TracingServiceEvent_AllDataSourcesStarted:
			t.SetMetadata("all_data_source_started_ns", now)
		case pb.TracingServiceEvent_TracingStarted:
			t.SetMetadata("tracing_started_ns", now)
		case pb.TracingServiceEvent_AllDataSourcesFlushed:
			t.AddMetadata("all_data_source_flushed_ns", now)
			t.Flushed()
		case pb.TracingServiceEvent_ReadTracingBuffersCompleted:
			t.Written()
		case pb.TracingServiceEvent_TracingDisabled:
			t.SetMetadata("tracing_disabled_ns", now)
		}
	}
}

func (t *info) slowSources(data []byte) {
	for f := wire.Read(data); f.Next(); {
		producer, _ := wire.Find(f.Bytes(), pb.TracingServiceEvent_DataSources_DataSource_ProducerName)
		source, _ := wire.Find(f.Bytes(), pb.TracingServiceEvent_DataSources_DataSource_DataSourceName)
		t.AddMetadata("slow_start_data_source", t.textOf(bytes.Join([][]byte{producer.Bytes(), source.Bytes()}, []byte(" "))))
	}
}

var traceStats = map[uint32]model.Stat{
	pb.TraceStats_ProducersConnected: model.StatTracedProducersConnected, pb.TraceStats_ProducersSeen: model.StatTracedProducersSeen,
	pb.TraceStats_DataSourcesRegistered: model.StatTracedDataSourcesRegistered, pb.TraceStats_DataSourcesSeen: model.StatTracedDataSourcesSeen,
	pb.TraceStats_TracingSessions: model.StatTracedTracingSessions, pb.TraceStats_TotalBuffers: model.StatTracedTotalBuffers,
	pb.TraceStats_ChunksDiscarded: model.StatTracedChunksDiscarded, pb.TraceStats_PatchesDiscarded: model.StatTracedPatchesDiscarded,
	pb.TraceStats_FlushesRequested: model.StatTracedFlushesRequested, pb.TraceStats_FlushesSucceeded: model.StatTracedFlushesSucceeded, pb.TraceStats_FlushesFailed: model.StatTracedFlushesFailed,
}

var filterStats = map[uint32]model.Stat{
	pb.TraceStats_FilterStats_InputPackets: model.StatFilterInputPackets, pb.TraceStats_FilterStats_InputBytes: model.StatFilterInputBytes, pb.TraceStats_FilterStats_OutputBytes: model.StatFilterOutputBytes,
	pb.TraceStats_FilterStats_Errors: model.StatFilterErrors, pb.TraceStats_FilterStats_TimeTakenNS: model.StatFilterTimeTakenNS,
}

var bufferStats = map[uint32]model.Stat{
	pb.TraceStats_BufferStats_BytesWritten: model.StatTracedBufBytesWritten, pb.TraceStats_BufferStats_ChunksWritten: model.StatTracedBufChunksWritten, pb.TraceStats_BufferStats_ChunksOverwritten: model.StatTracedBufChunksOverwritten,
	pb.TraceStats_BufferStats_WriteWrapCount: model.StatTracedBufWriteWrapCount, pb.TraceStats_BufferStats_PatchesSucceeded: model.StatTracedBufPatchesSucceeded, pb.TraceStats_BufferStats_PatchesFailed: model.StatTracedBufPatchesFailed,
	pb.TraceStats_BufferStats_ReadaheadsSucceeded: model.StatTracedBufReadaheadsSucceeded, pb.TraceStats_BufferStats_ReadaheadsFailed: model.StatTracedBufReadaheadsFailed, pb.TraceStats_BufferStats_ABIViolations: model.StatTracedBufABIViolations,
	pb.TraceStats_BufferStats_ChunksRewritten: model.StatTracedBufChunksRewritten, pb.TraceStats_BufferStats_ChunksCommittedOutOfOrder: model.StatTracedBufChunksCommittedOutOfOrder, pb.TraceStats_BufferStats_BufferSize: model.StatTracedBufBufferSize,
	pb.TraceStats_BufferStats_BytesOverwritten: model.StatTracedBufBytesOverwritten, pb.TraceStats_BufferStats_BytesRead: model.StatTracedBufBytesRead, pb.TraceStats_BufferStats_PaddingBytesWritten: model.StatTracedBufPaddingBytesWritten,
	pb.TraceStats_BufferStats_PaddingBytesCleared: model.StatTracedBufPaddingBytesCleared, pb.TraceStats_BufferStats_ChunksRead: model.StatTracedBufChunksRead, pb.TraceStats_BufferStats_ChunksDiscarded: model.StatTracedBufChunksDiscarded,
	pb.TraceStats_BufferStats_TraceWriterPacketLoss: model.StatTracedBufTraceWriterPacketLoss, pb.TraceStats_BufferStats_ChunksRelocated: model.StatTracedBufChunksRelocated,
}

// lossStats are the stats for the causes of lost packets, in the order of
// proto.Losses.Causes.
var lossStats = [proto.LossCauses]model.Stat{
	model.StatTracedBufDataLossReadGap, model.StatTracedBufDataLossChunkCorrupted,
	model.StatTracedBufDataLossOrphanContinuation, model.StatTracedBufDataLossReassemblyGap,
	model.StatTracedBufDataLossReassemblyBrokenChain, model.StatTracedBufDataLossOverwrite,
	model.StatTracedBufDataLossWriterAbort, model.StatTracedBufDataLossSmbFull,
}

const (
	flushSucceeded = 1
	flushFailed    = 2
)

// stats reads the recorder's own counts, and adds up the losses of each buffer's
// sequences.
func (t *info) stats(data []byte) {
	for _, stat := range traceStats {
		t.File.SetStat(stat, model.None, 0)
	}
	var buffer int64
	lost := map[int64]*proto.Losses{}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case pb.TraceStats_BufferStats:
			t.setStats(f.Bytes(), bufferStats, buffer)
			buffer++
		case pb.TraceStats_FilterStats:
			t.setStats(f.Bytes(), filterStats, model.None)
			filtered := int64(0)
			for r := wire.Read(f.Bytes()); r.Next(); {
				if r.Number != pb.TraceStats_FilterStats_BytesDiscardedPerBuffer {
					continue
				}
				for v := range r.Varints {
					t.File.SetStat(model.StatTracedBufBytesFilteredOut, filtered, int64(v))
					filtered++
				}
			}
		case pb.TraceStats_FinalFlushOutcome:
			switch f.Int32() {
			case flushSucceeded:
				t.File.Count(model.StatTracedFinalFlushSucceeded)
			case flushFailed:
				t.File.Count(model.StatTracedFinalFlushFailed)
			}
		case pb.TraceStats_WriterStats:
			q, ok := t.Losses(message.Uint32(f.Bytes(), pb.TraceStats_WriterStats_SequenceID))
			if !ok {
				continue
			}
			number := message.Int64(f.Bytes(), pb.TraceStats_WriterStats_Buffer)
			sum := lost[number]
			if sum == nil {
				sum = new(proto.Losses)
				lost[number] = sum
			}
			sum.Drops += q.Drops
			if q.Skipped > 0 && q.Skipped == q.Dependent {
				sum.Skipped++
			}
			for i, n := range q.Causes {
				sum.Causes[i] += n
			}
		default:
			if stat, ok := traceStats[f.Number]; ok {
				t.File.SetStat(stat, model.None, f.Int64())
			}
		}
	}
	for buffer, sum := range lost {
		t.File.SetStat(model.StatTracedBufSequencePacketLoss, buffer, sum.Drops)
		t.File.SetStat(model.StatTracedBufIncrementalSequencesDropped, buffer, sum.Skipped)
		for i, stat := range lossStats {
			t.File.SetStat(stat, buffer, sum.Causes[i])
		}
	}
}

func (t *info) setStats(data []byte, stats map[uint32]model.Stat, index int64) {
	for _, stat := range stats {
		t.File.SetStat(stat, index, 0)
	}
	for f := wire.Read(data); f.Next(); {
		if stat, ok := stats[f.Number]; ok {
			t.File.SetStat(stat, index, f.Int64())
		}
	}
}

var triggers = model.Blueprint{Classification: "triggers", Name: "Trace Triggers"}

// parse adds a slice for a trigger of the recording.
func (t *info) parse(e *proto.Event) {
	track := t.Tracks.Intern(&triggers, nil)
	args := new(model.ArgSet)
	if e.Field == pb.TracePacket_ChromeTrigger {
		t.chromeTrigger(e, track, args)
		return
	}
	var name model.StringID
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.Trigger_TriggerName:
			name = t.Store.Strings.InternBytes(f.Bytes())
		case pb.Trigger_ProducerName:
			args.Add(t.Store.Strings.Intern("producer_name"), t.textOf(f.Bytes()))
		case pb.Trigger_TrustedProducerUID:
			args.Add(t.Store.Strings.Intern("trusted_producer_uid"), model.IntArg(int64(f.Int32())))
		}
	}
	t.Slices.Scoped(e.TS, 0, track, 0, name, args)
	switch {
	case e.Field == pb.TracePacket_CloneSnapshotTrigger && t.trigger != pb.TracePacket_CloneSnapshotTrigger:
		t.File.SetStat(model.StatTracedCloneTriggerTimestampNS, model.None, e.TS)
	case t.trigger != 0:
		return
	}
	t.trigger = e.Field
	t.File.SetMetadata("trace_trigger", model.StringArg(name))
}

func (t *info) chromeTrigger(e *proto.Event, track model.TrackID, args *model.ArgSet) {
	strs := t.Store.Strings
	name, named := strs.Intern("chrome_trigger"), false
	var hash uint32
	var flow model.FlowID
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case pb.ChromeTrigger_TriggerName:
			name, named = strs.InternBytes(f.Bytes()), true
		case pb.ChromeTrigger_TriggerNameHash:
			hash = f.Uint32()
		case pb.ChromeTrigger_FlowID:
			flow = model.FlowID(f.Uint64())
		}
	}
	args.Add(strs.Intern("chrome_trigger.name_hash"), model.UintArg(uint64(hash)))
	study, known := proto.TranslationsOf(t.Reader).Studies[uint64(hash)]
	switch {
	case known:
		args.Add(strs.Intern("chrome_trigger.name"), model.StringArg(study))
	case named:
		args.Add(strs.Intern("chrome_trigger.name"), model.StringArg(name))
	}
	slice := t.Slices.Scoped(e.TS, 0, track, 0, name, args)
	if slice != model.None && t.Flows.Active(flow) {
		t.Flows.EndAt(slice, e.TS, flow, true)
	}
	t.AddDynamicMetadata("cr-triggered_rule_name_hash", model.IntArg(int64(hash)))
}
