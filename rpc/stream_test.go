package rpc

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestArrivals checks that parts keep their order, whoever reads them, and that a client that leaves is noticed during a call.
func TestArrivals(t *testing.T) {
	sent, left, freed := make(chan string), make(chan struct{}), atomic.Int64{}
	a := &arrivals{gone: func() { close(left) }, free: func(n int) { freed.Add(int64(n)) }, read: func() ([]byte, error) {
		part, ok := <-sent
		if !ok {
			return nil, errors.New("the client has left")
		}
		return []byte(part), nil
	}}
	next := func(want int) {
		t.Helper()
		if part, ok := a.next(); !ok || string(part) != fmt.Sprint(want) {
			t.Fatalf("%q, %v; want %d", part, ok, want)
		}
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		for i := range 100 {
			sent <- fmt.Sprint(i)
			time.Sleep(time.Duration(i%3) * time.Millisecond)
		}
	}()
	for i := range 98 {
		next(i)
		if i%7 < 3 { // the call takes long
			a.readAhead()
			time.Sleep(time.Duration(i%5) * time.Millisecond)
		}
	}
	next(98)
	a.readAhead()
	<-all
	sent <- "more"
	close(sent)
	<-left
	next(99)
	a.drop()
	for range 1000 {
		if freed.Load() == int64(len("more")) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d bytes are free, not those of the part that nobody answered", freed.Load())
}

// TestManyArrivals sends each part when the one before is answered, while others read ahead, begin to, or end: every part arrives.
func TestManyArrivals(t *testing.T) {
	const parts = 200_000
	sent := make(chan []byte, 1)
	a := &arrivals{gone: func() {}, free: func(int) {}, read: func() ([]byte, error) {
		part, ok := <-sent
		if !ok {
			return nil, errors.New("gone")
		}
		return part, nil
	}}
	for i := range parts {
		if i%3 == 0 {
			a.readAhead()
		}
		if i%7 == 0 {
			runtime.Gosched()
		}
		go func() { sent <- []byte{byte(i)} }()
		if part, ok := a.next(); !ok || part[0] != byte(i) {
			t.Fatalf("part %d: %v, %v", i, part, ok)
		}
	}
	close(sent)
	if part, ok := a.next(); ok {
		t.Errorf("%v after the end", part)
	}
}
