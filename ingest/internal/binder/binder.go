// Package binder follows the transactions of Android's inter-process calls.
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
package binder

// frame is a call that a thread is in.
type frame struct {
	step          step
	known         bool // the fields below are known
	oneWay, reply bool
}

type step uint8

const (
	sentCommand step = iota
	sentTransaction
	sentComplete
	sentReceived // the reply came
	gotTransaction
	gotReturn
	gotReplyCommand
	gotReplied
)

// Calls are the calls that each thread is in.
type Calls[Thread comparable] struct {
	frames map[Thread][]frame
}

// Send notes a transaction that a thread sends.
func (c *Calls[Thread]) Send(thread Thread, oneWay, reply bool) {
	f := c.top(thread)
	switch {
	case f == nil:
	case f.step == sentCommand:
		*f = frame{sentTransaction, true, oneWay, reply}
	case f.step == gotReplyCommand:
		*f = frame{gotReplied, true, oneWay, reply}
	case f.step == gotTransaction: // the trace has no binder commands
		c.pop(thread)
	}
}

// Receive notes a transaction that a thread gets.
func (c *Calls[Thread]) Receive(thread Thread, oneWay, reply bool) {
	switch f := c.top(thread); {
	case oneWay: // nothing comes back to follow
	case !reply:
		c.push(thread, frame{gotTransaction, true, false, false})
	case f != nil && f.step == sentComplete:
		f.step = sentReceived
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

// Command notes a command that a thread sends to the driver.
func (c *Calls[Thread]) Command(thread Thread, command int64) {
	switch command & 0xff {
	case bcTransaction, bcTransactionSG:
		c.push(thread, frame{step: sentCommand})
	case bcReply, bcReplySG:
		if f := c.top(thread); f != nil && f.step == gotReturn {
			f.step = gotReplyCommand
		}
	}
}

// Return notes what the driver returns to a thread. It reports whether the thread's call failed after its slice
// began.
func (c *Calls[Thread]) Return(thread Thread, code int64) (failed bool) {
	f := c.top(thread)
	if f == nil {
		return false
	}
	switch code & 0xff {
	case brDeadReply, brFailedReply, brFrozenReply, brTransactionPendingFrozen:
		switch f.step {
		case sentReceived, gotTransaction, gotReturn:
			return false
		case sentCommand: // no slice began
		default:
			failed = f.known && !f.oneWay && !f.reply
		}
		c.pop(thread)
	case brTransactionComplete, brOnewaySpamSuspect:
		switch f.step {
		case sentTransaction:
			if f.known && !f.oneWay {
				f.step = sentComplete
				return false
			}
			c.pop(thread)
		case gotReplied, sentCommand:
			c.pop(thread)
		}
	case brReply:
		if f.step == sentReceived {
			c.pop(thread)
		}
	case brTransactionOrSecCtx:
		if f.step == gotTransaction {
			f.step = gotReturn
		}
	}
	return failed
}

func (c *Calls[Thread]) top(thread Thread) *frame {
	if stack := c.frames[thread]; len(stack) > 0 {
		return &stack[len(stack)-1]
	}
	return nil
}

func (c *Calls[Thread]) push(thread Thread, f frame) {
	if c.frames == nil {
		c.frames = map[Thread][]frame{}
	}
	c.frames[thread] = append(c.frames[thread], f)
}

func (c *Calls[Thread]) pop(thread Thread) {
	stack := c.frames[thread]
	c.frames[thread] = stack[:len(stack)-1]
}
