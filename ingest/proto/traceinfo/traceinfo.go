// Package traceinfo reads what a trace says of itself and of the recorder.
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
	"github.com/tpconvert/tpconvert/ingest/proto/translation"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Modules read the packets of the family.
var Modules = proto.Family{traceInfo, concurrentSessions, types, metatraceEvents}

const (
	fieldTraceConfig     = 33
	fieldTraceStats      = 35
	fieldTrigger         = 46
	fieldServiceEvent    = 69
	fieldUIState         = 78
	fieldTraceUUID       = 89
	fieldChromeTrigger   = 109
	fieldCloneTrigger    = 113
	fieldTraceAttributes = 126
)

// info reads what a trace says of itself: its configuration, the recorder's
// statistics and events, what triggered it.
type info struct {
	*proto.Reader
	uuid    bool
	trigger uint32 // field of the trigger that is in metadata

	// What the configuration says, to judge at the end.
	streams       bool // write_into_file
	writePeriodMS uint32
	flushes       bool // flush_period_ms is set
	buffers       int64
}

func traceInfo(r *proto.Reader) *proto.Module {
	t := &info{Reader: r}
	return &proto.Module{
		Fields: []uint32{fieldTraceConfig, fieldTraceStats, fieldTrigger, fieldServiceEvent, fieldUIState,
			fieldTraceUUID, fieldChromeTrigger, fieldCloneTrigger, fieldTraceAttributes},
		Read:  t.read,
		Parse: t.parse,
		End:   t.end,
	}
}

