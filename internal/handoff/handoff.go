// Package handoff divides the work of a conversion between goroutines.
package handoff

// A Helper is a goroutine that works on values of type T for its owner, another
// goroutine: the owner gives values, and takes those that are done, in the order
// in which it gave them. As a rule the same few values go round.
type Helper[T any] struct {
	given chan T // closed by the owner when the helper is to end
	done  chan T // closed when the helper has ended
}

// Help starts a helper that does the work, which ends when there is nothing more
// to do or Next returns false. At most n values may be given and not taken back.
func Help[T any](n int, work func(h *Helper[T])) *Helper[T] {
	h := &Helper[T]{given: make(chan T, n), done: make(chan T, n)}
	go func() {
		defer close(h.done)
		work(h)
	}()
	return h
}

// Give gives a value to the helper.
func (h *Helper[T]) Give(v T) { h.given <- v }

// Take returns the next value that is done. It returns false if the helper has
// ended and all are taken.
func (h *Helper[T]) Take() (v T, ok bool) {
	v, ok = <-h.done
	return v, ok
}

// Stop tells the helper to end and waits until it has. What is done and was not
// taken is lost.
func (h *Helper[T]) Stop() {
	close(h.given)
	for range h.given {
	}
	for range h.done {
	}
}

// Next returns the next value to work on, for the helper. It returns false if
// there will be none.
func (h *Helper[T]) Next() (v T, ok bool) {
	v, ok = <-h.given
	return v, ok
}

// Done passes a value back to the owner.
func (h *Helper[T]) Done(v T) { h.done <- v }
