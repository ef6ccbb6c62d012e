package rpc

import (
	"context"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/scheduler"
)

// common are the requests outside of streams. As in Trace Processor, all see what one of them creates: statements that create something,
// and queries that may use it, run in one workspace. All other queries only read the trace, in sessions that have nothing else.
type common struct {
	*workspace

	mu      sync.Mutex
	made    map[string]bool // names that statements in the workspace create or change
	more    bool            // the workspace may have more than these
	readers []*reader       // whose queries run
	waiting []*reader       // whose do not yet, the newest last
}

func newCommon(s *Server) *common {
	return &common{workspace: s.newWorkspace(), made: map[string]bool{}}
}

// requester is one client's side of common.
type requester struct {
	*common
	cut func() // ends a send that waits for the client
}

// query runs SQL as workspace.query does.
func (r requester) query(ctx context.Context, sql string, send func(message) error) error {
	reach, err := perfettosql.ReachOf(sql)
	if err == nil && len(sql) <= MaxQuery && r.reads(reach) { // the workspace reports errors
		if done, err := r.read(ctx, sql, &reader{cut: r.cut, send: send, enter: make(chan struct{})}); done {
			return err
		}
	}
	return r.workspace.query(ctx, sql, send)
}

// reads reports whether SQL only reads the trace, and notes what it creates otherwise.
func (c *common) reads(reach *perfettosql.Reach) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !reach.Changes && len(reach.Modules) == 0 {
		return !reach.Lists() && !reach.Mentions(c.made)
	}
	c.more = true
	for _, name := range reach.Made {
		c.made[name] = true
	}
	return false
}

// read runs SQL that only reads the trace. It is not done if that fails before there is a result, and the workspace may have what is missing,
// such as a table of a module.
func (c *common) read(ctx context.Context, sql string, from *reader) (done bool, err error) {
	within, stop := c.server.limited(ctx)
	defer stop()
	within, end := context.WithCancelCause(within)
	defer end(nil)
	to := newResult(from.write)
	failed := c.among(within, from, func() error {
		return c.server.reading(within, func(ctx context.Context, s *session.Session) error {
			scheduler.From(ctx).Long = func() {
				if err := c.lengthen(from); err != nil {
					end(err)
				}
			}
			return run(ctx, s, sql, to)
		})
	})
	if failed != nil && !to.headed && within.Err() == nil && c.hasMore() {
		return false, nil
	}
	return true, to.end(failed)
}

func (c *common) hasMore() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.more
}

// metric computes metrics, whose tables stay.
func (c *common) metric(ctx context.Context, args []byte) message {
	c.note()
	return c.workspace.metric(ctx, args)
}

// summary computes a summary. The modules that it includes stay.
func (c *common) summary(ctx context.Context, args []byte) message {
	c.note()
	return c.workspace.summary(ctx, args)
}

// note says that the workspace may have more than the names that were made.
func (c *common) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more = true
}

// restore drops what queries have created.
func (c *common) restore(ctx context.Context) error {
	return c.lock.during(ctx, func() error {
		c.forget()
		return c.leave()
	})
}

// forget says that the workspace has nothing but the trace.
func (c *common) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made, c.more = map[string]bool{}, false
}
