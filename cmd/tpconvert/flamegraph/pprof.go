//go:build cgo

package flamegraph

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/tpconvert/tpconvert/internal/web"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/pprof"
)

// Top returns the functions of a profile as text, the heaviest first.
func Top(p *profile.Profile, log Log) (string, error) {
	pprof.NameUnknown(p)
	for _, f := range p.Function { // a line is a function
		f.Name = strings.ReplaceAll(f.Name, "\n", `\n`)
	}
	var text bytes.Buffer
	options := pprofOptions(p, log, "-top", "-output=report")
	options.Writer = reportWriter{&text}
	err := driver.PProf(options)
	return text.String(), err
}

// Serve serves a profile until the context ends.
func (s *Server) Serve(ctx context.Context, p *profile.Profile) error {
	pprof.NameUnknown(p)
	host, port, err := net.SplitHostPort(s.Address)
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
	hostport := net.JoinHostPort(host, fmt.Sprint(listener.Addr().(*net.TCPAddr).Port))
	arguments := []string{"-http=" + hostport, fmt.Sprintf("-no_browser=%t", !s.Browse)}
	if len(s.Source) > 0 {
		if err := confine(p, s.Source); err != nil {
			return errors.Join(err, listener.Close())
		}
		// Names are as they should be: a prefix that none has keeps pprof from guessing.
		arguments = append(arguments, "-trim_path="+elsewhere+elsewhere, "-source_path="+s.Source[0])
	}
	options := pprofOptions(p, s.Log, arguments...)
	options.HTTPServer = func(args *driver.HTTPServerArgs) error {
		s.Started("http://" + hostport + "/ui/flamegraph")
		guard := web.Guard{Host: host}
		return web.Serve(ctx, guard.Protect(s.pages(args.Handlers, p), maxBody), listener)
	}
	return driver.PProf(options)
}

// maxBody is the size of the largest body of a request for a page, which has none.
const maxBody = 1 << 20

// pages serves pprof's pages below /ui/, without those that change the user's settings of pprof.
func (s *Server) pages(handlers map[string]http.Handler, p *profile.Profile) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range handlers {
		switch {
		case path == "/disasm":
			handler = refused("machine code is not shown, because the binaries that a profile names are not opened")
		case path == "/source" && len(s.Source) == 0:
			handler = refused("source code is shown with --source DIR, of files below that folder")
		}
		if path != "/saveconfig" && path != "/deleteconfig" {
			mux.Handle("GET /ui"+path, http.StripPrefix("/ui", exactly(path, s.edited(handler, p))))
		}
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ui/flamegraph", http.StatusTemporaryRedirect)
	})
	return mux
}

// exactly serves a path, but no paths below it.
func exactly(path string, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// pprofOptions returns options for pprof to show a profile.
func pprofOptions(p *profile.Profile, log Log, args ...string) *driver.Options {
	return &driver.Options{
		Flagset: &commandLine{flag.NewFlagSet("pprof", flag.ContinueOnError), append(args, "samples")},
		Fetch:   fetched{p},
		Sym:     symbolized{},
		Obj:     noTools{},
		UI:      messages{log},
	}
}

// commandLine is a command line for pprof.
type commandLine struct {
	*flag.FlagSet
	args []string
}

func (c *commandLine) StringList(name, value, usage string) *[]*string {
	return &[]*string{c.String(name, value, usage)}
}
func (*commandLine) ExtraUsage() string   { return "" }
func (*commandLine) AddExtraUsage(string) {}
func (c *commandLine) Parse(func()) []string {
	if err := c.FlagSet.Parse(c.args); err != nil {
		return nil
	}
	return c.Args()
}

// fetched gives pprof the profile instead of a file.
type fetched struct{ profile *profile.Profile }

func (f fetched) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return f.profile, "", nil
}

// symbolized keeps pprof from looking up symbols: the profile already has all symbols in the dataset.
type symbolized struct{}

func (symbolized) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// reportWriter receives a report instead of a file.
type reportWriter struct{ io.Writer }

func (w reportWriter) Open(string) (io.WriteCloser, error) { return w, nil }
func (reportWriter) Close() error                          { return nil }

// messages logs what pprof prints. Its reports and errors contain what the user must know.
type messages struct{ log Log }

func (messages) ReadLine(string) (string, error)     { return "", io.EOF }
func (m messages) Print(args ...any)                 { m.say(slog.LevelDebug, args) }
func (m messages) PrintErr(args ...any)              { m.say(slog.LevelInfo, args) }
func (messages) IsTerminal() bool                    { return false }
func (messages) WantBrowser() bool                   { return true } // unless -no_browser says otherwise
func (messages) SetAutoComplete(func(string) string) {}
func (m messages) say(level slog.Level, args []any) {
	m.log(level, strings.TrimSpace(fmt.Sprint(args...)))
}
