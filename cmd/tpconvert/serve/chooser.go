package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/page"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/terminal"
	"github.com/tpconvert/tpconvert/internal/web"
	"github.com/tpconvert/tpconvert/rpc"
	"github.com/tpconvert/tpconvert/sqlfuncs/analysis/report"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// maxOpenTraces is how many traces of a dataset are served at a time.
const maxOpenTraces = 16

// chooser serves a page to choose a trace of a dataset of many, and each chosen trace at a port of its own, because Perfetto's
// UI can name its server by a port alone.
type chooser struct {
	http.Handler
	options *Options
	trace   inputs.Opener
	input   string
	metrics *fleetMetrics   // of all traces, nil for none
	ctx     context.Context // of the servers and metrics
	cancel  context.CancelFunc

	mu   sync.Mutex
	open map[string]*chosen // by the folder of the trace
}

// chosen is the server of a trace.
type chosen struct {
	server *rpc.Server
	port   int
	at     time.Time // of the last click
	stop   func() error
}

// maxPageBody is the size of the largest body of a request for a page, which has none.
const maxPageBody = 1 << 20

// newChooser returns the page of a dataset. Its servers and metrics end with the context.
func newChooser(ctx context.Context, o *Options, trace inputs.Opener, input string, computed *fleetMetrics) *chooser {
	c := &chooser{options: o, trace: trace, input: input, metrics: computed, open: map[string]*chosen{}}
	c.ctx, c.cancel = context.WithCancel(ctx)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.servePage)
	mux.HandleFunc("GET /open", c.serveTrace)
	guard := web.Guard{Host: o.listen}
	c.Handler = guard.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-cache")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		mux.ServeHTTP(w, r)
	}), maxPageBody)
	return c
}

// servePage answers with the page of all traces.
func (c *chooser) servePage(w http.ResponseWriter, r *http.Request) {
	p, err := c.page(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Write(w, p)
}

// serveTrace leads the browser to the UI of a trace.
func (c *chooser) serveTrace(w http.ResponseWriter, r *http.Request) {
	// A page of another server on this machine may not open traces by an image.
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		http.Error(w, "open the trace from the page of this server", http.StatusForbidden)
		return
	}
	port, err := c.serve(r.URL.Query().Get("trace_id"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, r, c.options.page(port, Hostname(r.Host)), http.StatusSeeOther)
}

// page makes the page of all traces.
func (c *chooser) page(ctx context.Context) (*report.Page, error) {
	manifests, _, err := export.ReadManifests(c.input)
	if err != nil {
		return nil, err
	}
	var computed map[string][]metrics.Table
	missing, alarm := 0, ""
	if c.metrics != nil {
		traces, err := c.traces()
		if err != nil {
			return nil, err
		}
		select {
		case <-c.metrics.start(c.ctx, traces):
		case <-time.After(patience):
		case <-ctx.Done():
		}
		var failed error
		if computed, missing, failed = c.metrics.of(traces); failed != nil {
			alarm = failed.Error()
		}
	}
	lost := func(m *export.Manifest) int64 { return api.LossesOf(m).Lost }
	p := report.Traces(c.input, openPath, manifests, computed, lost, terminal.Printable)
	if missing > 0 {
		p.Summary += fmt.Sprintf("; the metrics of %d are not yet computed, reload the page for them", missing)
	}
	p.Alarm = terminal.Printable(alarm)
	return p, nil
}

// patience is how long a page waits for metrics.
const patience = 2 * time.Second

// traces returns the traces of the dataset now.
func (c *chooser) traces() (*session.Traces, error) {
	traces, err := session.ReadTraces(c.ctx, c.input)
	if err == nil && traces == nil {
		err = fmt.Errorf("%s is no longer a dataset of many traces", c.input)
	}
	return traces, err
}

// openPath is the path that opens the trace whose id follows.
const openPath = "/open?trace_id="

// Hostname is the name in a Host header.
func Hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	return name
}

// serve returns the port of a trace, and begins to serve it if nobody has chosen it before.
func (c *chooser) serve(id string) (port int, err error) {
	traces, err := c.traces()
	if err != nil {
		return 0, err
	}
	folder, err := traces.Folder(id)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.open[folder]; known != nil {
		known.at = time.Now()
		return known.port, nil
	}
	if err := c.makeRoom(); err != nil {
		return 0, err
	}
	own := *c.options
	own.port, own.pool = 0, c.options.memory()
	listeners, err := own.listeners()
	if err != nil {
		return 0, err
	}
	server, err := own.Server(c.ctx, c.trace, []string{folder})
	if err != nil {
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
		return 0, err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	served := make(chan error, 1)
	go func() { served <- web.Serve(ctx, server, listeners...) }()
	port = listeners[0].Addr().(*net.TCPAddr).Port
	c.open[folder] = &chosen{server, port, time.Now(), func() error {
		cancel()
		return errors.Join(<-served, server.Close())
	}}
	return port, nil
}

// makeRoom ends the server that was chosen longest ago of those that no page uses, if there are too many.
func (c *chooser) makeRoom() error {
	if len(c.open) < maxOpenTraces {
		return nil
	}
	oldest := ""
	for folder, o := range c.open {
		if o.server.Clients() == 0 && (oldest == "" || o.at.Before(c.open[oldest].at)) {
			oldest = folder
		}
	}
	if oldest == "" {
		return fmt.Errorf("%d traces are open; close a page with one", maxOpenTraces)
	}
	unused := c.open[oldest]
	delete(c.open, oldest)
	return unused.stop()
}

// Close ends all servers.
func (c *chooser) Close() error {
	c.cancel()
	if c.metrics != nil {
		c.metrics.wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, o := range c.open {
		err = errors.Join(err, o.stop())
	}
	clear(c.open)
	return err
}
