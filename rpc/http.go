package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/overdue"
	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

// ui are the origins of Perfetto's UI: the public one, and a local build.
var ui = []string{"https://ui.perfetto.dev", "http://localhost:10000", "http://127.0.0.1:10000"}

const help = `This is tpconvert serve.

Perfetto's UI: open https://ui.perfetto.dev in this machine's browser, and answer
"Yes, use loaded trace".

Python: TraceProcessor(addr="http://%s")
`

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.options.Admit(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	if s.serveUI(w, r) {
		return
	}
	head := w.Header()
	if origin := r.Header.Get("Origin"); origin != "" {
		head.Set("Access-Control-Allow-Origin", origin)
		head.Set("Vary", "Origin")
	}
	if r.Method == http.MethodOptions {
		head.Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS")
		head.Set("Access-Control-Allow-Headers", "*")
		head.Set("Access-Control-Max-Age", "86400")
		head.Set("Access-Control-Allow-Private-Network", "true")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	head.Set("Cache-Control", "no-cache")
	head.Set("Content-Type", "application/x-protobuf")
	if !paths[r.URL.Path] {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost && !readable(r) {
		head.Set("Allow", "POST, OPTIONS")
		http.Error(w, "the method must be POST", http.StatusMethodNotAllowed)
		return
	}
	if most, limited := bodyLimits[r.URL.Path]; limited && r.ContentLength > most {
		head.Set("Connection", "close") // the body is not read
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", most), http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = &patientBody{r.Body, http.NewResponseController(w)}
	switch r.URL.Path {
	case "/":
		head.Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, help, r.Host)
	case "/status":
		_, _ = w.Write(s.status())
	case "/websocket":
		s.serveWebsocket(w, r)
	case "/rpc":
		s.serveRPC(w, r)
	case "/query":
		s.serveQuery(w, r)
	case "/parse":
		_, _ = w.Write(failure(pb.AppendTraceDataResult_Error, s.append(r.Context(), r.Body)))
	case "/notify_eof":
		_ = s.finish(r.Context()) // the next query reports the error
	case "/restore_initial_tables":
		if err := s.plain.restore(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	case "/compute_metric":
		s.serveMessage(w, r, s.plain.metric, pb.ComputeMetricResult_Error)
	case "/trace_summary":
		s.serveMessage(w, r, s.plain.summary, pb.TraceSummaryResult_Error)
	case "/export":
		s.serveExport(w, r)
	case "/enable_metatrace":
		http.Error(w, "metatrace is not supported", http.StatusNotImplemented)
	case "/disable_and_read_metatrace":
		_, _ = w.Write(failure(pb.DisableAndReadMetatraceResult_Error, errUnsupported))
	}
}

// paths are those of calls.
var paths = map[string]bool{
	"/": true, "/status": true, "/websocket": true, "/rpc": true, "/query": true, "/parse": true, "/notify_eof": true,
	"/restore_initial_tables": true, "/compute_metric": true, "/trace_summary": true, "/export": true,
	"/enable_metatrace": true, "/disable_and_read_metatrace": true,
}

// bodyLimits are the most bytes of requests that are read as a whole.
var bodyLimits = map[string]int64{
	"/query": MaxQuery + queryOverhead, "/rpc": maxCall, "/compute_metric": maxCall, "/trace_summary": maxCall, "/export": maxCall,
}

// readable reports whether a request may be GET, which any web page can make a browser send. Perfetto's Python package, which
// is no browser, ends a trace with GET.
func readable(r *http.Request) bool {
	switch r.URL.Path {
	case "/", "/status", "/websocket":
		return true
	case "/notify_eof", "/enable_metatrace", "/disable_and_read_metatrace":
		return r.Header.Get("Sec-Fetch-Site") == ""
	}
	return false
}

// Admit refuses requests from other web pages. Most have an Origin header. A page whose host name resolves to this
// machine (DNS rebinding) has that name in the Host header.
func (o *Options) Admit(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") && (o.Host == "" || !strings.EqualFold(host, o.Host)) {
		return fmt.Errorf("the host %q is not allowed", r.Host)
	}
	origin := r.Header.Get("Origin")
	allowed := func(known string) bool { return strings.EqualFold(known, origin) }
	switch {
	case origin == "" && r.Header.Get("Sec-Fetch-Site") == "cross-site":
		return errors.New("a request of another site is not allowed")
	case origin != "" && !slices.ContainsFunc(ui, allowed) && !slices.ContainsFunc(o.Origins, allowed) && !ownOrigin(origin, r.Host):
		return fmt.Errorf("the origin %q is not allowed; see --allow-origin", origin)
	}
	return nil
}

// patience is how long a client with a stream of its own may take to read a part of an answer, or to send one of a request.
// Others may wait for those without, so that they have plainPatience to read.
const (
	patience      = time.Minute
	plainPatience = 10 * time.Second
)

// patientBody is the body of a request, of which a part must come in time.
type patientBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	if err := b.control.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil { // at the end the server goes on reading, to notice that the client is gone
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// sender returns a function that writes a part of the body. It does not flush: the end of a part may wait for the next part, and
// a short answer is a single packet.
func sender(w http.ResponseWriter) func([]byte) error {
	control := http.NewResponseController(w)
	return func(part []byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(plainPatience)); err != nil {
			return err
		}
		_, err := w.Write(part)
		return err
	}
}

// cutter returns a function that ends a write that waits for the client.
func cutter(w http.ResponseWriter) func() {
	control := http.NewResponseController(w)
	return func() { _ = control.SetWriteDeadline(time.Now()) }
}

// serveQuery answers QueryArgs with the messages of a result.
func (s *Server) serveQuery(w http.ResponseWriter, r *http.Request) {
	send := sender(w)
	args, free, err := s.body(w, r, MaxQuery+queryOverhead)
	defer free()
	sql := ""
	if err == nil {
		sql, err = queryText(args)
	}
	if err != nil {
		answer := &result{send: func(m message) error { return send(m) }}
		_ = answer.flush(true, fmt.Errorf("the query cannot be read: %w", err))
		return
	}
	_ = http.NewResponseController(w).Flush() // the client reads the head meanwhile
	at := plainClient{s.plain, cutter(w)}
	_ = at.query(r.Context(), sql, func(m message) error { return send(m) }) // fails if the client is gone
}

// queryOverhead is more than the size of QueryArgs without the SQL.
const queryOverhead = 1 << 10

// body reads the body of a request. The caller calls free when it no longer needs it.
func (s *Server) body(w http.ResponseWriter, r *http.Request, most int64) (body []byte, free func(), err error) {
	if r.ContentLength > most {
		return nil, func() {}, &http.MaxBytesError{Limit: most}
	}
	body, err = s.bodies.readAll(http.MaxBytesReader(w, r.Body, most), 0)
	return body, func() { s.bodies.free(len(body)) }, err
}

// serveMessage answers a message with another one, whose field for errors has this number.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request, answer func(context.Context, []byte) message, failed protowire.Number) {
	args, free, err := s.body(w, r, maxCall)
	defer free()
	if err != nil {
		_, _ = w.Write(failure(failed, err))
		return
	}
	_, _ = w.Write(answer(r.Context(), args))
}

// serveRPC answers the calls in a request's body.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	calls := &stream{server: s, room: plainClient{s.plain, cutter(w)}, send: sender(w)}
	body, free, err := s.body(w, r, maxCall)
	defer free()
	if err == nil {
		err = calls.take(r.Context(), body)
	}
	if err == nil && len(calls.rest) > 0 || err != nil && !errors.Is(err, errFatal) {
		_ = calls.fatal(framingError)
	}
}

// serveWebsocket answers calls until the client disconnects.
func (s *Server) serveWebsocket(w http.ResponseWriter, r *http.Request) {
	if err := s.enterStream(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.streams.Add(-1)
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // Admit has checked the origin
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxCall + 16)
	ctx, gone := context.WithCancel(r.Context())
	defer gone()
	own := s.room(s.starting)
	defer own.close()
	sending := overdue.New(patience)
	calls := &stream{server: s, room: own, send: func(m []byte) error {
		sending.Begin(gone)
		defer sending.End()
		return conn.Write(ctx, websocket.MessageBinary, m)
	}}
	read := func(held int64) ([]byte, error) {
		_, message, err := conn.Reader(ctx)
		if err != nil {
			return nil, err
		}
		return s.bodies.readAll(message, held)
	}
	if calls.takeAll(ctx, gone, read) != nil {
		_ = conn.Close(websocket.StatusPolicyViolation, "")
	}
}
