package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flamegraphOptions are the flags of a flame graph.
type flamegraphOptions struct {
	selection
	base      string // what to compare with
	http      string // address of the web interface
	top, text bool
	output    string // a file
	replace   bool   // the file, if it exists
	noBrowser bool
	read      readOptions
}

func (o *flamegraphOptions) register(flags *pflag.FlagSet) {
	o.selection.register(flags)
	flags.StringVar(&o.base, "base", "", "compare with this dataset, DuckDB file or trace: show what INPUT has more, or less")
	flags.StringVar(&o.http, "http", "", "show the web interface at HOST:PORT, by default a free port of localhost only")
	flags.BoolVar(&o.noBrowser, "no-browser", false, "do not open a browser")
	flags.BoolVar(&o.top, "top", false, "print the functions, the heaviest first")
	flags.BoolVar(&o.text, "text", false, "the same as --top")
	flags.StringVarP(&o.output, "output", "o", "", "write a file: NAME.pb.gz for any pprof tool, NAME.folded for flame graph scripts")
	flags.BoolVarP(&o.replace, "force", "f", false, "replace the file of --output")
	o.read.register(flags)
}

func newFlamegraphCommand(ui *uiOptions) *cobra.Command {
	var o flamegraphOptions
	cmd := &cobra.Command{
		Use:   "flamegraph [flags] INPUT",
		Short: "Show the samples of a profile, or the slices of a trace, as a flame graph",
		Long: `Show where time or memory goes in INPUT, a dataset, a DuckDB file made by
tpconvert, or a trace, which is converted first: in the web interface of pprof,
with a flame graph, the top functions, a graph of calls, source code and search.

INPUT may have several profiles. Each has a scope, its file, profiler or heap,
and one or more metrics, such as samples and cpu. Without --scope the most
telling one is shown, and if others are left out, that is said. If there is no
profile, or with --slices, the stacks of slices are shown, by their self time.
Threads, processes and pprof's labels are tags to focus on. The stack of an
object of a Java heap is the classes of the objects that keep it.

The web interface has all metrics to choose from; --top and NAME.folded need
one. It listens on this machine only, unless --http names another address.
Ctrl-C ends it.`,
		Example: `  tpconvert flamegraph trace.pftrace
  tpconvert flamegraph --process system_server --from 2s --to 5s --top out/
  tpconvert flamegraph --metric cpu -o stacks.folded cpu.pb.gz
  tpconvert flamegraph --base before/ after/`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := &flamegraph{ui: ui.printer(cmd), options: o, stdin: cmd.InOrStdin(), browse: !o.noBrowser && isTerminal(cmd.OutOrStdout())}
			return f.run(cmd.Context(), args[0])
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// flamegraph shows what an input spends its time or memory on.
type flamegraph struct {
	ui      printer
	options flamegraphOptions
	stdin   io.Reader
	browse  bool // open a browser
}

func (f *flamegraph) run(ctx context.Context, input string) error {
	show, err := f.reporter()
	if err != nil {
		return err
	}
	p, err := f.load(ctx, input)
	if err == nil && f.options.base != "" {
		p, err = f.compare(ctx, p)
	}
	if err != nil {
		return err
	}
	return show(ctx, p)
}

// reporter is what shows a profile as the options want it.
func (f *flamegraph) reporter() (func(context.Context, *profile.Profile) error, error) {
	o := &f.options
	ways := 0
	for _, wanted := range []bool{o.http != "", o.top, o.text, o.output != ""} {
		if wanted {
			ways++
		}
	}
	switch {
	case ways > 1:
		return nil, usageError{errors.New("--http, --top, --text and --output exclude each other")}
	case o.top || o.text:
		return f.print, nil
	case o.output != "":
		return f.writer()
	}
	if o.http == "" {
		o.http = ":0"
	}
	if _, _, err := net.SplitHostPort(o.http); err != nil {
		return nil, usageError{fmt.Errorf("--http %s: %w; want HOST:PORT, or :PORT for this machine only", o.http, err)}
	}
	return f.serve, nil
}

// oneMetric reports whether the profile is shown in a way that has no choice of metrics.
func (f *flamegraph) oneMetric() bool {
	return f.options.top || f.options.text || f.options.output != "" && !isPprof(f.options.output)
}

// isPprof reports whether a file is to be a profile of pprof.
func isPprof(path string) bool {
	return strings.HasSuffix(path, ".pb.gz") || strings.HasSuffix(path, ".pb")
}

// writer is what writes a profile to the file of --output.
func (f *flamegraph) writer() (func(context.Context, *profile.Profile) error, error) {
	path := f.options.output
	write := writeFolded
	switch {
	case strings.HasSuffix(path, ".pb.gz"):
		write = func(p *profile.Profile, w io.Writer) error { return p.Write(w) }
	case isPprof(path):
		write = func(p *profile.Profile, w io.Writer) error { return p.WriteUncompressed(w) }
	case !strings.HasSuffix(path, ".folded"):
		return nil, usageError{fmt.Errorf("--output %s: want a name that ends in .pb.gz, .pb or .folded", path)}
	case f.options.base != "":
		return nil, usageError{errors.New("folded stacks cannot hold a comparison: want --output NAME.pb.gz")}
	}
	if _, err := os.Lstat(path); err == nil && !f.options.replace {
		return nil, fmt.Errorf("%s exists; --force replaces it", path)
	}
	return func(_ context.Context, p *profile.Profile) error {
		return writeWhole(path, f.options.replace, func(w io.Writer) error { return write(p, w) })
	}, nil
}

// writeWhole writes a file that appears whole or not at all.
func writeWhole(path string, replace bool, write func(io.Writer) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tpconvert-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // fails once it has its name
	if err := errors.Join(write(draft), draft.Chmod(0o644), draft.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if replace {
		return os.Rename(draft.Name(), path)
	}
	return publish(draft.Name(), path)
}

// compare returns p less the profile of --base. pprof shows percentages of that.
func (f *flamegraph) compare(ctx context.Context, p *profile.Profile) (*profile.Profile, error) {
	base, err := f.load(ctx, f.options.base)
	if err != nil {
		return nil, err
	}
	both := []*profile.Profile{p, base}
	if err := profile.CompatibilizeSampleTypes(both); err != nil {
		return nil, fmt.Errorf("the profiles cannot be compared, as they have no metric in common: %s, and %s in the base",
			metricNames(p), metricNames(base))
	}
	base.SetLabel("pprof::base", []string{"true"})
	base.Scale(-1)
	return profile.Merge(both)
}

// load reads the profile of an input that the options select.
func (f *flamegraph) load(ctx context.Context, input string) (*profile.Profile, error) {
	db, err := openDatabase(ctx)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	q := &query{ui: f.ui, options: queryOptions{writes: true, read: f.options.read}, stdin: f.stdin, db: db}
	drop, err := q.attach(ctx, input)
	defer drop()
	if err != nil {
		return nil, err
	}
	r := &profileReader{ui: f.ui, input: input, conn: db.conn, selection: f.options.selection, oneMetric: f.oneMetric()}
	return r.read(ctx)
}
