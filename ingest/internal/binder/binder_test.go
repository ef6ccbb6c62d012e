package binder

import "testing"

const (
	caller = "caller"
	server = "server"
)

// The commands and returns are those of Linux 6.1: _IOC('c', ...) and _IOC('r', ...) with their sizes.
const (
	transaction         = 0x40406300
	reply               = 0x40406301
	gotTransactionBR    = 0x80407202
	gotReplyBR          = 0x80407203
	failedReply         = 0x7211
	transactionComplete = 0x7206
)

func depth(c *Calls[string], thread string) int { return len(c.frames[thread]) }

func TestCallAndReply(t *testing.T) {
	var c Calls[string]
	c.Command(caller, transaction)
	c.Send(caller, false, false)
	c.Return(caller, transactionComplete)
	c.Receive(server, false, false)
	c.Return(server, gotTransactionBR)
	c.Command(server, reply)
	c.Send(server, false, true)
	c.Return(server, transactionComplete)
	if depth(&c, server) != 0 || depth(&c, caller) != 1 {
		t.Errorf("%d calls in the server and %d in the caller before the reply", depth(&c, server), depth(&c, caller))
	}
	c.Receive(caller, false, true)
	if c.Return(caller, gotReplyBR) {
		t.Error("an answered call failed")
	}
	if depth(&c, caller) != 0 {
		t.Errorf("%d calls after the reply", depth(&c, caller))
	}
}

func TestFailedCall(t *testing.T) {
	var c Calls[string]
	c.Command(caller, transaction)
	if c.Return(caller, failedReply) {
		t.Error("a call that was not sent has a slice to end")
	}
	c.Command(caller, transaction)
	c.Send(caller, false, false)
	if !c.Return(caller, failedReply) || depth(&c, caller) != 0 {
		t.Error("a call that was sent did not fail")
	}
	c.Command(caller, transaction)
	c.Send(caller, true, false)
	if c.Return(caller, failedReply) {
		t.Error("a one-way call has no slice to end")
	}
	if c.Return(caller, failedReply) {
		t.Error("a thread without calls failed")
	}
}

func TestTexts(t *testing.T) {
	var texts Texts
	for flags, want := range map[int64]string{
		0:    "0x00 No Flags Set",
		0x11: "0x11 this is a one-way call: async, no return; allow replies with file descriptors; ",
		0x20: "0x20 ",
	} {
		if got := texts.Flags(flags); got != want {
			t.Errorf("%#x: %q, want %q", flags, got, want)
		}
	}
	if got := texts.Code(5); got != "0x05 Java Layer Dependent" {
		t.Errorf("code 5: %q", got)
	}
}
