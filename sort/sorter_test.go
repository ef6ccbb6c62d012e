package sort

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// sinkFunc is a Sink made of a function.
type sinkFunc func(ts int64, payload []byte) error

func (f sinkFunc) Event(ts int64, payload []byte) error { return f(ts, payload) }

// collect appends "time:payload" of every event to a list.
func collect(list *[]string) Sink {
	return sinkFunc(func(ts int64, payload []byte) error {
		*list = append(*list, fmt.Sprintf("%d:%s", ts, payload))
		return nil
	})
}

func push(t *testing.T, st *Stream, ts int64, payload string) {
	t.Helper()
	if err := st.Push(ts, []byte(payload)); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
}

func TestEqualTimesAcrossStreams(t *testing.T) {
	var got []string
	s := New(Options{})
	defer s.Close()
	a, b := s.NewStream(collect(&got)), s.NewStream(collect(&got))
	push(t, b, 7, "b1")
	push(t, a, 7, "a1")
	push(t, a, 3, "a2")
	push(t, b, 7, "b2")
	push(t, a, 7, "")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	check(t, got, "3:a2", "7:a1", "7:", "7:b1", "7:b2")
}

func TestTieSetLate(t *testing.T) {
	for _, test := range []struct {
		name string
		last int64 // time of the last event
		want []string
	}{
		{"in order", 30, []string{"10:B", "10:A", "20:D", "20:C", "30:E"}},
		{"back to 20", 20, []string{"10:B", "10:A", "20:C", "20:D", "20:E"}},
		{"back to 15", 15, []string{"10:B", "10:A", "15:E", "20:C", "20:D"}},
		{"back to 10", 10, []string{"10:A", "10:B", "10:E", "20:C", "20:D"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			s := New(Options{})
			defer s.Close()
			st := s.NewStream(collect(&got))
			push(t, st, 10, "B")
			push(t, st, 10, "A")
			push(t, st, 20, "D")
			push(t, st, 20, "C")
			st.SetTie(func(p []byte) int64 { return int64(p[0]) })
			push(t, st, test.last, "E")
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			check(t, got, test.want...)
		})
	}
}

func TestReleaseStopsAtMark(t *testing.T) {
	var got []string
	s := New(Options{})
	defer s.Close()
	st := s.NewStream(collect(&got))
	push(t, st, 30, "a")
	push(t, st, 10, "b")
	m := s.Mark()
	push(t, st, 20, "late")
	release := func(m Mark) {
		t.Helper()
		if err := s.Release(m); err != nil {
			t.Fatal(err)
		}
	}
	release(Mark(0))
	check(t, got)
	release(m)
	check(t, got, "10:b") // 30 comes after 20, which arrived later
	release(s.Mark())
	check(t, got, "10:b", "20:late", "30:a")
	if n := s.OutOfOrder(); n != 0 {
		t.Errorf("OutOfOrder() = %d before any event was", n)
	}
	push(t, st, 29, "c")
	push(t, st, 30, "d")
	release(s.Mark())
	check(t, got, "10:b", "20:late", "30:a", "30:d")
	if n := s.OutOfOrder(); n != 1 {
		t.Errorf("OutOfOrder() = %d, want 1", n)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	push(t, st, 1, "e")
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := s.OutOfOrder(); n != 1 {
		t.Errorf("OutOfOrder() = %d after Flush, want 1", n)
	}
}

func TestMaxTimestamp(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	st := s.NewStream(collect(new([]string)))
	if ts, ok := s.MaxTimestamp(); ok {
		t.Errorf("MaxTimestamp() = %d without events", ts)
	}
	for _, ts := range []int64{-5, -3, -9} {
		push(t, st, ts, "")
	}
	if ts, ok := s.MaxTimestamp(); ts != -3 || !ok {
		t.Errorf("MaxTimestamp() = %d, %t, want -3, true", ts, ok)
	}
}

func TestSinkError(t *testing.T) {
	for _, memory := range []int64{0, 1} {
		broken := errors.New("broken")
		s := New(Options{Memory: memory, TempDir: t.TempDir()})
		defer s.Close()
		n := 0
		st := s.NewStream(sinkFunc(func(int64, []byte) error {
			if n++; n == 100 {
				return broken
			}
			return nil
		}))
		for i := range int64(1000) {
			push(t, st, -i, "some payload")
		}
		if err := s.Flush(); err != broken || n != 100 {
			t.Errorf("Flush() = %v after %d events, want the error of the sink after 100", err, n)
		}
		if err := st.Push(0, nil); err != broken {
			t.Errorf("Push() = %v after a failure", err)
		}
		if err := s.Release(s.Mark()); err != broken {
			t.Errorf("Release() = %v after a failure", err)
		}
	}
}

func TestSinkMustNotCallBack(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	var st *Stream
	n := 0
	st = s.NewStream(sinkFunc(func(int64, []byte) error {
		n++
		for name, err := range map[string]error{
			"Push": st.Push(1, nil), "Flush": s.Flush(), "Release": s.Release(0), "Close": s.Close(),
		} {
			if err != ErrDelivering {
				t.Errorf("%s() = %v during delivery", name, err)
			}
		}
		return nil
	}))
	push(t, st, 1, "x")
	push(t, st, 2, "y")
	if err := s.Flush(); err != nil || n != 2 {
		t.Errorf("Flush() = %v, %d events", err, n)
	}
}

func TestClose(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Memory: 1, TempDir: dir})
	st := s.NewStream(sinkFunc(func(int64, []byte) error { return errors.New("delivered") }))
	for i := range int64(10_000) {
		push(t, st, i, "some payload")
	}
	if len(s.runs) == 0 {
		t.Fatal("nothing was spilled")
	}
	file := s.runs[0].file
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a temporary file is still open: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%d temporary files left", len(files))
	}
	if err := st.Push(0, nil); err != ErrClosed {
		t.Errorf("Push() = %v after Close", err)
	}
	if err := s.Release(s.Mark()); err != ErrClosed {
		t.Errorf("Release after Close: %v", err)
	}
	if err := s.NewStream(nil).Push(0, nil); err != ErrClosed {
		t.Errorf("Push to a stream made after Close: %v", err)
	}
	if err := s.Flush(); err != ErrClosed {
		t.Errorf("Flush() = %v after Close", err)
	}
}

