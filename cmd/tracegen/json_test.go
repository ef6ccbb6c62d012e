package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
)

const testSize = 8_000_000

type testEvent struct {
	Ph       string          `json:"ph"`
	Cat      string          `json:"cat"`
	Name     string          `json:"name"`
	Pid, Tid int             // matched ignoring case
	Ts       float64         `json:"ts"`
	Dur      *float64        `json:"dur"`
	Bp       string          `json:"bp"`
	ID       json.RawMessage `json:"id"`
	ID2      struct {
		Local string `json:"local"`
	} `json:"id2"`
	Args json.RawMessage `json:"args"`
}

func generate(t *testing.T, name string, size int64) []byte {
	t.Helper()
	f := formats[name]()
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	if err := f.write(w, size); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func parse(t *testing.T, trace []byte) []testEvent {
	t.Helper()
	var object struct {
		TraceEvents []testEvent
		OtherData   map[string]any
	}
	if err := json.Unmarshal(trace, &object); err != nil {
		t.Fatal(err)
	}
	if len(object.OtherData) == 0 {
		t.Error("no otherData")
	}
	return object.TraceEvents
}

func within(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if !(got >= low && got <= high) {
		t.Errorf("%s: %.4g, want %g to %g", what, got, low, high)
	}
}

func TestFormatsAreDeterministic(t *testing.T) {
	for name := range formats {
		const size = 3_000_000
		one := generate(t, name, size)
		if !bytes.Equal(one, generate(t, name, size)) {
			t.Errorf("%s: two traces differ", name)
		}
		within(t, name+": bytes", float64(len(one)), size, 1.5*size)
	}
}

func TestJSONMix(t *testing.T) {
	trace := generate(t, "json", testSize)
	events := parse(t, trace)
	n := float64(len(events))
	within(t, "bytes an event", float64(len(trace))/n, 170, 210)

	phases := map[string]float64{}
	args := map[string]int{}
	processes, threads := map[int]bool{}, map[[2]int]bool{}
	var withArgs, fractions, switches float64
	var last testEvent
	for _, e := range events {
		phases[e.Ph]++
		if e.Args != nil && string(e.Args) != "{}" {
			withArgs++
			args[string(e.Args)]++
		}
		if e.Ts != math.Trunc(e.Ts) {
			fractions++
		}
		processes[e.Pid] = true
		if e.Ph != "M" {
			threads[[2]int{e.Pid, e.Tid}] = true
			if e.Pid != last.Pid || e.Tid != last.Tid {
				switches++
			}
		}
		last = e
	}
	var unique float64
	for _, count := range args {
		if count == 1 {
			unique++
		}
	}
	within(t, "share of X", phases["X"]/n, 0.65, 0.80)
	within(t, "share of B", phases["B"]/n, 0.01, 0.05)
	within(t, "share of i and I", (phases["i"]+phases["I"])/n, 0.04, 0.10)
	within(t, "share of C", phases["C"]/n, 0.01, 0.04)
	within(t, "share of b, n and e", (phases["b"]+phases["n"]+phases["e"])/n, 0.04, 0.10)
	within(t, "share of s, t and f", (phases["s"]+phases["f"])/n, 0.03, 0.10)
	within(t, "share of M", phases["M"]/n, 0.001, 0.01)
	if phases["n"] == 0 {
		t.Error("no n")
	}
	within(t, "share with args", withArgs/n, 0.45, 0.60)
	within(t, "share with args of their own", unique/n, 0.10, 0.18)
	within(t, "share with fractional ts", fractions/n, 0.05, 0.5)
	within(t, "events a burst", n/switches, 10, 100)
	within(t, "processes", float64(len(processes)), 10, 10)
	within(t, "threads", float64(len(threads)), 60, 60)
}

func TestJSONThreadsAreInOrderAndNest(t *testing.T) {
	events := parse(t, generate(t, "json", testSize))
	stacks := map[[2]int][]float64{} // ends, +Inf until the E
	now := map[[2]int]float64{}
	depth, unsorted := 0, 0
	for i, e := range events {
		key := [2]int{e.Pid, e.Tid}
		if e.Ts < now[key] {
			t.Fatalf("event %d is earlier than its thread's last one", i)
		}
		now[key] = e.Ts
		if i > 0 && e.Ts < events[i-1].Ts {
			unsorted++
		}
		stack := stacks[key]
		// The sum of ts and dur is off by less than half a nanosecond.
		for len(stack) > 0 && stack[len(stack)-1] < e.Ts+5e-4 {
			stack = stack[:len(stack)-1]
		}
		switch e.Ph {
		case "X":
			end := e.Ts + *e.Dur
			if len(stack) > 0 && end > stack[len(stack)-1]+5e-4 {
				t.Fatalf("event %d ends after its parent", i)
			}
			stack = append(stack, end)
		case "B":
			stack = append(stack, math.Inf(1))
		case "E":
			if len(stack) == 0 || !math.IsInf(stack[len(stack)-1], 1) {
				t.Fatalf("event %d is an E without a B", i)
			}
			stack = stack[:len(stack)-1]
		}
		depth = max(depth, len(stack))
		stacks[key] = stack
	}
	within(t, "greatest depth", float64(depth), 5, 11)
	within(t, "descents", float64(unsorted)/float64(len(events)), 0.005, 0.1)
}

func TestJSONLinksStartBeforeTheyEnd(t *testing.T) {
	events := parse(t, generate(t, "json", testSize))
	open := map[string]testEvent{}
	id := func(e testEvent) string { return e.Name + string(e.ID) + e.ID2.Local }
	for _, e := range events {
		if e.Ph == "b" || e.Ph == "s" {
			if _, ok := open[id(e)]; ok {
				t.Fatalf("id %s begins twice", id(e))
			}
			open[id(e)] = e
		}
	}
	ended := 0
	for _, e := range events {
		switch e.Ph {
		case "n", "e", "t", "f":
			o, ok := open[id(e)]
			if !ok || o.Ts > e.Ts || o.Cat != e.Cat {
				t.Fatalf("%s of %s at %f does not follow its start", e.Ph, id(e), e.Ts)
			}
		}
		if e.Ph == "f" && e.Bp != "e" {
			t.Fatal("f without bp")
		}
		if e.Ph == "e" || e.Ph == "f" {
			ended++
		}
	}
	within(t, "share that ends", float64(ended)/float64(len(open)), 0.8, 1)
}

func TestNDJSONHasTheEventsOfJSON(t *testing.T) {
	var object struct{ TraceEvents []json.RawMessage }
	if err := json.Unmarshal(generate(t, "json", 1e6), &object); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(generate(t, "ndjson", 1e6), []byte("\n")), []byte("\n"))
	if len(lines) != len(object.TraceEvents) {
		t.Fatalf("%d lines, want %d", len(lines), len(object.TraceEvents))
	}
	for i, line := range lines {
		if line = bytes.TrimSuffix(line, []byte(" ")); !bytes.Equal(line, object.TraceEvents[i]) {
			t.Fatalf("line %d is %s, want %s", i+1, line, object.TraceEvents[i])
		}
	}
}

type fullDisk struct{ left int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorsAreReported(t *testing.T) {
	for name, build := range formats {
		f := build()
		if err := f.write(bufio.NewWriter(&fullDisk{1e5}), math.MaxInt64); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want %v", name, err, errFull)
		}
	}
}
