package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
	"github.com/tpconvert/tpconvert/internal/web"
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
	guard := web.Guard{Origins: slices.Concat(ui, s.options.Origins), Host: s.options.Host}
	if err := guard.Admit(r); err != nil {
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
	if !web.LimitBody(w, r, maxBody(r)) {
		return
	}
	head.Set("Cache-Control", "no-cache")
	head.Set("Content-Type", "application/x-protobuf")
	s.routes.ServeHTTP(w, r)
}

// queryOverhead is more than the size of QueryArgs without the SQL.
const queryOverhead = 1 << 10

// maxBody is the size of the largest body of a request. A trace may have any size.
func maxBody(r *http.Request) int64 {
	switch r.URL.Path {
	case "/parse":
		return math.MaxInt64
	case "/query":
		return MaxQuery + queryOverhead
	}
	return maxCall
}

// newRoutes returns the handler of all calls. Most are POST alone, because any web page can make a browser send GET.
func (s *Server) newRoutes() http.Handler {
	mux := http.NewServeMux()
	both := func(path string, answer http.HandlerFunc) {
		mux.HandleFunc("GET "+path, answer)
		mux.HandleFunc("POST "+path, answer)
	}
	both("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, help, r.Host)
	})
	both("/status", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(s.status()) })
	mux.HandleFunc("GET /websocket", s.serveWebsocket)
	mux.HandleFunc("POST /rpc", s.serveRPC)
	mux.HandleFunc("POST /query", s.serveQuery)
	mux.HandleFunc("POST /parse", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(failure(pb.AppendTraceDataResult_Error, s.append(r.Context(), r.Body)))
	})
	both("/notify_eof", ofPrograms(func(_ http.ResponseWriter, r *http.Request) {
		_ = s.finish(r.Context()) // the next query reports the error
	}))
	mux.HandleFunc("POST /restore_initial_tables", func(w http.ResponseWriter, r *http.Request) {
		if err := s.common.restore(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("POST /compute_metric", s.message(s.common.metric))
	mux.HandleFunc("POST /trace_summary", s.message(s.common.summary))
	mux.HandleFunc("POST /export", s.serveExport)
	both("/enable_metatrace", ofPrograms(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, errMetatrace.Error(), http.StatusNotImplemented)
	}))
	both("/disable_and_read_metatrace", ofPrograms(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(failure(pb.DisableAndReadMetatraceResult_Error, errMetatrace))
	}))
	return mux
}

// ofPrograms refuses GET from browsers. Perfetto's Python package, which is none, ends a trace with it.
func ofPrograms(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost && r.Header.Get("Sec-Fetch-Site") != "" {
			w.Header().Set("Allow", "POST, OPTIONS")
			http.Error(w, "the method must be POST", http.StatusMethodNotAllowed)
			return
		}
		answer(w, r)
	}
}

// sender returns a function that writes a part of the body. It does not flush: the end of a part may wait for the next part, and
// a short answer is a single packet.
func sender(w http.ResponseWriter) func([]byte) error {
	return func(part []byte) error {
		_, err := w.Write(part)
		return err
	}
}

// cutter returns a function that ends a write that waits for the client.
func cutter(w http.ResponseWriter) func() {
	control := http.NewResponseController(w)
	return func() { _ = control.SetWriteDeadline(time.Now()) }
}

// body reads the body of a request, or answers that it cannot be read. The caller calls free when it no longer needs it.
func (s *Server) body(w http.ResponseWriter, r *http.Request) (body []byte, free func(), ok bool) {
	body, err := s.bodies.readAll(r.Body, 0)
	free = func() { s.bodies.free(len(body)) }
	large := new(http.MaxBytesError)
	switch {
	case errors.As(err, &large):
		web.TooLarge(w, large.Limit)
	case errors.Is(err, errBusy):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return body, free, err == nil
}

// serveQuery answers QueryArgs with the messages of a result.
func (s *Server) serveQuery(w http.ResponseWriter, r *http.Request) {
	send := sender(w)
	args, free, ok := s.body(w, r)
	defer free()
	if !ok {
		return
	}
	sql, err := queryText(args)
	if err != nil {
		_ = newResult(func(m message) error { return send(m) }).end(fmt.Errorf("the query cannot be read: %w", err))
		return
	}
	at := requester{s.common, cutter(w)}
	_ = at.query(r.Context(), sql, func(m message) error { return send(m) }) // fails if the client is gone
}

// message returns a handler that answers a message with another one.
func (s *Server) message(answer func(context.Context, []byte) message) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		args, free, ok := s.body(w, r)
		defer free()
		if ok {
			_, _ = w.Write(answer(r.Context(), args))
		}
	}
}

// serveRPC answers the calls in a request's body.
func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request) {
	body, free, ok := s.body(w, r)
	defer free()
	if !ok {
		return
	}
	calls := &stream{server: s, at: requester{s.common, cutter(w)}, send: sender(w)}
	err := calls.take(r.Context(), body)
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
	conn.SetReadLimit(-1) // read has one, and answers
	ctx := r.Context()
	own := s.newWorkspace()
	defer own.close()
	calls := &stream{server: s, at: own, send: func(m []byte) error { return conn.Write(ctx, websocket.MessageBinary, m) }}
	large := new(http.MaxBytesError)
	err = calls.takeAll(ctx, func(held int64) ([]byte, error) {
		_, part, err := conn.Reader(ctx)
		if err != nil {
			return nil, err
		}
		return s.bodies.readAll(http.MaxBytesReader(nil, io.NopCloser(part), maxCall+framing), held)
	})
	switch {
	case errors.As(err, &large):
		_ = calls.fatal(tooLarge)
		_ = conn.Close(websocket.StatusMessageTooBig, tooLarge)
	case err != nil:
		_ = conn.Close(websocket.StatusPolicyViolation, "")
	}
}
