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

	mu      sync.Mutex
	made    map[string]bool // names that statements in the common room create or change
	modules []string        // that queries have included elsewhere, and the common room has to
	idle    []*room
	running []*client
	waiting []*client // for a room, the newest last
	changed bool      // the common room may have more than a new one
	era     int       // grows when the initial tables are restored
}

func newPlain(s *Server) *plain {
	return &plain{room: s.room(), server: s, made: map[string]bool{}}
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
		if done, err := p.alone(ctx, sql, reach.Modules, newClient(send, cut)); done {
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

// common runs SQL in the common room.
func (p *plain) common(ctx context.Context, reach *perfettosql.Reach, sql string, send func(message) error) error {
	p.mu.Lock()
	for _, name := range reach.Made {
		p.made[name] = true
	}
	modules := p.modules
	p.modules, p.changed = nil, true
	p.mu.Unlock()
	if len(modules) > 0 {
		_ = p.room.onTrace(ctx, func(s *session.Session) error {
			for _, m := range modules {
				_ = s.Each(ctx, "INCLUDE PERFETTO MODULE "+m, func(*session.Query) error { return nil }) // as it was elsewhere
			}
			return nil
		})
	}
	return p.room.query(ctx, sql, send)
}

// alone runs a query in a room of its own. It is not done if the query fails there before it has a result: it may need what others
// have created.
func (p *plain) alone(ctx context.Context, sql string, modules []string, c *client) (done bool, err error) {
	if err := p.enter(ctx, c); err != nil {
		return true, err
	}
	to := &result{send: c.write, begun: time.Now()}
	var unsent error
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	long := func() {
		if !p.lengthen(c) {
			end(errCrowd)
		}
	}
	var ended error
	failed := c.room.onTrace(within, func(s *session.Session) error {
		ctx, stop := p.server.limited(within)
		defer stop()
		err := p.server.run(ctx, s, sql, to, &unsent, long)
		ended = context.Cause(ctx)
		return err
	})
	p.exit(c, failed == nil || unsent != nil || ended != nil && errors.Is(failed, ended))
	switch {
	case unsent != nil:
		return true, unsent
	case failed != nil && !to.headed && ended == nil && ctx.Err() == nil && p.mayHelp():
		return false, nil
	case failed == nil:
		p.included(modules, c.era)
	}
	return true, to.flush(true, failed)
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
	p.idle, p.modules, p.made, p.changed = nil, nil, map[string]bool{}, false
	p.era++
	p.mu.Unlock()
	for _, r := range idle {
		r.close()
	}
}

// close ends all rooms that no query uses.
func (p *plain) close() {
	p.forget()
	p.room.close()
}
