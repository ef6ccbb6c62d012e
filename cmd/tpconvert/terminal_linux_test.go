//go:build cgo

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// onTerminal runs the command with a terminal as its standard output, and returns what that gets.
func onTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir, args...)
	cmd.Stdout = terminal
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // fails once nothing has the terminal open
		shown <- string(text)
	}()
	err = cmd.Run()
	terminal.Close()
	if err != nil {
		t.Errorf("%q: %v", args, err)
	}
	select {
	case text := <-shown:
		return strings.ReplaceAll(text, "\r\n", "\n")
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal does not end")
		return ""
	}
}

// What names in traces say never controls a terminal. Files and pipes get it as it is.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	dir := dataset(t, `{"traceEvents":[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"\u001b]0;owned\u0007\u202ered\u0000\u009b1m\nend"}]}`)
	out := filepath.Join(dir, "out")
	const sql = "SELECT name, name AS \"a\x1b[31m\", [name] AS list FROM slice"
	for _, format := range []string{"table", "csv", "markdown", "json", "ndjson"} {
		for _, args := range [][]string{{"query", "--format", format, out, sql}, {"query", "--perfetto", "--format", format, out, "SELECT name FROM slice"}} {
			text := onTerminal(t, dir, args...)
			bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) })
			if bad >= 0 || !strings.Contains(text, "owned") || strings.Contains(text, "\nend") {
				t.Errorf("%q: %q", args, text)
			}
		}
	}
	for _, format := range []string{"csv", "markdown"} {
		got := tpconvert(t, dir, "query", "--format", format, out, "SELECT name FROM slice")
		if !strings.Contains(got.stdout, "\x1b]0;owned\a\u202ered\x00\u009b1m") {
			t.Errorf("%s in a pipe: %q", format, got.stdout)
		}
	}
}

// Ctrl-C is an interruption, not an error of the database.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	dir := dataset(t, goodTrace)
	cmd := command(t, dir, "query", "out", "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b WHERE a.range < b.range")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || stderr.String() != "tpconvert: interrupted\n" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
