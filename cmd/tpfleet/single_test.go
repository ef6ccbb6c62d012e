package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// proxy stands between a command and the catalog.
type proxy struct {
	*httptest.Server
	held    chan bool // a request waits
	release chan bool // closed when waiting requests go on
}

// before returns a proxy that holds the first request for which hold is true, and all later ones, until they are released.
func (f *fleet) before(t *testing.T, hold func(*http.Request) bool) *proxy {
	t.Helper()
	to, err := url.Parse(f.catalog)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{held: make(chan bool), release: make(chan bool)}
	catalog, first := httputil.NewSingleHostReverseProxy(to), sync.Once{}
	catalog.ErrorLog = log.New(io.Discard, "", 0) // commands are killed
	var mu sync.Mutex
	holding := false
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		holding = holding || hold(r)
		waits := holding
		mu.Unlock()
		if waits {
			body, err := io.ReadAll(r.Body) // so that the end of the connection is noticed
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			first.Do(func() { close(p.held) })
			select {
			case <-p.release:
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
		catalog.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// commit begins a commit of results by the proxy, and waits until a request is held.
func (p *proxy) commit(t *testing.T, f *fleet, results string) (c *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	c, out = command(t, append([]string{"commit"}, f.flags()...)...), &bytes.Buffer{}
	c.Env = append(c.Env, "TPFLEET_CATALOG="+p.URL)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(results), out, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.held:
	case <-time.After(time.Minute):
		t.Fatal("no request was held")
	}
	return c, out
}

// commits reports whether a request commits to a table.
func commits(r *http.Request, table string) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/tables/"+table)
}

// counts returns the number of rows of some tables, or of all, and of those that the ledger names.
func counts(t *testing.T, f *fleet, tables ...string) (all, counted int64) {
	t.Helper()
	if tables == nil {
		for _, s := range task.Packed() {
			tables = append(tables, s.Name)
		}
	}
	l, db := f.lake(t.Context(), t), database(t)
	ledger, err := f.rows(t.Context(), l, task.Ledger)
	for _, table := range tables {
		var rows string
		if err == nil {
			rows, err = f.rows(t.Context(), l, table)
		}
		if rows != "" {
			all += number(t, db, "SELECT count(*) FROM "+rows)
			counted += number(t, db, "SELECT count(*) FROM "+named(ledger, rows))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return all, counted
}

// onlyNamed checks that the tables have no rows but those that the ledger names.
func onlyNamed(t *testing.T, f *fleet) {
	t.Helper()
	if all, counted := counts(t, f); all != counted || all == 0 {
		t.Errorf("the tables have %d rows, the ledger names %d", all, counted)
	}
}

// worked uploads traces, and returns the results of all tasks.
func worked(t *testing.T, f *fleet, traces ...string) string {
	t.Helper()
	return tpfleet(t, f.run(t, "", "plan", "--task-traces", "3", f.upload(t, traces...)), "work")
}

// A committer that is killed among the commits to the tables, or just before that to the ledger, leaves nothing visible, also in the
// state of the tables at which a rival commits later. The next commit of the same results adds what is missing, and nothing twice.
func TestKilledBeforeLedger(t *testing.T) {
	f := newSingle(t)
	good, bad := traces(t)
	others := smallTraces(t, 2)
	results := worked(t, f, append(good, bad...)...)
	rival := tpfleet(t, f.run(t, "", "plan", f.upload(t, others...)+"small-*.json"), "work")
	tables, rows := 0, int64(0)
	for _, hold := range []func(*http.Request) bool{
		func(r *http.Request) bool {
			if r.Method == http.MethodPost {
				tables++
			}
			return tables > 5
		},
		func(r *http.Request) bool { return commits(r, task.Ledger) },
	} {
		c, _ := f.before(t, hold).commit(t, f, results)
		c.Process.Kill()
		c.Wait()
		var visible int64
		rows, visible = counts(t, f)
		if s, err := f.lake(t.Context(), t).Status(t.Context()); err != nil || s.OK+s.Bad+s.Lossy != 0 || rows == 0 || visible > 0 {
			t.Errorf("%+v, %v; %d rows in the tables, %d visible", s, err, rows, visible)
		}
		f.run(t, "", "compact", "--min-files", "2")
		if after, _ := counts(t, f); after != rows {
			t.Errorf("%d rows after compact, %d before", after, rows)
		}
	}
	if a := account(t, f.run(t, rival, "commit")); a.OK != len(others) {
		t.Errorf("the rival's commit: %+v", a)
	}
	if all, visible := counts(t, f); visible == 0 || all-visible != rows {
		t.Errorf("after the rival's commit %d rows in the tables, %d visible", all, visible)
	}
	if a := account(t, f.run(t, results, "commit")); a.OK != len(good) || a.Bad != len(bad) || a.Again != 0 {
		t.Errorf("the next commit: %+v", a)
	}
	onlyNamed(t, f)
	checkLake(t, f, converted(t, append(good, others...)...), len(good)+len(others), len(bad))
}

// A commit that comes to the ledger after its rows were collected, and their files removed, begins again, and adds nothing.
func TestLateCommit(t *testing.T) {
	f := newSingle(t)
	good, _ := traces(t)
	p := f.before(t, func(r *http.Request) bool { return commits(r, task.Ledger) })
	c, out := p.commit(t, f, worked(t, f, good...))
	if all, _ := counts(t, f, "slice"); all == 0 {
		t.Fatal("there is nothing to collect")
	}
	f.run(t, "", "compact")
	if all, _ := counts(t, f, "slice"); all == 0 {
		t.Error("young rows were collected")
	}
	f.run(t, "", "compact", "--orphans-older-than", "0s")
	if all, _ := counts(t, f, "slice"); all != 0 {
		t.Errorf("%d rows were not collected", all)
	}
	f.run(t, "", "expire", "--older-than", "0s", "--keep", "1")
	close(p.release)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if a := account(t, out.String()); a.Again != len(good) || a.OK+a.Files != 0 {
		t.Errorf("the late commit: %+v", a)
	}
	if a := account(t, f.run(t, "", "run", "-j2", f.traces)); a.OK != len(good) {
		t.Errorf("the next run: %+v", a)
	}
	onlyNamed(t, f)
	checkLake(t, f, converted(t, good...), len(good), 0)
}

// While a commit waits at a table, another one of the same results is done, and the table compacted.
func TestCommitAfterCompact(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			f := newSingle(t)
			good, _ := traces(t)
			results := worked(t, f, good...)
			p := f.before(t, func(r *http.Request) bool {
				return r.Method == method && strings.HasSuffix(r.URL.Path, "/tables/slice")
			})
			c, out := p.commit(t, f, results)
			if a := account(t, f.run(t, results, "commit")); a.OK != len(good) {
				t.Errorf("the first commit: %+v", a)
			}
			f.run(t, "", "compact", "--min-files", "2")
			checkPacked(t, f, "slice")
			close(p.release)
			if err := c.Wait(); err != nil {
				t.Fatal(err)
			}
			if a := account(t, out.String()); a.Known != len(good) || a.OK+a.Again != 0 {
				t.Errorf("the second commit: %+v", a)
			}
			onlyNamed(t, f)
			checkLake(t, f, converted(t, good...), len(good), 0)
		})
	}
}

