package system

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

const fieldJournald = 132

// journaldArgs are the texts of a line of the journal that are args.
var journaldArgs = [...]string{8: "comm", 10: "systemd_unit", 11: "hostname", 12: "transport"}

// journald reads the lines of systemd's journal. The last packet has none but how
// many there were.
func journald(r *proto.Reader) *proto.Module {
	return &proto.Module{Fields: []uint32{fieldJournald}, Parse: func(e *proto.Event) { journalLine(r, e) }}
}

func journalLine(r *proto.Reader, e *proto.Event) {
	total, hasTotal := wire.Find(e.Data, 20)
	failed, hasFailed := wire.Find(e.Data, 21)
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
		case f.Number == 1:
			pid = int64(f.Uint32())
		case f.Number == 2:
			tid = int64(f.Uint32())
		case f.Number == 3:
			args.Add(strs.Intern("uid"), model.IntArg(int64(f.Uint32())))
		case f.Number == 5:
			t.Prio.Set(row, f.Int32())
		case f.Number == 6:
			t.Tag.Set(row, r.TextID(f.Bytes()))
		case f.Number == 7:
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
	if args.Len() > 0 {
		t.ArgSetID.Set(row, r.Store.InternArgs(&args))
	}
}
