//go:build cgo && linux

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

var crowd = flag.Int("crowd", 0, "clients of TestServeCrowd, which then checks times, too: other processes must be idle")

// TestServeCrowd checks that serve answers a small query soon, whatever many other clients do at the same time, and that
// its memory is bounded.
func TestServeCrowd(t *testing.T) {
	dir := dataset(t, goodTrace)
	url, server, end := serveCommand(t, dir, filepath.Join(dir, "out"))
	ctx, stop := context.WithCancel(t.Context())
	clients := *crowd
	if clients == 0 {
		clients = 40
	}
	var others sync.WaitGroup
	for i := range clients {
		others.Go(func() {
			for ctx.Err() == nil {
				badClients[i%len(badClients)](ctx, strings.TrimPrefix(url, "http://"))
				select {
				case <-ctx.Done():
				case <-time.After(time.Second + rand.N(time.Second)):
				}
			}
		})
	}
	for range 4 { // they compute, and read their answers
		others.Go(func() {
			body := sqlArgs(endless + "SELECT count(*) FROM n")
			r, err := http.NewRequestWithContext(ctx, "POST", url+"/query", bytes.NewReader(body))
			if err != nil {
				panic(err)
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				answer.Body.Close()
			}
		})
	}
	time.Sleep(time.Second)
	var took []time.Duration
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		asked := time.Now()
		if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Fatalf("%+v", got)
		}
		took = append(took, time.Since(asked))
	}
	resident := peakMemory(t, server.Pid)
	stop()
	others.Wait()
	slices.Sort(took)
	t.Logf("%d clients: %d small queries took %v, 90 %% of them %v, all %v; the server had %d MiB at most",
		clients, len(took), took[len(took)/2], took[len(took)*9/10], took[len(took)-1], resident>>20)
	if median := took[len(took)/2]; *crowd > 0 && median > 200*time.Millisecond {
		t.Errorf("half of the small queries took more than %v", median)
	}
	if slow := took[len(took)*9/10]; *crowd > 0 && slow > time.Second {
		t.Errorf("a tenth of the small queries took more than %v", slow)
	}
	if resident > 2<<30 {
		t.Errorf("the server had %d bytes at most", resident)
	}
	if took := end(); *crowd > 0 && took > 2*time.Second {
		t.Errorf("the server ended after %v", took)
	}
}

// badClients are clients that do one bad thing. Their errors do not matter.
var badClients = []func(ctx context.Context, address string){
	slowReader, slowReader, slowReader, slowReader, slowSocket, halfRequest, malformed, hugeStatement, idle, leaver,
}

// request opens a connection, which the context closes, and sends a request with a part of its body.
func request(ctx context.Context, address, path string, size int, part []byte) net.Conn {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path, size)
	_, _ = conn.Write(part)
	return conn
}

// slowReader asks for many rows and does not read them until it is disconnected.
func slowReader(ctx context.Context, address string) {
	args := sqlArgs(endless + "SELECT i, 'a long text in every row' FROM n")
	if conn := request(ctx, address, "/query", len(args), args); conn != nil {
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(15 * time.Second))
		if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(15 * time.Second):
		}
	}
}

// slowSocket does the same with a websocket.
func slowSocket(ctx context.Context, address string) {
	conn, _, err := websocket.Dial(ctx, "ws://"+address+"/websocket", nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	_ = conn.Write(ctx, websocket.MessageBinary, call(0, queryStreaming, queryArgs, sqlArgs(endless+"SELECT i FROM n")))
	<-ctx.Done()
}

// halfRequest sends half of a query.
func halfRequest(ctx context.Context, address string) {
	args := sqlArgs("SELECT 1")
	if conn := request(ctx, address, "/query", len(args), args[:len(args)/2]); conn != nil {
		defer conn.Close()
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// malformed sends bytes that are no messages.
func malformed(ctx context.Context, address string) {
	for _, path := range []string{"/query", "/rpc", "/trace_summary", "/compute_metric"} {
		if conn := request(ctx, address, path, 1000, bytes.Repeat([]byte{0xff}, 1000)); conn != nil {
			_, _ = io.ReadFull(conn, make([]byte, 100))
			conn.Close()
		}
	}
}

// hugeStatement sends a query of 100 MB.
func hugeStatement(ctx context.Context, address string) {
	const size = 100 << 20
	head := protowire.AppendVarint(protowire.AppendTag(nil, pb.QueryArgs_SQLQuery, protowire.BytesType), size)
	if conn := request(ctx, address, "/query", size+len(head), head); conn != nil {
		defer conn.Close()
		part := bytes.Repeat([]byte("1+"), 32<<10)
		for sent := 0; sent < size; sent += len(part) {
			if _, err := conn.Write(part); err != nil {
				return
			}
		}
	}
}

// idle sends a part of the head of a request.
func idle(ctx context.Context, address string) {
	if conn, err := net.Dial("tcp", address); err == nil {
		defer conn.Close()
		fmt.Fprint(conn, "POST /query HTTP/1.1\r\nHost: ")
		select {
		case <-ctx.Done():
		case <-time.After(15 * time.Second):
		}
	}
}

// leaver disconnects while its query runs.
func leaver(ctx context.Context, address string) {
	args := sqlArgs(endless + "SELECT count(*) FROM n")
	if conn := request(ctx, address, "/query", len(args), args); conn != nil {
		time.Sleep(100 * time.Millisecond)
		conn.Close()
	}
}

// peakMemory returns the most resident memory that a process had, in bytes.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
