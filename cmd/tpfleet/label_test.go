package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"
)

// Labels come from the command line, the URL, a file beside the trace and, in a bucket, the object. They last, also when traces are
// converted again. The rows of metrics have them, too.
func TestLabels(t *testing.T) { withLedger(t, testLabels) }

func testLabels(t *testing.T, f *fleet) {
	files := smallTraces(t, 3)
	url := f.upload(t, files...)
	side := filepath.Join(t.TempDir(), "small-1.json.labels.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(side, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f.upload(t, side)
	}
	write(`{"build": 1234567890123456789, "team": "beside", "beta": true, "none": null}`)
	object := ""
	if f.folder == "" {
		bucket, err := blob.OpenBucket(t.Context(), f.options("traces"))
		if err != nil {
			t.Fatal(err)
		}
		defer bucket.Close()
		text, err := os.ReadFile(files[2])
		if err != nil {
			t.Fatal(err)
		}
		key := strings.TrimPrefix(url, "s3://traces/") + "small-2.json"
		if err := bucket.WriteAll(t.Context(), key, text, &blob.WriterOptions{Metadata: map[string]string{"site": "berlin", "n": "of the object"}}); err != nil {
			t.Fatal(err)
		}
		object = `,"site":"berlin"`
	}
	labels := func() string {
		t.Helper()
		out := f.run(t, "", "query", "--columns", "labels", "--format", "ndjson", "SELECT name FROM slice")
		got := map[string]string{}
		for _, row := range lines[struct{ Labels, Name string }](t, out) {
			got[row.Name] = row.Labels
		}
		return got["slice 0"] + " " + got["slice 1"] + " " + got["slice 2"]
	}
	db := database(t)
	check := func(when, want string) {
		t.Helper()
		if got := labels(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		var got string
		metrics := f.source(t, f.lake(t.Context(), t))("metric_slices")
		if err := db.QueryRow("SELECT string_agg(labels, ' ' ORDER BY name) FROM " + metrics).Scan(&got); err != nil || got != want {
			t.Errorf("%s, metrics: %s, %v, want %s", when, got, err, want)
		}
	}
	run := []string{"-j1", "--spec", "slices", "--label", "team=x", "--label-pattern", `small-(?P<n>\d+)`, "--label-sidecar", ".labels.json", url}
	if f.folder == "" {
		run = append([]string{"--label-object"}, run...)
	}
	if a := account(t, f.run(t, "", "run", run...)); a.OK != 3 || a.Bad+a.Failed != 0 {
		t.Errorf("%+v", a)
	}
	first := `{"n":"0","team":"x"} {"beta":"true","build":"1234567890123456789","n":"1","team":"x"} {"n":"2"` + object + `,"team":"x"}`
	check("run", first)
	f.run(t, "", "rework", "--where", "labels ->> 'n' = '1'")
	check("rework", first)
	f.run(t, "", "compact", "--min-files", "2")
	check("compact", first)
	if out := f.run(t, "", "label", "team=y", "build=7", "--where", "labels ->> 'build' IS NULL"); out != "{\"entries\":2}\n" {
		t.Error(out)
	}
	f.run(t, "", "label", "beta=", "--where", "status = 'ok'")
	check("label", `{"build":"7","n":"0","team":"y"} {"build":"1234567890123456789","n":"1","team":"x"} {"build":"7","n":"2"`+object+`,"team":"y"}`)
	f.run(t, "", "rework", "--metrics-only", "--spec", "memory")
	f.run(t, "", "label", "team=", "--where", "status = 'ok'")
	check("rework --metrics-only", `{"build":"7","n":"0"} {"build":"1234567890123456789","n":"1"} {"build":"7","n":"2"`+object+`}`)

	// A trace whose labels cannot be read waits.
	write(`[1]`)
	f.upload(t, func() string {
		again := filepath.Join(t.TempDir(), "small-1.json")
		if err := os.WriteFile(again, []byte(`[{"name":"slice 1","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]`), 0o644); err != nil {
			t.Fatal(err)
		}
		return again
	}())
	out, err := command(t, append(append([]string{"run"}, f.flags()...), run...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "1 traces are left") {
		t.Errorf("a broken file beside a trace: %s, %v", out, err)
	}
	for _, wrong := range [][]string{{"--label-pattern", "("}, {"--label-pattern", "a(b)"}, {"--label", "=x"}} {
		c := command(t, append(append(append([]string{"run"}, f.flags()...), wrong...), url)...)
		if c.Run(); c.ProcessState.ExitCode() != exitUsage {
			t.Errorf("%q: exit code %d", wrong, c.ProcessState.ExitCode())
		}
	}
}

// The host that spans or perf name is that of the machine.
func TestHosts(t *testing.T) {
	f := newFolder(t)
	dir := t.TempDir()
	span := func(host string) string {
		return `{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"` + host + `"}}]},"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b1` + host + `","name":"a","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000"}]}]}`
	}
	for name, text := range map[string]string{"one.json": `{"resourceSpans":[` + span("11") + `]}`, "two.json": `{"resourceSpans":[` + span("11") + "," + span("22") + `]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.run(t, "", "run", "-j1", dir+"/", "../../testdata/perf.data")
	got := f.run(t, "", "query", "--columns", "machine_name", "--format", "csv", "SELECT (SELECT group_concat(str_value) FROM metadata WHERE name = 'host_name') AS hosts")
	for _, want := range []string{",11,11\n", `,,"11,22"` + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	host := "" // that perf wrote
	for line := range strings.Lines(got) {
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) == 3 && fields[1] != "11" && fields[1] != "" && fields[0] != "trace_id" {
			host = fields[1]
		}
	}
	if host == "" {
		t.Errorf("perf's host is missing in %s", got)
	}
}
