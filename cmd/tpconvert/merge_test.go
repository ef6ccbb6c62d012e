package main

import (
	"archive/tar"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	api "github.com/tpconvert/tpconvert"
)

const (
	// clocksTrace is a Perfetto trace in which the boot clock is 500 ms ahead of the
	// monotonic one.
	clocksTrace = "\x0a\x16\x32\x14\x0a\x08\x08\x06\x10\x80\x94\xeb\xdc\x03\x0a\x08\x08\x03\x10\x80\xca\xb5\xee\x01"
	// drawTrace has a slice from 1 to 1.5 s of the monotonic clock.
	drawTrace = "# tracer: nop\n#\n  app-100 (  100) [001] ...1  1.000000: tracing_mark_write: B|100|draw\n" +
		"  app-100 (  100) [001] ...1  1.500000: tracing_mark_write: E|100\n"
	// appTrace has a slice at 2 ms of its own clock.
	appTrace = `{"traceEvents":[{"pid":10,"tid":10,"ts":2000,"dur":500,"ph":"X","name":"app"}]}`
)

// asked runs a query of a dataset, in a build without DuckDB too, and returns its rows as CSV, without the header and quotes.
func asked(t *testing.T, dir, dataset, query string) []string {
	t.Helper()
	got := tpconvert(t, dir, "query", "--perfetto", "--format", "csv", dataset, query)
	got.expect(t, exitDone, "")
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(got.stdout, `"`, "")), "\n")[1:]
}

func TestMerge(t *testing.T) {
	dir := folder(t, map[string]string{"clocks.pftrace": clocksTrace, "draw.txt": drawTrace, "app.json": appTrace,
		"manifest.json": `{"perfetto_manifest": {"version": 1, "files": [{"path": "clocks.pftrace"}, {"path": "app.json",
			"clocks": {"sync_to": {"file": "clocks.pftrace", "clock": "MONOTONIC"}, "offset_ns": 1000000}}]}}`})
	all := "SELECT name, ts FROM slice ORDER BY name"
	for _, test := range []struct {
		out  string
		args []string
		want []string
	}{
		{"plain", nil, []string{"app,2000000", "draw,1500000000"}},
		{"moved", []string{"--offset", "app.json=+1.5s", "--offset", "draw.txt=-20ms"}, []string{"app,1502000000", "draw,1480000000"}},
		{"manifest", []string{"--manifest", "manifest.json"}, []string{"app,503000000", "draw,1500000000"}},
	} {
		args := append([]string{"--merge", "clocks.pftrace", "draw.txt", "app.json", test.out}, test.args...)
		tpconvert(t, dir, args...).expect(t, exitDone, "")
		if got := asked(t, dir, test.out, all); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.out, got, test.want)
		}
	}

	tpconvert(t, dir, "--merge", "clocks.pftrace", "draw.txt", "app.json", "--machine", "phone=./clocks.pftrace", "--machine", "phone=draw.txt", "machines").expect(t, exitDone, "")
	if got := asked(t, dir, "machines", "SELECT coalesce(name, '') FROM machine ORDER BY raw_id"); !slices.Equal(got, []string{"", "phone"}) {
		t.Errorf("machines: %q", got)
	}
	if got := asked(t, dir, "machines", "SELECT m.name FROM process p JOIN machine m ON m.id = p.machine_id WHERE pid = 100"); !slices.Equal(got, []string{"phone"}) {
		t.Errorf("the process is of %q", got)
	}

	tpconvert(t, dir, "--merge", "clocks.pftrace", "draw.txt", "--machine", "phone=clocks.pftrace", "--machine", "watch=draw.txt", "apart").expect(t, exitDone, "")
	if got := asked(t, dir, "apart", "SELECT value, m.name FROM stats AS s JOIN machine AS m ON m.id = s.machine_id WHERE s.name = 'clock_sync_unrelatable_clock_domains' AND value > 0"); !slices.Equal(got, []string{"1,watch"}) {
		t.Errorf("clocks that cannot be related: %q", got)
	}
}

func TestMergeOfStandardInput(t *testing.T) {
	dir := folder(t, map[string]string{"clocks.pftrace": clocksTrace, "draw.txt": drawTrace})
	cmd := command(t, dir, "--merge", "clocks.pftrace", "-", "out")
	cmd.Stdin = strings.NewReader(drawTrace)
	finish(t, cmd).expect(t, exitDone, "")
	if got := asked(t, dir, "out", "SELECT name FROM trace_file ORDER BY id"); !slices.Equal(got, []string{"merged.tar", "clocks.pftrace", "stdin"}) {
		t.Errorf("files %q", got)
	}
	if got := asked(t, dir, "out", "SELECT ts FROM slice"); !slices.Equal(got, []string{"1500000000"}) {
		t.Errorf("slices at %q", got)
	}
}

