package perfdata

import (
	"encoding/binary"
	"slices"

	"github.com/tpconvert/tpconvert/model"
)

// The layout of the token of a switch.
const (
	switchMisc   = 1
	switchPID    = 3
	switchThread = 7
	switchCPU    = 11
)

// switchRecord pushes a switch of perf record --switch-events. Only recordings of all threads say on which CPU it was.
func (t *tokenizer) switchRecord(rec *record, e *event, time uint64) error {
	id := e.readSampleID(rec)
	if time == 0 || id.cpu == model.None || id.cpu >= model.MaxCPUs || id.tid == gone && rec.misc&miscSwitchOut == 0 {
		t.notRead(rec)
		return nil
	}
	t.in.Machine.UseIdleProcess()
	b := append(t.token[:0], byte(switchToken))
	b = binary.LittleEndian.AppendUint16(b, rec.misc)
	for _, n := range []uint32{id.pid, id.tid, uint32(id.cpu)} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	t.token = b
	return t.push(rec, e, time, b)
}

// switched begins or ends the slice of a thread on a CPU. A thread that the kernel took off it can run on; why another one waits is not
// recorded.
func (p *parser) switched(ts int64, token []byte) {
	if p.tracesSwitches() {
		return // which say more
	}
	misc, cpu := binary.LittleEndian.Uint16(token[switchMisc:]), int64(pidOf(token, switchCPU))
	if misc&miscSwitchOut == 0 {
		p.Sched.Begin(ts, cpu, p.thread(token, switchPID, switchThread), 0)
		return
	}
	if pidOf(token, switchThread) != gone && p.Sched.Running(cpu) != p.thread(token, switchPID, switchThread) {
		return
	}
	var state model.StringID
	if misc&miscSwitchPreempt != 0 {
		state = p.Store.Strings.Intern("R+")
	}
	p.Sched.End(ts, cpu, state)
}

// tracesSwitches reports whether the recording has each switch as an event of ftrace, too.
func (p *parser) tracesSwitches() bool {
	return p.tracepoints != nil && slices.ContainsFunc(p.recording.events, func(e *event) bool {
		return e.isTracepoint() && p.tellsAll(e) && p.tracepoints.Name(uint16(e.config)) == "sched_switch"
	})
}
