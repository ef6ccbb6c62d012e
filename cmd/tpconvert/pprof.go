package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// print prints the functions of a profile.
func (f *flamegraph) print(_ context.Context, p *profile.Profile) error {
	nameUnknown(p)
	var text bytes.Buffer
	options := f.pprofOptions(p, "-top", "-output=report")
	options.Writer = pprofWriter{&text}
	if err := driver.PProf(options); err != nil {
		return err
	}
	f.ui.Result(report{text.String()})
	return nil
}

// report is a text of pprof.
type report struct {
	Report string `json:"report"`
}

func (r report) text(w io.Writer) { fmt.Fprint(w, printable(r.Report)) }

// serve shows a profile in pprof's web interface until the context ends.
func (f *flamegraph) serve(ctx context.Context, p *profile.Profile) error {
	nameUnknown(p)
	host, port, err := net.SplitHostPort(f.options.http)
	if err != nil {
		return err
	}
	if host == "" {
		host = "localhost"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	address := listener.Addr().(*net.TCPAddr)
	hostport := net.JoinHostPort(host, fmt.Sprint(address.Port))
	options := f.pprofOptions(p, "-http="+hostport, fmt.Sprintf("-no_browser=%t", !f.browse))
	options.HTTPServer = func(args *driver.HTTPServerArgs) error {
		server := &http.Server{Handler: pages(args.Handlers, address.IP.IsLoopback()), ReadHeaderTimeout: time.Minute}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		f.ui.Result(serving{"http://" + hostport + "/ui/flamegraph", strings.Join(p.Comments, ", less "), metricNames(p)})
		if err := server.Serve(listener); ctx.Err() == nil {
			return err
		}
		return nil
	}
	return driver.PProf(options)
}

// serving says where the web interface is.
type serving struct {
	URL     string `json:"url"`
	Profile string `json:"profile"`
	Metrics string `json:"metrics"`
}

func (s serving) text(w io.Writer) {
	fmt.Fprintf(w, "%s shows %s: %s; Ctrl-C ends it\n", s.URL, printable(s.Profile), s.Metrics)
}

// pages serves pprof's pages below /ui/. A server for this machine only answers nobody who asks for it by another name,
// as a page of the web does that had its name changed to our address.
func pages(handlers map[string]http.Handler, local bool) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range handlers {
		mux.Handle("/ui"+path, http.StripPrefix("/ui", exactly(path, handler)))
	}
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ui/flamegraph", http.StatusTemporaryRedirect)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := (&url.URL{Host: r.Host}).Hostname()
		if ip := net.ParseIP(name); local && name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this server is for this machine only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// exactly serves a path, not those below it.
func exactly(path string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// pprofOptions make pprof show a profile.
func (f *flamegraph) pprofOptions(p *profile.Profile, args ...string) *driver.Options {
	return &driver.Options{
		Flagset: &pprofFlags{flag.NewFlagSet("pprof", flag.ContinueOnError), append(args, "samples")},
		Fetch:   pprofSource{p},
		Sym:     symbolized{},
		UI:      pprofUI{f.ui, f.browse},
	}
}

// pprofFlags is a command line for pprof.
type pprofFlags struct {
	*flag.FlagSet
	args []string
}

func (f *pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}
func (*pprofFlags) ExtraUsage() string   { return "" }
func (*pprofFlags) AddExtraUsage(string) {}
func (f *pprofFlags) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}

// pprofSource gives pprof the profile itself.
type pprofSource struct{ profile *profile.Profile }

func (s pprofSource) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return s.profile, "", nil
}

// symbolized keeps pprof from looking for symbols: the profile has what there is.
type symbolized struct{}

func (symbolized) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// pprofWriter takes a report instead of a file.
type pprofWriter struct{ io.Writer }

func (w pprofWriter) Open(string) (io.WriteCloser, error) { return w, nil }
func (pprofWriter) Close() error                          { return nil }

// pprofUI has pprof talk through the printer. What the user must know is in its reports and errors.
type pprofUI struct {
	ui     printer
	browse bool
}

func (pprofUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (u pprofUI) Print(args ...any)                 { u.say(slog.LevelDebug, args) }
func (u pprofUI) PrintErr(args ...any)              { u.say(slog.LevelInfo, args) }
func (pprofUI) IsTerminal() bool                    { return false }
func (u pprofUI) WantBrowser() bool                 { return u.browse }
func (pprofUI) SetAutoComplete(func(string) string) {}
func (u pprofUI) say(level slog.Level, args []any) {
	u.ui.Message(level, "", strings.TrimSpace(fmt.Sprint(args...)))
}

// writeFolded writes the stacks of a profile with one metric, a line for each: main;run;read 312.
func writeFolded(p *profile.Profile, w io.Writer) error {
	nameUnknown(p)
	sums := map[string]int64{}
	for _, s := range p.Sample {
		var stack []string
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) {
				stack = append(stack, foldedName.Replace(line.Function.Name))
			}
		}
		if len(stack) == 0 {
			stack = []string{unknownFunction}
		}
		sums[strings.Join(stack, ";")] += s.Value[0]
	}
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(sums)) {
		if n := sums[stack]; n < 0 {
			return fmt.Errorf("folded stacks cannot hold %s, as %d at %s is negative; want NAME.pb.gz", metricNames(p), n, stack)
		} else if n > 0 {
			fmt.Fprintf(out, "%s %d\n", stack, n)
		}
	}
	return out.Flush()
}

// nameUnknown names code of which only the address is known after its file, as perf does.
func nameUnknown(p *profile.Profile) {
	named := map[string]*profile.Function{}
	for _, l := range p.Location {
		if len(l.Line) > 0 {
			continue
		}
		name := unknownFunction
		if l.Mapping != nil {
			name = "[" + strings.Trim(path.Base(l.Mapping.File), "[]") + "]"
		}
		f := named[name]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name, SystemName: name}
			named[name] = f
			p.Function = append(p.Function, f)
		}
		l.Line = []profile.Line{{Function: f}}
	}
}

// foldedName replaces what ends a name in folded stacks.
var foldedName = strings.NewReplacer(";", ":", "\n", " ", "\r", " ")

// unknownFunction stands for code without a name.
const unknownFunction = "[unknown]"

// metricNames lists what a profile measures, with units.
func metricNames(p *profile.Profile) string {
	var names []string
	for _, t := range p.SampleType {
		names = append(names, fmt.Sprintf("%s (%s)", t.Type, t.Unit))
	}
	return strings.Join(names, ", ")
}
