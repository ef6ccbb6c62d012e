//go:build cgo && linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
)

// asConfined is an environment variable. With it, the tests' binary is a process that is confined as serve is, and writes the file
// that it names.
const asConfined = "TPCONVERT_TEST_CONFINED"

func init() {
	if file := os.Getenv(asConfined); file != "" {
		writeConfined(file)
	}
}

// writeConfined prints what comes of writing the file, and of writing a temporary one, and ends the process.
func writeConfined(file string) {
	end, err := serve.Confine("")
	if err != nil {
		panic(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	for _, err := range []error{
		os.WriteFile(file, before[1:], 0o666), os.WriteFile(filepath.Join(filepath.Dir(file), "new"), nil, 0o666), os.Remove(file),
		os.Rename(file, file+"2"), os.Truncate(file, 0), os.Mkdir(file+"3", 0o777),
	} {
		fmt.Println(errors.Is(err, fs.ErrPermission))
	}
	temporary, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	moved := temporary.Name() + "-folder"
	if err := errors.Join(os.Mkdir(moved, 0o777), os.Rename(temporary.Name(), filepath.Join(moved, "file")), temporary.Close(), end()); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// A process that is confined as serve is cannot write the dataset, though the user who runs it can.
func TestConfined(t *testing.T) {
	t.Parallel()
	if version, err := syscall.LandlockGetABIVersion(); err != nil || version < 3 {
		t.Skipf("the kernel has version %d of Landlock, %v", version, err)
	}
	dir := dataset(t, goodTrace)
	before := filesBelow(t, dir)
	cmd := command(t, dir)
	cmd.Env = append(os.Environ(), asConfined+"="+filepath.Join(dir, "out/slice.parquet"), "TMPDIR="+t.TempDir())
	got := finish(t, cmd)
	if want := strings.Repeat("true\n", 6); got.code != 0 || got.stdout != want {
		t.Errorf("exit %d, refused: %s%s", got.code, got.stdout, got.stderr)
	}
	if after := filesBelow(t, dir); after != before {
		t.Errorf("files were\n%s\nand are\n%s", before, after)
	}
}

// TestServeIsConfined checks that serve is such a process, which also can gain no privileges.
func TestServeIsConfined(t *testing.T) {
	t.Parallel()
	if version, err := syscall.LandlockGetABIVersion(); err != nil || version < 3 {
		t.Skipf("the kernel has version %d of Landlock, %v", version, err)
	}
	dir := dataset(t, goodTrace)
	url, server, end := serveCommand(t, dir, filepath.Join(dir, "out"))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.Pid))
	if err != nil || !strings.Contains(string(status), "NoNewPrivs:\t1") {
		t.Errorf("serve is not confined: %v", err)
	}
	if got := ask(t, url, "SELECT count(*) FROM slice"); len(got.rows) != 1 || got.rows[0] != "2" {
		t.Errorf("%+v", got)
	}
	end()
}
