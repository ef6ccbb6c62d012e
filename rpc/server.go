// Package rpc answers the remote procedure calls of Perfetto's Trace Processor v58, which Perfetto's UI and Python
// package use to query a trace.
package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tpconvert/tpconvert/internal/perfetto"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite/scheduler"
)

// The version of Trace Processor whose calls the server answers.
const (
	tpVersion  = "Perfetto v58.2"
	apiVersion = pb.TraceProcessorApiVersion_TraceProcessorCurrentAPIVersion
)

// MaxQuery is the maximum size of a query's SQL in bytes.
const MaxQuery = 16 << 20

// Options are a server's settings.
type Options struct {
	Version  string   // of this program
	Origins  []string // web pages that may use the server, besides Perfetto's UI
	Host     string   // name or address of this machine that requests may use, besides localhost
	UI       fs.FS    // the files of Perfetto's UI, nil if there are none
	Packages *Packages
	Metrics  session.Metrics // of version 1, nil if there are none
	// Read reads the trace in a file.
	Read    func(ctx context.Context, trace string) (*table.Kept, error)
	Without []string      // tables left without rows in traces that clients send
	Memory  int64         // bytes that a session may take besides the trace; 0 for session.DefaultMemory
	Pool    *sqlite.Pool  // of the memory of all sessions; nil for no limit
	Longest time.Duration // that a call may run; 0 for any time
	// Processors is how many statements compute at a time; 0 means GOMAXPROCS.
	Processors int
}

// Server answers calls about one trace. Each stream of calls has a session of its own; requests that stand alone share tables.
type Server struct {
	options   Options
	name      atomic.Pointer[string] // of the trace
	routes    http.Handler
	common    *common
	scheduler *scheduler.Scheduler // to compute
	starting  lock                 // to begin the session of a workspace: many that come at once leave processors to others
	bodies    budget
	running   atomic.Int64 // how many calls compute
	streams   atomic.Int64 // how many are connected
	returning atomic.Bool  // memory will be given back

	mu      sync.Mutex
	idle    []*opened // sessions that have nothing but the trace, the one used last at the end
	tidying bool      // tidy will be called
	traces  int       // how many there were
	begun   int       // how many sessions have begun

	loading lock             // to use the fields below
	session *session.Session // has the data; its forks run statements
	state   state
	trace   *os.File // the part that a client has sent so far
	failed  error    // why queries cannot see the trace
}

// state is how far the server is with a trace that clients send.
type state int

const (
	waiting  state = iota // for a trace
	arriving              // a part of it has come
	loaded                // queries see it
)

// New returns a server for the trace in a session, whose option Shared must be set; the UI shows the name. If s is nil, the
// server waits for a client to send a trace.
func New(o Options, s *session.Session, name string) *Server {
	server := &Server{options: o, scheduler: scheduler.New(cmp.Or(o.Processors, runtime.GOMAXPROCS(0))), starting: newLock(), loading: newLock(), session: s, state: loaded}
	server.name.Store(&name)
	server.common = newCommon(server)
	server.routes = server.newRoutes()
	if s == nil {
		server.state = waiting
		_ = server.begin(context.Background()) // so that it starts before the trace comes; the first call reports an error
	} else {
		server.running.Add(1)
		go server.prepare()
	}
	return server
}

// prepare begins a session for the first client.
func (s *Server) prepare() {
	defer s.running.Add(-1)
	if o, err := s.acquire(context.Background()); err == nil { // the first call reports an error
		s.release(o)
	}
}

// Clients is the number of pages and programs that are connected.
func (s *Server) Clients() int64 { return s.streams.Load() }

// grace is how long Close waits for calls that still run. Their contexts should have ended.
const grace = 1500 * time.Millisecond

// Close ends the sessions. One that does not end in time is left to the end of the process.
func (s *Server) Close() error {
	for end := time.Now().Add(grace); s.running.Load() > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	ctx, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	_ = s.common.lock.during(ctx, s.common.leave)
	return s.loading.during(ctx, s.close)
}

// close ends the sessions that no call uses.
func (s *Server) close() error {
	var err error
	if s.trace != nil {
		err = s.trace.Close()
	}
	s.mu.Lock()
	idle := s.idle
	s.idle = nil
	s.traces++
	s.mu.Unlock()
	for _, o := range idle {
		err = errors.Join(err, s.end(o))
	}
	if s.session != nil {
		err = errors.Join(err, s.session.Close())
	}
	s.session, s.trace = nil, nil
	return err
}

// reset closes the trace, and makes the server wait for another.
func (s *Server) reset() error {
	s.name.Store(new(string))
	s.common.forget()
	s.state, s.failed = waiting, nil
	return s.close()
}

// status encodes a StatusResult.
func (s *Server) status() message {
	var m message
	m.text(pb.StatusResult_LoadedTraceName, *s.name.Load())
	m.text(pb.StatusResult_HumanReadableVersion, fmt.Sprintf("%s (tpconvert %s)", tpVersion, s.options.Version))
	m.integer(pb.StatusResult_APIVersion, apiVersion)
	m.text(pb.StatusResult_VersionCode, perfetto.Release)
	return m
}

// append adds a part of a trace. After a complete trace it begins another.
func (s *Server) append(ctx context.Context, part io.Reader) error {
	return s.loading.during(ctx, func() error {
		if s.state == loaded {
			if err := s.reset(); err != nil {
				return err
			}
		}
		if err := s.begin(ctx); err != nil {
			return err
		}
		if s.trace == nil {
			var err error
			if s.trace, err = os.Create(filepath.Join(s.session.Scratch, "trace")); err != nil {
				return err
			}
		}
		s.state = arriving
		_, err := io.Copy(s.trace, part)
		return err
	})
}

// begin starts a session unless there is one.
func (s *Server) begin(ctx context.Context) error {
	if s.session != nil {
		return nil
	}
	var err error
	s.session, err = session.New(ctx, session.Options{Perfetto: true, Shared: true, Modules: s.options.Packages, Metrics: s.options.Metrics,
		Memory: s.options.Memory, Pool: s.options.Pool})
	return err
}

// finish converts the trace that a client has sent.
func (s *Server) finish(ctx context.Context) error {
	return s.loading.during(ctx, func() error {
		if s.state == arriving {
			s.failed = s.load(ctx)
		}
		return s.failed
	})
}

// load makes the rows of the trace available, or empty tables if no trace has come.
func (s *Server) load(ctx context.Context) error {
	s.state = loaded
	if err := s.begin(ctx); err != nil {
		return err
	}
	if s.trace == nil {
		return s.session.OpenEmpty(ctx)
	}
	path := s.trace.Name()
	info, err := s.trace.Stat()
	if err = errors.Join(err, s.trace.Close()); err != nil {
		return err
	}
	s.trace = nil
	if info.Size() == 0 { // an empty trace, as for Trace Processor
		return errors.Join(os.Remove(path), s.session.OpenEmpty(ctx))
	}
	rows, err := s.options.Read(ctx, path)
	if err = errors.Join(err, os.Remove(path)); err != nil {
		return err
	}
	return s.session.OpenKept(rows, s.options.Without...)
}

// ready returns an error unless there is a trace, which may have no rows.
func (s *Server) ready(ctx context.Context) error {
	if s.state == waiting {
		s.failed = s.load(ctx)
	}
	if s.state == arriving {
		return errors.New("the end of the trace has not come yet")
	}
	return s.failed
}
