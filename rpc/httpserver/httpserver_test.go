package httpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tpconvert/tpconvert/rpc/httpserver"
)

// start serves the handler until the test ends, and returns its address.
func start(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	l := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- httpserver.Serve(ctx, handler, []net.Listener{l}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// echo answers in all the ways of a handler.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/length":
		w.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(w, "12345")
	case "/short":
		w.Header().Set("Content-Length", "50")
		_, _ = io.WriteString(w, "12345")
	case "/large":
		for range 100 {
			_, _ = io.WriteString(w, strings.Repeat("large", 1000))
		}
	case "/stream":
		for i := range 3 {
			fmt.Fprintln(w, i)
			_ = http.NewResponseController(w).Flush()
		}
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/same":
		w.WriteHeader(http.StatusNotModified)
		_, _ = io.WriteString(w, "not sent")
	case "/error":
		http.Error(w, "a teapot", http.StatusTeapot)
	case "/quit":
		panic(http.ErrAbortHandler)
	case "/close":
		w.Header().Set("Connection", "close")
	case "/silent":
	default:
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s %v %q %v %d %v %v", r.Method, r.URL, r.Host, body, err, r.ContentLength, r.Header, r.RemoteAddr != "")
	}
}

// TestAnswers compares the answers to all kinds of requests, also after a small one on the same connection, with those of net/http.
// The connections are not passed on for their number.
func TestAnswers(t *testing.T) {
	defer httpserver.PassNone()()
	ours := start(t, echo)
	l := listen(t)
	reference := &http.Server{Handler: http.HandlerFunc(echo)}
	go func() { _ = reference.Serve(l) }()
	t.Cleanup(func() { reference.Close() })
	const small = "POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none"
	large := strings.Repeat("x", 100_000)
	var conversations sync.WaitGroup
	for _, request := range []string{
		small,
		"GET /path?a=b HTTP/1.1\r\nHost: a:1\r\nAccept: text/html\r\nAccept: b\r\n\r\n",
		"OPTIONS /none HTTP/1.1\r\nHost: a\r\n\r\n",
		"HEAD /length HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
		"GET /length HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /short HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /same HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /error HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /quit HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /close HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /silent HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /p HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"GET /p HTTP/1.0\r\n\r\n",
		"GET /p HTTP/1.1\r\n\r\n",
		"GET /p HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
		"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + large,
		"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
		"POST /p HTTP/1.1\r\nHost: a\r\nX-Long: " + large[:20_000] + "\r\nContent-Length: 2\r\n\r\nab",
		"no request\r\n\r\n",
		"\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	} {
		for _, bytes := range []string{request, small + request, small + small + request + small} {
			conversations.Go(func() {
				want := answers(l.Addr().String(), bytes, false)
				if got := answers(ours, bytes, false); got != want {
					t.Errorf("%.200q\nis answered by\n%.1000s\nand by net/http by\n%.1000s", bytes, got, want)
				}
				if len(bytes) > 1000 {
					return
				}
				got := ""
				for range 3 { // an answer can be lost if more is sent after the one that ends a connection, as in net/http
					if got = answers(ours, bytes, true); got == want {
						return
					}
				}
				t.Errorf("%.200q\nbyte by byte is answered by\n%.1000s\nand by net/http by\n%.1000s", bytes, got, want)
			})
		}
	}
	conversations.Wait()
}

// quiet is how long a server may take to answer.
const quiet = time.Second

