// Package pipeline divides the work of a conversion among goroutines. A panic of one of them becomes one of its owner, who may
// recover: a process that has only loaded tpconvert must not end.
package pipeline

import (
	"fmt"
	"runtime/debug"
)

// caught stores a panic, to be deferred.
func caught(fault *error) {
	if p := recover(); p != nil {
		*fault = fmt.Errorf("%v\n%s", p, debug.Stack())
	}
}

// A Helper is a goroutine that works on values of type T for its owner, another
// goroutine. The owner gives values and takes finished ones back in the same
// order. Usually the same few values are reused.
type Helper[T any] struct {
	given chan T // closed by the owner to end the helper
	done  chan T // closed when the helper has ended
	fault error  // its panic, valid once done is closed
}

// Help starts a helper that runs work, which should return when there is nothing
// more to do or Next returns false. At most n values may be given and not yet
// taken back.
func Help[T any](n int, work func(h *Helper[T])) *Helper[T] {
	h := &Helper[T]{given: make(chan T, n), done: make(chan T, n)}
	go func() {
		defer close(h.done)
		defer caught(&h.fault)
		work(h)
	}()
	return h
}

// Give gives a value to the helper.
func (h *Helper[T]) Give(v T) { h.given <- v }

// Take returns the next finished value. It returns false if the helper has ended
// and all values are taken, and panics as the helper did.
func (h *Helper[T]) Take() (v T, ok bool) {
	v, ok = <-h.done
	if !ok && h.fault != nil {
		panic(h.fault)
	}
	return v, ok
}

// Stop ends the helper and waits until it has ended. Finished values that were
// not taken are lost. It panics as the helper did.
func (h *Helper[T]) Stop() {
	close(h.given)
	for range h.given {
	}
	for range h.done {
	}
	if h.fault != nil {
		panic(h.fault)
	}
}

// Next returns the helper's next value to work on. It returns false if there
// will be no more.
func (h *Helper[T]) Next() (v T, ok bool) {
	v, ok = <-h.given
	return v, ok
}

// Done returns a value to the owner.
func (h *Helper[T]) Done(v T) { h.done <- v }
