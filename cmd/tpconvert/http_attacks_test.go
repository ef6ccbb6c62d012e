//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// httpServer is a server that is attacked: a request that it answers with 200, and its process.
type httpServer struct {
	address, good string
	process       *os.Process
	end           func() error
}

// httpServers start the servers of HTTP, by name.
var httpServers = map[string]func(t *testing.T, dir string) httpServer{
	"serve": func(t *testing.T, dir string) httpServer {
		return startHTTP(t, "GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", dir, "serve", "--json", "--port", "0", "a.json")
	},
	"mcp": func(t *testing.T, dir string) httpServer {
		const ping = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		return startHTTP(t, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: "+
			strconv.Itoa(len(ping))+"\r\n\r\n"+ping, dir, "--json", "mcp", "--http", "127.0.0.1:0", "a.json")
	},
	"flamegraph": func(t *testing.T, dir string) httpServer {
		return startHTTP(t, "GET /ui/flamegraph HTTP/1.1\r\nHost: localhost\r\n\r\n", dir, "--json", "flamegraph", "--no-browser", "--http", "127.0.0.1:0", "a.folded")
	},
}

func startHTTP(t *testing.T, good, dir string, args ...string) httpServer {
	t.Helper()
	cmd := command(t, dir, args...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var at struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, cmd.Wait())
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(at.URL, "http://"), "/")
	return httpServer{address, good, cmd.Process, func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return cmd.Wait()
	}}
}

// What becomes of an attack.
const (
	refused  = "refused"  // the first answer is an error, or there is none
	once     = "once"     // at most one answer
	twice    = "twice"    // at most two
	harmless = "harmless" // whatever it is, the server goes on
)

