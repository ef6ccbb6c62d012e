// Package serve is the command that serves a dataset or a trace to Perfetto's UI and its Python package, in a process that cannot
// write.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/fetch"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/internal/web"
	"github.com/tpconvert/tpconvert/rpc"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// Options are the flags of a server.
type Options struct {
	port        uint16
	listen      string
	Unix        string
	Origins     []string
	Stdlib      string
	packages    []string
	noFtraceRaw bool
	open        bool
	UI          fs.FS                      // of Perfetto's UI, nil if it is not served
	show        func(address string) error // opens the browser; nil without
	traceID     string
	processors  int              // for statements
	specs       []string         // with metrics of all traces
	Metrics     []string         // ids of these
	Memory      console.ByteSize // of a session
	Total       console.ByteSize // of all sessions; 0 for no limit
	pool        *sqlite.Pool     // of this memory
	Longest     time.Duration
	read        inputs.Reading
}

// memory returns the pool of all sessions, nil for no limit.
func (o *Options) memory() *sqlite.Pool {
	if o.pool == nil && o.Total > 0 {
		o.pool = sqlite.NewPool(int64(o.Total))
	}
	return o.pool
}

// defaultPort is where Perfetto's UI looks for Trace Processor.
const defaultPort = 9001

// NewCommand returns the command.
func NewCommand(ui *console.UI) *cobra.Command {
	o := Options{Memory: session.DefaultMemory, Total: 2 * session.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "serve [flags] [INPUT]",
		Short: "Open a dataset or trace in Perfetto's UI or Python package, without reading the trace again",
		Long: `Serve INPUT, a dataset, a DuckDB file made by tpconvert, or a trace, which is
read first, to Perfetto's UI and Python package, as Trace Processor v58 does.
Without INPUT, clients send a trace; they can also replace one.

After "tpconvert ui fetch v58.2", open the address that the command prints: the
server has the UI, which needs no network then. Otherwise, open
https://ui.perfetto.dev on this machine. The UI asks whether to use the loaded
trace. A dataset of many traces gets a page to choose one.

In Python, TraceProcessor(addr="http://localhost:9001") queries it with
PerfettoSQL, and TraceProcessorConfig(bin_path="tpconvert") starts such a server.

SQL can only read. The server is for this machine only, unless --listen names
another address; there is no password. Ctrl-C ends it.`,
		Example: `  tpconvert serve --open out/
  tpconvert serve --port 9002 trace.pftrace
  tpconvert serve --metric slices_total_dur,frames_count many/
  tpconvert serve --unix mine out/`,
		Args: console.Arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			trace := inputs.Opener{UI: ui.Printer(cmd), Stdin: cmd.InOrStdin(), Read: o.read}
			return o.runConfined(cmd.Context(), trace, args, terminal.Is(cmd.OutOrStdout()))
		},
	}
	flags := cmd.Flags()
	flags.Uint16Var(&o.port, "port", defaultPort, "port to listen on; 0 is any free one")
	flags.StringVar(&o.listen, "listen", "", "name or IP address to listen on; by default this machine's own")
	flags.StringVar(&o.Unix, "unix", "", "Unix socket to listen on instead of a port: its path, or a name for remote= of Perfetto's Python package")
	flags.BoolVar(&o.open, "open", false, "open the UI in the browser, if the output is a terminal")
	flags.StringSliceVar(&o.Origins, "allow-origin", nil, "web pages that may use the server besides Perfetto's UI, such as http://localhost:8080")
	flags.StringVar(&o.traceID, "trace-id", "", "trace to serve from a dataset of many, by its id or name")
	flags.StringSliceVar(&o.specs, "metrics", nil, "specs whose metrics the page of a dataset of many traces shows, as for summarize")
	flags.StringSliceVar(&o.Metrics, "metric", nil, "metrics to show there, by id; by default all metrics of the specs")
	flags.StringVar(&o.Stdlib, "stdlib", "", inputs.StdlibHelp)
	flags.StringArrayVar(&o.packages, "add-sql-package", nil, "folder with a package of modules; FOLDER@NAME names it")
	flags.Var(&o.Memory, "session-memory", inputs.SessionMemoryHelp)
	flags.Var(&o.Total, "memory", "memory that all sessions may take together; each may take as much as the others leave")
	flags.DurationVar(&o.Longest, "query-time", 10*time.Minute, "time after which a query fails; 0 is no limit")
	o.read.Register(flags)
	// The flags that Perfetto's Python package passes to Trace Processor.
	flags.Uint16Var(&o.port, "http-port", defaultPort, "")
	flags.BoolVar(&o.noFtraceRaw, "no-ftrace-raw", false, "")
	flags.Bool("dev", false, "")
	for _, name := range []string{"http-port", "no-ftrace-raw", "dev"} {
		flags.Lookup(name).Hidden = true
	}
	for _, name := range []string{"port", "http-port", "listen", "allow-origin", "open"} {
		cmd.MarkFlagsMutuallyExclusive("unix", name)
	}
	return cmd
}

