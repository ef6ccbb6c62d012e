package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The most queries in rooms of their own, which take some 2 MiB each. A query begins among the short ones. Once it is long it is counted
// among those or, if others wait for its room, begins again there: so a short one finds a room soon whatever the others do.
const (
	mostShort = 8
	mostLong  = 112
	mostIdle  = 8 // rooms that wait for a short query, and as many for a long one
)

var errLong = errors.New("the query takes long")

var errCrowd = fmt.Errorf("the server has %d other queries that take long; try again", mostLong)

// client is one whose query runs in a room of its own.
type client struct {
	send    func(message) error
	cut     func()   // ends a send that waits for the client; nil if it has been called
	modules []string // that the query includes

	entered chan struct{} // closed when a client that has waited has the fields below
	room    *room
	era     int
	long    bool // guarded by plain.mu

	mu   sync.Mutex
	from time.Time // when the client was sent what it has not read yet; zero if it has read everything
}

func newClient(send func(message) error, cut func(), modules []string) *client {
	return &client{send: send, cut: cut, modules: modules, entered: make(chan struct{})}
}

// tardy is how long a client may take to read a part of an answer while others wait for a room.
const tardy = 250 * time.Millisecond

// write sends a part of an answer.
func (c *client) write(m message) error {
	c.set(time.Now())
	defer c.set(time.Time{})
	return c.send(m)
}

func (c *client) set(from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = from
}

// unread is for how long the client has not read what it was sent.
func (c *client) unread() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from.IsZero() {
		return 0
	}
	return time.Since(c.from)
}

// enter gives the client a room. If there are too many short ones, it waits. The newest goes on first: one that comes now does not wait for
// all who have gathered before.
func (p *plain) enter(ctx context.Context, c *client) error {
	p.mu.Lock()
	if p.count(false) < mostShort {
		p.admit(c)
		p.mu.Unlock()
		return nil
	}
	p.waiting = append(p.waiting, c)
	p.mu.Unlock()
	select {
	case <-c.entered:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, c)
	if i < 0 {
		return nil // it has entered in the meantime, and will exit
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return ctx.Err()
}

// enterLong gives the client, whose query is long, a room, unless there are too many.
func (p *plain) enterLong(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count(true) >= mostLong {
		p.cutTardy() // for the next
		return false
	}
	c.long = true
	p.admit(c)
	return true
}

// lengthen counts a client whose query is long among those, so that it need not begin again, unless others wait for its room.
func (p *plain) lengthen(c *client) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 || p.count(true) >= mostLong {
		return false
	}
	c.long = true
	return true
}

// admit gives the client a room. p.mu is locked.
func (p *plain) admit(c *client) {
	p.running = append(p.running, c)
	if idle := p.idle[c.long]; len(idle) > 0 {
		c.room, p.idle[c.long] = idle[len(idle)-1], idle[:len(idle)-1]
	} else {
		c.room = p.server.room(p.starting[c.long])
	}
	c.era = p.era
}

// count returns the number of running queries that are long, or short. p.mu is locked.
func (p *plain) count(long bool) int {
	n := 0
	for _, c := range p.running {
		if c.long == long {
			n++
		}
	}
	return n
}

// cutTardy disconnects the client that has not read its answer for the longest time, if that is too long. p.mu is
// locked.
func (p *plain) cutTardy() {
	var slowest *client
	longest := tardy
	for _, c := range p.running {
		if unread := c.unread(); c.cut != nil && unread > longest {
			slowest, longest = c, unread
		}
	}
	if slowest != nil {
		slowest.cut()
		slowest.cut = nil
	}
}

// admitNext lets the newest client that waits enter, if there is a place. p.mu is locked.
func (p *plain) admitNext() {
	if n := len(p.waiting); n > 0 && p.count(false) < mostShort {
		next := p.waiting[n-1]
		p.waiting = p.waiting[:n-1]
		p.admit(next)
		close(next.entered)
	}
}

// exit gives a client's room back. One that has only a part of a module is not used again.
func (p *plain) exit(c *client, again bool) {
	p.mu.Lock()
	p.running = slices.DeleteFunc(p.running, func(other *client) bool { return other == c })
	again = again && c.era == p.era && len(p.idle[c.long]) < mostIdle
	if again {
		p.idle[c.long] = append(p.idle[c.long], c.room)
	}
	p.admitNext()
	p.mu.Unlock()
	if !again {
		c.room.close()
	}
}