func TestMergeUsage(t *testing.T) {
	dir := folder(t, map[string]string{"a.json": appTrace, "b.json": appTrace, "m.json": `{"perfetto_manifest": {"version": 1, "files": [{"path": "c.json"}]}}`,
		"bad.json": `{"perfetto_manifest": {"version": 2}}`})
	for want, args := range map[string][]string{
		"two traces have the name a.json":                           {"--merge", "a.json", "./a.json", "out"},
		"require --merge":                                           {"--offset", "a.json=1s", "a.json", "out"},
		"cannot be combined with --machine":                         {"--merge", "--manifest", "m.json", "--machine", "x=a.json", "a.json", "out"},
		"names c.json, but no trace has that name":                  {"--merge", "--manifest", "m.json", "a.json", "b.json", "out"},
		"--machine phone is not NAME=FILE":                          {"--merge", "--machine", "phone", "a.json", "out"},
		"c.json is not one of the merged traces":                    {"--merge", "--machine", "phone=c.json", "a.json", "out"},
		"--offset a.json is not FILE=DURATION":                      {"--merge", "--offset", "a.json", "a.json", "out"},
		"--offset a.json=1: 1 is not a duration such as +1.5s or -": {"--merge", "--offset", "a.json=1", "a.json", "out"},
	} {
		tpconvert(t, dir, args...).expect(t, exitUsage, want)
	}
	tpconvert(t, dir, "--merge", "--manifest", "bad.json", "a.json", "out").expect(t, exitBadInput, "unsupported version: 2")
	tpconvert(t, dir, "--merge", "--manifest", "none.json", "a.json", "out").expect(t, exitFailure, "none.json")
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("out was made")
	}
}

func TestBundle(t *testing.T) {
	dir := folder(t, map[string]string{"clocks.pftrace": clocksTrace, "draw.txt": drawTrace, "app.json": appTrace})
	args := []string{"--machine", "phone=app.json", "clocks.pftrace", "draw.txt", "app.json"}
	got := tpconvert(t, dir, append([]string{"bundle", "-o", "merged.tar"}, args...)...)
	got.expect(t, exitDone, "")
	for _, want := range []string{
		"merged.tar: 3 traces", "timeline: BOOTTIME, chosen by clocks.pftrace",
		"draw.txt, machine 0: MONOTONIC -> BOOTTIME (clock snapshots of clocks.pftrace)",
		"app.json, machine phone: own clock -> BOOTTIME (assumed to be the same)",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	file, err := os.Open(filepath.Join(dir, "merged.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var members []string
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if members = append(members, header.Name); header.Name == "app.json" && string(text) != appTrace {
			t.Errorf("app.json is %q", text)
		}
	}
	if want := []string{"perfetto_manifest.json", "clocks.pftrace", "draw.txt", "app.json"}; !slices.Equal(members, want) {
		t.Errorf("members %q", members)
	}

	// The archive and the merged traces give the same trace.
	tpconvert(t, dir, "merged.tar", "archived").expect(t, exitDone, "")
	tpconvert(t, dir, append(append([]string{"--merge"}, args...), "merged")...).expect(t, exitDone, "")
	if a, b := manifestAt(t, dir, "archived", "_tpconvert.json"), manifestAt(t, dir, "merged", "_tpconvert.json"); a.TraceID != b.TraceID {
		t.Errorf("ids %s and %s", a.TraceID, b.TraceID)
	}

	tpconvert(t, dir, append([]string{"bundle", "-o", "merged.tar"}, args...)...).expect(t, exitFailure, "already exists")
	tpconvert(t, dir, "bundle", "app.json").expect(t, exitUsage, "-o FILE is missing")
	tpconvert(t, dir, "bundle", "-o", "bad.tar", "app.json", "none.json").expect(t, exitFailure, "none.json")
	if all := names(t, dir); slices.Contains(all, "bad.tar") {
		t.Errorf("left behind: %v", all)
	}
}

func TestBundleThatDoesNotAlign(t *testing.T) {
	// The instant's clock is the packet sequence's own, of which there is no snapshot.
	alone := "\x0a\x0b\x40\x05\xd0\x03\x64\x50\x01\x5a\x02\x48\x03"
	dir := folder(t, map[string]string{"app.json": appTrace, "alone.pftrace": alone,
		"manifest.json": `{"perfetto_manifest": {"version": 1, "files": [{"path": "app.json"}, {"path": "alone.pftrace"}]}}`})
	args := []string{"bundle", "--manifest", "manifest.json", "-o", "merged.tar", "app.json", "alone.pftrace"}
	tpconvert(t, dir, append(args, "--strict")...).expect(t, exitFailure, "1 events have no place on the timeline")
	if all := names(t, dir); slices.Contains(all, "merged.tar") {
		t.Errorf("left behind: %v", all)
	}
	got := tpconvert(t, dir, append(args, "--json")...)
	got.expect(t, exitDone, "")
	var b bundle
	if err := json.Unmarshal([]byte(got.stdout), &b); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(b.Alignment.Files, func(f api.AlignedFile) bool { return f.File == "alone.pftrace" })
	if b.Dropped != 1 || i < 0 || b.Alignment.Files[i].Dropped != 1 || b.Alignment.Files[i].Steps[0].By != "clock snapshots" {
		t.Errorf("%s", got.stdout)
	}
}

func TestInspectOfMergedTraces(t *testing.T) {
	dir := folder(t, map[string]string{"clocks.pftrace": clocksTrace, "draw.txt": drawTrace, "log.txt": "# ninja log v5\n0\t5\t0\tjob\t1\n"})
	got := tpconvert(t, dir, "inspect", "--merge", "draw.txt", "log.txt", "clocks.pftrace", "--offset", "draw.txt=20ms")
	got.expect(t, exitDone, "")
	for _, want := range []string{
		"draw.txt, machine 0: MONOTONIC -> BOOTTIME (clock snapshots of clocks.pftrace); moved by 20ms",
		"log.txt, machine 0: no clock; its times are used as times of the timeline",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	if got := tpconvert(t, dir, "inspect", "draw.txt"); strings.Contains(got.stdout, "timeline:") {
		t.Errorf("one trace: %s", got.stdout)
	}
	tpconvert(t, dir, "inspect", "draw.txt", "log.txt").expect(t, exitUsage, "accepts 1 arg")
}
