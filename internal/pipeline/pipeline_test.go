package pipeline

import (
	"slices"
	"strings"
	"testing"
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
