package atrace

import (
	"bytes"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/internal/tracks"
	"github.com/tpconvert/tpconvert/model"
)

var (
	asyncSlices = model.AsyncBlueprint(model.Blueprint{Classification: "atrace_async_slice", Dims: []string{"upid", "name"}, OneOpen: true})
	trackSlices = model.AsyncBlueprint(model.Blueprint{Classification: "atrace_async_slice_for_track", Dims: []string{"upid", "name"}})
	counters    = &model.Blueprint{Classification: "atrace_counter", Event: model.CounterTrack, Dims: []string{"upid", "name"}, NameOf: model.NameOf("%[2]s")}
	lowMemory   = &model.Blueprint{Classification: "android_lmk", Dims: []string{"upid"}, Name: "LMK"}
)

// Writer turns the marks of a machine into slices and counter values.
type Writer struct {
	*model.Context
	cookie, utid, endUTID, lmk model.StringID
	arg                        arg
}

// NewWriter returns a Writer.
func NewWriter(c *model.Context) *Writer {
	intern := c.Store.Strings.Intern
	return &Writer{Context: c, cookie: intern("cookie"), utid: intern("utid"), endUTID: intern("end_utid"), lmk: intern("mem.lmk")}
}

// arg is a source of one arg.
type arg struct {
	key   model.StringID
	value model.ArgValue
}

// AddArgs adds the arg.
func (a *arg) AddArgs(set *model.ArgSet) { set.Add(a.key, a.value) }

// with returns a source of one arg, which is valid until the next call.
func (w *Writer) with(key model.StringID, v model.ArgValue) *arg {
	w.arg = arg{key, v}
	return &w.arg
}

// Origin is where a mark was written.
type Origin struct {
	TS     int64 // ns of the trace clock
	TID    int64
	Thread func() model.UTID // the thread with the tid, which it adds if it is new
}

// Write adds a mark's slice or counter value.
func (w *Writer) Write(e Origin, m Mark) {
	var name model.StringID
	if m.Phase != 'E' {
		name = w.Store.Strings.InternBytes(m.Name)
	}
	switch m.Phase {
	case 'B':
		w.Slices.Begin(e.TS, w.Tracks.Thread(w.markThread(e, m)), 0, name, nil)
		w.lowMemoryKill(e.TS, m.Name)
	case 'E':
		utid := w.Machine.LiveThread(e.TID)
		if m.TGID != 0 {
			utid = w.markThread(e, m)
		}
		if utid != model.None { // otherwise nothing began
			w.Slices.End(e.TS, w.Tracks.Thread(utid), 0, 0, nil)
		}
	case 'I':
		w.Slices.Scoped(e.TS, 0, w.Tracks.Thread(w.markThread(e, m)), 0, name, nil)
	case 'S':
		upid := w.Machine.Process(m.TGID)
		track := w.Async.Begin(asyncSlices, &model.TrackOptions{Name: name}, m.Value, model.IntDim(upid), model.StringDim(name))
		w.Slices.BeginUnnestable(e.TS, track, name, w.with(w.cookie, model.IntArg(m.Value)))
	case 'F':
		upid := w.Machine.Process(m.TGID)
		track := w.Async.End(asyncSlices, &model.TrackOptions{Name: name}, m.Value, model.IntDim(upid), model.StringDim(name))
		w.Slices.End(e.TS, track, 0, 0, nil)
	case 'N', 'G', 'H':
		w.trackMark(e, m, name)
	case 'C':
		w.counterMark(e, m, name)
	}
}

// markThread returns the thread that wrote the mark, in the process that the
// mark names.
func (w *Writer) markThread(e Origin, m Mark) model.UTID {
	if m.TGID == 0 {
		return e.Thread()
	}
	return w.Machine.ThreadOf(e.TID, m.TGID)
}

// trackMark handles a mark on its own track.
func (w *Writer) trackMark(e Origin, m Mark, name model.StringID) {
	if m.Phase == 'N' && string(m.Track) == tracks.DeviceState.Name {
		w.Slices.Scoped(e.TS, 0, w.Tracks.Intern(tracks.DeviceState, nil), 0, name, nil)
		return
	}
	trackName := w.Store.Strings.InternBytes(m.Track)
	o := model.TrackOptions{Name: trackName}
	upid, dim := model.IntDim(w.Machine.Process(m.TGID)), model.StringDim(trackName)
	switch m.Phase {
	case 'N':
		track := w.Async.Scoped(trackSlices, &o, e.TS, 0, upid, dim)
		w.Slices.Scoped(e.TS, 0, track, 0, name, w.thread(w.utid, e.Thread()))
	case 'G':
		track := w.Async.Begin(trackSlices, &o, m.Value, upid, dim)
		w.Slices.Begin(e.TS, track, 0, name, w.thread(w.utid, e.Thread()))
	case 'H':
		track := w.Async.End(trackSlices, &o, m.Value, upid, dim)
		w.Slices.End(e.TS, track, 0, 0, w.thread(w.endUTID, e.Thread()))
	}
}

func (w *Writer) thread(key model.StringID, utid model.UTID) *arg {
	return w.with(key, model.UintArg(uint64(utid)))
}

// counterMark adds a value of a process's counter. The thread that writes it may
// belong to another process.
func (w *Writer) counterMark(e Origin, m Mark, name model.StringID) {
	switch {
	case string(m.Name) == "kill_one_process":
		if pid := int64(uint32(m.Value)); pid != 0 {
			w.killed(e.TS, w.Machine.Process(pid))
		}
	case string(m.Name) == tracks.ScreenState.Name:
		w.Counters.Push(e.TS, float64(m.Value), w.Tracks.Intern(tracks.ScreenState, nil))
		return
	case bytes.HasPrefix(m.Name, []byte("battery_stats.")):
		w.Counters.Push(e.TS, float64(m.Value), w.Tracks.Intern(tracks.BatteryStats, nil, model.StringDim(name)))
		return
	}
	track := w.Tracks.Intern(counters, nil, model.IntDim(w.Machine.Process(m.TGID)), model.StringDim(name))
	if utid := w.Machine.LiveThread(e.TID); utid != model.None {
		w.Counters.PushByThread(e.TS, float64(m.Value), track, utid)
		return
	}
	w.Counters.Push(e.TS, float64(m.Value), track)
}

// killed adds an instant to a process that the low memory killer killed.
func (w *Writer) killed(ts int64, upid model.UPID) {
	w.Slices.Scoped(ts, 0, w.Tracks.Intern(lowMemory, nil, model.IntDim(upid)), 0, w.lmk, nil)
}

// lowMemoryKill reads the slice names that Android's low memory killer writes:
// lmk,PID,REASON,OOM_SCORE_ADJ,...
func (w *Writer) lowMemoryKill(ts int64, name []byte) {
	if !bytes.HasPrefix(name, []byte("lmk,")) {
		return
	}
	parts := bytes.Split(name, []byte(","))
	if len(parts) < 4 {
		return
	}
	pid, err := strconv.ParseUint(string(parts[1]), 10, 32)
	score, err2 := strconv.ParseInt(string(parts[3]), 10, 32)
	if err != nil || err2 != nil {
		return
	}
	upid := w.Machine.Process(int64(pid))
	w.Counters.Push(ts, float64(score), w.Tracks.Intern(tracks.OOMScoreAdj.Process, nil, model.IntDim(upid)))
	w.killed(ts, upid)
}
