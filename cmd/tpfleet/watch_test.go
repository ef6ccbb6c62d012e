package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Watching adds what arrives, once, also after it was killed, and when it is told to end, it commits what is finished.
func TestWatch(t *testing.T) { withLedger(t, testWatch) }

func testWatch(t *testing.T, f *fleet) {
	good, bad := traces(t)
	url := f.upload(t, append(good[:4:4], bad...)...)
	stop := poll(t, f)
	begin := func() (end func(s syscall.Signal) error) {
		t.Helper()
		c := command(t, append(append([]string{"watch"}, f.flags()...), "-j2", "--every", "300ms", "--settle", "0s", "--task-traces", "2", url)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return func(s syscall.Signal) error {
			if err := c.Process.Signal(s); err != nil {
				return err
			}
			return c.Wait()
		}
	}
	end := begin()
	waitForTraces(t, f, 4)
	f.upload(t, good[4:8]...)
	waitForTraces(t, f, 8)
	if err := end(syscall.SIGKILL); err == nil {
		t.Error("it was not killed")
	}
	f.upload(t, good[8:]...)
	end = begin()
	waitForTraces(t, f, len(good))
	if err := end(syscall.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	stop()
	checkLake(t, f, converted(t, good...), len(good), len(bad))
}

// waitForTraces waits until a number of traces has rows.
func waitForTraces(t *testing.T, f *fleet, ok int) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		s, err := f.lake(t.Context(), t).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.OK == ok {
			return
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("%d traces, want %d", s.OK, ok)
		}
	}
}

// A watcher that is told to end while it works commits the tasks that are finished.
func TestWatchEnds(t *testing.T) {
	f := newFolder(t)
	small := smallTraces(t, 200)
	url := f.upload(t, small...)
	c := command(t, "watch", "--lake", f.folder, "-j1", "--settle", "0s", "--task-traces", "1", url)
	messages, err := os.Create(filepath.Join(t.TempDir(), "messages"))
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Close()
	c.Stderr = messages
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if info, err := messages.Stat(); err != nil || info.Size() > 500 {
			break // some tasks are done
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("exit code %d", c.ProcessState.ExitCode())
	}
	s, err := f.lake(t.Context(), t).Status(t.Context())
	if text, _ := os.ReadFile(messages.Name()); !strings.Contains(string(text), fmt.Sprintf("interrupted: %d traces are left", len(small)-s.OK)) {
		t.Errorf("%d traces are in: %s", s.OK, text)
	}
	if err != nil || s.OK == 0 || s.OK == len(small) {
		t.Errorf("%d of %d traces were committed, %v", s.OK, len(small), err)
	}
	t.Logf("%d of %d traces were committed", s.OK, len(small))
}

// A young file, which may still be written, waits.
func TestWatchSettles(t *testing.T) {
	f := newFolder(t)
	small := smallTraces(t, 2)
	url := f.upload(t, small...)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(url[len("file://"):], filepath.Base(small[0])), old, old); err != nil {
		t.Fatal(err)
	}
	c := command(t, "watch", "--lake", f.folder, "-j1", "--every", "200ms", "--settle", "10m", url)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitForTraces(t, f, 1)
	time.Sleep(time.Second)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	if s, err := f.lake(t.Context(), t).Status(t.Context()); err != nil || s.OK != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
