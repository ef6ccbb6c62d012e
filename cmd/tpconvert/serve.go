package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/rpc"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// serveOptions are the flags of a server.
type serveOptions struct {
	port        uint16
	listen      string
	unix        string
	origins     []string
	stdlib      string
	packages    []string
	noFtraceRaw bool
	traceID     string
	memory      byteSize
	longest     time.Duration
	read        readOptions
}

// defaultPort is where Perfetto's UI looks for Trace Processor.
const defaultPort = 9001

func newServeCommand(ui *uiOptions) *cobra.Command {
	o := serveOptions{memory: session.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "serve [flags] [INPUT]",
		Short: "Open a dataset or trace in Perfetto's UI or Python package, without reading the trace again",
		Long: `Serve INPUT, a dataset of one trace, one trace of a dataset of many, a DuckDB file
made by tpconvert, or a trace, which is converted first, to Perfetto's UI and to its Python package, as Trace
Processor v58 does. Without INPUT, clients send a trace; they can replace one,
too.

Open https://ui.perfetto.dev on this machine and choose to use the loaded
trace. In Python, TraceProcessor(addr="http://localhost:9001") asks with PerfettoSQL,
and TraceProcessorConfig(bin_path="tpconvert") starts such a server by itself.

SQL can only read. The server is for this machine only, unless --listen names
another address; there is no password. Ctrl-C ends it.`,
		Example: `  tpconvert serve out/
  tpconvert serve --port 9002 trace.pftrace
  tpconvert serve --unix mine out/`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			trace := opener{ui: ui.printer(cmd), stdin: cmd.InOrStdin(), read: o.read}
			return o.runConfined(cmd.Context(), trace, args)
		},
	}
	flags := cmd.Flags()
	flags.Uint16Var(&o.port, "port", defaultPort, "port to listen at; 0 is any free one")
	flags.StringVar(&o.listen, "listen", "", "name or IP address to listen at; by default this machine's own")
	flags.StringVar(&o.unix, "unix", "", "Unix socket to listen at instead of a port: its path, or a name for remote= of Perfetto's Python package")
	flags.StringSliceVar(&o.origins, "allow-origin", nil, "web pages that may use the server besides Perfetto's UI, such as http://localhost:8080")
	flags.StringVar(&o.traceID, "trace-id", "", "trace to serve of a dataset of many, by its id or name")
	flags.StringVar(&o.stdlib, "stdlib", "", stdlibHelp)
	flags.StringArrayVar(&o.packages, "add-sql-package", nil, "folder with a package of modules; FOLDER@NAME names it")
	flags.Var(&o.memory, "session-memory", sessionMemoryHelp)
	flags.DurationVar(&o.longest, "query-time", 10*time.Minute, "time after which a query fails; 0 is no limit")
	o.read.register(flags)
	// The flags that Perfetto's Python package passes to Trace Processor.
	flags.Uint16Var(&o.port, "http-port", defaultPort, "")
	flags.BoolVar(&o.noFtraceRaw, "no-ftrace-raw", false, "")
	flags.Bool("dev", false, "")
	for _, name := range []string{"http-port", "no-ftrace-raw", "dev"} {
		flags.Lookup(name).Hidden = true
	}
	for _, name := range []string{"port", "http-port", "listen", "allow-origin"} {
		cmd.MarkFlagsMutuallyExclusive("unix", name)
	}
	return cmd
}

// asTraceProcessor replaces -D, with which Perfetto's Python package starts Trace Processor, by the serve command.
func asTraceProcessor(args []string) []string {
	if len(args) > 0 && args[0] == "-D" {
		return append([]string{"serve"}, args[1:]...)
	}
	return args
}

