package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// asRoot skips a test, loudly, unless it may mount and become another user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("!!! NOT RUN: it needs root")
	}
}

func TestTargetIsAMountPoint(t *testing.T) {
	asRoot(t)
	dir := folder(t, map[string]string{"trace.json": goodTrace, "bad": "\x01"})
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", out, "tmpfs", 0, ""); err != nil {
		t.Skip("!!! NOT RUN: no tmpfs can be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(out, 0); err != nil {
			t.Error(err)
		}
	})
	// A mount point cannot be replaced. The error comes before the trace is read.
	tpconvert(t, dir, "bad", "out").expect(t, exitFailure, "it is a mount point")
	tpconvert(t, dir, "trace.json", "out").expect(t, exitFailure, "it is a mount point")
	if all := names(t, dir); !slices.Equal(all, []string{"bad", "out", "trace.json"}) || len(names(t, out)) > 0 {
		t.Errorf("left behind: %v, %v", all, names(t, out))
	}
	// A dataset of many traces can be made inside it.
	tpconvert(t, dir, "--append", "trace.json", "out").expect(t, exitDone, "")
	if all := tracesIn(t, out); len(all) != 1 {
		t.Errorf("traces %v", all)
	}
	tpconvert(t, dir, "trace.json", "out/in").expect(t, exitDone, "")
	if n := rows(t, dir, "out", "in", "slice.parquet"); n != 2 {
		t.Errorf("%d slices", n)
	}
}

func TestLeftoverOfAnotherUser(t *testing.T) {
	asRoot(t)
	dir, err := os.MkdirTemp("", "tpconvert") // every folder above is open to all, unlike those of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	leftover := filepath.Join(dir, ".out.tpconvert-0123456789abcdef")
	if err := os.Mkdir(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{filepath.Join(leftover, "slice.parquet"): "half", filepath.Join(dir, "trace.json"): goodTrace} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	for range 2 {
		cmd := command(t, dir, "--force", "trace.json", "out")
		cmd.Path = "/proc/self/exe" // another user has no access to the folder of the test binary
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		finish(t, cmd).expect(t, exitDone, "")
	}
	if n := rows(t, dir, "out", "slice.parquet"); n != 2 {
		t.Errorf("%d slices", n)
	}
	if _, err := os.Stat(filepath.Join(leftover, "slice.parquet")); err != nil {
		t.Errorf("the other user's files: %v", err)
	}
}

// TestTargetWithoutLocks converts to a file system that seems to lack flock, like some network file systems.
func TestTargetWithoutLocks(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("!!! NOT RUN: there is no strace")
	}
	targets := [][]string{{}, {"--append"}}
	if withDuckDB {
		targets = append(targets, []string{"--duckdb", "t.duckdb"})
	}
	for _, why := range []string{"ENOLCK", "EOPNOTSUPP", "ENOSYS"} {
		for _, flags := range targets {
			dir := folder(t, map[string]string{"bad": "\x01"})
			args := append(slices.Clone(flags), "bad", "out")
			cmd := command(t, dir, args...)
			traced := []string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=" + why, cmd.Path}
			cmd.Args, cmd.Path = append(traced, args...), strace
			got := finish(t, cmd)
			// If the conversion had begun, the error would be that the trace is bad.
			got.expect(t, exitFailure, "cannot write")
			if all := names(t, dir); !slices.Equal(all, []string{"bad"}) {
				t.Errorf("%s %q: left behind: %v", why, flags, all)
			}
		}
	}
}