// AsTraceProcessor replaces -D, with which Perfetto's Python package starts Trace Processor, by the serve command.
func AsTraceProcessor(args []string) []string {
	if len(args) > 0 && args[0] == "-D" {
		return append([]string{"serve"}, args[1:]...)
	}
	return args
}

// runConfined serves in a process that cannot write the input.
func (o *Options) runConfined(ctx context.Context, trace inputs.Opener, args []string, watched bool) error {
	if o.open && watched {
		var err error
		if o.show, err = newBrowser(); err != nil {
			return err
		}
	}
	socket := ""
	if o.Unix != "" {
		var err error
		if socket, err = SocketPath(o.Unix); err != nil {
			return err
		}
	}
	end, err := Confine(socket)
	if err != nil {
		return err
	}
	return errors.Join(o.Run(ctx, trace, args), end())
}

// answering is how many goroutines may run besides the statements that compute. Go's scheduler takes a processor from one in SQLite only
// after up to 10 ms, for which clients would wait at each step.
const answering = 2

// Run serves the input until the context ends.
func (o *Options) Run(ctx context.Context, trace inputs.Opener, args []string) error {
	o.processors = runtime.GOMAXPROCS(0)
	if o.Unix != "" {
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
	if o.local() {
		o.UI = fetch.UIFiles()
	}
	server, many, err := o.Handler(ctx, trace, args)
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(o.processors + answering)
	port := listeners[0].Addr().(*net.TCPAddr).Port
	page := o.page(port, "127.0.0.1")
	if many {
		page = addressOf("127.0.0.1", port)
	}
	trace.UI.Result(served{addressOf(o.host(), port), port, strings.Join(args, ""), page, o.UI != nil, many})
	if o.show != nil {
		if err := o.show(page); err != nil {
			trace.UI.Message(slog.LevelWarn, "", fmt.Sprintf("the browser cannot be opened: %v", err))
		}
	}
	return errors.Join(web.Serve(ctx, server, listeners...), server.Close())
}

// local reports whether the server can be reached at 127.0.0.1, where the UI expects it.
func (o *Options) local() bool {
	ip := net.ParseIP(o.listen)
	return o.listen == "" || strings.EqualFold(o.listen, "localhost") || ip.IsUnspecified() || ip.Equal(net.IPv4(127, 0, 0, 1))
}

// page is the address of the UI for the server at a port of this machine, which a browser calls by a name.
func (o *Options) page(port int, name string) string {
	switch {
	case o.UI != nil:
		return addressOf(name, port)
	case port == defaultPort:
		return perfettoUI
	}
	return fmt.Sprintf("%s/#!/?rpc_port=%d", perfettoUI, port)
}

// perfettoUI is where Perfetto's UI is if it was not fetched.
const perfettoUI = "https://ui.perfetto.dev"

func addressOf(host string, port int) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// Servant answers requests until it is closed.
type Servant interface {
	http.Handler
	io.Closer
}

// Handler returns the server of the input or, if that is a dataset of many traces, the page to choose one.
func (o *Options) Handler(ctx context.Context, trace inputs.Opener, args []string) (h Servant, many bool, err error) {
	if len(args) > 0 && o.traceID == "" {
		if _, many, err := export.ReadManifests(args[0]); err == nil && many {
			computed, err := newFleetMetrics(o.specs, o.Metrics, o.Stdlib)
			if err != nil {
				return nil, false, err
			}
			return newChooser(ctx, o, trace, args[0], computed), true, nil
		}
	}
	if o.specs != nil || o.Metrics != nil {
		return nil, false, console.Usage(errors.New("--metrics and --metric are for a dataset of many traces"))
	}
	h, err = o.Server(ctx, trace, args)
	return h, false, err
}

// Server returns the server for the input, if there is one.
func (o *Options) Server(ctx context.Context, trace inputs.Opener, args []string) (*rpc.Server, error) {
	packages := rpc.NewPackages(inputs.Modules(o.Stdlib))
	for _, path := range o.packages {
		folder, name, named := strings.Cut(path, "@")
		if !named {
			name = filepath.Base(folder)
		}
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return nil, console.Usage(fmt.Errorf("--add-sql-package: %s is no folder", folder))
		}
		if err := packages.Add(name, os.DirFS(folder)); err != nil {
			return nil, fmt.Errorf("--add-sql-package %s: %w", path, err)
		}
	}
	metrics, err := inputs.Metrics(o.Stdlib)
	if err != nil {
		return nil, err
	}
	options := rpc.Options{Version: console.Version(), Origins: o.Origins, Host: o.listen, UI: o.UI, Packages: packages, Metrics: metrics, Read: trace.Keep,
		Memory: int64(o.Memory), Pool: o.memory(), Longest: o.Longest, Processors: o.processors}
	if o.noFtraceRaw {
		options.Without = []string{"ftrace_event"}
	}
	if len(args) == 0 {
		return rpc.New(options, nil, ""), nil
	}
	input, err := inputs.OneTrace(ctx, args[0], o.traceID)
	if err != nil {
		return nil, err
	}
	s, err := inputs.OpenSession(ctx, input, session.Options{Perfetto: true, Shared: true, Modules: packages, Metrics: metrics, Derived: true, Memory: options.Memory, Pool: options.Pool}, trace)
	if err != nil {
		return nil, err
	}
	return rpc.New(options, s, input), nil
}

