// Package web is what all servers of HTTP here have in common: whom they answer, and how long they wait for a client.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// headTime is how long a client may take to send the head of a request, of at most maxHead bytes.
	headTime = 10 * time.Second
	maxHead  = 64 << 10
	// patience is how long a client may take to send a part of a body, or to read a part of an answer.
	patience = 30 * time.Second
)

// Serve answers requests until the context ends, and then cancels those that still run. It closes the listeners.
func Serve(ctx context.Context, handler http.Handler, listeners ...net.Listener) error {
	calls, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headTime, MaxHeaderBytes: maxHead,
		BaseContext: func(net.Listener) context.Context { return calls },
	}
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- server.Serve(listener{l}) }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
		stop()
		return server.Close()
	}
}

// listener accepts connections that are Patient.
type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Patient(c), nil
}

// Patient limits the time of each write to a connection. A server's own limit is one of the whole answer, whose rows may take long to
// compute.
func Patient(c net.Conn) net.Conn { return patient{c} }

type patient struct{ net.Conn }

// Write implements net.Conn.
func (c patient) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// CloseWrite lets the server wait until the client has read its last answer.
func (c patient) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// LimitBody lets the body of a request have so many bytes at most, each part of which must come in time. A request that announces more is
// answered at once, and it reports false.
func LimitBody(w http.ResponseWriter, r *http.Request, most int64) bool {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // the body is not read
		TooLarge(w, most)
		return false
	}
	r.Body = http.MaxBytesReader(w, &body{r.Body, http.NewResponseController(w)}, most)
	return true
}

// TooLarge answers a request whose body has more bytes than it may have.
func TooLarge(w http.ResponseWriter, most int64) {
	http.Error(w, fmt.Sprintf("the body has more than %d bytes", most), http.StatusRequestEntityTooLarge)
}

// body is the body of a request, of which a part must come in time.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *body) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(patience)) // fails if the client is gone, as the read does
	n, err := b.ReadCloser.Read(p)
	if err != nil { // at the end the server goes on reading, to notice that the client is gone
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Guard says whom a server answers.
type Guard struct {
	Origins []string // other web pages that may use it
	Host    string   // name of this machine, besides localhost
}

// Protect lets only requests that are admitted reach a handler, with bodies of so many bytes at most.
func (g *Guard) Protect(handler http.Handler, most int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Admit(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		} else if LimitBody(w, r, most) {
			handler.ServeHTTP(w, r)
		}
	})
}

// Admit refuses requests from other web pages. Most have an Origin header. A page whose host name resolves to this
// machine (DNS rebinding) has that name in the Host header.
func (g *Guard) Admit(r *http.Request) error {
	if !g.own(r) {
		return fmt.Errorf("the host %q is not this server's", r.Host)
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "" && r.Header.Get("Sec-Fetch-Site") == "cross-site":
		return errors.New("a request of another site is not allowed")
	case origin != "" && !ownOrigin(origin, r.Host) && !slices.ContainsFunc(g.Origins, func(known string) bool { return strings.EqualFold(known, origin) }):
		return fmt.Errorf("the origin %q is not allowed", origin)
	}
	return nil
}

// own reports whether the Host header names the server: as this machine, by the name that it listens at, or by the address to which the
// client has connected.
func (g *Guard) own(r *http.Request) bool {
	name := hostname(r.Host)
	if loopback(name) || g.Host != "" && strings.EqualFold(name, g.Host) {
		return true
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(name)
	return ok && ip != nil && at.IP.Equal(ip)
}

// hostname is the name or address in a Host header.
func hostname(host string) string { return (&url.URL{Host: host}).Hostname() }

// ownOrigin reports whether an origin is that of the server to which a request goes. All names of this machine are one.
func ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" {
		return false
	}
	if strings.EqualFold(u.Host, host) {
		return true
	}
	at := url.URL{Host: host}
	return u.Port() == at.Port() && loopback(at.Hostname()) && loopback(u.Hostname())
}

func loopback(name string) bool {
	return strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback()
}
