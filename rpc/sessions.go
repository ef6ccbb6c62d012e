package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/scheduler"
)

// lock lets one call at a time use what it guards. It holds a token.
type lock chan struct{}

func newLock() lock {
	l := make(lock, 1)
	l <- struct{}{}
	return l
}

// during calls do while no other call has the lock.
func (l lock) during(ctx context.Context, do func() error) error {
	select {
	case <-l:
		defer func() { l <- struct{}{} }()
		return do()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// opened is a session on the server's trace.
type opened struct {
	*session.Session
	trace int       // which of the server's traces it sees
	used  time.Time // last
}

const (
	// mostIdle is how many sessions wait for a call, and idleTime for how long. One waits for ever.
	mostIdle = mostShort + mostLong
	idleTime = 10 * time.Second
	// idleMemory is the size in bytes from which a session that has only read is not used again.
	idleMemory = 16 << 20
)

// acquire returns a session that has nothing but the trace: one that has only read so far, or a new one.
func (s *Server) acquire(ctx context.Context) (*opened, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		o := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return o, nil
	}
	s.mu.Unlock()
	var o *opened
	err := s.loading.during(ctx, func() error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		o = &opened{Session: s.session.Fork(), trace: s.traces}
		s.begun++
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.compute(ctx, func(context.Context) error { return o.Begin() }); err != nil {
		return nil, errors.Join(err, s.end(o))
	}
	return o, nil
}

// release keeps a session that has only read for the next call, or ends it.
func (s *Server) release(o *opened) {
	s.mu.Lock()
	keep := o.trace == s.traces && len(s.idle) < mostIdle && o.Perfetto().Memory() < idleMemory
	if keep {
		o.used = time.Now()
		s.idle = append(s.idle, o)
		s.tidyLater()
	}
	s.mu.Unlock()
	if !keep {
		_ = s.end(o)
	}
}

// tidyLater ends sessions later that no call needs. s.mu is locked.
func (s *Server) tidyLater() {
	if len(s.idle) > 1 && !s.tidying {
		s.tidying = true
		time.AfterFunc(idleTime, s.tidy)
	}
}

// tidy ends the sessions that no call has needed for a while. The one that was used last gets the next call, so that the others come first.
func (s *Server) tidy() {
	s.mu.Lock()
	n := 0
	for n < len(s.idle)-1 && time.Since(s.idle[n].used) >= idleTime {
		n++
	}
	unused := s.idle[:n]
	s.idle, s.tidying = slices.Clone(s.idle[n:]), false
	s.tidyLater()
	s.mu.Unlock()
	for _, o := range unused {
		_ = s.end(o)
	}
}

// current reports whether a session sees the server's trace.
func (s *Server) current(o *opened) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o != nil && o.trace == s.traces
}

// returnTime is how long it is until the system gets the memory of sessions that have ended.
const returnTime = 5 * time.Second

// end ends a session, and gives its memory back.
func (s *Server) end(o *opened) error {
	err := o.Close()
	if s.returning.CompareAndSwap(false, true) {
		time.AfterFunc(returnTime, func() {
			s.returning.Store(false)
			sqlite.ReturnMemory()
		})
	}
	return err
}

// compute calls do when a processor is free for it.
func (s *Server) compute(ctx context.Context, do func(context.Context) error) error {
	s.running.Add(1)
	defer s.running.Add(-1)
	task := s.scheduler.New()
	task.Take(ctx.Done())
	defer task.Pause()
	return do(task.Context(ctx))
}

// reading calls do, which only reads, with a session that has nothing but the trace.
func (s *Server) reading(ctx context.Context, do func(context.Context, *session.Session) error) error {
	o, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.release(o)
	return s.compute(ctx, func(ctx context.Context) error { return do(ctx, o.Session) })
}

// limited returns a context for a call that may take as long as a query.
func (s *Server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	longest := s.options.Longest
	if longest == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, longest, fmt.Errorf("this takes more than %v, which is as long as a query may run", longest))
}

// workspace is the session of one client, or of several that see what each other create. It runs one call at a time.
type workspace struct {
	server *Server

	lock    lock    // to use the field below
	session *opened // nil until a call needs it
}

func (s *Server) newWorkspace() *workspace { return &workspace{server: s, lock: newLock()} }

// close ends the session once no call uses it.
func (w *workspace) close() error { return w.lock.during(context.Background(), w.leave) }

// leave ends the session.
func (w *workspace) leave() error {
	o := w.session
	w.session = nil
	if o == nil {
		return nil
	}
	return w.server.end(o)
}

// use calls do with the session when no other call uses it and a processor is free. There has to be a trace.
func (w *workspace) use(ctx context.Context, do func(context.Context, *session.Session) error) error {
	return w.lock.during(ctx, func() error {
		if !w.server.current(w.session) {
			err := w.server.starting.during(ctx, func() (err error) {
				if err = w.leave(); err == nil {
					w.session, err = w.server.acquire(ctx)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		err := w.server.compute(ctx, func(ctx context.Context) error { return do(ctx, w.session.Session) })
		if err != nil && w.session.Perfetto().Spent() {
			return errors.Join(fmt.Errorf("%w; tables and views that were made before are gone", err), w.leave())
		}
		return err
	})
}

// query runs SQL and sends the rows of the last statement. It only returns errors of sending.
func (w *workspace) query(ctx context.Context, sql string, send func(message) error) error {
	ctx, stop := w.server.limited(ctx)
	defer stop()
	to := newResult(send)
	return to.end(w.use(ctx, func(ctx context.Context, s *session.Session) error { return run(ctx, s, sql, to) }))
}

// answer returns the message that do writes about the trace or, if it fails, one with the error in a field.
func (w *workspace) answer(ctx context.Context, failed protowire.Number, do func(context.Context, *session.Session, *message) error) message {
	ctx, stop := w.server.limited(ctx)
	defer stop()
	var m message
	if err := w.use(ctx, func(ctx context.Context, s *session.Session) error { return do(ctx, s, &m) }); err != nil {
		return failure(failed, err)
	}
	return m
}

// restore drops what queries have created.
func (w *workspace) restore(ctx context.Context) error {
	return w.lock.during(ctx, w.leave)
}

// pause lets others compute until the statements of ctx go on.
func pause(ctx context.Context) { scheduler.From(ctx).Wait() }