// runConfined serves in a process that cannot write the input.
func (o *serveOptions) runConfined(ctx context.Context, trace opener, args []string) error {
	socket := ""
	if o.unix != "" {
		var err error
		if socket, err = socketPath(o.unix); err != nil {
			return err
		}
	}
	end, err := confine(socket)
	if err != nil {
		return err
	}
	return errors.Join(o.run(ctx, trace, args), end())
}

func (o *serveOptions) run(ctx context.Context, trace opener, args []string) error {
	if o.unix != "" {
		return o.runUnix(ctx, trace, args)
	}
	listeners, err := o.listeners()
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	server, err := o.server(ctx, trace, args)
	if err != nil {
		return err
	}
	port := listeners[0].Addr().(*net.TCPAddr).Port
	trace.ui.Result(served{"http://" + net.JoinHostPort(o.host(), strconv.Itoa(port)), port, strings.Join(args, "")})
	return errors.Join(serveHTTP(ctx, server, listeners), server.Close())
}

// server returns the server for the input, if there is one.
func (o *serveOptions) server(ctx context.Context, trace opener, args []string) (*rpc.Server, error) {
	packages := rpc.NewPackages(modules(o.stdlib))
	for _, path := range o.packages {
		folder, name, named := strings.Cut(path, "@")
		if !named {
			name = filepath.Base(folder)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, usageError{fmt.Errorf("--add-sql-package: %s is no folder", folder)}
		}
		packages.Add(name, os.DirFS(folder))
	}
	metrics, err := metricLibrary(o.stdlib)
	if err != nil {
		return nil, err
	}
	options := rpc.Options{Version: version(), Origins: o.origins, Host: o.listen, Packages: packages, Metrics: metrics, Convert: trace.convert,
		Memory: int64(o.memory), Longest: o.longest}
	if o.noFtraceRaw {
		options.Without = []string{"ftrace_event"}
	}
	if len(args) == 0 {
		return rpc.New(options, nil, ""), nil
	}
	input, err := oneTrace(ctx, args[0], o.traceID)
	if err != nil {
		return nil, err
	}
	s, err := openSession(ctx, input, session.Options{Perfetto: true, Shared: true, Modules: packages, Metrics: metrics, Derived: true, Memory: options.Memory}, trace)
	if err != nil {
		return nil, err
	}
	return rpc.New(options, s, input), nil
}

// host is the address that the server shows.
func (o *serveOptions) host() string {
	if o.listen == "" {
		return "127.0.0.1"
	}
	return o.listen
}

// listeners opens the port for IPv4 and, if available, IPv6.
func (o *serveOptions) listeners() ([]net.Listener, error) {
	first, err := net.Listen("tcp", net.JoinHostPort(o.host(), strconv.Itoa(int(o.port))))
	if err != nil {
		return nil, fmt.Errorf("%w; --port takes another port", err)
	}
	all := []net.Listener{first}
	if o.listen == "" {
		port := first.Addr().(*net.TCPAddr).Port
		if second, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
			all = append(all, second)
		}
	}
	return all, nil
}

// serveHTTP answers requests until the context ends, and then cancels those that still run.
func serveHTTP(ctx context.Context, handler http.Handler, listeners []net.Listener) error {
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- server.Serve(l) }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		stop()
		return server.Close()
	}
}

// served reports the server's address.
type served struct {
	URL   string `json:"url"`
	Port  int    `json:"port"`
	Trace string `json:"trace"`
}

func (s served) text(w io.Writer) {
	page := "https://ui.perfetto.dev"
	if s.Port != defaultPort {
		page += fmt.Sprintf("/#!/?rpc_port=%d", s.Port)
	}
	fmt.Fprintf(w, "%s %s\nOpen %s or, in Python, TraceProcessor(addr=\"http://localhost:%d\"); Ctrl-C ends it\n", s.URL, serves(s.Trace), page, s.Port)
}

// serves says what a server does with a trace, which is "" if clients send one.
func serves(trace string) string {
	if trace == "" {
		return "waits for a trace"
	}
	return "serves " + printable(trace)
}
