package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/rpc"
)

// sessionName matches the names of sessions, which have their sockets in a common folder. The limit of
// their length is not in the pattern, because every process compiles it.
var sessionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

const maxSessionName = 64

// SocketPath returns the path of a Unix socket as Perfetto's Python package finds it: a path that is absolute or ends
// with .sock, or the name of a session.
func SocketPath(name string) (string, error) {
	switch {
	case filepath.IsAbs(name) || strings.HasSuffix(name, ".sock"):
		return name, nil
	case !sessionName.MatchString(name) || len(name) > maxSessionName:
		return "", console.Usage(fmt.Errorf("--unix: %q is neither an absolute path, nor a path that ends with .sock, nor a name of letters and digits", name))
	}
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" {
		base = os.TempDir()
	}
	return filepath.Join(base, "perfetto", name+".sock"), os.MkdirAll(filepath.Join(base, "perfetto"), 0o700)
}

// listenUnix opens the socket for this user only. It replaces the file that a server left which was killed.
func listenUnix(name string) (net.Listener, error) {
	path, err := SocketPath(name)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if other, dialed := net.Dial("unix", path); dialed == nil {
			other.Close()
			return nil, fmt.Errorf("another server listens at %s", path)
		} else if !errors.Is(dialed, syscall.ECONNREFUSED) {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		listener, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func (o *Options) runUnix(ctx context.Context, trace inputs.Opener, args []string) error {
	listener, err := listenUnix(o.Unix)
	if err != nil {
		return err
	}
	defer listener.Close()
	server, err := o.Server(ctx, trace, args)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.processors + answering)
	trace.UI.Result(servedUnix{listener.Addr().String(), strings.Join(args, "")})
	return errors.Join(serveUnix(ctx, server, listener), server.Close())
}

// serveUnix answers clients until the context ends, and then cancels their calls.
func serveUnix(ctx context.Context, server *rpc.Server, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
		go server.ServeStream(ctx, conn)
	}
}

// servedUnix reports the server's socket.
type servedUnix struct {
	Path  string `json:"path"`
	Trace string `json:"trace"`
}

func (s servedUnix) Text(w io.Writer) {
	fmt.Fprintf(w, "%s %s\nIn Python, TraceProcessor(remote=%q); Ctrl-C ends it\n", terminal.Printable(s.Path), serves(s.Trace), s.Path)
}
