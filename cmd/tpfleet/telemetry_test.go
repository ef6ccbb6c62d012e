package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scrape returns the metrics at an address, by name and labels.
func scrape(address string) (map[string]float64, error) {
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		at := strings.LastIndex(lines.Text(), " ")
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if values[lines.Text()[:at]], err = strconv.ParseFloat(lines.Text()[at+1:], 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// What Prometheus gets from a watcher, and what its log says, is what the ledger says.
func TestMetrics(t *testing.T) {
	f := newFolder(t)
	good, bad := traces(t)
	url := f.upload(t, append(good, bad...)...)
	address := freeAddress()
	c := command(t, "watch", "--lake", f.folder, "-j2", "--every", "100ms", "--settle", "0s", "--commit-every", "0s", "--task-traces", "4", "--metrics", address, "--log-format", "json", url)
	messages, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitForTraces(t, f, len(good))
	var got map[string]float64
	for begun := time.Now(); time.Since(begun) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		if got, err = scrape(address); err == nil && got["tpfleet_queue"] == 0 {
			break
		}
	}
	s, err := f.lake(t.Context(), t).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := number(t, database(t), "SELECT sum(lost) FROM "+f.source(t, f.lake(t.Context(), t))("trace"))
	for name, want := range map[string]float64{
		`tpfleet_traces_total{status="ok"}`:                              float64(len(good)),
		`tpfleet_traces_total{status="bad"}`:                             float64(len(bad)),
		`tpfleet_failures_total{kind="the input is empty",status="bad"}`: 1,
		`tpfleet_rows_total`:                                             float64(s.Rows),
		`tpfleet_lost_total`:                                             float64(lost),
		`tpfleet_conversion_duration_seconds_count`:                      float64(len(good) + len(bad)),
		`tpfleet_queue`:                                                  0,
		`tpfleet_commit_conflicts_total{operation="commit"}`:             0,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %v, %v, want %v", name, value, there, want)
		}
	}
	checkExpressions(t, got)
	size := 0.0
	for _, table := range s.Tables {
		if table.Name != "trace" {
			size += float64(table.Bytes)
		}
	}
	if got["tpfleet_file_size_bytes_total"] != size || got["tpfleet_trace_size_bytes_total"] < float64(s.Bytes) {
		t.Errorf("%v bytes of %v, want %v of %d", got["tpfleet_file_size_bytes_total"], got["tpfleet_trace_size_bytes_total"], size, s.Bytes)
	}
	if n := got[`tpfleet_commit_duration_seconds_count{operation="commit",outcome="done"}`]; n < 2 {
		t.Errorf("%v commits", n)
	}
	if t.Failed() {
		t.Log(got)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(messages)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	worked := 0
	for line := range strings.Lines(string(text)) {
		var message struct {
			Time   time.Time
			Level  string
			Msg    string
			Traces int
			Of     int
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.Msg == "" || message.Level == "" || message.Time.IsZero() {
			t.Errorf("%s: %v", line, err)
		}
		if message.Msg == "worked" {
			worked = max(worked, message.Traces)
		}
	}
	if worked != len(good)+len(bad) {
		t.Errorf("the log says %d traces: %s", worked, text)
	}
}

// A collector gets the metrics of a command that ends at once.
func TestOTLP(t *testing.T) {
	f := newFolder(t)
	url := f.upload(t, smallTraces(t, 2)...)
	got := make(chan string, 10)
	collector := http.Server{Addr: freeAddress(), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.URL.Path, string(text))
	})}
	go collector.ListenAndServe()
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+collector.Addr)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	f.run(t, "", "run", "-j1", url)
	close(got)
	all := ""
	for text := range got {
		all += text
	}
	for _, part := range []string{"/v1/metrics", "tpfleet.traces", "tpfleet.commit.duration", "service.name"} {
		if !strings.Contains(all, part) {
			t.Errorf("the collector did not get %s, but %q", part, all)
		}
	}
}
