package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// The wall clock at a trace's start is known if the trace has readings of it, or times of it, or is a profile that says when it
// began. Times without a year are none.
func TestStartUnix(t *testing.T) {
	var heap bytes.Buffer
	f := &profile.Function{ID: 1, Name: "f"}
	l := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "space", Unit: "bytes"}}, Function: []*profile.Function{f},
		Location: []*profile.Location{l}, Sample: []*profile.Sample{{Location: []*profile.Location{l}, Value: []int64{1}}}, TimeNanos: 1_700_000_000_000_000_002}
	if err := p.Write(&heap); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{
		"heap.pb.gz": heap.String(),
		"otlp.json": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001",
			"name":"a","startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000009"}]}]}]}`,
		"chrome.json": goodTrace,
		"log.txt":     "--------- beginning of main\n02-24 20:21:44.682  1000  1001 I tag: text\n",
	})
	goTrace, err := filepath.Abs("../../testdata/go.trace.gz") // its clock snapshot: MONOTONIC 24822314428395, REALTIME 1795387478719682494
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"heap.pb.gz": "1700000000000000002", "otlp.json": "1700000000000000001", "chrome.json": "", "log.txt": "",
		goTrace: "1795387478719717715"} {
		rows := tpconvert(t, dir, "-q", "query", "--perfetto", "--format", "csv", file, "SELECT coalesce(start_unix_ns, '') AS at FROM dataset_trace")
		if got := strings.TrimPrefix(strings.TrimSpace(rows.stdout), "\"at\"\n"); strings.Trim(got, `"`) != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}
