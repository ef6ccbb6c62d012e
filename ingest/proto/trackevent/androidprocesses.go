package trackevent

import (
	"github.com/tpconvert/tpconvert/internal/perfetto/androidpb"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// isLifecycle reports whether the event is about the life of a process, which goes
// to a table of its own instead of args.
func (p *eventParser) isLifecycle() bool {
	return len(p.e.lifecycle) > 0 && !p.e.legacy.hasPhase && (p.e.kind == pb.TrackEvent_Type_SliceBegin || p.e.kind == pb.TrackEvent_Type_Instant || p.e.kind == pb.TrackEvent_Type_SliceEnd)
}

// readLifecycle reads what an event says about the life of a process. ts is in ns.
func (p *eventParser) readLifecycle(ts int64) {
	for _, f := range p.e.lifecycle {
		pid, ok := wire.Find(f.Bytes(), androidpb.AndroidBinderDiedEvent_PID)
		switch {
		case !ok:
		case f.Number == androidpb.FrameworksBaseTrackEvent_ProcessStartEvent:
			p.processStarted(ts, int64(uint32(pid.Int32())), f.Bytes())
		default:
			p.processDied(ts, int64(uint32(pid.Int32())))
		}
	}
}

// processRow returns the row of a process in android_track_event_process.
func (p *eventParser) processRow(upid model.UPID) int64 {
	row, ok := p.lifecycles[upid]
	if !ok {
		row = p.Store.AndroidTrackEventProcess.Append()
		p.lifecycles[upid] = row
		p.Store.AndroidTrackEventProcess.UPID.Set(row, upid)
	}
	return row
}

func (p *eventParser) processStarted(ts, pid int64, data []byte) {
	t := &p.Store.AndroidTrackEventProcess
	upid := p.Machine.Process(pid)
	row := p.processRow(upid)
	if _, started := t.FwStartTS.Get(row); !started {
		t.FwStartTS.Set(row, ts)
	}
	for f := wire.Read(data); f.Next(); {
		switch f.Number {
		case androidpb.AndroidProcessStartEvent_UID:
			p.Machine.SetUID(upid, int64(uint32(f.Int32())))
		case androidpb.AndroidProcessStartEvent_ProcessName:
			p.Machine.SetProcessName(upid, p.TextID(f.Bytes()), model.ProcessNameOther)
		case androidpb.AndroidProcessStartEvent_BindApplicationDelayMS:
			t.BindApplicationDelayMS.Set(row, f.Int64())
		case androidpb.AndroidProcessStartEvent_ProcessStartDelayMS:
			t.ProcessStartDelayMS.Set(row, f.Int64())
		case androidpb.AndroidProcessStartEvent_HostingName:
			t.HostingName.Set(row, p.TextID(f.Bytes()))
		case androidpb.AndroidProcessStartEvent_HostingType:
			t.HostingType.Set(row, p.EnumName("com.android.internal.HostingTypeId", f.Int32()))
		case androidpb.AndroidProcessStartEvent_TriggerType:
			t.TriggerType.Set(row, p.EnumName("com.android.internal.TriggerType", f.Int32()))
		case androidpb.AndroidProcessStartEvent_StartSeqID:
			t.StartSeqID.Set(row, f.Int64())
		case androidpb.AndroidProcessStartEvent_PackageUID:
			t.PackageUID.Set(row, int64(f.Int32()))
		case androidpb.AndroidProcessStartEvent_CallerUID:
			t.CallerUID.Set(row, int64(f.Int32()))
		case androidpb.AndroidProcessStartEvent_DefiningUID:
			t.DefiningUID.Set(row, int64(f.Int32()))
		}
	}
}

// processDied ends a process, if it is known.
func (p *eventParser) processDied(ts, pid int64) {
	utid := p.Machine.LiveThread(pid)
	if utid == model.None {
		return
	}
	if upid := p.Machine.ProcessOf(utid); upid != model.None {
		p.Store.AndroidTrackEventProcess.FwEndTS.Set(p.processRow(upid), ts)
		p.Machine.EndThread(ts, pid)
	}
}