// host is the address that the server shows.
func (o *Options) host() string {
	if o.listen == "" {
		return "127.0.0.1"
	}
	return o.listen
}

// listeners opens the port for IPv4 and, if available, IPv6.
func (o *Options) listeners() ([]net.Listener, error) {
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

// served reports the server's address.
type served struct {
	URL   string `json:"url"`
	Port  int    `json:"port"`
	Trace string `json:"trace"`
	Page  string `json:"page"` // the UI's address
	ui    bool   // the server has the UI
	many  bool   // the page has the traces of a dataset
}

func (s served) Text(w io.Writer) {
	fmt.Fprintf(w, "%s %s\nOpen %s", s.URL, serves(s.Trace), s.Page)
	if !s.many {
		fmt.Fprintf(w, " or, in Python, TraceProcessor(addr=\"http://localhost:%d\")", s.Port)
	}
	fmt.Fprintln(w, "; Ctrl-C ends it")
	if !s.ui {
		fmt.Fprintf(w, "\"tpconvert ui fetch %s\" brings the UI to this machine, for use without a network\n", fetch.Version)
	}
}

// serves says what a server does with a trace, which is "" if clients send one.
func serves(trace string) string {
	if trace == "" {
		return "waits for a trace"
	}
	return "serves " + terminal.Printable(trace)
}
