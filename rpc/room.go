package rpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/overdue"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/turns"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// turn lets one call at a time use what it guards. It holds a token.
type turn chan struct{}

func newTurn() turn {
	t := make(turn, 1)
	t <- struct{}{}
	return t
}

// exclusive calls do when it is the caller's turn.
func (t turn) exclusive(ctx context.Context, do func() error) error {
	select {
	case <-t:
		defer func() { t <- struct{}{} }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// room is where the statements of one client, or of several that share their tables, run: one at a time. Rooms do not wait for
// each other.
type room struct {
	server *Server

	starting turn             // to start a session
	turn     turn             // to use the fields below
	session  *session.Session // nil until a call needs it
	loads    int              // which of the server's traces the session sees
	longest  *overdue.Watch   // of calls, nil if they may take any time
}

// room returns an empty room, which must be closed.
func (s *Server) room(starting turn) *room {
	s.rooms.Add(1)
	r := &room{server: s, starting: starting, turn: newTurn()}
	if s.options.Longest > 0 {
		r.longest = overdue.New(s.options.Longest)
	}
	return r
}

// limited returns a context for a call that runs in the room.
func (r *room) limited(ctx context.Context) (limited context.Context, end func()) {
	if r.longest == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r.longest.Begin(func() {
		cancel(fmt.Errorf("this takes more than %v, which is as long as a query may run", r.server.options.Longest))
	})
	return ctx, func() {
		r.longest.End()
		cancel(nil)
	}
}

// close ends the session once no call uses it.
func (r *room) close() {
	_ = r.turn.exclusive(context.Background(), r.leave)
	r.server.rooms.Add(-1)
}

// leave ends the session.
func (r *room) leave() error {
	s := r.session
	r.session = nil
	if s == nil {
		return nil
	}
	return s.Close()
}

// open begins a session on the server's trace unless there is one. It leaves the turn with a place.
func (r *room) open(ctx context.Context, turn *turns.Turn) error {
	current := false
	err := r.server.turn.exclusive(ctx, func() error {
		err := r.server.ready(ctx)
		current = r.session != nil && r.loads == r.server.loads
		return err
	})
	if err == nil && !current {
		err = errors.Join(r.leave(), r.starting.exclusive(ctx, func() error { return r.start(ctx) }))
	}
	if err != nil {
		return err
	}
	turn.Take(ctx.Done())
	return nil
}

// start takes the server's spare session, or begins one.
func (r *room) start(ctx context.Context) error {
	s, loads, err := r.server.fork(ctx)
	if err != nil {
		return err
	}
	r.session, r.loads = s, loads
	r.server.background(r.server.prepare)
	return nil
}

// restore drops what queries have created.
func (r *room) restore(ctx context.Context) error {
	return r.onTrace(ctx, r.server.turns.New(), func(ctx context.Context, s *session.Session) error {
		if err := s.Restore(ctx); err != nil {
			return errors.Join(err, r.leave())
		}
		return nil
	})
}

// onTrace calls do with the session of the room while no other call uses it, when it is its turn to compute. There has to be a trace.
func (r *room) onTrace(ctx context.Context, turn *turns.Turn, do func(context.Context, *session.Session) error) error {
	return r.turn.exclusive(ctx, func() error {
		defer turn.Pause()
		if err := r.open(ctx, turn); err != nil {
			return err
		}
		err := do(turn.Of(ctx), r.session)
		if err != nil && r.session != nil && r.session.Perfetto().Spent() {
			return errors.Join(fmt.Errorf("%w; tables and views that were made before are gone", err), r.leave())
		}
		return err
	})
}

// answer returns the message that do writes about the trace or, if it fails, one with the error in a field.
func (r *room) answer(ctx context.Context, failed protowire.Number, do func(context.Context, *session.Session, *message) error) message {
	var m message
	err := r.onTrace(ctx, r.server.turns.New(), func(ctx context.Context, s *session.Session) error {
		ctx, stop := r.limited(ctx)
		defer stop()
		return do(ctx, s, &m)
	})
	if err != nil {
		return failure(failed, err)
	}
	return m
}

// query runs SQL and sends the rows of the last statement. It only returns errors of sending.
func (r *room) query(ctx context.Context, sql string, send func(message) error) error {
	to := newResult(send, time.Now())
	var unsent error
	turn := r.server.turns.New()
	err := r.onTrace(ctx, turn, func(ctx context.Context, s *session.Session) error {
		ctx, stop := r.limited(ctx)
		defer stop()
		return run(ctx, s, sql, to, &unsent, turn)
	})
	if unsent != nil {
		return unsent
	}
	return to.flush(true, err)
}

// run runs the SQL of query.
func run(ctx context.Context, on *session.Session, sql string, r *result, unsent *error, turn *turns.Turn) error {
	if len(sql) > MaxQuery {
		return fmt.Errorf("the query has %d bytes; %d are the most", len(sql), MaxQuery)
	}
	send := r.send
	defer func() { r.send = send }()
	r.send = func(m message) error { // others compute while the client reads a part of a large result
		turn.Lengthen()
		turn.Pause()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return send(m)
	}
	statements, err := sqltext.Split(sql)
	if err == nil && len(statements) > 0 {
		r.statements, r.last = len(statements), statements[len(statements)-1].Text
	}
	return on.Each(ctx, sql, func(q *session.Query) error {
		rows, some := q.Rows(), false
		if q.Last {
			r.columns = rows.Columns()
		}
		for {
			more, err := rows.Next()
			if err != nil || !more {
				return err
			}
			if !some {
				some = true
				r.withRows++
			}
			if !q.Last {
				continue
			}
			if *unsent = r.add(rows); *unsent != nil {
				return *unsent
			}
		}
	})
}
