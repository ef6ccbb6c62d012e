package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
)

// For people a message is one line, whatever an error says; for programs it is JSON.
func TestLog(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var to bytes.Buffer
	telemetry.Log(&to, false)
	slog.With("task", 3).Warn("not committed", "error", "one\ntwo")
	slog.Debug("nobody reads this")
	if got := to.String(); got != "tpfleet: not committed: task 3, error one; two\n" {
		t.Errorf("%q", got)
	}
	to.Reset()
	telemetry.Log(&to, true)
	slog.Warn("not committed", "error", "one\ntwo")
	var line map[string]any
	if err := json.Unmarshal(to.Bytes(), &line); err != nil || line["msg"] != "not committed" || line["error"] != "one\ntwo" || line["level"] != "WARN" {
		t.Errorf("%q, %v", to.String(), err)
	}
}

// free returns an address that nobody listens at.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestMetrics(t *testing.T) {
	address := free(t)
	stop, err := telemetry.Start(t.Context(), address, "1.2")
	if err != nil {
		t.Fatal(err)
	}
	telemetry.Queue(t.Context(), 3)
	telemetry.Queue(t.Context(), -2)
	telemetry.Result(t.Context(), &task.Result{
		Files: []task.File{{Rows: 5, Bytes: 100}, {Rows: 6, Bytes: 200}},
		Traces: []task.Outcome{{Trace: task.Trace{URL: "a", Bytes: 7}, Status: task.OK, Lost: 4},
			{Trace: task.Trace{URL: "b", Bytes: 8}, Status: task.Bad, Error: "b: corrupt"}},
	})
	telemetry.Commit(t.Context(), "append", time.Now(), 3, errors.New("conflict"))
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"tpfleet_queue 1\n", `tpfleet_traces_total{status="` + task.OK + `"} 1`, `tpfleet_traces_total{status="` + task.Bad + `"} 1`,
		"tpfleet_trace_size_bytes_total 15\n", "tpfleet_rows_total 11\n", "tpfleet_file_size_bytes_total 300\n", "tpfleet_lost_total 4\n",
		`tpfleet_commit_conflicts_total{operation="append"} 2`, `tpfleet_commit_duration_seconds_count{operation="append",outcome="failed"} 1`,
		`service_version="1.2"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
	if err := stop(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + address + "/metrics"); err == nil {
		t.Error("the server goes on")
	}
}
