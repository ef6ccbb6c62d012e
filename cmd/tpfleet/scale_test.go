package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// inventor makes results of traces that do not exist. Their files do, but are no Parquet: commits do not read them.
type inventor struct {
	lake        *lake.Lake
	stores      *store.Stores
	layout      task.Layout
	dir, prefix string // of the traces, as a path and as a URL
	file        string
}

func newInventor(t *testing.T, f *fleet) *inventor {
	t.Helper()
	v := &inventor{lake: f.lake(t.Context(), t), stores: f.stores(t), dir: t.TempDir(), file: filepath.Join(t.TempDir(), "any")}
	v.prefix = "file://" + v.dir + "/"
	if err := os.WriteFile(v.file, []byte("A commit does not read files."), 0o644); err != nil {
		t.Fatal(err)
	}
	url, err := v.lake.Layout(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := v.stores.Read(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	v.layout = lines[task.Layout](t, string(text))[0]
	return v
}

// result returns a result of traces that are numbered from first, with a file in each of some tables, or of all.
func (v *inventor) result(t *testing.T, first, traces int, tables ...string) task.Result {
	t.Helper()
	r := invented(v.prefix, first, traces)
	if len(tables) == 0 {
		for name := range v.layout.Tables {
			tables = append(tables, name)
		}
	}
	for _, name := range tables {
		place := v.layout.Tables[name]
		file := task.File{Table: name, URL: place.Location + "/data/" + r.Name() + "-2026-11-23.parquet", Rows: 1, Bytes: 29, Groups: []int64{4}}
		id := []byte(r.Traces[0].TraceID)
		for column, field := range place.Fields {
			bounds := task.Column{Field: field, Bytes: 1, Least: binary.LittleEndian.AppendUint64(nil, uint64(first)), Greatest: binary.LittleEndian.AppendUint64(nil, uint64(first))}
			if column == "trace_id" {
				bounds.Least, bounds.Greatest = id, id
			}
			if column == "trace_day" {
				bounds.Least, bounds.Greatest = []byte("2026-11-23"), []byte("2026-11-23")
			}
			file.Columns = append(file.Columns, bounds)
		}
		if err := v.stores.Put(t.Context(), file.URL, v.file); err != nil {
			t.Fatal(err)
		}
		r.Files = append(r.Files, file)
	}
	return r
}

// invented returns a result of traces that do not exist, whose URLs begin with prefix, and numbers with first.
func invented(prefix string, first, traces int) task.Result {
	r := task.Result{Task: fmt.Sprintf("%016x", first), Attempt: "00000000"}
	for n := first; n < first+traces; n++ {
		digest := sha256.Sum256([]byte(fmt.Sprint(n)))
		sum, at := hex.EncodeToString(digest[:]), int64(n)
		r.Traces = append(r.Traces, task.Outcome{
			Trace:  task.Trace{URL: fmt.Sprintf("%sdevice-%08d.pftrace", prefix, n), Bytes: at, ETag: sum[:32]},
			Status: task.OK, TraceID: "t_" + sum[:16], SHA256: sum, Format: "perfetto", Start: &at, End: &at, Version: "v1",
		})
	}
	return r
}

// commit commits results and returns how long it takes.
func (v *inventor) commit(t *testing.T, l *lake.Lake, results ...task.Result) (a lake.Account, took time.Duration) {
	t.Helper()
	begun := time.Now()
	a, err := l.Commit(t.Context(), results)
	if err != nil {
		t.Error(err)
	}
	return a, time.Since(begun)
}

// Committers that begin at once all succeed. FLEET_COMMITTERS is their number. One process that commits all results takes the
// time of one of them.
func TestManyCommitters(t *testing.T) { withLedger(t, testManyCommitters) }

func testManyCommitters(t *testing.T, f *fleet) {
	v, n := newInventor(t, f), size(t, "FLEET_COMMITTERS", 6)
	var results, batch []task.Result
	for i := range n {
		results = append(results, v.result(t, 1000*i, 1000))
		batch = append(batch, v.result(t, 1000*(n+i), 1000))
	}
	accounts, last := make([]lake.Account, n), time.Duration(0)
	var mu sync.Mutex
	var rivals sync.WaitGroup
	for i, r := range results {
		l := f.lake(t.Context(), t)
		rivals.Go(func() {
			a, took := v.commit(t, l, r)
			mu.Lock()
			defer mu.Unlock()
			accounts[i], last = a, max(last, took)
		})
	}
	rivals.Wait()
	tries, most := 0, 0
	for _, a := range accounts {
		if a.OK != 1000 {
			t.Errorf("%+v", a)
		}
		tries, most = tries+a.Tries, max(most, a.Tries)
	}
	a, took := v.commit(t, v.lake, batch...)
	if a.OK != 1000*n {
		t.Errorf("%+v", a)
	}
	t.Logf("%d committers: the last one ends after %v, %d tries in all, %d at most; their results in one commit take %v", n, last, tries, most, took)
	ledger, err := f.rows(t.Context(), v.lake, task.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	if traces := number(t, database(t), "SELECT count(DISTINCT trace_id) FROM "+ledger+" WHERE status = 'ok'"); traces != int64(2000*n) {
		t.Errorf("%d traces", traces)
	}
	if files, err := v.lake.Files(t.Context(), "slice"); err != nil || len(files) != 2*n {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// A commit to a table with many files, and after many commits, takes little more than the first one, and so does finding the files
// of a trace. FLEET_FILES and FLEET_COMMITS are their numbers.
func TestManyFiles(t *testing.T) {
	f := newFolder(t)
	v, files, commits := newInventor(t, f), size(t, "FLEET_FILES", 2000), size(t, "FLEET_COMMITS", 30)
	next := 0
	some := func(n int) (results []task.Result) {
		for range n {
			results = append(results, v.result(t, next, 1, "slice"))
			next++
		}
		return results
	}
	_, first := v.commit(t, v.lake, some(100)...)
	for next < files {
		if a, _ := v.commit(t, v.lake, some(min(files-next, 10_000))...); a.Files == 0 {
			t.Fatalf("%+v", a)
		}
	}
	_, full := v.commit(t, v.lake, some(100)...)
	begun := time.Now()
	urls, err := v.lake.Files(t.Context(), "slice")
	if err != nil || len(urls) != next {
		t.Errorf("%d files, want %d, %v", len(urls), next, err)
	}
	t.Logf("a commit of 100 files into none takes %v, into %d %v; listing them takes %v", first, files, full, time.Since(begun))
	for range commits {
		v.commit(t, v.lake, some(1)...)
	}
	_, later := v.commit(t, v.lake, some(100)...)
	t.Logf("after %d more commits of one file, it takes %v", commits, later)
	if later > 10*first+5*time.Second {
		t.Error("commits get slow")
	}
}
