package ftrace

import (
	"fmt"

	"github.com/tpconvert/tpconvert/model"
)

// binder follows the transactions of Android's inter-process calls.
//
// A call sends a transaction from one thread to another, and the kernel delivers it:
//
//  1. binder_transaction on the sending thread begins the slice of the call there;
//  2. binder_transaction_received on the other begins the slice of the reply;
//  3. binder_transaction, marked as a reply, ends that slice;
//  4. binder_transaction_received on the first thread ends the slice of the call.
//
// One-way transactions stop after step 2 and add an instant on each side. When a call
// fails, steps are missing. The commands that a thread sends to the driver, and the
// returns that it gets, show such failures. So each thread has a stack of its current
// calls and how far each has got.
type binder struct {
	transactions map[int64]binderTransaction // in flight, by debug_id
	frames       map[model.UTID][]binderFrame
	locking      map[int64]bool    // threads that wait for the driver's lock
	locked       map[int64]bool    // threads that hold it
	flags        map[int64]string  // cache of texts
	codes        map[uint32]string // cache of texts
}

type binderTransaction struct {
	reply, oneWay bool
	track         model.TrackID // of the sender
	slice         model.SliceID // of the sender, or None
	args          []model.Arg   // of one-way transactions, for the receiver
}

// binderFrame is a call that a thread is in.
type binderFrame struct {
	step          binderStep
	known         bool // the fields below are known
	oneWay, reply bool
}

type binderStep uint8

const (
	sentCommand binderStep = iota
	sentTransaction
	sentComplete
	sentReceived // the reply came
	gotTransaction
	gotReturn
	gotReplyCommand
	gotReplied
)

func (b *binder) init() {
	b.transactions = map[int64]binderTransaction{}
	b.frames = map[model.UTID][]binderFrame{}
	b.locking, b.locked = map[int64]bool{}, map[int64]bool{}
	b.flags, b.codes = map[int64]string{}, map[uint32]string{}
}

// binderFlags are the TF_ flags in the kernel's include/uapi/linux/android/binder.h.
var binderFlags = []struct {
	flag int64
	text string
}{
	{0x01, "this is a one-way call: async, no return; "},
	{0x04, "contents are the components root object; "},
	{0x08, "contents are a 32-bit status code; "},
	{0x10, "allow replies with file descriptors; "},
}

const binderOneWay = 0x01

// flagsText returns a transaction's flags as text.
func (b *binder) flagsText(flags int64) string {
	text, ok := b.flags[flags]
	if !ok {
		text = flagsText(flags)
		b.flags[flags] = text
	}
	return text
}

func flagsText(flags int64) string {
	text := fmt.Sprintf("0x%02x ", flags)
	if flags == 0 {
		return text + "No Flags Set"
	}
	for _, f := range binderFlags {
		if flags&f.flag != 0 {
			text += f.text
		}
	}
	return text
}

// codeText returns a transaction's code as the kernel's text has it, or as Trace
// Processor formats it, followed by Trace Processor's remark.
func (b *binder) codeText(e *Event) string {
	const remark = " Java Layer Dependent"
	if text := e.Text("code"); text != nil {
		return string(text) + remark
	}
	code := uint32(e.Uint("code"))
	text, ok := b.codes[code]
	if !ok {
		text = fmt.Sprintf("0x%02x", code) + remark
		b.codes[code] = text
	}
	return text
}

func binderSend(p *Parser, e *Event) {
	b, utid := &p.binder, p.thread(e)
	flags, reply := unsigned(e.Int("flags")), e.Int("reply") == 1
	t := binderTransaction{reply: reply, oneWay: flags&binderOneWay != 0, track: p.Tracks.Thread(utid)}
	category := p.word("binder")
	if reply {
		p.Slices.AddArgs(t.track, category, p.word("binder reply"), p.destination(unsigned(e.Int("to_thread")), model.IntArg))
	}
	args := p.list().
		add("transaction id", model.IntArg(e.Int("debug_id"))).
		add("destination node", model.IntArg(e.Int("target_node"))).
		add("destination process", model.IntArg(unsigned(e.Int("to_proc")))).
		add("reply transaction?", model.BoolArg(reply)).
		add("flags", model.StringArg(p.word(b.flagsText(flags)))).
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

	frame := b.top(utid)
	switch {
	case frame == nil:
	case frame.step == sentCommand:
		*frame = binderFrame{sentTransaction, true, t.oneWay, reply}
	case frame.step == gotReplyCommand:
		*frame = binderFrame{gotReplied, true, t.oneWay, reply}
	case frame.step == gotTransaction: // the trace has no binder commands
		b.pop(utid)
	}
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
	switch frame := b.top(utid); {
	case t.oneWay: // nothing comes back to follow
	case !t.reply:
		b.push(utid, binderFrame{gotTransaction, true, false, false})
	case frame != nil && frame.step == sentComplete:
		frame.step = sentReceived
	}
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

// The driver's commands, BC_, and returns, BR_. include/uapi/linux/android/binder.h
// encodes them as two letters, the first of which is c or r, and a number.
const (
	bcTransaction, bcReply     = 0, 1
	bcTransactionSG, bcReplySG = 17, 18

	brTransactionOrSecCtx      = 2
	brReply                    = 3
	brDeadReply                = 5
	brTransactionComplete      = 6
	brFailedReply              = 17
	brFrozenReply              = 18
	brOnewaySpamSuspect        = 19
	brTransactionPendingFrozen = 20
)

func binderCommand(p *Parser, e *Event) {
	b, utid := &p.binder, p.thread(e)
	switch e.Int("cmd") & 0xff {
	case bcTransaction, bcTransactionSG:
		b.push(utid, binderFrame{step: sentCommand})
	case bcReply, bcReplySG:
		if frame := b.top(utid); frame != nil && frame.step == gotReturn {
			frame.step = gotReplyCommand
		}
	}
}

func binderReturn(p *Parser, e *Event) {
	b, utid := &p.binder, p.thread(e)
	frame := b.top(utid)
	if frame == nil {
		return
	}
	switch e.Int("cmd") & 0xff {
	case brDeadReply, brFailedReply, brFrozenReply, brTransactionPendingFrozen:
		switch frame.step {
		case sentReceived, gotTransaction, gotReturn:
			return
		case sentCommand: // no slice began
		default:
			if frame.known && !frame.oneWay && !frame.reply {
				p.Slices.End(e.TS, p.Tracks.Thread(utid), 0, 0, nil)
			}
		}
		b.pop(utid)
	case brTransactionComplete, brOnewaySpamSuspect:
		switch frame.step {
		case sentTransaction:
			if frame.known && !frame.oneWay {
				frame.step = sentComplete
				return
			}
			b.pop(utid)
		case gotReplied, sentCommand:
			b.pop(utid)
		}
	case brReply:
		if frame.step == sentReceived {
			b.pop(utid)
		}
	case brTransactionOrSecCtx:
		if frame.step == gotTransaction {
			frame.step = gotReturn
		}
	}
}

func (b *binder) top(utid model.UTID) *binderFrame {
	if stack := b.frames[utid]; len(stack) > 0 {
		return &stack[len(stack)-1]
	}
	return nil
}

func (b *binder) push(utid model.UTID, f binderFrame) { b.frames[utid] = append(b.frames[utid], f) }

func (b *binder) pop(utid model.UTID) {
	stack := b.frames[utid]
	b.frames[utid] = stack[:len(stack)-1]
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
