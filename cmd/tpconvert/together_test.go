//go:build cgo && linux

package main

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Three recorders observe the same thread: Perfetto uses the boot clock; perf and a program that
// writes Chrome JSON use the monotonic clock.
const (
	togetherManifest = `{"perfetto_manifest": {"version": 1, "files": [{"path": "a.pftrace"},
		{"path": "b.json", "clocks": {"sync_to": {"file": "a.pftrace", "clock": "MONOTONIC"}}}]}}`
	// samplesOfSlices joins the slices of two recorders with the samples of the third.
	samplesOfSlices = `SELECT s.name, s.ts, s.dur, count(p.ts) AS samples, min(p.ts) - s.ts AS first, s.ts + s.dur - max(p.ts) AS last
		FROM slice s JOIN thread_track k ON s.track_id = k.id JOIN stack_sample p ON p.utid = k.utid AND %s
		GROUP BY s.name, s.ts, s.dur ORDER BY s.name`
)

// perfSamples returns a recording of samples, in ns of the monotonic clock.
func perfSamples(pid, tid uint32, times ...uint64) []byte {
	const attrBytes, headBytes, sampleBytes = 128, 104, 32
	le := binary.LittleEndian
	u64 := func(b []byte, values ...uint64) []byte {
		for _, v := range values {
			b = le.AppendUint64(b, v)
		}
		return b
	}
	b := u64([]byte("PERFILE2"), headBytes, attrBytes, headBytes, attrBytes, headBytes+attrBytes, uint64(sampleBytes*len(times)), 0, 0, 0, 0, 0, 0)
	b = u64(b, 112<<32|1, 0, 1000, 1|2|4, 0, 1<<25, 0, 0, 0, 0, 0) // cpu-clock: address, thread, time; names its clock
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, unix.CLOCK_MONOTONIC)
	b = append(b, make([]byte, headBytes+attrBytes-len(b))...)
	for _, ts := range times {
		b = le.AppendUint32(b, 9)
		b = le.AppendUint32(b, sampleBytes<<16|2)
		b = u64(b, 0x400000, uint64(tid)<<32|uint64(pid), ts)
	}
	return b
}

// bundleFiles puts files into an archive.
func bundleFiles(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := zip.NewWriter(out)
	for name, data := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTracesOfOneMachine(t *testing.T) {
	dir := t.TempDir()
	const second = 1e9
	bundleFiles(t, filepath.Join(dir, "all.zip"), map[string][]byte{
		"manifest.json": []byte(togetherManifest),
		"a.pftrace":     perfettoSlice(t, 7, 8, 1000*second, 400*second, 1001*second, 1001*second+5_000_000),
		"b.json":        chromeSlice(7, 8, 401*second, 401*second+5_000_000),
		"c.data":        perfSamples(7, 8, 400_999_000_000, 401_001_000_000, 401_002_000_000, 401_006_000_000),
	})
	within := fmt.Sprintf(samplesOfSlices, "p.ts BETWEEN s.ts AND s.ts + s.dur")
	want := "name,ts,dur,samples,first,last\nin JSON,1001000000000,5000000,2,1000000,3000000\nin Perfetto,1001000000000,5000000,2,1000000,3000000\n"
	if got := rowsOf(t, dir, "all.zip", within); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

const burnFolder = "TPCONVERT_TEST_BURN"

// TestRecordedTogether runs this test again under perf record. The recorded process works for a
// while between two pauses and writes the other traces itself.
func TestRecordedTogether(t *testing.T) {
	if dir := os.Getenv(burnFolder); dir != "" {
		burn(t, dir)
		return
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "c.data")
	record := exec.CommandContext(t.Context(), "perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", "500", "-o", data,
		"--", os.Args[0], "-test.run", "^"+t.Name()+"$")
	record.Env = append(os.Environ(), burnFolder+"="+dir)
	if out, err := record.CombinedOutput(); err != nil {
		if _, burnt := os.Stat(filepath.Join(dir, "b.json")); burnt == nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("perf cannot record here (TestTracesOfOneMachine has a recording made by hand): %v: %s", err, out)
	}
	files := map[string][]byte{"manifest.json": []byte(togetherManifest)}
	for _, name := range []string{"a.pftrace", "b.json", "c.data"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	bundleFiles(t, filepath.Join(dir, "all.zip"), files)
	// Samples within the pauses would mean that times are wrong.
	around := fmt.Sprintf(samplesOfSlices, fmt.Sprintf("p.ts BETWEEN s.ts - %d AND s.ts + s.dur + %d", pause*3/4, pause*3/4))
	rows := strings.Split(strings.TrimSpace(rowsOf(t, dir, "all.zip", around)), "\n")
	if len(rows) != 3 {
		t.Fatalf("rows %q", rows)
	}
	var began [2]int64
	for i, row := range rows[1:] {
		var ts, dur, samples, first, last int64
		if _, err := fmt.Sscanf(row[strings.IndexByte(row, ',')+1:], "%d,%d,%d,%d,%d", &ts, &dur, &samples, &first, &last); err != nil {
			t.Fatalf("%q: %v", row, err)
		}
		const most = int64(5 * time.Millisecond) // the thread may wait for a CPU between its pause and its clock
		if samples < 5 || first < -most || last < -most {
			t.Errorf("%s: %d samples, the first %d ns after its begin, the last %d ns before its end", row, samples, first, last)
		}
		began[i] = ts
	}
	if d := time.Duration(began[0] - began[1]); d.Abs() > time.Millisecond {
		t.Errorf("one instant is %v apart", d)
	}
}

const pause = 40 * time.Millisecond

// burn works for a while and writes traces of what it did.
func burn(t *testing.T, dir string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func(clock int32) int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(clock, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	sleep := unix.NsecToTimespec(int64(pause))
	_ = unix.Nanosleep(&sleep, nil) // blocks the thread, not only the goroutine
	boottime, monotonic := now(unix.CLOCK_BOOTTIME), now(unix.CLOCK_MONOTONIC)
	var used int64
	for began := now(unix.CLOCK_THREAD_CPUTIME_ID); used < int64(100*time.Millisecond); {
		used = now(unix.CLOCK_THREAD_CPUTIME_ID) - began
	}
	boottimeEnd, monotonicEnd := now(unix.CLOCK_BOOTTIME), now(unix.CLOCK_MONOTONIC)
	_ = unix.Nanosleep(&sleep, nil)
	pid, tid := os.Getpid(), unix.Gettid()
	for name, data := range map[string][]byte{
		"a.pftrace": perfettoSlice(t, pid, tid, now(unix.CLOCK_BOOTTIME), now(unix.CLOCK_MONOTONIC), boottime, boottimeEnd),
		"b.json":    chromeSlice(pid, tid, monotonic, monotonicEnd),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