// Rows that rework replaced, and those of attempts that came second, are collected after a time.
func TestOrphans(t *testing.T) {
	f := newSingle(t)
	good, _ := traces(t)
	tasks := f.run(t, "", "plan", "--task-traces", "3", f.upload(t, good...))
	first, second := tpfleet(t, tasks, "work"), tpfleet(t, tasks, "work")
	p := f.before(t, func(r *http.Request) bool { return commits(r, task.Ledger) })
	c, out := p.commit(t, f, second)
	f.run(t, first, "commit")
	close(p.release)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if a := account(t, out.String()); a.Known != len(good) {
		t.Errorf("the second attempts: %+v", a)
	}
	f.run(t, "", "compact", "--min-files", "2")
	if a := account(t, f.run(t, "", "rework", "-j2", "--where", "status = 'ok'")); a.Replaced != len(good) {
		t.Errorf("%+v", a)
	}
	dataset := converted(t, good...)
	checkLake(t, f, dataset, len(good), 0)
	f.run(t, "", "compact")
	all, counted := counts(t, f, "slice")
	if all != 3*counted {
		t.Errorf("slice has %d rows, the ledger names %d of them", all, counted)
	}
	done := lines[lake.Compacted](t, f.run(t, "", "compact", "--orphans-older-than", "0s"))[0]
	if done.Orphans == 0 {
		t.Errorf("%+v", done)
	}
	onlyNamed(t, f)
	checkLake(t, f, dataset, len(good), 0)
}

