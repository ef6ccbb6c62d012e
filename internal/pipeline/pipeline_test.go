package pipeline

import (
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// double works on all values it is given.
func double(h *Helper[int]) {
	for {
		v, ok := h.Next()
		if !ok {
			return
		}
		h.Done(2 * v)
	}
}

func TestOrder(t *testing.T) {
	const ahead, values = 4, 10_000
	h := Help(ahead, double)
	var got, want []int
	for v := range values {
		if v >= ahead {
			done, ok := h.Take()
			if !ok {
				t.Fatal("the helper ended")
			}
			got = append(got, done)
		}
		h.Give(v)
		want = append(want, 2*v)
	}
	for range ahead {
		v, _ := h.Take()
		got = append(got, v)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d values, the first ones %d", len(got), got[:min(len(got), 10)])
	}
	h.Stop()
}

// Workers finish several values at a time, but the owner takes them in order.
func TestShare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const ahead, values = 6, 600
	var atOnce, most atomic.Int32
	h := Each(ahead, func(v *int) {
		for now := atOnce.Add(1); now > most.Load(); {
			most.Store(now)
		}
		time.Sleep(time.Duration(*v%3) * 100 * time.Microsecond)
		*v *= 2
		atOnce.Add(-1)
	})
	next := 0
	take := func() {
		if v, ok := h.Take(); !ok || *v != 2*next {
			t.Fatalf("value %d: %d, %t", next, *v, ok)
		}
		next++
	}
	for v := range values {
		if v >= ahead {
			take()
		}
		h.Give(&v)
	}
	for next < values {
		take()
	}
	h.Stop()
	if n := most.Load(); n < 2 || n > 4 {
		t.Errorf("%d values at a time", n)
	}
}

// A panic of a worker is one of the owner when it takes the value, or at the end.
func TestWorkerPanics(t *testing.T) {
	h := Each(4, func(v *int) { *v = 6 / *v })
	for _, v := range []int{1, 0, 2, 3} {
		h.Give(&v)
	}
	if v, ok := h.Take(); *v != 6 || !ok {
		t.Errorf("took %d, %t", *v, ok)
	}
	panics := func(owner func()) {
		defer func() {
			if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "divide by zero") {
				t.Error(err)
			}
		}()
		owner()
	}
	panics(func() { h.Take() })
	h.Stop()
	h = Each(1, func(v *int) { *v = 6 / *v })
	h.Give(new(int))
	for len(h.done) == 0 {
		runtime.Gosched()
	}
	panics(h.Stop)
}

// A helper with nothing more to do ends by itself, even if it is given more values.
func TestEnd(t *testing.T) {
	h := Help(3, func(h *Helper[string]) {
		v, _ := h.Next()
		h.Done(v + "!")
	})
	for _, v := range []string{"a", "b", "c"} {
		h.Give(v)
	}
	if v, ok := h.Take(); v != "a!" || !ok {
		t.Errorf("took %q, %t", v, ok)
	}
	if v, ok := h.Take(); ok {
		t.Errorf("took %q after the end", v)
	}
	h.Stop()
}

// Stop ends a helper even if finished values were not taken and given ones were
// not begun.
func TestStop(t *testing.T) {
	begun, ended := make(chan bool), false
	h := Help(3, func(h *Helper[int]) {
		for {
			v, ok := h.Next()
			if !ok {
				ended = true
				return
			}
			h.Done(v)
			if v == 1 {
				close(begun)
			}
		}
	})
	h.Give(1)
	<-begun
	h.Give(2)
	h.Give(3)
	h.Stop()
	if !ended {
		t.Error("Stop returned before the helper ended")
	}
}

// A panic of the helper is one of its owner, after what was done before.
func TestPanic(t *testing.T) {
	h := Help(2, func(h *Helper[int]) {
		v, _ := h.Next()
		h.Done(v)
		v, _ = h.Next()
		h.Done(1 / v)
	})
	h.Give(1)
	h.Give(0)
	if v, ok := h.Take(); v != 1 || !ok {
		t.Errorf("took %d, %t", v, ok)
	}
	for name, owner := range map[string]func(){"Take": func() { h.Take() }, "Stop": h.Stop} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "divide by zero") {
					t.Errorf("%s: %v", name, err)
				}
			}()
			owner()
		}()
	}
}
