package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// many gives rows for queries that take much memory.
const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) "

func TestServeSessionMemory(t *testing.T) {
	t.Parallel()
	url := serveWith(t, serve.Options{Memory: 24 << 20}, filepath.Join(dataset(t, goodTrace), "out"))
	other := connect(t, url)
	small := func(sql string) answer {
		reply := exchange(t, other, call(0, queryStreaming, queryArgs, protoField(pb.QueryArgs_SQLQuery, sql)))
		return readAnswer(t, reply[pb.TraceProcessorRpc_QueryResult][0])
	}
	if got := ask(t, url, "CREATE PERFETTO TABLE mine AS SELECT 7 AS x; SELECT x FROM mine"); !slices.Equal(got.rows, []string{"7"}) {
		t.Fatalf("%+v", got)
	}
	for _, sql := range []string{
		"CREATE TABLE t AS " + many + "SELECT i, 'a text of some length' FROM n",
		"CREATE PERFETTO TABLE t AS " + many + "SELECT i, i * 2 AS j FROM n",
		"CREATE PERFETTO TABLE t AS " + many + "SELECT i || ' is a text' AS s FROM n LIMIT 500000",
		many + "SELECT group_concat('a text of some length') FROM n",
		many + "SELECT max(i) FROM (SELECT i FROM n ORDER BY -i LIMIT 2000000)",
		"SELECT zeroblob(200000000)",
		many + "SELECT RepeatedField(i) FROM n",
		"SELECT replace(hex(zeroblob(50000)), '0', hex(zeroblob(1000)))",
	} {
		if got := ask(t, url, sql); !strings.Contains(got.failed, "this needs more memory than a session may take, 24 MiB") {
			t.Errorf("%s: %+v", sql, got)
		}
		if got := small("SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("another client, after %s: %+v", sql, got)
		}
		if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("after %s: %+v", sql, got)
		}
	}
}

func TestServeSpentSession(t *testing.T) {
	t.Parallel()
	url := serveWith(t, serve.Options{Memory: 24 << 20}, filepath.Join(dataset(t, goodTrace), "out"))
	failed := ""
	for i := 0; i < 20 && failed == ""; i++ {
		failed = ask(t, url, fmt.Sprintf("CREATE PERFETTO TABLE t%d AS %s SELECT i * 5000000000 AS i FROM n LIMIT 600000", i, many)).failed
	}
	if !strings.Contains(failed, "tables and views that were made before are gone") {
		t.Errorf("no statement failed for tables that stay: %q", failed)
	}
	if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("a new session: %+v", got)
	}
	if got := ask(t, url, "SELECT * FROM t0"); !strings.Contains(got.failed, "no such table: t0") {
		t.Errorf("a table of the old session: %+v", got)
	}
}

func TestServeQueryTime(t *testing.T) {
	t.Parallel()
	url := serveWith(t, serve.Options{Longest: 200 * time.Millisecond}, filepath.Join(dataset(t, goodTrace), "out"))
	if got := ask(t, url, endless+"SELECT count(*) FROM n"); got.failed != "this takes more than 200ms, which is as long as a query may run" {
		t.Errorf("%+v", got)
	}
	if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
		t.Errorf("afterwards: %+v", got)
	}
}

// TestServeSharedColumns lets clients read, filter and sort the same columns at once, for the race detector.
func TestServeSharedColumns(t *testing.T) {
	t.Parallel()
	trace, err := filepath.Abs(filepath.Join("..", "..", "testdata", "chromium.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	tpconvert(t, ".", "-q", trace, out).expect(t, exitDone, "")
	url := serveInput(t, out)
	queries := []string{
		"SELECT count(*), min(name), max(ts) FROM slice WHERE name = 'ThreadControllerImpl::RunTask'",
		"SELECT name, count(*) FROM slice GROUP BY name ORDER BY 2 DESC, 1 LIMIT 3",
		"SELECT sum(a.dur - b.dur) FROM slice AS a JOIN slice AS b ON a.parent_id = b.id",
		"CREATE PERFETTO TABLE mine AS SELECT name || 'x' AS name, dur FROM slice; SELECT count(*), count(DISTINCT name) FROM mine WHERE name GLOB '*x'",
		"SELECT count(*), max(display_value) FROM args WHERE key = 'category'",
	}
	var want []answer
	for _, sql := range queries {
		want = append(want, ask(t, url, sql))
	}
	fresh := serveInput(t, out)
	var clients sync.WaitGroup
	for c := range 6 {
		clients.Go(func() {
			conn := connect(t, fresh)
			for i := range queries {
				i = (i + c) % len(queries)
				reply := exchange(t, conn, call(i, queryStreaming, queryArgs, protoField(pb.QueryArgs_SQLQuery, queries[i])))
				got := readAnswer(t, reply[pb.TraceProcessorRpc_QueryResult][0])
				if got.failed != "" || !slices.Equal(got.rows, want[i].rows) {
					t.Errorf("%s: %+v, want %+v", queries[i], got, want[i])
				}
			}
		})
	}
	clients.Wait()
}
