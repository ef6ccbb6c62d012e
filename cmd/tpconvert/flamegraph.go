package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/flamegraph"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/pprof"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// flamegraphOptions are the flags of the flamegraph command.
type flamegraphOptions struct {
	selection pprof.Selection
	base      string // input to compare with
	http      string // address of the web interface
	top, text bool
	output    string // file
	replace   bool   // replace the file if it exists
	noBrowser bool
	source    []string // folders
	read      inputs.Reading
}

func (o *flamegraphOptions) register(flags *pflag.FlagSet) {
	s := &o.selection
	flags.StringVar(&s.Trace, "trace-id", "", "trace in a dataset of many, by its id or name (default: the sum of all traces)")
	flags.StringVar(&s.Scope, "scope", "", "profile to show: its file, profiler or heap; a pattern such as *.pb.gz adds up several")
	flags.StringVar(&s.Metric, "metric", "", "metric to show first, such as cpu, cycles or alloc_space")
	flags.StringVar(&s.Process, "process", "", "process to show, by pid, name, label or pattern")
	flags.StringVar(&s.Thread, "thread", "", "thread to show, by tid, name or pattern")
	flags.StringVar(&s.From, "from", "", "exclude everything before this time: ns of the trace clock or, with a unit as in 1.5s, time since the trace began")
	flags.StringVar(&s.To, "to", "", "exclude everything at or after this time")
	flags.BoolVar(&s.Slices, "slices", false, "show slices, by their self time")
	flags.StringVar(&o.base, "base", "", "show the difference from this dataset, DuckDB file or trace")
	flags.StringVar(&o.http, "http", "", "address of the web interface, HOST:PORT; by default a free port, on this machine only")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "do not open a browser")
	flags.StringArrayVar(&o.source, "source", nil, "show source code in the web interface, of files below this folder; may be repeated")
	flags.BoolVar(&o.top, "top", false, "print functions, the heaviest first")
	flags.BoolVar(&o.text, "text", false, "the same as --top")
	flags.StringVarP(&o.output, "output", "o", "", "write a file: NAME.pb.gz for any pprof tool, NAME.folded for flame graph scripts")
	flags.BoolVarP(&o.replace, "force", "f", false, "replace the file of --output")
	o.read.Register(flags)
}

