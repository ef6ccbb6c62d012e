package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// invented returns a result of traces that do not exist, whose numbers begin with first.
func invented(first, traces int) task.Result {
	r := task.Result{Task: fmt.Sprintf("%016x", first), Attempt: "00000000"}
	for n := first; n < first+traces; n++ {
		digest := sha256.Sum256([]byte(fmt.Sprint(n)))
		sum, at := hex.EncodeToString(digest[:]), int64(n)
		r.Traces = append(r.Traces, task.Outcome{
			Trace:  task.Trace{URL: fmt.Sprintf("s3://traces/2026-11-23/device-%07d/trace.pftrace", n), Bytes: at, ETag: sum[:32]},
			Status: task.OK, TraceID: "t_" + sum[:16], SHA256: sum, Format: "perfetto", Start: &at, End: &at, Version: "v1",
		})
	}
	return r
}

// A commit of 1,000 traces into a ledger of 100,000 takes little more than one into an empty ledger.
func TestLargeLedger(t *testing.T) { everywhere(t, testLargeLedger) }

func testLargeLedger(t *testing.T, f *fleet) {
	l, stores := f.lake(t.Context(), t), f.stores(t)
	any := filepath.Join(t.TempDir(), "any")
	if err := os.WriteFile(any, []byte("A commit does not read files."), 0o644); err != nil {
		t.Fatal(err)
	}
	url, err := l.Layout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := stores.Read(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	layout := lines[task.Layout](t, string(text))[0]
	add := func(first int) time.Duration {
		r := invented(first, 1000)
		for name, place := range layout.Tables {
			file := task.File{Table: name, URL: place.Location + "/data/" + r.Name() + ".parquet", Rows: 1, Bytes: 29}
			if err := stores.Put(t.Context(), file.URL, any); err != nil {
				t.Fatal(err)
			}
			r.Files = append(r.Files, file)
		}
		begun := time.Now()
		if a, err := l.Commit(t.Context(), []task.Result{r}); err != nil || a.OK != 1000 {
			t.Fatalf("%+v, %v", a, err)
		}
		return time.Since(begun)
	}
	small := add(0)
	var many []task.Result
	for first := 1000; first < 100_000; first += 1000 {
		many = append(many, invented(first, 1000))
	}
	if a, err := l.Commit(t.Context(), many); err != nil || a.OK != 99_000 {
		t.Fatalf("%+v, %v", a, err)
	}
	begun := time.Now()
	ledger, err := l.Ledger(t.Context(), []task.Trace{many[98].Traces[999].Trace})
	if err != nil || !ledger.Object(many[98].Traces[999].Trace).Done {
		t.Fatalf("%v", err)
	}
	reading := time.Since(begun)
	large := add(100_000)
	t.Logf("%d tables: %v into an empty ledger, %v into one of 100,000 traces, which takes %v to read", len(layout.Tables)+1, small, large, reading)
	if large > time.Minute || large > 4*small+4*reading {
		t.Error("a commit into a large ledger takes too long")
	}
}
