package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/iceberg-go"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

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

// ledgerSize returns the number of traces in a large ledger. The target is 10,000,000, which takes minutes and 4 GB of disk to make.
func ledgerSize() int {
	n, err := strconv.Atoi(os.Getenv("FLEET_LEDGER"))
	if err != nil {
		return 100_000
	}
	return n
}

// A commit of 1,000 traces into a large ledger takes little more than one into an empty ledger, and a plan of 100,000 little memory.
func TestLargeLedger(t *testing.T) { everywhere(t, testLargeLedger) }

// peakMemory returns the most memory that a process had, in MiB, or 0. Its resource usage counts what this process had when it
// started the other one.
func peakMemory(pid int) (mib int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	fmt.Sscan(rest, &kib)
	return kib >> 10
}

// planLarge plans a number of new traces, each beside one of the ledger, which are apart by a number.
func planLarge(t *testing.T, f *fleet, dir string, n, apart int) {
	t.Helper()
	pattern := filepath.Join(dir, fmt.Sprintf("*.%d", apart))
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("device-%08d.%d", i*apart, apart)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := command(t, "plan", "--lake", f.folder, pattern)
	var out bytes.Buffer
	c.Stdout = &out
	begun := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	var err error
	memory := 0
	for running := true; running; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			memory = max(memory, peakMemory(c.Process.Pid))
		}
	}
	took := time.Since(begun)
	if memory == 0 { // it ended before it was looked at
		memory = int(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10)
	}
	if tasks := strings.Count(out.String(), "\n"); err != nil || tasks != (n+999)/1000 {
		t.Errorf("%d tasks, %v", tasks, err)
	}
	t.Logf("a plan of %d traces, %d apart, takes %v and %d MiB", n, apart, took, memory)
	if memory == 0 || memory > 500 || took > 30*time.Second {
		t.Error("the plan takes too much")
	}
}

func testLargeLedger(t *testing.T, f *fleet) {
	l, stores := f.lake(t.Context(), t), f.stores(t)
	dir := t.TempDir()
	prefix := "file://" + dir + "/"
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
		r := invented(prefix, first, 1000)
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
	// No day of the past is read for a plan of another one.
	before, err := l.Files(t.Context(), task.Ledger, iceberg.EqualTo(iceberg.Reference("url"), prefix+"device-00000999.pftrace"))
	if err != nil || len(before) != 1 {
		t.Errorf("a trace may be in %q, %v", before, err)
	}
	if after, err := l.Files(t.Context(), task.Ledger, iceberg.EqualTo(iceberg.Reference("url"), prefix+"device-00001000.pftrace")); err != nil || len(after) != 0 {
		t.Errorf("another one may be in %q, %v", after, err)
	}
	size, last := ledgerSize(), task.Trace{}
	for next := 1000; next < size; {
		var many []task.Result
		for ; next < size && len(many) < 200; next += 1000 {
			many = append(many, invented(prefix, next, 1000))
		}
		if a, err := l.Commit(t.Context(), many); err != nil || a.OK != 1000*len(many) {
			t.Fatalf("%+v, %v", a, err)
		}
		last = many[len(many)-1].Traces[999].Trace
	}
	begun := time.Now()
	ledger, err := l.Ledger(t.Context(), []task.Trace{last})
	if err != nil || !ledger.Object(last).Done {
		t.Fatalf("%v", err)
	}
	reading := time.Since(begun)
	large := add(size)
	t.Logf("%d tables: %v into an empty ledger, %v into one of %d traces, which takes %v to read", len(layout.Tables)+1, small, large, size, reading)
	if f.folder != "" {
		planLarge(t, f, dir, size/100, 100)
		planLarge(t, f, dir, size/100, 1)
	}
	if large > time.Minute || large > 4*small+4*reading {
		t.Error("a commit into a large ledger takes too long")
	}
}