func TestFilesAreRemovedWhereTheyCannotBeUnlinkedOpen(t *testing.T) {
	dir := t.TempDir()
	w, err := newRunWriter(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.path = filepath.Join(dir, "left")
	if err := os.WriteFile(w.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%d temporary files left", len(files))
	}
}

func TestKillLeavesNoFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be unlinked")
	}
	if dir := os.Getenv("SORT_TEST_SPILL"); dir != "" {
		s := New(Options{Memory: 1, TempDir: dir})
		st := s.NewStream(nil)
		for i := range int64(10_000) {
			push(t, st, i, "some payload")
		}
		fmt.Println("runs:", len(s.runs))
		select {}
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillLeavesNoFiles$")
	cmd.Env = append(os.Environ(), "SORT_TEST_SPILL="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var runs int
	if _, err := fmt.Fscanf(out, "runs: %d\n", &runs); err != nil || runs == 0 {
		t.Errorf("%d runs, %v", runs, err)
	}
	cmd.Process.Kill()
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%d temporary files left, %v", len(files), err)
	}
}

func TestSpillErrors(t *testing.T) {
	fill := func(s *Sorter) error {
		st := s.NewStream(sinkFunc(func(int64, []byte) error { return nil }))
		for i := range int64(10_000) {
			if err := st.Push(i, []byte("some payload")); err != nil {
				return err
			}
		}
		return s.Flush()
	}
	t.Run("no directory", func(t *testing.T) {
		s := New(Options{Memory: 1, TempDir: filepath.Join(t.TempDir(), "missing")})
		defer s.Close()
		err := fill(s)
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("Push() = %v", err)
		}
		if again := s.Flush(); again != err {
			t.Errorf("Flush() = %v after a failure", again)
		}
	})
	t.Run("truncated", func(t *testing.T) {
		s := New(Options{Memory: 1, TempDir: t.TempDir()})
		defer s.Close()
		st := s.NewStream(sinkFunc(func(int64, []byte) error { return nil }))
		for i := range int64(200) {
			push(t, st, i, "some payload")
		}
		if err := s.runs[0].file.Truncate(1); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(); !errors.Is(err, io.EOF) {
			t.Errorf("Flush() = %v", err)
		}
	})
}

func TestHugePayload(t *testing.T) {
	size := 300 << 20
	if testing.Short() {
		size = 30 << 20
	}
	s := New(Options{Memory: 4 << 20, TempDir: t.TempDir()})
	defer s.Close()
	var sizes []int
	var huge bool
	st := s.NewStream(sinkFunc(func(ts int64, payload []byte) error {
		sizes = append(sizes, len(payload))
		if len(payload) == size {
			huge = bytes.Count(payload, []byte{'x'}) == size-1 && payload[size-1] == 'y'
		}
		return nil
	}))
	push(t, st, 3, "abc")
	buf, err := st.Reserve(2, size)
	if err != nil {
		t.Fatal(err)
	}
	for i := range buf {
		buf[i] = 'x'
	}
	buf[size-1] = 'y'
	push(t, st, 1, "a")
	if len(s.runs) == 0 {
		t.Error("the payload was not spilled")
	}
	if held := s.stage.held(); held > 4<<20 {
		t.Errorf("holds %d bytes after spilling", held)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sizes, []int{1, size, 3}) || !huge {
		t.Errorf("delivered payloads of %v bytes, intact: %t", sizes, huge)
	}
}