func newFlamegraphCommand(ui *console.UI) *cobra.Command {
	var o flamegraphOptions
	cmd := &cobra.Command{
		Use:   "flamegraph [flags] INPUT",
		Short: "Show the samples of a profile, or the slices of a trace, as a flame graph",
		Long: `Show where time or memory goes in INPUT: a dataset, a DuckDB file made by
tpconvert, or a trace, which is converted first. The web interface of pprof has
a flame graph, the top functions, a call graph and search. With --source it shows
the source code of files in that folder.

Values are whole numbers, as in pprof: times in ns. If a metric has fractions, they
are thousandths of its unit, such as count/1000; NAME.folded has decimals.

INPUT may have several profiles. Each has a scope (its file, profiler or heap)
and one or more metrics, such as samples and cpu. Without --scope, it shows the most
useful profile, preferably samples, and a warning names the others. Profiles of one
file that measure the same, such as those of its threads, are added up.

Samples of Linux perf have two metrics for each event: its name, such as cycles,
weights each sample by its period, as perf report does; samples, or samples:cycles
if there are several events, counts them. Samples in Perfetto traces can only be
counted.

If there is no profile, or with --slices, it shows the stacks of slices by their
self time. Slices that did not end are left out.

Threads, processes and pprof labels are tags to focus on. The stack of an object
in a Java heap consists of the classes of the objects that keep it alive.

The web interface shows any metric; --top and NAME.folded show one. It defaults to
the one that the format's own tool shows, such as cycles for perf, Ir for Callgrind,
or what a pprof file names. The web interface listens on this machine
only, unless --http names another address. Ctrl-C ends it.`,
		Example: `  tpconvert flamegraph trace.pftrace
  tpconvert flamegraph --process system_server --from 2s --to 5s --top out/
  tpconvert flamegraph --metric cpu -o stacks.folded cpu.pb.gz
  tpconvert flamegraph --base before/ after/`,
		Args: console.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := &flamegraphCommand{ui: ui.Printer(cmd), options: o, stdin: cmd.InOrStdin(), browse: !o.noBrowser && terminal.Is(cmd.OutOrStdout())}
			return f.run(cmd.Context(), args[0])
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// flamegraphCommand shows where an input spends time or memory.
type flamegraphCommand struct {
	ui      console.Printer
	options flamegraphOptions
	stdin   io.Reader
	browse  bool   // open a browser
	shown   string // what the profile is of
}

func (f *flamegraphCommand) run(ctx context.Context, input string) error {
	show, err := f.reporter()
	if err != nil {
		return err
	}
	inputs.LimitMemory(ctx, api.Options{Memory: api.DefaultMemory})
	p, err := f.load(ctx, input)
	if err != nil {
		return err
	}
	f.shown = p.Comments[0]
	if f.options.base != "" {
		base, err := f.load(ctx, f.options.base)
		if err != nil {
			return err
		}
		f.shown += ", less " + base.Comments[0]
		if p, err = pprof.Compare(p, base); err != nil {
			return err
		}
	}
	return show(ctx, p)
}

// reporter returns the function that shows a profile in the requested way.
func (f *flamegraphCommand) reporter() (func(context.Context, *profile.Profile) error, error) {
	o := &f.options
	ways := 0
	for _, wanted := range []bool{o.http != "", o.top, o.text, o.output != ""} {
		if wanted {
			ways++
		}
	}
	switch {
	case ways > 1:
		return nil, console.Usage(errors.New("--http, --top, --text and --output exclude each other"))
	case o.top || o.text:
		return f.print, nil
	case o.output != "":
		return f.writer()
	}
	if o.http == "" {
		o.http = ":0"
	}
	if _, _, err := net.SplitHostPort(o.http); err != nil {
		return nil, console.Usage(fmt.Errorf("--http %s: %w; want HOST:PORT, or :PORT for this machine only", o.http, err))
	}
	return f.serve, nil
}

// oneMetric reports whether the output can only show one metric.
func (f *flamegraphCommand) oneMetric() bool {
	return f.options.top || f.options.text || f.options.output != "" && !isPprof(f.options.output)
}

// isPprof reports whether a path names a pprof file.
func isPprof(path string) bool {
	return strings.HasSuffix(path, ".pb.gz") || strings.HasSuffix(path, ".pb")
}

// load reads the selected profile of an input.
func (f *flamegraphCommand) load(ctx context.Context, input string) (*profile.Profile, error) {
	o := session.Options{Access: session.AnyFile, NoComments: true}
	s, err := inputs.OpenSession(ctx, input, o, inputs.Opener{UI: f.ui, Stdin: f.stdin, Read: f.options.read})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	selection := f.options.selection
	selection.OneMetric = f.oneMetric()
	warn := func(msg string) { f.ui.Message(slog.LevelWarn, input, msg) }
	p, err := pprof.Read(ctx, pprof.Input{Name: input, Conn: s.Conn, Catalog: s.Catalog, Warn: warn}, selection)
	if wrong := new(pprof.SelectionError); errors.As(err, wrong) {
		return nil, console.Usage(err)
	}
	return p, err
}

// writer returns the function that writes a profile to the file of --output.
func (f *flamegraphCommand) writer() (func(context.Context, *profile.Profile) error, error) {
	path := f.options.output
	write := pprof.WriteFolded
	switch {
	case strings.HasSuffix(path, ".pb.gz"):
		write = func(w io.Writer, p *profile.Profile) error { return p.Write(w) }
	case isPprof(path):
		write = func(w io.Writer, p *profile.Profile) error { return p.WriteUncompressed(w) }
	case !strings.HasSuffix(path, ".folded"):
		return nil, console.Usage(fmt.Errorf("--output %s: want a name that ends in .pb.gz, .pb or .folded", path))
	case f.options.base != "":
		return nil, console.Usage(errors.New("folded stacks cannot hold a comparison: want --output NAME.pb.gz"))
	}
	if _, err := os.Lstat(path); err == nil && !f.options.replace {
		return nil, fmt.Errorf("%s exists; --force replaces it", path)
	}
	return func(_ context.Context, p *profile.Profile) error {
		return writeWhole(path, f.options.replace, func(w io.Writer) error { return write(w, p) })
	}, nil
}

// writeWhole writes a file completely or not at all.
func writeWhole(path string, replace bool, write func(io.Writer) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tpconvert-*")
	if err != nil {
		return staging.Error(path, errors.Unwrap(err))
	}
	defer os.Remove(draft.Name()) // fails once the file was renamed
	named := namedFile{draft, path}
	if err := errors.Join(write(named), named.err(draft.Chmod(0o644)), named.err(draft.Close())); err != nil {
		return err
	}
	if replace {
		return os.Rename(draft.Name(), path)
	}
	return session.Publish(draft.Name(), path)
}

// namedFile is a file that gets its name only when it is complete; its errors have that name.
type namedFile struct {
	draft *os.File
	name  string
}

func (f namedFile) Write(b []byte) (int, error) {
	n, err := f.draft.Write(b)
	return n, f.err(err)
}

func (f namedFile) err(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		path.Path = f.name
	}
	return err
}

// print prints the functions of a profile.
func (f *flamegraphCommand) print(_ context.Context, p *profile.Profile) error {
	text, err := flamegraph.Top(p, f.log)
	if err == nil {
		f.ui.Result(topText{text})
	}
	return err
}

func (f *flamegraphCommand) log(level slog.Level, msg string) { f.ui.Message(level, "", msg) }

// topText is one of pprof's reports.
type topText struct {
	Report string `json:"report"`
}

func (r topText) Text(w io.Writer) { fmt.Fprint(w, terminal.Printable(r.Report)) }

// serve shows a profile in the web interface until the context ends.
func (f *flamegraphCommand) serve(ctx context.Context, p *profile.Profile) error {
	server := flamegraph.Server{Title: f.shown, Address: f.options.http, Browse: f.browse, Source: f.options.source, Log: f.log, Started: func(url string) {
		f.ui.Result(serving{url, f.shown, pprof.Metrics(p)})
	}}
	return server.Serve(ctx, p)
}

// serving reports the address of the web interface.
type serving struct {
	URL     string `json:"url"`
	Profile string `json:"profile"`
	Metrics string `json:"metrics"`
}

func (s serving) Text(w io.Writer) {
	fmt.Fprintf(w, "%s shows %s: %s; Ctrl-C ends it\n", s.URL, terminal.Printable(s.Profile), s.Metrics)
}
