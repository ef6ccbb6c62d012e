package ftrace

import (
	"bytes"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/model"
)

// A mark is text that an app or a driver wrote into the trace: a mark of
// Android's atrace, such as B|123|name, or a kernel tracepoint with the same
// meaning.
type mark struct {
	phase byte
	tgid  int64
	name  []byte
	track []byte // of N, G and H
	value int64  // of C; the cookie of S, F, G and H
}

var (
	clockSync   = []byte("trace_event_clock_sync:")
	unnamedMark = []byte("[empty slice name]")
)

// parseMark reads a mark. ok is false if it is not one; known is false if it is
// another text that Android's tools write.
func parseMark(text []byte) (m mark, ok, known bool) {
	for n := len(text); n > 0 && (text[n-1] == '\n' || text[n-1] == 0); n-- {
		text = text[:n-1]
	}
	rest, more := text, true
	next := func() []byte {
		if !more {
			return nil
		}
		i := 0
		for i < len(rest) && rest[i] != '|' && rest[i] != 0 {
			i++
		}
		more = i < len(rest)
		field := rest[:i]
		rest = rest[min(i+1, len(rest)):]
		return field
	}
	phase := next()
	if len(phase) == 0 {
		return m, false, true
	}
	m.phase = phase[0]
	var hasTGID bool
	m.tgid, hasTGID = parsePID(next())
	number := func(field []byte) (ok bool) {
		v, err := strconv.ParseInt(string(field), 10, 64)
		m.value = v
		return err == nil
	}
	switch m.phase {
	case 'B':
		if m.name = rest; len(rest) == 0 {
			m.name = unnamedMark
		}
		return m, hasTGID, true
	case 'E': // some tools write only the letter
		return m, true, true
	case 'S', 'F', 'C':
		m.name = next()
		return m, number(next()) && hasTGID && len(m.name) > 0, true
	case 'I':
		m.name = next()
		return m, hasTGID && len(m.name) > 0, true
	case 'N', 'G':
		m.track, m.name = next(), next()
		ok = m.phase == 'N' || number(next())
		return m, ok && hasTGID && len(m.track) > 0 && len(m.name) > 0, true
	case 'H':
		m.track = next()
		cookie := next()
		if last := next(); len(last) > 0 { // an older form has a name before the cookie
			cookie = last
		}
		return m, number(cookie) && hasTGID && len(m.track) > 0, true
	}
	return m, false, !bytes.HasPrefix(text, clockSync)
}

// parsePID reads a number of up to 32 bits.
func parsePID(field []byte) (pid int64, ok bool) {
	for _, c := range field {
		if c < '0' || c > '9' {
			return 0, false
		}
		if pid = 10*pid + int64(c-'0'); pid > math.MaxUint32 {
			return 0, false
		}
	}
	return pid, len(field) > 0
}

func printed(p *Parser, e *Event) {
	p.syscall.truncateWrite(p, e)
	m, ok, known := parseMark(e.Text("buf"))
	switch {
	case ok:
		p.mark(e, m)
	case known:
		p.File.LogTime(model.StatSystraceParseFailure, e.TS, nil)
	}
}

// kernelMark returns a handler for a driver's tracepoint that writes a mark. The
// fields kind and begins tell the phase, by its letter or by whether it is a
// begin; a driver has one of them, or both. name is the field of the name.
func kernelMark(kind, begins, name string) handler {
	return func(p *Parser, e *Event) {
		m := mark{phase: byte(e.Int(kind)), tgid: unsigned(e.Int("pid")), name: e.Text(name), value: e.Int("value")}
		if m.phase == 0 && (e.Has(kind) || e.Has(begins)) {
			m.phase = 'E'
			if e.Int(begins) != 0 {
				m.phase = 'B'
			}
		}
		p.driverMark(e, m)
	}
}

// driverMark handles a mark. Drivers write only some of the phases.
func (p *Parser) driverMark(e *Event, m mark) {
	switch m.phase {
	case 'B', 'E', 'C', 'I':
		p.mark(e, m)
	default:
		p.File.LogTime(model.StatSystraceParseFailure, e.TS, nil)
	}
}

// dpuMark handles a mark of the display driver. Its process is not always the
// thread's, so only counters use it.
func dpuMark(p *Parser, e *Event) {
	m := mark{phase: byte(e.Int("type")), name: e.Text("name"), value: e.Int("value")}
	if m.phase == 'C' {
		m.tgid = unsigned(e.Int("pid"))
	}
	p.driverMark(e, m)
}

// zeroMark handles the tracepoint systrace/0 of Qualcomm's kernels.
func zeroMark(p *Parser, e *Event) {
	m := mark{tgid: unsigned(e.Int("pid")), name: e.Text("name"), value: e.Int("value")}
	switch flag := e.Int("flag"); {
	case flag&1 != 0:
		m.phase = 'B'
	case flag&2 != 0:
		m.phase = 'E'
	case flag&4 != 0:
		m.phase = 'C'
	}
	p.driverMark(e, m)
}

var (
	atraceAsync = model.AsyncBlueprint(model.Blueprint{Classification: "atrace_async_slice", Dims: []string{"upid", "name"}})
	atraceTrack = model.AsyncBlueprint(model.Blueprint{Classification: "atrace_async_slice_for_track", Dims: []string{"upid", "name"}})
	atraceCount = counters("atrace_counter", "%[2]s", "upid", "name")
	// DeviceState is the track of a device's posture, such as folded.
	DeviceState = &model.Blueprint{Classification: "android_device_state", Name: "DeviceStateChanged"}
	lowMemory   = &model.Blueprint{Classification: "android_lmk", Dims: []string{"upid"}, Name: "LMK"}
	// ScreenState is the counter of whether the screen is on.
	ScreenState = &model.Blueprint{Classification: "screen_state", Event: model.CounterTrack, Name: "ScreenState"}
	// BatteryStats are the counters of Android's battery service, by name.
	BatteryStats = counters("battery_stats", "%[1]s", "counter_key")
)

