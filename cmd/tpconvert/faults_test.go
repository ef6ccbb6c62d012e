//go:build cgo && linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// faulty returns a command whose system calls strace makes fail, as strace's option inject says.
func faulty(t *testing.T, dir, calls, inject string, args ...string) *exec.Cmd {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace")
	}
	cmd := command(t, dir, args...)
	cmd.Args = append([]string{"strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + calls + ":" + inject}, cmd.Args...)
	cmd.Path = strace
	return cmd
}

// untilDone runs a command with a fault in its first, second, ... system call of some, and check after each, until it is done without a
// fault.
func untilDone(t *testing.T, dir, calls, fault string, check func(n int), args ...string) {
	t.Helper()
	for n := 1; n < 100; n++ {
		got := finish(t, faulty(t, dir, calls, fmt.Sprintf("%s:when=%d", fault, n), args...))
		check(n)
		if got.code == exitDone {
			if n == 1 {
				t.Error("no call fails: the test shows nothing")
			}
			return
		}
	}
	t.Error("the command is never done")
}

// TestFailedRename checks that the old trace stays, if a trace cannot replace it.
func TestFailedRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "one"), 0o777), os.WriteFile(filepath.Join(dir, "one/a.json"), []byte(goodTrace), 0o666)); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "-q", "one", "out").expect(t, exitDone, "")
	untilDone(t, dir, "renameat,renameat2", "error=EIO", func(n int) {
		if got := rowsOf(t, dir, "out", "SELECT count(*) AS n FROM slice"); got != "n\n2\n" {
			t.Errorf("after rename %d failed: %q", n, got)
		}
	}, "-q", "-f", "-j1", "one", "out")
}

// TestKilledInRename checks that a trace is seen whole or not at all, if the process that adds it is killed.
func TestKilledInRename(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": goodTrace, "b.json": lossyTrace, "c.json": goodTrace + " "})
	tpconvert(t, dir, "-q", "a.json", "b.json", "out").expect(t, exitDone, "")
	untilDone(t, dir, "renameat,renameat2", "signal=SIGKILL", func(n int) {
		const traces = "SELECT string_agg(DISTINCT trace_id, ' ' ORDER BY trace_id) AS n FROM "
		if slices, threads := rowsOf(t, dir, "out", traces+"slice"), rowsOf(t, dir, "out", traces+"thread"); slices != threads {
			t.Errorf("killed in rename %d: there are slices of %q, and threads of %q", n, slices, threads)
		}
	}, "-q", "-j1", "--append", "c.json", "out")
}

// childOf returns the process that another one has started, or 0.
func childOf(parent int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range all {
		status, _ := os.ReadFile(path)
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", parent)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

// TestInterruptedCommit checks that the exit code tells whether there is a dataset, whenever the signal comes.
func TestInterruptedCommit(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"a.json": goodTrace})
	sent := 0
	for i := range 6 {
		out := fmt.Sprintf("out%d", i)
		cmd := faulty(t, dir, "fsync", "delay_enter=200000", "-q", "a.json", out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i+1) * 100 * time.Millisecond)
		if pid := childOf(cmd.Process.Pid); pid > 0 && syscall.Kill(pid, syscall.SIGTERM) == nil {
			sent++
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		code := cmd.ProcessState.ExitCode()
		_, err := os.Stat(filepath.Join(dir, out))
		if exists := err == nil; exists != (code == exitDone) {
			t.Errorf("exit code %d, and there is a dataset: %t", code, exists)
		}
	}
	if sent < 3 {
		t.Errorf("%d signals came in time", sent)
	}
}

// TestTwoRunsAtOnce checks that two runs into one dataset do not disturb each other.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("t%d.json", i)] = fmt.Sprintf(`[{"ph":"X","pid":1,"tid":%d,"ts":1,"dur":1,"name":"n"}]`, i+1)
	}
	dir := folder(t, files)
	for i := range 6 {
		out := fmt.Sprintf("out%d", i)
		var first outcome
		var running sync.WaitGroup
		running.Go(func() { first = tpconvert(t, dir, "-q", "t0.json", "t1.json", out) })
		time.Sleep(time.Duration(i) * 10 * time.Millisecond)
		tpconvert(t, dir, "-q", "t2.json", "t3.json", "t4.json", "t5.json", "t6.json", "t7.json", out).expect(t, exitDone, "")
		running.Wait()
		first.expect(t, exitDone, "")
		if got := rowsOf(t, dir, out, "SELECT count(*) AS n FROM slice"); got != "n\n8\n" {
			t.Errorf("%s: %q", out, got)
		}
	}
}

// TestMoreThanOneJSON checks that what follows the outer value of a trace in JSON is read or counted as lost.
func TestMoreThanOneJSON(t *testing.T) {
	t.Parallel()
	const a, b = `{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"a"}`, `{"ph":"X","pid":1,"tid":2,"ts":20,"dur":5,"name":"b"}`
	dir := folder(t, map[string]string{"lines.ndjson": a + "\n" + b + "\n", "two.json": "[" + a + "][" + b + "]"})
	for trace, want := range map[string]string{"lines.ndjson": "slices,lost\n2,0\n", "two.json": "slices,lost\n1,1\n"} {
		tpconvert(t, dir, "-q", trace, trace+".out").expect(t, exitDone, "")
		got := rowsOf(t, dir, trace+".out", `SELECT (SELECT count(*) FROM slice) AS slices,
			(SELECT count(*) FROM stats WHERE name = 'json_trailing_data' AND value > 0) AS lost`)
		if got != want {
			t.Errorf("%s: got %q, want %q", trace, got, want)
		}
	}
}

// TestServeGlob checks that a pattern that takes minutes ends with its client, holds up no other, and does not keep the server from its end.
func TestServeGlob(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	_, _, endIdle := serveCommand(t, dir, filepath.Join(dir, "out"))
	url, _, end := serveCommand(t, dir, filepath.Join(dir, "out"))
	ctx, leave := context.WithTimeout(t.Context(), time.Second)
	defer leave()
	const sql = "SELECT printf('%.250000000c', 'a') GLOB '*' || replace(printf('%.10000c', 'a'), 'a', 'a*') || 'b'"
	request, err := http.NewRequestWithContext(ctx, "POST", url+"/query", bytes.NewReader(sqlArgs(sql)))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error)
	go func() {
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.ReadAll(answer.Body)
			answer.Body.Close()
		}
		gone <- err
	}()
	time.Sleep(300 * time.Millisecond)
	small := func() {
		if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("%+v", got)
		}
	}
	small()
	if err := <-gone; err == nil {
		t.Error("the pattern takes no time: the test shows nothing")
	}
	small()
	if took, idle := end(), endIdle(); took > 100*idle {
		t.Errorf("the server ended after %v, one that was asked nothing after %v", took, idle)
	}
}

// TestManyMembers checks that the CPU time of an archive grows with its members, and not with their square.
func TestManyMembers(t *testing.T) {
	dir := t.TempDir()
	cpu := func(members int) time.Duration {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		const log = "# ninja log v5\n0\t5\t0\tj\t1\n"
		for i := range members {
			if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("a%d", i), Size: int64(len(log)), Mode: 0o666}); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(w, log)
		}
		if err := errors.Join(w.Close(), os.WriteFile(filepath.Join(dir, "a.tar"), archive.Bytes(), 0o666)); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, dir, "-q", "-f", "-j1", "a.tar", "out")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	few, many := cpu(1000), cpu(8000)
	if many > 16*few { // linear: below 8; with the square: 64
		t.Errorf("1,000 members take %v, 8,000 %v", few, many)
	}
}
