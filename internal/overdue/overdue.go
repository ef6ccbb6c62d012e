// Package overdue notices what takes too long, at next to no cost for what does not: a timer for each would wake a thread whenever it
// is set.
package overdue

import (
	"sync/atomic"
	"time"
)

// Step is how much later than asked something may be noticed.
const Step = 20 * time.Millisecond

// Watch calls a function when what has begun does not end in time. One goroutine at a time may use it.
type Watch struct {
	after   time.Duration
	span    atomic.Pointer[span] // nil if nothing has begun
	looking atomic.Bool          // look will be called
}

type span struct {
	begun int64
	late  func()
}

// New returns a watch of what may take some time.
func New(after time.Duration) *Watch { return &Watch{after: after} }

// Begin says that something begins. If it does not end in time, late is called; it may be called while or after it ends.
func (w *Watch) Begin(late func()) {
	w.span.Store(&span{now(), late})
	w.lookSoon()
}

// End says that it has ended.
func (w *Watch) End() { w.span.Store(nil) }

func (w *Watch) lookSoon() {
	if w.looking.CompareAndSwap(false, true) {
		time.AfterFunc(Step, w.look)
	}
}

func (w *Watch) look() {
	w.looking.Store(false)
	s := w.span.Load()
	switch {
	case s == nil:
	case now()-s.begun >= int64(w.after) && w.span.CompareAndSwap(s, nil):
		s.late()
	default:
		w.lookSoon()
	}
}

var start = time.Now()

// now is the time in ns.
func now() int64 { return int64(time.Since(start)) }
