package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

var ftraceLine = regexp.MustCompile(`^ *(\S.*)-(\d+) +\((?: *\d+|-+)\) \[00[0-7]\] d\.[.hs][123] (\d+\.\d{6}): (\w+): (.+)$`)

func TestFtrace(t *testing.T) {
	const size = 300_000
	text := generate(t, "ftrace", size, 7)
	if !bytes.Equal(text, generate(t, "ftrace", size, 7)) {
		t.Error("two runs differ")
	}
	if n := len(text); n < size || n > size+1000 {
		t.Errorf("%d bytes", n)
	}
	events, depths, last := map[string]int{}, map[string]int{}, ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := ftraceLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || m[3] < last {
			t.Fatalf("%q after %s", line, last)
		}
		last = m[3]
		event, mark, tid := m[4], m[5], m[2]
		switch {
		case event != "tracing_mark_write":
		case mark[0] == 'B':
			depths[tid]++
		case mark[0] == 'E':
			depths[tid]--
		}
		if depths[tid] < 0 {
			t.Fatalf("%q ends what did not begin", line)
		}
		events[event]++
	}
	for _, event := range []string{"sched_switch", "sched_waking", "tracing_mark_write", "cpu_idle", "cpu_frequency", "binder_transaction"} {
		if events[event] < 20 {
			t.Errorf("%d of %s", events[event], event)
		}
	}
}
