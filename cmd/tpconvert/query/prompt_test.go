//go:build cgo

package query

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/internal/datasettest"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

const trace = `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"},{"ph":"X","pid":1,"tid":2,"ts":11,"dur":2,"name":"part"}]`

func TestPrompt(t *testing.T) {
	var out bytes.Buffer
	s, err := inputs.OpenSession(t.Context(), datasettest.Convert(t, trace), session.Options{}, inputs.Opener{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := &query{session: s, out: &out, options: queryOptions{Flags: inputs.Flags{Format: "csv"}}}
	lines := []string{"SELECT name", "FROM slice ORDER BY ts;", ".schema flow", ".tables", ".functions", "SELECT nothing;", ".odd", ".timer", "SELECT 1 AS one;"}
	var prompts []string
	p := prompt{query: q, readLine: func(text string) (string, error) {
		prompts = append(prompts, text)
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
	if err := p.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if prompts[0] != "tpconvert> " || prompts[1] != "      ...> " || prompts[2] != prompts[0] {
		t.Errorf("prompts %q", prompts)
	}
	for _, want := range []string{
		"name\nwork\npart\n", "slice_out,BIGINT\n", "thread_track,A track of slices of one thread.\n",
		"\ntrace_dur,\"trace_dur(): the time from trace_start() to trace_end(), in ns, 0 without events.\"\n", "\nthread_slice,\"the slices of thread tracks, ",
		"line 1: SELECT nothing;\n               ^\n", "there is no .odd",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if !regexp.MustCompile(`one\n1\n\d+\.\d+`).MatchString(out.String()) {
		t.Errorf("no time of the last query in\n%s", out.String())
	}
	names, err := q.names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	complete := completer(names, io.Discard)
	for line, want := range map[string]string{
		"SELECT * FROM heap_graph_ja": "SELECT * FROM heap_graph_java_oome_details",
		"SELECT s.slice_ou":           "SELECT s.slice_out",
		"SELECT ancestor_slice_b":     "SELECT ancestor_slice_by_stack(",
		".sch":                        ".schema ",
		"SELECT zzz":                  "SELECT zzz",
		"SELECT thread_tr":            "SELECT thread_track",
	} {
		if got, pos, ok := complete(line, len(line), '\t'); got != want || pos != len(want) || !ok {
			t.Errorf("%q becomes %q, %d", line, got, pos)
		}
	}
}

func TestPromptInterrupted(t *testing.T) {
	var out bytes.Buffer
	s, err := inputs.OpenSession(t.Context(), datasettest.Convert(t, trace), session.Options{}, inputs.Opener{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q := &query{session: s, out: &out, options: queryOptions{Flags: inputs.Flags{Format: "csv"}}}
	signals := make(chan os.Signal, 1)
	endless := "SELECT count(*) FROM range(10000000000) a, range(10000000000) b WHERE a.range * b.range = -1;"
	lines := []string{endless, "SELECT dropped", "\x03", "SELECT name FROM slice WHERE dur = 100000;", endless, "SELECT 'never';"}
	runs := 0
	p := prompt{query: q, signals: signals, readLine: func(string) (string, error) {
		line := lines[0]
		lines = lines[1:]
		if line == endless {
			runs++
			end := os.Signal(os.Interrupt)
			if runs == 2 {
				end = syscall.SIGTERM
			}
			time.AfterFunc(200*time.Millisecond, func() { signals <- end })
		}
		if line == "\x03" {
			return "", errDropped
		}
		return line, nil
	}}
	if err := p.loop(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("loop = %v", err)
	}
	if got := out.String(); !strings.HasPrefix(got, "interrupted\nname\n") || strings.Contains(got, "never") || strings.Contains(got, "Error") {
		t.Errorf("got %q", got)
	}
}

func TestKeyboard(t *testing.T) {
	k := &keyboard{in: strings.NewReader("SELECT\x03x\r")}
	got, err := io.ReadAll(k)
	if err != nil || string(got) != "SELECT\x05\x15\rx\r" || !k.interrupted {
		t.Errorf("%q, %v, %v", got, k.interrupted, err)
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "history")
	h := readHistory(file)
	for _, line := range []string{"a", "b", "b", " ", "c"} {
		h.Add(line)
	}
	again := readHistory(file)
	if again.Len() != 3 || again.At(0) != "c" || again.At(2) != "a" {
		t.Errorf("history %q", again.lines)
	}
}

func TestInterruptedQuery(t *testing.T) {
	s, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.OpenEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := query{session: s, out: &bytes.Buffer{}, options: queryOptions{Flags: inputs.Flags{Format: "csv"}}}
	if err := q.all(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("all = %v", err)
	}
}
