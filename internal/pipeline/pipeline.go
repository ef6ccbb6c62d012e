// Package pipeline divides the work of a conversion among goroutines. A panic of one of them becomes one of its owner, who may
// recover: a process that has only loaded tpconvert must not end.
package pipeline

import (
	"cmp"
	"fmt"
	"runtime"
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
	given chan T         // closed by the owner to end the helper
	done  chan result[T] // closed when the helper has ended
	fault error          // its panic, valid once done is closed

	finish  func(T) // what workers do with each value, or nil
	begin   chan result[T]
	workers int
}

// result is a value that the helper is done with.
type result[T any] struct {
	value    T
	finished chan error // gets a worker's panic or nil; nil if no worker has the value
}

// Help starts a helper that runs work, which should return when there is nothing
// more to do or Next returns false. At most n values may be given and not yet
// taken back.
func Help[T any](n int, work func(h *Helper[T])) *Helper[T] { return Share(n, work, nil) }

// Workers returns how many values of a helper are finished at a time: as many as there are cores, but no more than an owner can
// take.
func Workers() int { return min(runtime.GOMAXPROCS(0), 8) }

// Share is Help where workers finish the values that the helper is done with. The owner takes them in the order in which the
// helper was done. finish must depend on its value alone.
func Share[T any](n int, work func(h *Helper[T]), finish func(T)) *Helper[T] {
	h := &Helper[T]{given: make(chan T, n), done: make(chan result[T], n), finish: finish, begin: make(chan result[T], n)}
	go func() {
		defer close(h.done)
		defer close(h.begin)
		defer caught(&h.fault)
		work(h)
	}()
	return h
}

// Each is Share for a helper that has nothing to do itself.
func Each[T any](n int, finish func(T)) *Helper[T] {
	return Share(n, func(h *Helper[T]) {
		for v, ok := h.Next(); ok; v, ok = h.Next() {
			h.Done(v)
		}
	}, finish)
}

// Give gives a value to the helper.
func (h *Helper[T]) Give(v T) { h.given <- v }

// Take returns the next finished value. It returns false if the helper has ended
// and all values are taken, and panics as the helper or its worker did.
func (h *Helper[T]) Take() (v T, ok bool) {
	r, ok := <-h.done
	err := r.wait()
	if !ok {
		err = h.fault
	}
	if err != nil {
		panic(err)
	}
	return r.value, ok
}

// wait waits until a worker has finished the value, and returns its panic.
func (r *result[T]) wait() error {
	if r.finished == nil {
		return nil
	}
	return <-r.finished
}

// Stop ends the helper and waits until it and its workers have ended. Finished values that were
// not taken are lost. It panics as the helper or a worker did.
func (h *Helper[T]) Stop() {
	close(h.given)
	for range h.given {
	}
	var fault error
	for r := range h.done {
		fault = cmp.Or(fault, r.wait())
	}
	if fault = cmp.Or(h.fault, fault); fault != nil {
		panic(fault)
	}
}

// Next returns the helper's next value to work on. It returns false if there
// will be no more.
func (h *Helper[T]) Next() (v T, ok bool) {
	v, ok = <-h.given
	return v, ok
}

// Done returns a value to the owner, after a worker has finished it.
func (h *Helper[T]) Done(v T) {
	r := result[T]{value: v}
	if h.finish != nil {
		r.finished = make(chan error, 1)
		h.begin <- r
		if h.workers == 0 || len(h.begin) > 0 && h.workers < Workers() {
			h.workers++
			go h.work()
		}
	}
	h.done <- r
}

// work finishes values until the helper has ended.
func (h *Helper[T]) work() {
	for r := range h.begin {
		var fault error
		func() {
			defer caught(&fault)
			h.finish(r.value)
		}()
		r.finished <- fault
	}
}
