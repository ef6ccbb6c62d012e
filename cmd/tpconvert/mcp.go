package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/mcp"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/internal/web"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// mcpOptions are the flags of the server for agents.
type mcpOptions struct {
	http    string // address, "" for the standard streams
	stdlib  string
	memory  console.ByteSize
	longest time.Duration
	read    inputs.Reading
}

func newMCPCommand(ui *console.UI) *cobra.Command {
	o := mcpOptions{memory: session.DefaultMemory}
	cmd := &cobra.Command{
		Use:   "mcp [flags] [INPUT...]",
		Short: "Let agents ask about traces, over the Model Context Protocol",
		Long: `Serve agents over the Model Context Protocol, on standard input and output or,
with --http, over HTTP. Tools open a trace or a dataset, list its tables and columns,
run PerfettoSQL, summarize, show the top of a profile, compare, and find alerts.
Answers are short, and say what they leave out. SQL can only read.

INPUT is a trace, a dataset, or a folder of these: agents can open them and nothing
else. Without INPUT, they can open any file that the user can read; --http does not
allow that.`,
		Example: `  tpconvert mcp
  tpconvert mcp traces/
  tpconvert mcp --http localhost:8080 traces/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			trace := inputs.Opener{UI: ui.Printer(cmd), Read: o.read}
			if o.http != "" && len(args) == 0 {
				return console.Usage(errors.New("--http needs INPUT: what its clients may open"))
			}
			return o.runConfined(cmd.Context(), trace, args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.http, "http", "", "address to listen at, HOST:PORT; by default the protocol is on the standard input and output")
	flags.StringVar(&o.stdlib, "stdlib", "", inputs.StdlibHelp)
	flags.Var(&o.memory, "session-memory", inputs.SessionMemoryHelp)
	flags.DurationVar(&o.longest, "query-time", time.Minute, "time after which a call fails; 0 is no limit")
	o.read.Register(flags)
	return cmd
}

// runConfined serves in a process that cannot write the input.
func (o *mcpOptions) runConfined(ctx context.Context, trace inputs.Opener, args []string, in io.Reader, out io.Writer) error {
	end, err := serve.Confine("")
	if err != nil {
		return err
	}
	return errors.Join(o.run(ctx, trace, args, in, out), end())
}

func (o *mcpOptions) run(ctx context.Context, trace inputs.Opener, args []string, in io.Reader, out io.Writer) (err error) {
	alerts, err := builtinAlerts()
	if err != nil {
		return err
	}
	server, err := mcp.New(mcp.Options{Version: console.Version(), Inputs: args, Convert: trace.Convert, Modules: inputs.Modules(o.stdlib),
		Memory: int64(o.memory), Longest: o.longest, Alerts: alerts})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if o.http == "" {
		return server.Serve(ctx, in, out)
	}
	listener, err := net.Listen("tcp", o.http)
	if err != nil {
		return err
	}
	trace.UI.Result(mcpServing{"http://" + listener.Addr().String()})
	guard := web.Guard{Host: serve.Hostname(o.http)}
	return web.Serve(ctx, guard.Protect(server.Handler(), maxMCPBody), listener)
}

// maxMCPBody is the size of an agent's largest message in bytes.
const maxMCPBody = 4 << 20

// mcpServing reports the server's address.
type mcpServing struct {
	URL string `json:"url"`
}

func (s mcpServing) Text(w io.Writer) { fmt.Fprintf(w, "%s answers agents; Ctrl-C ends it\n", s.URL) }