// mark turns a mark into a slice or a counter value.
func (p *Parser) mark(e *Event, m mark) {
	var name model.StringID
	if m.phase != 'E' {
		name = p.Store.Strings.InternBytes(m.name)
	}
	switch m.phase {
	case 'B':
		p.Slices.Begin(e.TS, p.Tracks.Thread(p.markThread(e, m)), 0, name, nil)
		p.lowMemoryKill(e.TS, m.name)
	case 'E':
		utid := p.Machine.LiveThread(e.TID)
		if m.tgid != 0 {
			utid = p.markThread(e, m)
		}
		if utid != model.None { // otherwise nothing began
			p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, 0, nil)
		}
	case 'I':
		p.Slices.Scoped(e.TS, 0, p.Tracks.Thread(p.markThread(e, m)), 0, name, nil)
	case 'S':
		upid := p.Machine.Process(m.tgid)
		track := p.Async.Begin(atraceAsync, &model.TrackOptions{Name: name}, m.value, model.IntDim(upid), model.StringDim(name))
		p.Slices.BeginUnnestable(e.TS, track, name, p.list().add("cookie", model.IntArg(m.value)))
	case 'F':
		upid := p.Machine.Process(m.tgid)
		track := p.Async.End(atraceAsync, &model.TrackOptions{Name: name}, m.value, model.IntDim(upid), model.StringDim(name))
		p.Slices.End(e.TS, track, 0, 0, nil)
	case 'N', 'G', 'H':
		p.trackMark(e, m, name)
	case 'C':
		p.counterMark(e, m, name)
	}
}

// markThread returns the thread that wrote the mark, in the process that the
// mark names.
func (p *Parser) markThread(e *Event, m mark) model.UTID {
	if m.tgid == 0 {
		return p.thread(e)
	}
	return p.Machine.ThreadOf(e.TID, m.tgid)
}

// trackMark handles a mark on its own track.
func (p *Parser) trackMark(e *Event, m mark, name model.StringID) {
	if m.phase == 'N' && string(m.track) == DeviceState.Name {
		p.Slices.Scoped(e.TS, 0, p.Tracks.Intern(DeviceState, nil), 0, name, nil)
		return
	}
	trackName := p.Store.Strings.InternBytes(m.track)
	o := model.TrackOptions{Name: trackName}
	upid, dim := model.IntDim(p.Machine.Process(m.tgid)), model.StringDim(trackName)
	switch m.phase {
	case 'N':
		track := p.Async.Scoped(atraceTrack, &o, e.TS, 0, upid, dim)
		p.Slices.Scoped(e.TS, 0, track, 0, name, p.threadArg("utid", p.thread(e)))
	case 'G':
		track := p.Async.Begin(atraceTrack, &o, m.value, upid, dim)
		p.Slices.Begin(e.TS, track, 0, name, p.threadArg("utid", p.thread(e)))
	case 'H':
		track := p.Async.End(atraceTrack, &o, m.value, upid, dim)
		p.Slices.End(e.TS, track, 0, 0, p.threadArg("end_utid", p.thread(e)))
	}
}

func (p *Parser) threadArg(key string, utid model.UTID) *argList {
	return p.list().add(key, model.UintArg(uint64(utid)))
}

// counterMark adds a value of a process's counter. The thread that writes it may
// belong to another process.
func (p *Parser) counterMark(e *Event, m mark, name model.StringID) {
	switch {
	case string(m.name) == "kill_one_process":
		if pid := unsigned(m.value); pid != 0 {
			p.killed(e.TS, p.Machine.Process(pid))
		}
	case string(m.name) == ScreenState.Name:
		p.Counters.Push(e.TS, float64(m.value), p.Tracks.Intern(ScreenState, nil))
		return
	case bytes.HasPrefix(m.name, []byte("battery_stats.")):
		p.Counters.Push(e.TS, float64(m.value), p.Tracks.Intern(BatteryStats, nil, model.StringDim(name)))
		return
	}
	track := p.Tracks.Intern(atraceCount, nil, model.IntDim(p.Machine.Process(m.tgid)), model.StringDim(name))
	if utid := p.Machine.LiveThread(e.TID); utid != model.None {
		p.Counters.PushByThread(e.TS, float64(m.value), track, utid)
		return
	}
	p.Counters.Push(e.TS, float64(m.value), track)
}

// killed adds an instant to a process that the low memory killer killed.
func (p *Parser) killed(ts int64, upid model.UPID) {
	p.Slices.Scoped(ts, 0, p.Tracks.Intern(lowMemory, nil, model.IntDim(upid)), 0, p.word("mem.lmk"), nil)
}

// lowMemoryKill reads the slice names that Android's low memory killer writes:
// lmk,PID,REASON,OOM_SCORE_ADJ,...
func (p *Parser) lowMemoryKill(ts int64, name []byte) {
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
	upid := p.Machine.Process(int64(pid))
	p.Counters.Push(ts, float64(score), p.Tracks.Intern(OOMScoreAdj.Process, nil, model.IntDim(upid)))
	p.killed(ts, upid)
}
