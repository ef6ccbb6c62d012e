// Package handoff divides the work of a conversion between goroutines, so that it
// keeps more than one core busy.
package handoff

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Helper is a goroutine that works on values of type T for its owner, another
// goroutine: the owner gives values, and takes those that are done, in the order
// in which it gave them. As a rule the same few values go round.
type Helper[T any] struct {
	given chan T // closed by the owner when the helper is to end
	done  chan T // closed when the helper has ended

	mu      sync.Mutex // guards what follows
	waiting int64      // values that the helper has not begun with, part of pressing
	ended   bool
}

// Help starts a helper that does the work, which ends when there is nothing more
// to do or Next returns false. At most n values may be given and not taken back.
func Help[T any](n int, work func(h *Helper[T])) *Helper[T] {
	h := &Helper[T]{given: make(chan T, n), done: make(chan T, n)}
	go func() {
		defer close(h.done)
		defer h.end()
		work(h)
	}()
	return h
}

// Give gives a value to the helper.
func (h *Helper[T]) Give(v T) {
	h.press(1)
	h.given <- v
}

// Take returns the next value that is done. It returns false if the helper has
// ended and all are taken.
func (h *Helper[T]) Take() (v T, ok bool) { return patiently(h.done) }

// Ready is how many values are done and not taken.
func (h *Helper[T]) Ready() int { return len(h.done) }

// Stop tells the helper to end and waits until it has. What is done and was not
// taken is lost.
func (h *Helper[T]) Stop() {
	close(h.given)
	for range h.given {
		h.press(-1)
	}
	for range h.done {
	}
}

// Next returns the next value to work on, for the helper. It returns false if
// there will be none.
func (h *Helper[T]) Next() (v T, ok bool) {
	if v, ok = patiently(h.given); ok {
		h.press(-1)
	}
	return v, ok
}

// Done passes a value back to the owner.
func (h *Helper[T]) Done(v T) { h.done <- v }

// press counts values that wait for the helper.
func (h *Helper[T]) press(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.waiting += n
		pressing.Add(n)
	}
}

func (h *Helper[T]) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	pressing.Add(-h.waiting)
	h.ended = true
}

// patience is how often one looks for a value before one sleeps, which takes about
// as long as waking up does.
const patience = 300

// patiently receives from c, as <-c does. Where both sides of a channel are about
// as fast as each other, each would sleep before each value, and waking up takes
// as long as the work does; so it looks for some 50 µs whether there is one, as
// long as no other goroutine wants the core.
func patiently[T any](c <-chan T) (v T, ok bool) {
	for range patience {
		select {
		case v, ok = <-c:
			return v, ok
		default:
			runtime.Gosched()
		}
	}
	v, ok = <-c
	return v, ok
}

// pressing is how many values wait for helpers.
var pressing atomic.Int64

const (
	// crew is how many goroutines of a conversion need a core most of the time.
	crew = 3
	// courtesy is how often Yield lets others go first.
	courtesy = 3
)

// Yield lets helpers go first, for which values wait. What can wait itself, such
// as the encoding of a file, calls it every millisecond or more often: else the
// owners of helpers, who wait for them soon, stand still, and later there is
// nothing to do beside what they do.
//
// It sleeps, which takes as long as helpers work. runtime.Gosched would not do:
// a helper that was just woken waits for the core of its owner, and others take it
// from there only if they have nothing else to do.
func Yield() {
	if runtime.GOMAXPROCS(0) > crew {
		return
	}
	for range courtesy {
		if pressing.Load() <= 0 {
			return
		}
		time.Sleep(time.Microsecond)
	}
}
