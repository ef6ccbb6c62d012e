package system

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

// journaldArgs are the arg names for texts of a journal line.
var journaldArgs = [...]string{pb.SystemdJournaldEvent_Comm: "comm", pb.SystemdJournaldEvent_SystemdUnit: "systemd_unit",
	pb.SystemdJournaldEvent_Hostname: "hostname", pb.SystemdJournaldEvent_Transport: "transport"}

// journald reads the lines of systemd's journal. The last packet has no line, only the
// number of lines.
func journald(r *proto.Reader) *proto.Module {
	return &proto.Module{Fields: []uint32{pb.TracePacket_JournaldEvent}, Parse: func(e *proto.Event) { journalLine(r, e) }}
}

func journalLine(r *proto.Reader, e *proto.Event) {
	total, hasTotal := wire.Find(e.Data, pb.SystemdJournaldEvent_NumTotal)
	failed, hasFailed := wire.Find(e.Data, pb.SystemdJournaldEvent_NumFailed)
	if hasTotal {
		r.File.SetStat(model.StatSystemdJournalNumTotal, model.None, total.Int64())
	}
	if hasFailed {
		r.File.SetStat(model.StatSystemdJournalNumFailed, model.None, failed.Int64())
	}
	if hasTotal || hasFailed {
		return
	}
	strs, t := r.Store.Strings, &r.Store.AndroidLogs
	row := t.Append()
	t.TS.Set(row, e.TS)
	t.LogSource.Set(row, strs.Intern("systemd_journald"))
	t.Msg.Set(row, strs.Intern(""))
	var pid, tid int64
	var args model.ArgSet
	for f := wire.Read(e.Data); f.Next(); {
		switch {
		case f.Number == pb.SystemdJournaldEvent_PID:
			pid = int64(f.Uint32())
		case f.Number == pb.SystemdJournaldEvent_TID:
			tid = int64(f.Uint32())
		case f.Number == pb.SystemdJournaldEvent_UID:
			args.Add(strs.Intern("uid"), model.IntArg(int64(f.Uint32())))
		case f.Number == pb.SystemdJournaldEvent_Prio:
			t.Prio.Set(row, f.Int32())
		case f.Number == pb.SystemdJournaldEvent_Tag:
			t.Tag.Set(row, r.TextID(f.Bytes()))
		case f.Number == pb.SystemdJournaldEvent_Message:
			t.Msg.Set(row, r.TextID(f.Bytes()))
		case f.Number < uint32(len(journaldArgs)) && journaldArgs[f.Number] != "":
			args.Add(strs.Intern(journaldArgs[f.Number]), model.StringArg(r.TextID(f.Bytes())))
		}
	}
	if tid == 0 {
		tid = pid
	}
	if pid != 0 {
		t.UTID.Set(row, r.Machine.ThreadOf(tid, pid))
	}
	r.Store.SetArgs(&t.ArgSetID, row, &args)
}
