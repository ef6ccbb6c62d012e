package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// background runs what Close waits for as for a room.
func (s *Server) background(do func()) {
	s.rooms.Add(1)
	go func() {
		defer s.rooms.Add(-1)
		do()
	}()
}

// readObjects reads what the modules define before queries need it.
func (s *Server) readObjects() {
	turn := s.turns.New()
	turn.Lengthen()
	turn.Take(nil)
	defer turn.Pause()
	if objects := s.options.Packages.Objects(); objects != nil {
		_ = objects.Read(s.options.Packages) // who asks for them gets the error
	}
}

const (
	// fewValues is how many values are read while the first session begins. The first query waits for them as for the session, because it
	// would not be faster if it read what it needs itself meanwhile.
	fewValues = 256 << 10
	// Short queries that follow one another read the rest themselves. Reading ahead would make them slower, so it waits until there was
	// none for quiet, but not for longer than mostQuiet in all.
	quiet     = 5 * time.Millisecond
	mostQuiet = 200 * time.Millisecond
)

// warm reads tables before queries need them. It takes turns with sessions that begin, so that a processor is left.
func (s *Server) warm(data *tables.Dataset) {
	few := sync.OnceFunc(func() { close(s.warmed) })
	turn, left, values := s.turns.New(), mostQuiet, 0
	turn.Lengthen()
	data.Warm(func(rows int, read func()) {
		if values += rows; values <= fewValues {
			read()
			return
		}
		few()
		left -= s.turns.Quiet(quiet, left)
		_ = s.starting.exclusive(context.Background(), func() error {
			turn.Take(nil)
			read()
			turn.Pause()
			return nil
		})
	})
	few()
	_ = data.Close() // of files that were only read
}

// fork returns a session on the trace that has begun, the spare one if there is one, and which of the server's traces that is.
func (s *Server) fork(ctx context.Context) (fork *session.Session, loads int, err error) {
	select {
	case <-s.warmed:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	begun := false
	err = s.turn.exclusive(ctx, func() error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		fork, s.spare, loads = s.spare, nil, s.loads
		if begun = fork != nil; !begun {
			fork = s.session.Fork()
		}
		return nil
	})
	if err == nil && !begun {
		if err = s.beginSession(ctx, fork); err != nil {
			err = errors.Join(err, fork.Close())
		}
	}
	return fork, loads, err
}

// beginSession begins a session, which takes some milliseconds, when it is its turn to compute.
func (s *Server) beginSession(ctx context.Context, of *session.Session) error {
	turn := s.turns.New()
	turn.Expect()
	turn.Take(ctx.Done())
	defer turn.Pause()
	return of.Begin()
}

// prepare begins a spare session for the next client. One that comes meanwhile waits for it.
func (s *Server) prepare() {
	ctx := context.Background()
	_ = s.starting.exclusive(ctx, func() error {
		var next *session.Session
		loads := 0
		_ = s.turn.exclusive(ctx, func() error {
			if s.state == loaded && s.failed == nil && s.session != nil && s.spare == nil {
				next, loads = s.session.Fork(), s.loads
			}
			return nil
		})
		if next == nil {
			return nil
		}
		err := s.beginSession(ctx, next)
		return s.turn.exclusive(ctx, func() error {
			if err != nil || loads != s.loads {
				return next.Close()
			}
			s.spare = next
			return nil
		})
	})
}