// answers sends requests and returns all that comes back until the server has nothing to answer, or ends the connection.
func answers(address, requests string, slowly bool) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	var from io.Reader = strings.NewReader(requests)
	if slowly {
		from = iotest.OneByteReader(from)
	}
	go func() { _, _ = io.Copy(c, from) }() // an error shows in the answer
	in := bufio.NewReader(c)
	var all strings.Builder
	for {
		if err := c.SetReadDeadline(time.Now().Add(quiet)); err != nil {
			return err.Error()
		}
		if _, err := in.Peek(1); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				all.WriteString("waits")
			} else {
				all.WriteString("ends")
			}
			return all.String()
		}
		method := http.MethodGet
		if before, _, found := strings.Cut(requests, "HEAD "); found && strings.Count(all.String(), "status") == strings.Count(before, "HTTP/1.1") {
			method = http.MethodHead
		}
		r, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			fmt.Fprintf(&all, "no answer: %v", err)
			return all.String()
		}
		body, err := io.ReadAll(r.Body)
		r.Header.Del("Date")
		fmt.Fprintf(&all, "status %d %v %v %v", r.StatusCode, r.TransferEncoding, r.ContentLength, r.Close)
		for _, key := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(&all, " %s: %q", key, r.Header[key])
		}
		fmt.Fprintf(&all, "\n%s %v\n", body, err)
	}
}

const ask = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nquery"

// TestNoGoroutine is why this server exists.
func TestNoGoroutine(t *testing.T) {
	created := func() uint64 {
		sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	c := dial(t, start(t, echo))
	in := bufio.NewReader(c)
	var before uint64
	const requests = 200
	for i := range 2 * requests {
		if i == requests {
			before = created()
		}
		answered(t, c, in)
	}
	if n := created() - before; n > requests/10 {
		t.Errorf("%d requests started %d goroutines", requests, n)
	}
}

func answered(t *testing.T, c net.Conn, in *bufio.Reader) {
	t.Helper()
	if _, err := io.WriteString(c, ask); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r.Body); err != nil || !strings.HasPrefix(string(body), "POST / a \"query\"") {
		t.Fatalf("%s, %v", body, err)
	}
}

// TestCrowd has more connections than are answered here.
func TestCrowd(t *testing.T) {
	address := start(t, echo)
	var crowd []net.Conn
	for range 30 {
		crowd = append(crowd, dial(t, address))
	}
	for range 3 {
		for _, c := range crowd {
			answered(t, c, bufio.NewReader(c))
		}
	}
}

// TestLong has requests that take long: one whose client leaves is cancelled, one whose client sends another request is not, and
// both of its requests are answered.
func TestLong(t *testing.T) {
	left := make(chan struct{})
	address := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			select {
			case <-r.Context().Done():
				close(left)
				return
			case <-time.After(map[string]time.Duration{"/long": 200 * time.Millisecond, "/forever": time.Hour}[r.URL.Path]):
			}
		}
		echo(w, r)
	})
	c := dial(t, address)
	in := bufio.NewReader(c)
	for range 3 {
		answered(t, c, in)
		if _, err := io.WriteString(c, strings.Replace(ask, " / ", " /long ", 1)+ask); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(r.Body); err != nil || !strings.HasPrefix(string(body), "POST /") {
				t.Fatalf("%s, %v", body, err)
			}
		}
	}
	if _, err := io.WriteString(c, strings.Replace(ask, " / ", " /forever ", 1)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	c.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Fatal("the request goes on")
	}
}

// TestEnd ends a server while a request runs and connections wait.
func TestEnd(t *testing.T) {
	l := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	running, cancelled := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- httpserver.Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(running)
			<-r.Context().Done()
			close(cancelled)
		}), []net.Listener{l})
	}()
	idle, busy := dial(t, l.Addr().String()), dial(t, l.Addr().String())
	if _, err := io.WriteString(busy, ask); err != nil {
		t.Fatal(err)
	}
	<-running
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-cancelled
	for _, c := range []net.Conn{idle, busy} {
		if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Error("a connection is still open")
		}
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the server still listens")
	}
}

// TestPanic has a handler that panics: its connection ends, the others go on.
func TestPanic(t *testing.T) {
	defer log.SetOutput(log.Writer())
	log.SetOutput(io.Discard)
	address := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("as a test")
		}
		echo(w, r)
	})
	other := dial(t, address)
	in := bufio.NewReader(other)
	answered(t, other, in)
	if got := answers(address, strings.Replace(ask, " / ", " /panic ", 1), false); got != "ends" {
		t.Errorf("the answer of a handler that panics: %s", got)
	}
	answered(t, other, in)
}