// httpAttacks are bytes that a client sends. GOOD is the server's good request; its path stands for PATH and its method for METHOD.
// What may be behind a request that is refused is GET /evil, whose answer nobody must get.
func httpAttacks() map[string][2]string {
	const host = "Host: localhost\r\n"
	evil := "GET /evil HTTP/1.1\r\n" + host + "\r\n"
	body := func(head, body string) string { return "POST PATH HTTP/1.1\r\n" + host + head + "\r\n" + body }
	get := func(head string) string { return "GET PATH HTTP/1.1\r\n" + head + "\r\n" }
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	return map[string][2]string{
		// Ends of lines.
		"bare LF":                   {harmless, "GET PATH HTTP/1.1\nHost: localhost\n\n"},
		"bare LF and another":       {twice, "HEAD PATH HTTP/1.1\nHost: localhost\n\n" + evil},
		"bare CR":                   {refused, "GET PATH HTTP/1.1\rHost: localhost\r\r"},
		"CR in a value":             {refused, get(host + "X: a\rb\r\n")},
		"NUL in a value":            {refused, get(host + "X: a\x00b\r\n")},
		"NUL in the path":           {refused, "GET /\x00 HTTP/1.1\r\n" + host + "\r\n"},
		"folded header":             {harmless, get(host + "X: a\r\n b\r\n")},
		"LF before the request":     {harmless, many(10, "\r\n") + get(host)},
		"only line ends":            {harmless, many(100_000, "\r\n")},
		"space before the colon":    {refused, get(host + "X : a\r\n")},
		"space in a name":           {refused, get(host + "X Y: a\r\n")},
		"no name":                   {refused, get(host + ": a\r\n")},
		"no colon":                  {refused, get(host + "X\r\n")},
		"first line is a header":    {refused, " X: a\r\n" + get(host)},
		"chunk ends with LF":        {twice, body("Transfer-Encoding: chunked\r\n", "1\nx\n0\n\n") + evil},
		"chunk extension with LF":   {once, body("Transfer-Encoding: chunked\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n") + evil},
		"endless chunk extension":   {once, body("Transfer-Encoding: chunked\r\n", "1;"+many(1<<20, "x"))},
		"extensions of every chunk": {harmless, body("Transfer-Encoding: chunked\r\n", many(2000, "1;"+many(2000, "x")+"\r\ny\r\n")+"0\r\n\r\n")},
		// Requests in others.
		"CL and TE":              {twice, body("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG") + evil},
		"TE and CL":              {twice, body("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\n"+many(92, "x")+"\r\n0\r\n\r\n")},
		"two CL":                 {refused, body("Content-Length: 0\r\nContent-Length: 44\r\n", evil)},
		"CL list":                {refused, body("Content-Length: 0, 44\r\n", evil)},
		"equal CL":               {twice, body("Content-Length: 1\r\nContent-Length: 1\r\n", "x")},
		"negative CL":            {refused, body("Content-Length: -1\r\n", evil)},
		"CL with plus":           {refused, body("Content-Length: +1\r\n", "x"+evil)},
		"CL in hexadecimal":      {refused, body("Content-Length: 0x2c\r\n", evil)},
		"CL with space":          {refused, body("Content-Length: 1 0\r\n", evil)},
		"CL beyond 64 bits":      {refused, body("Content-Length: 18446744073709551617\r\n", "x"+evil)},
		"CL beyond all":          {refused, body("Content-Length: 9223372036854775807\r\n", evil)},
		"TE twice":               {refused, body("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+evil)},
		"TE list":                {refused, body("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"+evil)},
		"TE gzip":                {refused, body("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"+evil)},
		"TE of another name":     {refused, body("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"+evil)},
		"TE with a tab":          {harmless, body("Transfer-Encoding:\tchunked\r\n", "0\r\n\r\n")},
		"TE with vertical tab":   {refused, body("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n"+evil)},
		"TE before the colon":    {refused, body("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"+evil)},
		"TE in HTTP/1.0":         {harmless, "POST PATH HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"chunk of negative size": {once, body("Transfer-Encoding: chunked\r\n", "-1\r\n"+evil)},
		"chunk of huge size":     {once, body("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"+evil)},
		"chunk without a size":   {once, body("Transfer-Encoding: chunked\r\n", "\r\n"+evil)},
		"chunk that goes on":     {once, body("Transfer-Encoding: chunked\r\n", "1\r\nxy\r\n0\r\n\r\n"+evil)},
		"trailer of a length":    {twice, body("Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n", "0\r\nContent-Length: 9\r\n\r\n")},
		"body of a GET":          {twice, "GET PATH HTTP/1.1\r\n" + host + "Content-Length: " + strconv.Itoa(len(evil)) + "\r\n\r\n" + evil},
		"expect 100":             {harmless, body("Expect: 100-continue\r\nContent-Length: 5\r\n", "")},
		"expect anything":        {refused, body("Expect: anything\r\nContent-Length: 1\r\n", "x")},
		"pipelined":              {harmless, many(1000, "GET PATH HTTP/1.1\r\n"+host+"\r\n")},
		"upgrade to h2c":         {harmless, get(host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n")},
		"preface of HTTP/2":      {refused, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + many(100, "\x00\x00\x00\x04\x00\x00\x00\x00\x00")},
		"TLS":                    {refused, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + many(512, "x")},
		// Sizes.
		"100,000 headers":       {refused, get(host + many(100_000, "X: y\r\n"))},
		"100,000 names":         {refused, get(host + headerNames(100_000))},
		"a header of 10 MB":     {refused, get(host + "X: " + many(10<<20, "x") + "\r\n")},
		"a path of 1 MB":        {refused, "GET /" + many(1<<20, "x") + " HTTP/1.1\r\n" + host + "\r\n"},
		"a method of 1 MB":      {refused, many(1<<20, "X") + " / HTTP/1.1\r\n" + host + "\r\n"},
		"a line without an end": {refused, many(10<<20, "x")},
		"100,000 parameters":    {harmless, "GET PATH?" + many(10_000, "a=b&") + " HTTP/1.1\r\n" + host + "\r\n"},
		"100,000 trailers":      {harmless, body("Transfer-Encoding: chunked\r\n", "0\r\n"+many(100_000, "X: y\r\n")+"\r\n")},
		"100,000 empty chunks":  {harmless, body("Transfer-Encoding: chunked\r\n", many(20_000, "1\r\nx\r\n")+"0\r\n\r\n")},
		// Names, hosts and methods.
		"no host":           {refused, get("")},
		"two hosts":         {refused, get(host + "Host: evil.test\r\n")},
		"another host":      {refused, get("Host: evil.test\r\n")},
		"host in the path":  {refused, "GET http://evil.test/ HTTP/1.1\r\n" + host + "\r\n"},
		"host with a user":  {refused, get("Host: localhost@evil.test\r\n")},
		"host with a path":  {refused, get("Host: localhost/evil\r\n")},
		"another origin":    {refused, get(host + "Origin: http://evil.test\r\n")},
		"origin null":       {refused, get(host + "Origin: null\r\n")},
		"another site":      {refused, get(host + "Sec-Fetch-Site: cross-site\r\n")},
		"CONNECT":           {refused, "CONNECT evil.test:80 HTTP/1.1\r\n" + host + "\r\n"},
		"TRACE":             {refused, "TRACE PATH HTTP/1.1\r\n" + host + "Cookie: secret\r\n\r\n"},
		"unknown method":    {refused, "EVIL PATH HTTP/1.1\r\n" + host + "\r\n"},
		"star":              {harmless, "OPTIONS * HTTP/1.1\r\n" + host + "\r\n"},
		"HTTP/0.9":          {refused, "GET PATH\r\n\r\n"},
		"HTTP/9.9":          {refused, "GET PATH HTTP/9.9\r\n" + host + "\r\n"},
		"no version":        {refused, "GET PATH HTTP/\r\n" + host + "\r\n"},
		"path above":        {harmless, "GET /../../../../etc/passwd HTTP/1.1\r\n" + host + "\r\n"},
		"path above, coded": {harmless, "GET /%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host + "\r\n"},
		"bad escape":        {refused, "GET /%zz HTTP/1.1\r\n" + host + "\r\n"},
		"bad websocket":     {harmless, get(host + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 1\r\n")},
		"ranges":            {harmless, get(host + "Range: bytes=" + many(5000, "0-1,") + "0-1\r\n")},
	}
}

func headerNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X%d: y\r\n", i)
	}
	return b.String()
}

// TestHTTPAttacks runs all attacks on all servers of HTTP. None may be answered for another request, stop the server, or fill its memory.
func TestHTTPAttacks(t *testing.T) {
	t.Parallel()
	all := httpAttacks()
	if len(all) < 60 {
		t.Errorf("%d attacks", len(all))
	}
	for name, start := range httpServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "flamegraph" && !withDuckDB {
				t.Skip("needs DuckDB")
			}
			s := start(t, folder(t, map[string]string{"a.json": goodTrace, "a.folded": "main;work 3\nmain 2\n"}))
			s.wantGood(t, "before all")
			var running sync.WaitGroup
			limit := make(chan bool, 8)
			for name, attack := range all {
				running.Go(func() {
					limit <- true
					defer func() { <-limit }()
					s.attack(t, name, attack[0], attack[1])
				})
			}
			running.Wait()
			s.wantGood(t, "after all")
			s.crowd(t)
			if peak := peakMemory(t, s.process.Pid); peak > 512<<20 {
				t.Errorf("the server had %d MiB", peak>>20)
			}
			if err := s.end(); err != nil {
				t.Errorf("the server ended: %v", err)
			}
		})
	}
}

// attack sends the bytes of an attack and checks what comes back.
func (s *httpServer) attack(t *testing.T, name, outcome, sent string) {
	method, rest, _ := strings.Cut(s.good, " ")
	path, _, _ := strings.Cut(rest, " ")
	if method != http.MethodGet { // so that a GET fails for what it is
		sent = strings.ReplaceAll(sent, "GET PATH", method+" PATH")
	}
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	go func() { // the server may answer before it has read everything
		_, _ = io.WriteString(c, strings.ReplaceAll(sent, "PATH", path))
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	answers, _ := io.ReadAll(io.LimitReader(c, 64<<20)) // a refused connection may be reset
	statuses := statusesIn(string(answers))
	if strings.Contains(string(answers), "root:") {
		t.Errorf("%s: a file: %.300q", name, answers)
	}
	switch {
	case outcome == refused && len(statuses) > 0 && statuses[0] < 400:
		t.Errorf("%s: answered by %v: %.300q", name, statuses, answers)
	case outcome == refused && len(statuses) > 1, outcome == once && len(statuses) > 1, outcome == twice && len(statuses) > 2:
		t.Errorf("%s: %d answers: %v", name, len(statuses), statuses)
	}
	for _, status := range statuses {
		if status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported {
			t.Errorf("%s: status %d: %.300q", name, status, answers)
		}
	}
}

// statusesIn returns the statuses of answers.
func statusesIn(answers string) (all []int) {
	for rest := answers; ; {
		_, after, found := strings.Cut(rest, "HTTP/1.")
		if !found || len(after) < 5 {
			return all
		}
		if n, err := strconv.Atoi(after[2:5]); err == nil {
			all = append(all, n)
		}
		rest = after
	}
}

// wantGood checks that the good request is answered soon.
func (s *httpServer) wantGood(t *testing.T, when string) {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, s.good); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v", when, answer.StatusCode, err)
	}
}

// crowd keeps 1,500 connections open that send nothing, half a head, a body bit by bit, or do not read, while the good request is answered.
func (s *httpServer) crowd(t *testing.T) {
	t.Helper()
	const connections = 1500
	parts := []string{"", "GET / HTTP/1.1\r\nHost: local", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx", s.good}
	var all []net.Conn
	for i := range connections {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
			break
		}
		all = append(all, c)
		_, _ = io.WriteString(c, parts[i%len(parts)])
	}
	s.wantGood(t, "among 1,500 connections")
	for _, c := range all {
		c.Close()
	}
	s.wantGood(t, "after 1,500 connections")
}
