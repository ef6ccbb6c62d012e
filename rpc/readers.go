package rpc

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// mostShort is how many queries outside of streams that only read run at a time, and mostLong how many of them besides that take long: each
	// has a session of some 2 MiB.
	mostShort = 8
	mostLong  = 32
	// tardy is how long a client may take to read a part of an answer while another one needs its place among those that take long.
	tardy = 250 * time.Millisecond
)

var errCrowd = fmt.Errorf("the server has %d other queries that take long; try again", mostLong)

// reader is a client whose query only reads.
type reader struct {
	send  func(message) error
	cut   func()        // ends a send that waits for the client; nil if it has been called
	enter chan struct{} // closed when a reader that has waited may go on
	long  bool          // guarded by common.mu

	mu   sync.Mutex
	from time.Time // when the client was sent what it has not read yet; zero if it has read everything
}

// write sends a part of an answer.
func (r *reader) write(m message) error {
	r.set(time.Now())
	defer r.set(time.Time{})
	return r.send(m)
}

func (r *reader) set(from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = from
}

// unread is for how long the client has not read what it was sent.
func (r *reader) unread() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from.IsZero() {
		return 0
	}
	return time.Since(r.from)
}

// among calls do, which runs the query of a reader, when there is a place for it.
func (c *common) among(ctx context.Context, r *reader, do func() error) error {
	if err := c.enter(ctx, r); err != nil {
		return err
	}
	defer c.exit(r)
	return do()
}

// enter waits until the reader may run its query. The newest goes first: it does not wait for a crowd that came before.
func (c *common) enter(ctx context.Context, r *reader) error {
	c.mu.Lock()
	c.waiting = append(c.waiting, r)
	c.admit()
	c.mu.Unlock()
	select {
	case <-r.enter:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	i := slices.Index(c.waiting, r)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	c.mu.Unlock()
	if i < 0 { // it has entered meanwhile
		c.exit(r)
	}
	return context.Cause(ctx)
}

// admit lets the newest reader that waits enter, if there is a place. c.mu is locked.
func (c *common) admit() {
	if n := len(c.waiting); n > 0 && c.count(false) < mostShort {
		next := c.waiting[n-1]
		c.waiting = c.waiting[:n-1]
		c.readers = append(c.readers, next)
		close(next.enter)
	}
}

// count returns how many queries take long, or do not. c.mu is locked.
func (c *common) count(long bool) (n int) {
	for _, r := range c.readers {
		if r.long == long {
			n++
		}
	}
	return n
}

// lengthen counts a reader among those that take long, and lets another one enter. It fails if there are too many.
func (c *common) lengthen(r *reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.long {
		return nil
	}
	if c.count(true) >= mostLong {
		c.cutTardy() // for the next
		return errCrowd
	}
	r.long = true
	c.admit()
	return nil
}

// exit lets the next reader enter.
func (c *common) exit(r *reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers = slices.DeleteFunc(c.readers, func(other *reader) bool { return other == r })
	c.admit()
}

// cutTardy disconnects the client that has not read its answer for the longest time, if that is too long. c.mu is locked.
func (c *common) cutTardy() {
	var slowest *reader
	longest := tardy
	for _, r := range c.readers {
		if unread := r.unread(); r.cut != nil && unread > longest {
			slowest, longest = r, unread
		}
	}
	if slowest != nil {
		slowest.cut()
		slowest.cut = nil
	}
}
