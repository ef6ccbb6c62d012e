package serve

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSocketPath(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	path, err := SocketPath("mine")
	if err != nil || filepath.Base(path) != "mine.sock" || filepath.Base(filepath.Dir(path)) != "perfetto" {
		t.Errorf("a session's name: %s, %v", path, err)
	}
	if path, err := SocketPath("here.sock"); err != nil || path != "here.sock" {
		t.Errorf("a path: %s, %v", path, err)
	}
	for _, name := range []string{"", "a/b", "-x", strings.Repeat("x", maxSessionName+1)} {
		if path, err := SocketPath(name); err == nil {
			t.Errorf("%q is %s", name, path)
		}
	}
}

// The UI is at the server if it was fetched, and else at its own address, which has to be told another port.
func TestPage(t *testing.T) {
	fetched := &Options{UI: fstest.MapFS{}}
	if got := fetched.page(9002, "localhost"); got != "http://localhost:9002" {
		t.Error(got)
	}
	if got := new(Options).page(defaultPort, "localhost"); got != perfettoUI {
		t.Error(got)
	}
	if got := new(Options).page(9002, "localhost"); got != perfettoUI+"/#!/?rpc_port=9002" {
		t.Error(got)
	}
}

func TestListenersAreLocal(t *testing.T) {
	all, err := new(Options).listeners()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("listens at %s", ip)
		}
		l.Close()
	}
	for address, local := range map[string]bool{"": true, "localhost": true, "0.0.0.0": true, "127.0.0.1": true, "192.0.2.1": false} {
		if got := (&Options{listen: address}).local(); got != local {
			t.Errorf("%q is local: %t", address, got)
		}
	}
}

func TestAsTraceProcessor(t *testing.T) {
	if got := AsTraceProcessor([]string{"-D", "--http-port", "9002"}); !slices.Equal(got, []string{"serve", "--http-port", "9002"}) {
		t.Errorf("%q", got)
	}
	if got := AsTraceProcessor([]string{"query", "-D"}); !slices.Equal(got, []string{"query", "-D"}) {
		t.Errorf("%q", got)
	}
}