func TestReserveNegative(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	if _, err := s.NewStream(nil).Reserve(0, -1); err == nil {
		t.Error("a payload of -1 bytes was accepted")
	}
}

// Released memory must be reused: staging 1 GB a few MB at a time takes only those few MB.
func TestReleaseReusesMemory(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	st := s.NewStream(sinkFunc(func(int64, []byte) error { return nil }))
	payload := make([]byte, 1000)
	mark := s.Mark()
	for i := range int64(1_000_000) {
		if err := st.Push(i^7, payload); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			if err := s.Release(mark); err != nil {
				t.Fatal(err)
			}
			mark = s.Mark()
		}
	}
	if held := s.stage.held(); held > 8<<20 {
		t.Errorf("holds %d bytes", held)
	}
}

// Memory held elsewhere leaves a smaller part of the budget for staged events, but at least
// a quarter. A flush releases the memory of events as it delivers them.
func TestHold(t *testing.T) {
	const budget = 8 << 20
	staged := func(held int64) int64 {
		s := New(Options{Memory: budget, TempDir: t.TempDir()})
		defer s.Close()
		var most, left int64
		st := s.NewStream(sinkFunc(func(int64, []byte) error { return nil }))
		s.Hold(budget)
		s.Hold(held - budget)
		for i := range int64(20_000) {
			if err := st.Push(i, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			sum := s.stage.held()
			if s.spilling != nil {
				sum += s.spilling.size
			}
			most = max(most, sum)
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if left = s.stage.held(); left > 1<<20 {
			t.Errorf("keeps %d bytes after a flush", left)
		}
		return most
	}
	for _, test := range []struct{ held, low, high int64 }{
		{0, budget * 5 / 8, budget}, {budget / 2, budget / 4, budget / 2}, {100 * budget, budget / 16, budget / 4},
	} {
		if most := staged(test.held); most < test.low || most > test.high {
			t.Errorf("%d bytes staged while %d are held, want %d to %d", most, test.held, test.low, test.high)
		}
	}
}

func TestTimeSorter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	now := int64(1e18)
	for _, test := range []struct {
		name string
		ts   func() int64
	}{
		{"any time", func() int64 { return int64(rng.Uint64()) }},
		{"extremes", func() int64 { return []int64{math.MinInt64, -1, 0, math.MaxInt64}[rng.IntN(4)] }},
		{"equal", func() int64 { return 5 }},
		{"near", func() int64 { return 1e18 + rng.Int64N(1000) }},
		{"a little late", func() int64 { now += rng.Int64N(5000); return now - rng.Int64N(200_000) }},
		{"in bursts", func() int64 { now += rng.Int64N(10); return now + 1e15*rng.Int64N(2) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var src, dst []*page
			for range 3 {
				src, dst = append(src, new(page)), append(dst, new(page))
			}
			from, to := rng.IntN(pageLen), 2*pageLen+1+rng.IntN(pageLen)
			want := make([]entry, 0, to-from)
			for i := from; i < to; i++ {
				e := entry{test.ts(), uint64(i)}
				src[i>>pageShift][i&pageMask] = e
				want = append(want, e)
			}
			slices.SortStableFunc(want, func(a, b entry) int { return cmp.Compare(a.ts, b.ts) })
			sorted, _ := new(timeSorter).sort(src, dst, from, to)
			var got []entry
			for part := range parts(sorted, from, to) {
				got = append(got, part...)
			}
			if !slices.Equal(got, want) {
				t.Error("not sorted, or not stable")
			}
		})
	}
}

// Events that are a little out of order are sorted as they arrive.
func TestSettle(t *testing.T) {
	const n = 6 * settleLen
	type event struct{ ts, arrival int64 }
	var want, got []event
	rng := rand.New(rand.NewPCG(1, 2))
	s := New(Options{TempDir: t.TempDir()})
	defer s.Close()
	st := s.NewStream(sinkFunc(func(ts int64, payload []byte) error {
		got = append(got, event{ts, int64(binary.LittleEndian.Uint64(payload))})
		return nil
	}))
	tie := func(arrival int64) int64 { return arrival % 3 }
	st.SetTie(func(payload []byte) int64 { return tie(int64(binary.LittleEndian.Uint64(payload))) })
	settled := false
	for i := range int64(n) {
		ts := i/8 + rng.Int64N(1000)
		if i == n-settleLen {
			ts = 5 // so that most must be sorted again
		}
		want = append(want, event{ts, i})
		if err := st.Push(ts, binary.LittleEndian.AppendUint64(nil, uint64(i))); err != nil {
			t.Fatal(err)
		}
		settled = settled || st.queue.sorted >= settleLen
	}
	if !settled {
		t.Error("nothing was sorted before the end")
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(tie(a.arrival), tie(b.arrival)), cmp.Compare(a.arrival, b.arrival))
	})
	if !slices.Equal(got, want) {
		t.Error("events are out of order")
	}
}