// A catalog that does not list transactions over several tables gets tables for commits to one at a time. Tables for transactions
// are not committed to otherwise.
func TestNoTransactions(t *testing.T) {
	fixture := needServers(t).withSnapshots(t)
	to, err := url.Parse(fixture.catalog)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("Accept-Encoding") // so that the answer can be changed
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/v1/config") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if !bytes.Contains(text, []byte("/transactions/commit")) {
			t.Errorf("the catalog has no transactions: %s", text)
		}
		text = bytes.ReplaceAll(text, []byte("/transactions/commit"), []byte("/transactions/none"))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	other := *fixture
	other.catalog = server.URL
	f := newFleetOn(t, &other)
	f.single = true
	if out := f.run(t, "", "init"); !strings.Contains(out, "one at a time") { // again
		t.Error(out)
	}
	f.run(t, "", "init", "--single-table")
	files := smallTraces(t, 3)
	if a := account(t, f.run(t, "", "run", f.upload(t, files...))); a.OK != len(files) {
		t.Errorf("%+v", a)
	}
	onlyNamed(t, f)
	equalTables(t, database(t), converted(t, files...), f.source(t, f.lake(t.Context(), t)))

	inTransactions := fleet{servers: fixture, namespace: f.namespace + "_more", traces: f.traces}
	t.Setenv("TPFLEET_CATALOG", fixture.catalog)
	inTransactions.run(t, "", "init")
	t.Setenv("TPFLEET_CATALOG", server.URL)
	for _, args := range [][]string{{"run", f.traces}, {"init", "--single-table"}, {"init", "--lake", t.TempDir(), "--catalog", "", "--single-table"}} {
		c := command(t, append(args, inTransactions.flags()...)...)
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "transactions over several") && !strings.Contains(string(out), "that are servers") {
			t.Errorf("%q: %s, %v", args, out, err)
		}
	}
}

// A commit whose answer is lost counts once.
func TestLostAnswers(t *testing.T) {
	t.Run("catalog", func(t *testing.T) { testLostAnswers(t, newFleetOn(t, needServers(t).withSnapshots(t))) })
	t.Run("ledger", func(t *testing.T) { testLostAnswers(t, newSingle(t)) })
}

func testLostAnswers(t *testing.T, f *fleet) {
	to, err := url.Parse(f.catalog)
	if err != nil {
		t.Fatal(err)
	}
	var losses atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		at := r.Request.URL.Path
		if r.Request.Method != http.MethodPost || r.StatusCode >= 300 || !strings.Contains(at, "/tables/") && !strings.HasSuffix(at, "/transactions/commit") {
			return nil
		}
		losses.Add(1)
		r.StatusCode, r.Status = http.StatusGatewayTimeout, ""
		return nil
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	t.Setenv("TPFLEET_CATALOG", server.URL)

	good, _ := traces(t)
	files := append(good[:2:2], secretTrace(t))
	if a := account(t, f.run(t, "", "run", "-j1", f.upload(t, files...))); a.OK != len(files) || a.Known != 0 {
		t.Errorf("%+v", a)
	}
	id, db := idOf(t, f, "private.json"), database(t)
	var rows int64
	source := f.source(t, f.lake(t.Context(), t))
	for _, s := range task.Packed() {
		if from := source(s.Name); from != "" {
			rows += number(t, db, "SELECT count(*) FROM "+from+" WHERE trace_id = ?", id)
		}
	}
	done := lines[lake.Forgot](t, f.run(t, "", "forget", id))[0]
	if done.Traces != 1 || done.Entries != 1 || done.Known != 0 || done.Rows != rows || rows < 5 {
		t.Errorf("%+v, want %d rows", done, rows)
	}
	if again := lines[lake.Forgot](t, f.run(t, "", "forget", id))[0]; again.Known != 1 || again.Rows+int64(again.Traces) != 0 {
		t.Errorf("%+v", again)
	}
	if n := losses.Load(); n < 2 {
		t.Errorf("%d answers were lost", n)
	}
	checkLake(t, f, converted(t, good[:2]...), 2, 0)
}
