package rpc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// plain are the requests that are not of a stream. As in Trace Processor, all see what one of them creates, so that statements
// which create something, and queries that may use it, run in one room, in turn. All other queries need not wait: each runs in
// a room of its own.
type plain struct {
	*room
	server *Server

	starting map[bool]turn // of rooms for long queries, and for short ones

	mu      sync.Mutex
	made    map[string]bool  // names that statements in the common room create or change
	modules []string         // that queries have included elsewhere, and the common room has to
	idle    map[bool][]*room // for long queries, and for short ones
	running []*client
	waiting []*client // for a room, the newest last
	changed bool      // the common room may have more than a new one
	era     int       // grows when the initial tables are restored
}

func newPlain(s *Server) *plain {
	return &plain{room: s.room(s.starting), server: s, made: map[string]bool{}, starting: map[bool]turn{true: s.starting, false: newTurn()}, idle: map[bool][]*room{}}
}

// plainClient is one client's side of plain.
type plainClient struct {
	*plain
	cut func()
}

func (c plainClient) query(ctx context.Context, sql string, send func(message) error) error {
	return c.answer(ctx, sql, send, c.cut)
}

// answer runs SQL as room.query does. cut ends a send that waits for the client.
func (p *plain) answer(ctx context.Context, sql string, send func(message) error, cut func()) error {
	reach, err := perfettosql.ReachOf(sql)
	if len(sql) > MaxQuery || err != nil { // the room reports it
		return p.room.query(ctx, sql, send)
	}
	if p.apart(reach) {
		if done, err := p.alone(ctx, sql, newClient(send, cut, reach.Modules)); done {
			return err
		}
	}
	return p.common(ctx, reach, sql, send)
}

// apart reports whether the result does not depend on what others have created.
func (p *plain) apart(reach *perfettosql.Reach) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !reach.Changes && !reach.Lists() && !reach.Mentions(p.made)
}

// common runs SQL in the common room. Others see what it makes once it is answered: until then their queries need not wait for it.
func (p *plain) common(ctx context.Context, reach *perfettosql.Reach, sql string, send func(message) error) error {
	p.mu.Lock()
	modules := p.modules
	p.modules, p.changed = nil, true
	p.mu.Unlock()
	if len(modules) > 0 {
		_ = p.room.onTrace(ctx, p.server.turns.New(), func(ctx context.Context, s *session.Session) error {
			for _, m := range modules {
				_ = s.Each(ctx, "INCLUDE PERFETTO MODULE "+m, func(*session.Query) error { return nil }) // as it was elsewhere
			}
			return nil
		})
	}
	return p.room.query(ctx, sql, func(m message) error {
		p.mu.Lock()
		for _, name := range reach.Made {
			p.made[name] = true
		}
		p.mu.Unlock()
		return send(m)
	})
}

// alone runs a query in a room of its own. One that takes long while others wait begins again, in a room among those of long ones, and
// one that includes modules begins there. It is not done if the query fails before it has a result: it may need what others have created.
func (p *plain) alone(ctx context.Context, sql string, c *client) (done bool, err error) {
	begun := time.Now()
	a := attempt{failed: errLong}
	if len(c.modules) == 0 {
		if err := p.enter(ctx, c); err != nil {
			return true, err
		}
		a = p.attempt(ctx, sql, c, begun)
	}
	if errors.Is(a.failed, errLong) {
		if !p.enterLong(c) {
			to := newResult(c.write, begun)
			return true, to.flush(true, errCrowd)
		}
		a = p.attempt(ctx, sql, c, begun)
	}
	switch {
	case a.unsent != nil:
		return true, a.unsent
	case a.failed != nil && !a.to.headed && a.ended == nil && ctx.Err() == nil && p.mayHelp():
		return false, nil
	case a.failed == nil:
		p.included(c.modules, c.era)
	}
	return true, a.to.flush(true, a.failed)
}

// attempt is how far a query came.
type attempt struct {
	to                    *result
	failed, unsent, ended error // ended is why it was interrupted, if it was
}

// attempt runs a query in the room that the client has entered, and leaves it.
func (p *plain) attempt(ctx context.Context, sql string, c *client, begun time.Time) attempt {
	a := attempt{to: newResult(c.write, begun)}
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	turn := p.server.turns.New()
	if !c.long {
		turn.Long = func() {
			if !p.lengthen(c) {
				end(errLong)
			}
		}
	}
	a.failed = c.room.onTrace(within, turn, func(ctx context.Context, s *session.Session) error {
		ctx, stop := c.room.limited(ctx)
		defer stop()
		err := run(ctx, s, sql, a.to, &a.unsent, turn)
		a.ended = context.Cause(ctx)
		return err
	})
	p.exit(c, a.failed == nil || a.unsent != nil || len(c.modules) == 0)
	return a
}

// mayHelp reports whether the common room may have what a query did not find.
func (p *plain) mayHelp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// included notes modules that the common room has to include, too.
func (p *plain) included(modules []string, era int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range modules {
		if !slices.Contains(p.modules, m) && p.era == era {
			p.modules, p.changed = append(p.modules, m), true
		}
	}
}

// metric computes metrics in the common room, where their tables stay.
func (p *plain) metric(ctx context.Context, args []byte) message {
	p.change()
	return p.room.metric(ctx, args)
}

// summary computes a summary in the common room, where the modules that it includes stay.
func (p *plain) summary(ctx context.Context, args []byte) message {
	p.change()
	return p.room.summary(ctx, args)
}

func (p *plain) change() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
}

// restore drops what queries have created.
func (p *plain) restore(ctx context.Context) error {
	err := p.room.restore(ctx)
	p.forget()
	return err
}

// forget ends the idle rooms, and forgets what queries have created.
func (p *plain) forget() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.modules, p.made, p.changed = map[bool][]*room{}, nil, map[string]bool{}, false
	p.era++
	p.mu.Unlock()
	for _, r := range slices.Concat(idle[false], idle[true]) {
		r.close()
	}
}

// close ends all rooms that no query uses.
func (p *plain) close() {
	p.forget()
	p.room.close()
}
