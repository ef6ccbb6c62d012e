package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

func newTestServer(t testing.TB, o Options) *Server {
	t.Helper()
	o.Packages = NewPackages(nil)
	s, err := session.New(t.Context(), session.Options{Perfetto: true, Shared: true, Modules: o.Packages, Memory: o.Memory, Pool: o.Pool})
	if err == nil {
		err = s.OpenDataset(t.Context(), datasettest.Convert(t, `[{"ph":"X","pid":1,"tid":2,"ts":1,"dur":5,"name":"work"}]`))
	}
	if err != nil {
		t.Fatal(err)
	}
	server := New(o, s, "a trace")
	for server.running.Load() > 0 { // until the first session has begun
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// answered returns what a query outside of streams is answered, as it is encoded.
func answered(s *Server, sql string) string {
	var all message
	if err := (requester{s.common, nil}).query(context.Background(), sql, func(m message) error { all = append(all, m...); return nil }); err != nil {
		return err.Error()
	}
	return string(all)
}

// takesLong is a query of some milliseconds.
const takesLong = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) SELECT count(*) || ' rows' FROM n"

// TestSessions counts the sessions of queries that only read: one for a client, and no more than run at once for several.
func TestSessions(t *testing.T) {
	s := newTestServer(t, Options{})
	ask := func() {
		if got := answered(s, takesLong); !strings.Contains(got, "10000 rows") {
			t.Errorf("%q", got)
		}
	}
	for range 20 {
		ask()
	}
	if s.begun != 1 {
		t.Errorf("20 queries of one client began %d sessions", s.begun)
	}
	for range 3 {
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(ask)
		}
		clients.Wait()
	}
	if s.begun > 20 {
		t.Errorf("60 queries of 20 clients began %d sessions", s.begun)
	}
	for _, o := range s.idle {
		o.used = time.Now().Add(-idleTime)
	}
	s.tidy()
	if len(s.idle) != 1 {
		t.Errorf("%d sessions are left when no client has asked for a while", len(s.idle))
	}
}

// TestCommonWorkspace checks which statements see what others have created, and that only those leave the sessions that read.
func TestCommonWorkspace(t *testing.T) {
	s := newTestServer(t, Options{})
	module := fmt.Sprintf("%s %s", "CREATE PERFETTO TABLE here AS SELECT 'of a module' AS x;", "CREATE PERFETTO FUNCTION f() RETURNS STRING AS SELECT 'by a function' AS x")
	if err := s.options.Packages.add("org.ours", map[string]string{"org.ours.a": module}, false); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ sql, want string }{
		{"SELECT x FROM here", "no such table: here"},
		{"INCLUDE PERFETTO MODULE org.ours.a; SELECT 'included' AS x", "included"},
		{"SELECT x FROM here", "of a module"},
		{"SELECT f() AS x", "by a function"},
		{"CREATE VIEW v AS SELECT 'of a view' AS x; SELECT 'made' AS x", "made"},
		{"SELECT x FROM v", "of a view"},
		{"SELECT group_concat(name) FROM sqlite_master WHERE name = 'v'", "v\x00"},
		{"SELECT name FROM slice", "work"},
	} {
		if got := answered(s, test.sql); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.sql, got)
		}
	}
	if s.begun != 2 {
		t.Errorf("there were %d sessions, want one that reads, and the common one", s.begun)
	}
	if err := s.common.restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := answered(s, "SELECT x FROM here"); !strings.Contains(got, "no such table: here") {
		t.Errorf("after a restoration: %q", got)
	}
}

// TestPool checks that sessions together take no more than the pool has, that others go on, and that all of it is given back.
func TestPool(t *testing.T) {
	pool := sqlite.NewPool(96 << 20)
	s := newTestServer(t, Options{Pool: pool})
	const rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500000) SELECT i, 'a text of some length ' || i AS x FROM n"
	clients := []*workspace{s.newWorkspace(), s.newWorkspace(), s.newWorkspace()}
	run := func(w *workspace, sql string) error {
		return w.use(t.Context(), func(ctx context.Context, of *session.Session) error {
			return of.Each(ctx, sql, func(*session.Query) error { return nil })
		})
	}
	failed := 0
	for table := range 4 {
		for i, w := range clients {
			err := run(w, fmt.Sprintf("CREATE TABLE t%d AS %s", table, rows))
			if err != nil {
				failed++
				if !strings.Contains(err.Error(), "this needs more memory than others leave of the 96 MiB") {
					t.Errorf("client %d: %v", i, err)
				}
			}
			if used := pool.Used(); used > 100<<20 {
				t.Errorf("%d bytes are used", used)
			}
		}
	}
	if failed == 0 {
		t.Error("no statement failed")
	}
	if got := answered(s, "SELECT name FROM slice"); !strings.Contains(got, "work") {
		t.Errorf("another client: %q", got)
	}
	for _, w := range clients {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
	if used := pool.Used(); used > 16<<20 {
		t.Errorf("%d bytes are used after the clients have left", used)
	}
}
