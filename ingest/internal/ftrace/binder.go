package ftrace

import (
	"github.com/tpconvert/tpconvert/ingest/internal/binder"
	"github.com/tpconvert/tpconvert/model"
)

// binderState is the state of the events of binder, Android's inter-process calls.
type binderState struct {
	transactions map[int64]binderTransaction // in flight, by debug_id
	calls        binder.Calls[model.UTID]
	locking      map[int64]bool // threads that wait for the driver's lock
	locked       map[int64]bool // threads that hold it
	texts        binder.Texts
}

type binderTransaction struct {
	reply, oneWay bool
	track         model.TrackID // of the sender
	slice         model.SliceID // of the sender, or None
	args          []model.Arg   // of one-way transactions, for the receiver
}

func (b *binderState) init() {
	b.transactions = map[int64]binderTransaction{}
	b.locking, b.locked = map[int64]bool{}, map[int64]bool{}
}

// codeText returns a transaction's code as the kernel's text has it, or as Trace
// Processor formats it, followed by Trace Processor's remark.
func (b *binderState) codeText(e *Event) string {
	if text := e.Text("code"); text != nil {
		return string(text) + binder.Remark
	}
	return b.texts.Code(uint32(e.Uint("code")))
}

func binderSend(p *Parser, e *Event) {
	b, utid := &p.binder, p.thread(e)
	flags, reply := unsigned(e.Int("flags")), e.Int("reply") == 1
	t := binderTransaction{reply: reply, oneWay: flags&binder.OneWay != 0, track: p.Tracks.Thread(utid)}
	category := p.word("binder")
	if reply {
		p.Slices.AddArgs(t.track, category, p.word("binder reply"), p.destination(unsigned(e.Int("to_thread")), model.IntArg))
	}
	args := p.list().
		add("transaction id", model.IntArg(e.Int("debug_id"))).
		add("destination node", model.IntArg(e.Int("target_node"))).
		add("destination process", model.IntArg(unsigned(e.Int("to_proc")))).
		add("reply transaction?", model.BoolArg(reply)).
		add("flags", model.StringArg(p.word(b.texts.Flags(flags)))).
		add("code", model.StringArg(p.word(b.codeText(e)))).
		add("calling tid", model.UintArg(uint64(e.TID)))
	switch {
	case reply:
		t.slice = p.Slices.End(e.TS, t.track, 0, 0, args)
	case t.oneWay:
		t.slice = p.Slices.Scoped(e.TS, 0, t.track, category, p.word("binder transaction async"), args)
		t.args = append(t.args, args.args...)
	default:
		t.slice = p.Slices.Begin(e.TS, t.track, category, p.word("binder transaction"), args)
	}
	b.transactions[e.Int("debug_id")] = t
	b.calls.Send(utid, t.oneWay, reply)
}

// destination returns args that name the thread that a transaction went to.
func (p *Parser) destination(tid int64, number func(int64) model.ArgValue) *argList {
	args := p.list().add("destination thread", number(tid))
	if name := p.Machine.ThreadName(p.Machine.Thread(tid)); name != 0 {
		args.add("destination name", model.StringArg(name))
	}
	return args
}

func uintArg(v int64) model.ArgValue { return model.UintArg(uint64(v)) }

func binderReceive(p *Parser, e *Event) {
	b, id := &p.binder, e.Int("debug_id")
	t, ok := b.transactions[id]
	if !ok {
		return
	}
	delete(b.transactions, id)
	utid := p.thread(e)
	track := p.Tracks.Thread(utid)
	b.calls.Receive(utid, t.oneWay, t.reply)
	if t.reply {
		p.Slices.End(e.TS, track, 0, 0, nil)
		return
	}
	var slice model.SliceID
	category := p.word("binder")
	if t.oneWay {
		slice = p.Slices.Scoped(e.TS, 0, track, category, p.word("binder async rcv"), &argList{args: t.args})
	} else {
		p.Slices.AddArgs(t.track, category, p.word("binder transaction"), p.destination(e.TID, uintArg))
		slice = p.Slices.Begin(e.TS, track, category, p.word("binder reply"), nil)
	}
	if t.slice != model.None && slice != model.None {
		p.Flows.Link(t.slice, slice)
	}
}

func binderCommand(p *Parser, e *Event) { p.binder.calls.Command(p.thread(e), e.Int("cmd")) }

func binderReturn(p *Parser, e *Event) {
	if utid := p.thread(e); p.binder.calls.Return(utid, e.Int("cmd")) {
		p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, 0, nil)
	}
}

func binderAllocBuf(p *Parser, e *Event) {
	p.Slices.AddArgs(onThread(p, e), p.word("binder"), p.word("binder transaction"), p.list().
		add("data size", model.UintArg(e.Uint("data_size"))).
		add("offsets size", model.UintArg(e.Uint("offsets_size"))))
}

// Before Linux 4.14 the driver had one lock.

func binderLock(p *Parser, e *Event) {
	p.binder.locking[e.TID] = true
	p.Slices.Begin(e.TS, onThread(p, e), p.word("binder"), p.word("binder lock waiting"), nil)
}

func binderLocked(p *Parser, e *Event) {
	if !p.binder.locking[e.TID] {
		return
	}
	track := onThread(p, e)
	p.Slices.End(e.TS, track, 0, 0, nil)
	p.Slices.Begin(e.TS, track, p.word("binder"), p.word("binder lock held"), nil)
	delete(p.binder.locking, e.TID)
	p.binder.locked[e.TID] = true
}

func binderUnlock(p *Parser, e *Event) {
	if !p.binder.locked[e.TID] {
		return
	}
	p.Slices.End(e.TS, onThread(p, e), p.word("binder"), p.word("binder lock held"), nil)
	delete(p.binder.locked, e.TID)
}
