package main

import (
	"bytes"
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

// size returns a number of the environment, or a small one.
func size(t *testing.T, variable string, small int) int {
	t.Helper()
	text, there := os.LookupEnv(variable)
	if !there {
		return small
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A commit of 1,000 traces into a large ledger takes little more than one into an empty ledger, and a plan of 100,000 little memory.
// FLEET_LEDGER is the number of traces in it: the bar is at 10,000,000, which take minutes and 2 GB of disk.
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
	v := newInventor(t, f)
	l, prefix := v.lake, v.prefix
	add := func(first int) time.Duration {
		r := v.result(t, first, 1000)
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
	traces, last := size(t, "FLEET_LEDGER", 100_000), task.Trace{}
	tasks := max(200, traces/50_000) // in a commit, each of which reads the ledger
	for next := 1000; next < traces; {
		var many []task.Result
		for ; next < traces && len(many) < tasks; next += 1000 {
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
	large := add(traces)
	// What has another URL, but the content of one in the ledger, is not added again.
	again := invented("file:///zzz/", 5000, 1)
	again.Task = "another"
	if a, err := l.Commit(t.Context(), []task.Result{again}); err != nil || a.OK != 0 || a.Copies != 1 {
		t.Errorf("the same content: %+v, %v", a, err)
	}
	t.Logf("%d tables: %v into an empty ledger, %v into one of %d traces, which takes %v to read", len(v.layout.Tables)+1, small, large, traces, reading)
	if f.folder != "" {
		planned := min(traces/100, 100_000)
		planLarge(t, f, v.dir, planned, traces/planned)
		planLarge(t, f, v.dir, planned, 1)
	}
	if large > 4*small+4*reading {
		t.Error("a commit into a large ledger takes too long")
	}
}
