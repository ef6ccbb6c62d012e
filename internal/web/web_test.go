package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/internal/web"
)

// TestAdmit lists who may use a server: this machine's programs and known pages, but no other page, nor one whose name resolves to this
// machine, nor an address that is not the server's.
func TestAdmit(t *testing.T) {
	g := web.Guard{Origins: []string{"https://mine.test"}, Host: "box.test"}
	at := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 9001})
	for _, test := range []struct {
		host, origin, site string
		admitted           bool
	}{
		{host: "localhost:9001", admitted: true},
		{host: "localhost", admitted: true},
		{host: "127.0.0.1:9001", admitted: true},
		{host: "[::1]:9001", admitted: true},
		{host: "BOX.test:9001", admitted: true},
		{host: "192.0.2.7:9001", admitted: true},
		{host: "192.0.2.8:9001"},
		{host: "[2001:db8::1]:9001"},
		{host: ""},
		{host: "evil.test:9001"},
		{host: "localhost.evil.test"},
		{host: "localhost:9001", origin: "https://mine.test", admitted: true},
		{host: "localhost:9001", origin: "http://localhost:9001", admitted: true},
		{host: "localhost:9001", origin: "http://127.0.0.1:9001", admitted: true},
		{host: "localhost:9001", origin: "http://localhost:8080"},
		{host: "localhost:9001", origin: "https://evil.test"},
		{host: "localhost:9001", origin: "null"},
		{host: "localhost:9001", site: "cross-site"},
		{host: "localhost:9001", site: "none", admitted: true},
	} {
		r := httptest.NewRequestWithContext(at, http.MethodPost, "/query", nil)
		r.Host = test.host
		for name, value := range map[string]string{"Origin": test.origin, "Sec-Fetch-Site": test.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if err := g.Admit(r); (err == nil) != test.admitted {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// start serves a handler until the test ends, and returns its address.
func start(t *testing.T, handler http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, handler, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// converse sends bytes to a server and returns all that it answers.
func converse(t *testing.T, address, sent string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := errors.Join(c.SetDeadline(time.Now().Add(20*time.Second)), justError(io.WriteString(c, sent)), c.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	answers, _ := io.ReadAll(c) // the server may reset a connection that it refuses
	return string(answers)
}

func justError(_ int, err error) error { return err }

// TestHostileRequests checks that each request has one answer of its own, and that large ones are refused before they are sent.
func TestHostileRequests(t *testing.T) {
	var g web.Guard
	address := start(t, g.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			web.TooLarge(w, large.Limit)
			return
		}
		fmt.Fprintf(w, "%s %s of %d bytes.", r.Method, r.URL.Path, len(body))
	}), 100))
	const head = " HTTP/1.1\r\nHost: localhost\r\n"
	for _, test := range []struct {
		sent string
		want []string // in this order
	}{
		{"GET /a" + head + "\r\nPOST /b" + head + "Content-Length: 2\r\n\r\nxyGET /c" + head + "\r\n", []string{"GET /a of 0", "POST /b of 2", "GET /c of 0"}},
		{"GET /a HTTP/1.1\nHost: localhost\n\nPOST /b" + head + "Content-Length: 1\r\n\r\nx", []string{"GET /a of 0", "POST /b of 1"}},
		{"POST /a" + head + "Content-Length: 99000000000\r\n\r\n", []string{"413", "the body has more than 100 bytes"}},
		{"POST /a" + head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + strings.Repeat("x", 255) + "\r\n0\r\n\r\n", []string{"413", "the body has more than 100 bytes"}},
		{"POST /a" + head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b" + head + "\r\n", []string{"POST /a of 0", "GET /b of 0"}},
		{"POST /a" + head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", []string{"400"}},
		{"GET /a" + head + "X: " + strings.Repeat("x", 100_000) + "\r\n\r\n", []string{"431"}},
		{"GET /a" + head + strings.Repeat("X: y\r\n", 100_000) + "\r\n", []string{"431"}},
		{"GET /a HTTP/1.1\r\nHost: 192.0.2.1\r\n\r\n", []string{"403", "not this server's"}},
	} {
		rest := converse(t, address, test.sent)
		for _, want := range test.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Fatalf("%.200q: no %q in %q", test.sent, want, rest)
			}
			rest = after
		}
		if strings.Contains(rest, "HTTP/1.1 200") {
			t.Errorf("%.200q: another answer: %q", test.sent, rest)
		}
	}
}

// TestServeEnds checks that the end of a server ends the requests that run.
func TestServeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		_, _ = http.Get("http://" + l.Addr().String()) //nolint:bodyclose // the answer is cut off
	}()
	err = web.Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
		close(ended)
	}), l)
	if err != nil {
		t.Error(err)
	}
	<-ended
}
