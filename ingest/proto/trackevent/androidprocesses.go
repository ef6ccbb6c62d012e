package trackevent

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Fields of TrackEvent by which Android's activity manager tells of processes.
const (
	fieldProcessStart = 2010
	fieldBinderDied   = 2013
)

// readLifecycle reads what an event at ts, ns, says of the life of a process. It
// stands in a table of its own instead of in args.
func (p *eventParser) readLifecycle(ts int64) {
	for _, f := range p.e.lifecycle {
		pid, ok := wire.Find(f.Bytes(), 2)
		switch {
		case !ok:
		case f.Number == fieldProcessStart:
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
		case 1:
			p.Machine.SetUID(upid, int64(uint32(f.Int32())))
		case 3:
			p.Machine.SetProcessName(upid, p.TextID(f.Bytes()), model.ProcessNameOther)
		case 4:
			t.BindApplicationDelayMS.Set(row, f.Int64())
		case 5:
			t.ProcessStartDelayMS.Set(row, f.Int64())
		case 6:
			t.HostingName.Set(row, p.TextID(f.Bytes()))
		case 7:
			t.HostingType.Set(row, p.EnumName("com.android.internal.HostingTypeId", f.Int32()))
		case 8:
			t.TriggerType.Set(row, p.EnumName("com.android.internal.TriggerType", f.Int32()))
		case 10:
			t.StartSeqID.Set(row, f.Int64())
		case 11:
			t.PackageUID.Set(row, int64(f.Int32()))
		case 12:
			t.CallerUID.Set(row, int64(f.Int32()))
		case 13:
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
