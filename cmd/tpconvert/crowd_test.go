//go:build linux

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
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tpconvert/tpconvert/internal/perfetto/pb"
)

var crowd = flag.Int("crowd", 0, "clients of TestServeCrowd, which then checks times, too")

// soon is how long a small query may take.
const soon = 200 * time.Millisecond

// TestServeCrowd checks that serve answers a small query soon, whatever many other clients do at the same time, and that
// its memory is bounded. The others are a process of their own, as the one that asks has nothing to do with them. Another server
// without these clients shows how long the query takes on a machine that is so busy.
func TestServeCrowd(t *testing.T) {
	dir := dataset(t, goodTrace)
	url, server, end := serveCommand(t, dir, filepath.Join(dir, "out"))
	idleURL, _, endIdle := serveCommand(t, dir, filepath.Join(dir, "out"))
	clients := *crowd
	if clients == 0 {
		clients = 40
	}
	others := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrowd$", "-crowd", strconv.Itoa(clients))
	others.Env = append(os.Environ(), crowdOf+"="+url)
	if err := others.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- others.Wait() }()
	time.Sleep(time.Second)
	var weather []time.Duration
	var idle sync.WaitGroup
	idle.Go(func() { weather = askFor(t, idleURL, 10*time.Second) })
	took := askFor(t, url, 10*time.Second)
	idle.Wait()
	resident := peakMemory(t, server.Pid)
	select {
	case err := <-ended:
		t.Errorf("the other clients ended: %v", err)
	default:
		if err := others.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
	}
	idleEnd := endIdle()
	t.Logf("%d clients: %d small queries took %v, the server had %d MiB at most; without these clients %v", clients, len(took), spread(took), resident>>20, spread(weather))
	if *crowd > 0 {
		slow, slowest := at(took, 90), at(took, 100)
		if slow > soon+at(weather, 90) {
			t.Errorf("a tenth of the small queries took more than %v", slow)
		}
		if slowest > soon+at(weather, 100) {
			t.Errorf("a small query took %v", slowest)
		}
	}
	if resident > 2<<30 {
		t.Errorf("the server had %d bytes at most", resident)
	}
	if took := end(); *crowd > 0 && took > 10*soon+idleEnd {
		t.Errorf("the server ended after %v, an idle one after %v", took, idleEnd)
	}
}

// crowdOf is the variable with the server that the other clients of TestServeCrowd use.
const crowdOf = "TPCONVERT_CROWD"

// TestCrowd is the process of these clients.
func TestCrowd(t *testing.T) {
	url := os.Getenv(crowdOf)
	if url == "" {
		t.Skip("for TestServeCrowd")
	}
	for i := range *crowd {
		go func() {
			for {
				badClients[i%len(badClients)](t.Context(), strings.TrimPrefix(url, "http://"))
				time.Sleep(time.Second + rand.N(time.Second))
			}
		}()
	}
	for range 4 { // they compute, and read their answers
		go func() {
			body := sqlArgs(endless + "SELECT count(*) FROM n")
			if answer, err := http.Post(url+"/query", "", bytes.NewReader(body)); err == nil {
				answer.Body.Close()
			}
		}()
	}
	select {} // until it is killed
}

// askFor asks small queries, and returns how long they took, sorted.
func askFor(t *testing.T, url string, long time.Duration) []time.Duration {
	var took []time.Duration
	for begun := time.Now(); time.Since(begun) < long; time.Sleep(50 * time.Millisecond) {
		asked := time.Now()
		if got := ask(t, url, "SELECT count(*) FROM slice"); !slices.Equal(got.rows, []string{"2"}) {
			t.Errorf("%+v", got)
		}
		took = append(took, time.Since(asked))
	}
	slices.Sort(took)
	return took
}

// at returns what so many percent of sorted times do not exceed.
func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100]
}

func spread(sorted []time.Duration) string {
	return fmt.Sprintf("%v, 90 %% of them %v, all %v", at(sorted, 50), at(sorted, 90), at(sorted, 100))
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
