package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// unreliable is an S3 gateway that answers deletions with 503. While it loses answers, it carries out every other one of them: the object
// is missing the next time. While it refuses, those of rows of slices are not carried out.
type unreliable struct {
	loses, refuses   atomic.Bool
	begun            chan bool // a deletion failed
	refused, deleted atomic.Int64
}

// newUnreliable starts such a gateway in front of that of some servers, and returns servers with it.
func newUnreliable(t *testing.T, s *servers) (*unreliable, *servers) {
	t.Helper()
	u := &unreliable{begun: make(chan bool, 1)}
	gateway := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: s.s3})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if deletes := r.Method == http.MethodDelete || r.Method == http.MethodPost && r.URL.Query().Has("delete"); !deletes {
			gateway.ServeHTTP(w, r)
			return
		}
		if !u.loses.Load() && !(u.refuses.Load() && strings.Contains(r.URL.Path, "/slice/data/")) {
			u.deleted.Add(1)
			gateway.ServeHTTP(w, r)
			return
		}
		if u.refused.Add(1)%2 == 0 && u.loses.Load() {
			gateway.ServeHTTP(httptest.NewRecorder(), r)
		}
		select {
		case u.begun <- true:
		default:
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	other := *s
	other.s3 = strings.TrimPrefix(server.URL, "http://")
	return u, &other
}

// Deletions that a store refuses for a while are tried again. If it refuses them for longer, or the command is killed, the same command
// deletes the rest later.
func TestRefusedDeletions(t *testing.T) {
	u, s := newUnreliable(t, needServers(t).withSnapshots(t))
	f := newFleetOn(t, s)
	good, _ := traces(t)
	holds := func() int { return len(datasettest.Find(t, f.tables, secret)) }
	fails := func(args ...string) {
		t.Helper()
		u.refused.Store(0)
		u.refuses.Store(true)
		c := command(t, append(append([]string{args[0]}, f.flags()...), args[1:]...)...)
		out, err := c.CombinedOutput()
		if u.refuses.Store(false); err == nil || u.refused.Load() < 4 {
			t.Errorf("%q while the store refuses deletions: %.500s, %v, %d refused", args, out, err, u.refused.Load())
		}
		if holds() == 0 {
			t.Errorf("%q: all is deleted already", args)
		}
	}
	succeeds := func(args ...string) {
		t.Helper()
		u.refused.Store(0)
		u.deleted.Store(0)
		for len(u.begun) > 0 {
			<-u.begun
		}
		u.loses.Store(true)
		go func() {
			select {
			case <-u.begun:
				time.Sleep(1500 * time.Millisecond)
			case <-t.Context().Done():
			}
			u.loses.Store(false)
		}()
		f.run(t, "", args[0], args[1:]...)
		if u.refused.Load() == 0 || u.deleted.Load() == 0 {
			t.Errorf("%q: %d deletions refused, %d not", args, u.refused.Load(), u.deleted.Load())
		}
		if n := holds(); n > 0 {
			t.Errorf("%q: the secret is in %d files", args, n)
		}
	}
	killed := func(args ...string) {
		t.Helper()
		for len(u.begun) > 0 {
			<-u.begun
		}
		u.refuses.Store(true)
		c := command(t, append(append([]string{args[0]}, f.flags()...), args[1:]...)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		<-u.begun
		c.Process.Kill()
		c.Wait()
		if u.refuses.Store(false); holds() == 0 {
			t.Errorf("%q: all is deleted already", args)
		}
	}
	uncommitted := func() {
		t.Helper()
		tpfleet(t, f.run(t, "", "plan", f.traces), "work")
	}
	f.run(t, "", "run", "-j1", f.upload(t, good[:2]...))
	private := secretTrace(t)

	f.upload(t, private)
	uncommitted()
	fails("gc", "--older-than", "0s")
	uncommitted()
	succeeds("gc", "--older-than", "0s")

	f.run(t, "", "run", "-j1", f.traces)
	f.run(t, "", "forget", idOf(t, f, "private.json"))
	fails("expire", "--older-than", "0s", "--keep", "1")
	killed("expire", "--older-than", "0s", "--keep", "1")
	succeeds("expire", "--older-than", "0s", "--keep", "1")

	id := idOf(t, f, "private.json")
	f.run(t, "", "forget", "--undo", id)
	f.run(t, "", "run", "-j1", f.traces)
	uncommitted()
	fails("forget", "--purge", id)
	killed("forget", "--purge", id)
	succeeds("forget", "--purge", id)
	equalTables(t, database(t), converted(t, good[:2]...), f.source(t, f.lake(t.Context(), t)))
}