func (t *info) read(p *proto.Packet, f *wire.Field) bool {
	switch data := f.Bytes(); f.Number {
	case fieldTraceConfig:
		t.config(data)
	case fieldTraceStats:
		t.stats(data)
	case fieldServiceEvent:
		t.serviceEvent(p, data)
	case fieldUIState:
		t.File.SetMetadata("ui_state", t.text(base64.StdEncoding.EncodeToString(data)))
	case fieldTraceUUID:
		t.setUUID(message.Int64(data, 1), message.Int64(data, 2))
	case fieldTraceAttributes:
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

// attributes sets metadata that whoever recorded the trace made up.
func (t *info) attributes(data []byte) {
	for f := wire.Read(data); f.Next(); {
		if f.Number != 1 {
			continue
		}
		var key string
		value := model.NullArg()
		for a := wire.Read(f.Bytes()); a.Next(); {
			switch a.Number {
			case 1:
				key = string(a.Bytes())
			case 2:
				value = model.IntArg(a.Int64())
			case 3:
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
	var msb, lsb int64
	var discarding []int64
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			if message.Int64(f.Bytes(), 4) == fillPolicyDiscard {
				discarding = append(discarding, t.buffers)
			}
			t.buffers++
		case 8:
			t.streams = f.Bool()
		case 9:
			t.writePeriodMS = f.Uint32()
		case 13:
			t.flushes = f.Uint32() != 0
		case 22:
			t.File.SetMetadata("unique_session_name", t.textOf(f.Bytes()))
		case 27:
			msb = f.Int64()
		case 28:
			lsb = f.Int64()
		case 48:
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

// ringBufferPeriodMS is from when on a trace that is written into a file is taken
// for one that keeps its latest events only.
const ringBufferPeriodMS = 24 * 60 * 60 * 1000

// automaticFlushes is the version of the recorder that flushes on its own.
const automaticFlushes = 54

// end counts what the configuration shows to have been lost.
func (t *info) end() {
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
		case 7:
			t.slowSources(f.Bytes())
		case 11:
			t.File.SetStat(model.StatTracedBufCloneDoneTimestampNS, f.Int64(), ts)
		case 10:
			t.File.SetStat(model.StatTracedCloneStartedTimestampNS, model.None, ts)
		}
		if !f.Bool() {
			continue
		}
		switch f.Number {
		case 1:
			t.SetMetadata("all_data_source_started_ns", now)
		case 2:
			t.SetMetadata("tracing_started_ns", now)
		case 3:
			t.AddMetadata("all_data_source_flushed_ns", now)
			t.Flushed()
		case 4:
			t.Written()
		case 5:
			t.SetMetadata("tracing_disabled_ns", now)
		}
	}
}

func (t *info) slowSources(data []byte) {
	for f := wire.Read(data); f.Next(); {
		producer, _ := wire.Find(f.Bytes(), 1)
		source, _ := wire.Find(f.Bytes(), 2)
		t.AddMetadata("slow_start_data_source", t.textOf(bytes.Join([][]byte{producer.Bytes(), source.Bytes()}, []byte(" "))))
	}
}

var traceStats = map[uint32]model.Stat{
	2: model.StatTracedProducersConnected, 3: model.StatTracedProducersSeen,
	4: model.StatTracedDataSourcesRegistered, 5: model.StatTracedDataSourcesSeen,
	6: model.StatTracedTracingSessions, 7: model.StatTracedTotalBuffers,
	8: model.StatTracedChunksDiscarded, 9: model.StatTracedPatchesDiscarded,
	12: model.StatTracedFlushesRequested, 13: model.StatTracedFlushesSucceeded, 14: model.StatTracedFlushesFailed,
}

var filterStats = map[uint32]model.Stat{
	1: model.StatFilterInputPackets, 2: model.StatFilterInputBytes, 3: model.StatFilterOutputBytes,
	4: model.StatFilterErrors, 5: model.StatFilterTimeTakenNS,
}

var bufferStats = map[uint32]model.Stat{
	1: model.StatTracedBufBytesWritten, 2: model.StatTracedBufChunksWritten, 3: model.StatTracedBufChunksOverwritten,
	4: model.StatTracedBufWriteWrapCount, 5: model.StatTracedBufPatchesSucceeded, 6: model.StatTracedBufPatchesFailed,
	7: model.StatTracedBufReadaheadsSucceeded, 8: model.StatTracedBufReadaheadsFailed, 9: model.StatTracedBufABIViolations,
	10: model.StatTracedBufChunksRewritten, 11: model.StatTracedBufChunksCommittedOutOfOrder, 12: model.StatTracedBufBufferSize,
	13: model.StatTracedBufBytesOverwritten, 14: model.StatTracedBufBytesRead, 15: model.StatTracedBufPaddingBytesWritten,
	16: model.StatTracedBufPaddingBytesCleared, 17: model.StatTracedBufChunksRead, 18: model.StatTracedBufChunksDiscarded,
	19: model.StatTracedBufTraceWriterPacketLoss, 20: model.StatTracedBufChunksRelocated,
}

// lossStats are the stats of the reasons that a sequence gives for lost packets,
// in their order.
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

// stats reads the recorder's own counts, and counts by buffer what its sequences
// lost.
func (t *info) stats(data []byte) {
	for _, stat := range traceStats {
		t.File.SetStat(stat, model.None, 0)
	}
	var buffer int64
	lost := map[int64]*proto.Losses{}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case 1:
			t.setStats(f.Bytes(), bufferStats, buffer)
			buffer++
		case 11:
			t.setStats(f.Bytes(), filterStats, model.None)
			filtered := int64(0)
			for r := wire.Read(f.Bytes()); r.Next(); {
				if r.Number != 20 {
					continue
				}
				for v := range r.Varints {
					t.File.SetStat(model.StatTracedBufBytesFilteredOut, filtered, int64(v))
					filtered++
				}
			}
		case 15:
			switch f.Int32() {
			case flushSucceeded:
				t.File.Count(model.StatTracedFinalFlushSucceeded)
			case flushFailed:
				t.File.Count(model.StatTracedFinalFlushFailed)
			}
		case 18:
			q, ok := t.Losses(message.Uint32(f.Bytes(), 1))
			if !ok {
				continue
			}
			of := message.Int64(f.Bytes(), 4)
			sum := lost[of]
			if sum == nil {
				sum = new(proto.Losses)
				lost[of] = sum
			}
			sum.Drops += q.Drops
			if q.Skipped > 0 && q.Skipped == q.Needy {
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

// parse adds a slice for what triggered the recording.
func (t *info) parse(e *proto.Event) {
	track := t.Tracks.Intern(&triggers, nil)
	args := new(model.ArgSet)
	if e.Field == fieldChromeTrigger {
		t.chromeTrigger(e, track, args)
		return
	}
	var name model.StringID
	for f := wire.Read(e.Data); f.Next(); {
		switch f.Number {
		case 1:
			name = t.Store.Strings.InternBytes(f.Bytes())
		case 2:
			args.Add(t.Store.Strings.Intern("producer_name"), t.textOf(f.Bytes()))
		case 3:
			args.Add(t.Store.Strings.Intern("trusted_producer_uid"), model.IntArg(int64(f.Int32())))
		}
	}
	t.Slices.Scoped(e.TS, 0, track, 0, name, args)
	switch {
	case e.Field == fieldCloneTrigger && t.trigger != fieldCloneTrigger:
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
		case 1:
			name, named = strs.InternBytes(f.Bytes()), true
		case 2:
			hash = f.Uint32()
		case 3:
			flow = model.FlowID(f.Uint64())
		}
	}
	args.Add(strs.Intern("chrome_trigger.name_hash"), model.UintArg(uint64(hash)))
	study, known := translation.Of(t.Reader).Studies[uint64(hash)]
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
	t.SetMetadata("cr-triggered_rule_name_hash", model.IntArg(int64(hash)))
}
