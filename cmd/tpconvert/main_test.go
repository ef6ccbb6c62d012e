package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/google/pprof/profile"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/human"
)

// asCommand makes the test binary behave as the command.
const asCommand = "TPCONVERT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

const (
	goodTrace = `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"},
		{"ph":"X","pid":1,"tid":2,"ts":11,"dur":2,"name":"part"}]`
	// The second slice has no end event, so its end is lost: it cannot outlast the first slice.
	lossyTrace = `[{"ph":"X","pid":1,"tid":2,"ts":10,"dur":5,"name":"work"},
		{"ph":"B","pid":1,"tid":2,"ts":11,"name":"part"},
		{"ph":"X","pid":1,"tid":2,"ts":20,"dur":5,"name":"more"}]`
)

// outcome is the result of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

// command returns the command, ready to be started in a folder.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = dir
	// The modules that a user has downloaded are none of a test's.
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME="+os.DevNull)
	return cmd
}

// tpconvert runs the command in a folder to its end.
func tpconvert(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, dir, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// expect checks the exit code and, if an error is expected, that its message contains
// the text.
func (o outcome) expect(t *testing.T, code int, message string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d; stderr: %s", o.code, code, o.stderr)
	}
	if !strings.Contains(o.stderr, message) {
		t.Errorf("stderr %q does not contain %q", o.stderr, message)
	}
}

// dataset converts traces to the dataset "out" in a new folder and returns that folder.
func dataset(t *testing.T, traces ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-q"}
	for i, text := range traces {
		name := string(rune('a'+i)) + ".json"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	tpconvert(t, dir, append(args, "out")...).expect(t, exitDone, "")
	return dir
}

// filesBelow lists files with their sizes and times.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			b.WriteString(path + " " + human.Count(info.Size()) + " " + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// recorded returns the path of a file in testdata.
func recorded(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// parsed reads a profile with pprof's own package.
func parsed(t *testing.T, path string) *profile.Profile {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return p
}

// folder returns a folder with files of the given contents.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// names lists a folder, including hidden files.
func names(t *testing.T, elem ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// rows returns the number of rows in a Parquet file.
func rows(t *testing.T, elem ...string) int64 {
	t.Helper()
	r, err := file.OpenParquetFile(filepath.Join(elem...), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.NumRows()
}

func manifestAt(t *testing.T, elem ...string) export.Manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	var m export.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConvert(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	got := tpconvert(t, dir, "trace.json", "out")
	got.expect(t, exitDone, "")
	if got.stderr != "" {
		t.Errorf("stderr in a pipe: %q", got.stderr)
	}
	if !strings.Contains(got.stdout, "trace.json (json) -> out") {
		t.Errorf("summary: %s", got.stdout)
	}
	if n := rows(t, dir, "out", "slice.parquet"); n != 2 {
		t.Errorf("%d slices, want 2", n)
	}
	if all := names(t, dir); !slices.Equal(all, []string{"out", "trace.json"}) {
		t.Errorf("left behind: %v", all)
	}
	sum := sha256.Sum256([]byte(goodTrace))
	m := manifestAt(t, dir, "out", "_tpconvert.json")
	want := export.Input{Name: "trace.json", Bytes: int64(len(goodTrace)), SHA256: hex.EncodeToString(sum[:]), Format: "json"}
	if m.Input.Name != want.Name || m.Input.Bytes != want.Bytes || m.Input.SHA256 != want.SHA256 || m.Input.Format != want.Format {
		t.Errorf("input %+v, want %+v", m.Input, want)
	}
	if m.TraceID != "t_"+want.SHA256[:16] {
		t.Errorf("trace id %s of %s", m.TraceID, want.SHA256)
	}
	if m.PeakMemoryBytes < 1<<20 || m.WallSeconds <= 0 {
		t.Errorf("peak memory %d, wall time %f", m.PeakMemoryBytes, m.WallSeconds)
	}
}

func TestCompressedInputIsAMember(t *testing.T) {
	dir := t.TempDir()
	trace, err := filepath.Abs("../../testdata/clang.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, trace, "out").expect(t, exitDone, "")
	in := manifestAt(t, dir, "out", "_tpconvert.json").Input
	info, err := os.Stat(trace)
	if err != nil {
		t.Fatal(err)
	}
	if in.Format != "gzip" || in.Bytes != info.Size() {
		t.Errorf("input is %s of %d bytes, want gzip of %d", in.Format, in.Bytes, info.Size())
	}
	if len(in.Members) != 1 || in.Members[0].Format != "json" || in.Members[0].Bytes <= in.Bytes {
		t.Errorf("members: %+v", in.Members)
	}
}

func TestUsageErrors(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	for _, c := range []struct {
		message string
		args    []string
	}{
		{"TRACE and OUT are missing", nil},
		{"OUT is missing", []string{"trace.json"}},
		{`did you mean "tpconvert query"?`, []string{"quer", "out", "select 1"}},
		{`did you mean "tpconvert inspect"?`, []string{"inpsect", "trace.json"}},
		{"curl -s URL", []string{"https://example.com/trace", "out"}},
		{"unknown flag: --fromat: did you mean --format or --from?", []string{"--fromat", "arrow", "trace.json", "out"}},
		{"unknown flag: --fromat: did you mean --format?", []string{"query", "--fromat", "csv", "out"}},
		{"unknown flag: --jso: did you mean --json?", []string{"inspect", "--jso", "trace.json"}},
		{"unknown flag: --frob", []string{"--frob", "trace.json", "out"}},
		{"avro", []string{"--format", "avro", "trace.json", "out"}},
		{"lzma", []string{"--compression", "lzma", "trace.json", "out"}},
		{"zstd:99", []string{"--compression", "zstd:99", "trace.json", "out"}},
		{"no such table", []string{"--tables", "slice,slices", "trace.json", "out"}},
		{"not a size", []string{"--memory", "lots", "trace.json", "out"}},
		{"--jobs", []string{"--jobs", "0", "trace.json", "out"}},
		{"--row-group-rows", []string{"--row-group-rows", "-1", "trace.json", "out"}},
		{"--trace-id", []string{"--trace-id", "a", "trace.json", "trace.json", "out"}},
		{"want letters, digits", []string{"--trace-id", "../x", "trace.json", "out"}},
		{"want letters, digits", []string{"--trace-id", "../x", "--append", "trace.json", "out"}},
		{"want letters, digits", []string{"--trace-id", "_empty", "--append", "trace.json", "out"}},
		{"at most 128", []string{"--trace-id", strings.Repeat("a", 300), "trace.json", "out"}},
		{"loud", []string{"--log-level", "loud", "trace.json", "out"}},
		{"no table", []string{"tables", "slicess"}},
		{"accepts 1 arg", []string{"inspect"}},
		{"invalid argument", []string{"completion", "csh"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			tpconvert(t, dir, c.args...).expect(t, exitUsage, c.message)
		})
	}
	if all := names(t, dir); !slices.Equal(all, []string{"trace.json"}) {
		t.Errorf("left behind: %v", all)
	}
}

func TestBadInput(t *testing.T) {
	dir := folder(t, map[string]string{"empty": "", "blank": " \n\n", "noise": "\x01\x02\x03 nothing known"})
	for name, message := range map[string]string{
		"empty": "empty at byte 0: the input is empty",
		"blank": "blank at byte 0: the input is empty",
		"noise": "01 02 03",
	} {
		got := tpconvert(t, dir, name, "out")
		got.expect(t, exitBadInput, message)
		tpconvert(t, dir, "inspect", name).expect(t, exitBadInput, message)
		if strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("not one line: %q", got.stderr)
		}
	}
	if all := names(t, dir); len(all) != 3 {
		t.Errorf("left behind: %v", all)
	}
}

func TestFailures(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	tpconvert(t, dir, "nowhere.json", "out").expect(t, exitFailure, "nowhere.json")
	tpconvert(t, dir, "nowhere.json", "no/such/folder").expect(t, exitFailure, "nowhere.json")
	tpconvert(t, dir, "trace.json", "nowhere.json", "no/out").expect(t, exitSomeFailed, "nowhere.json")
	if err := os.RemoveAll(filepath.Join(dir, "no")); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "trace.json", "trace.json/out").expect(t, exitFailure, "cannot write")
	if all := names(t, dir); !slices.Equal(all, []string{"trace.json"}) {
		t.Errorf("left behind: %v", all)
	}
}

func TestExistingTarget(t *testing.T) {
	dir := folder(t, map[string]string{"one.json": goodTrace, "two.json": lossyTrace})
	tpconvert(t, dir, "one.json", "out").expect(t, exitDone, "")
	tpconvert(t, dir, "two.json", "out").expect(t, exitFailure, "already exists; --force replaces it")
	if name := manifestAt(t, dir, "out", "_tpconvert.json").Input.Name; name != "one.json" {
		t.Errorf("the dataset is now of %s", name)
	}
	tpconvert(t, dir, "--force", "two.json", "out").expect(t, exitDone, "")
	if name := manifestAt(t, dir, "out", "_tpconvert.json").Input.Name; name != "two.json" {
		t.Errorf("the dataset is still of %s", name)
	}
	precious := filepath.Join(dir, "out", "precious.txt")
	if err := os.WriteFile(precious, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	tpconvert(t, dir, "--force", "one.json", "out").expect(t, exitFailure, "precious.txt")
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

// The dataset takes the place of the working directory, and other paths are still relative to that.
func TestWorkingDirectoryAsTarget(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder that is in use cannot be replaced")
	}
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	args, want := []string{"../trace.json", "."}, []string{"out", "trace.json"}
	if withDuckDB {
		args, want = append(args, "--duckdb", "../trace.duckdb"), []string{"out", "trace.duckdb", "trace.json"}
	}
	tpconvert(t, out, args...).expect(t, exitDone, "the dataset has replaced this folder")
	manifestAt(t, dir, "out", "_tpconvert.json")
	if all := names(t, dir); !slices.Equal(all, want) {
		t.Errorf("there are %v", all)
	}
}

func TestStandardInput(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	cmd := command(t, dir, "-", "piped")
	cmd.Stdin = strings.NewReader(goodTrace)
	finish(t, cmd).expect(t, exitDone, "")
	tpconvert(t, dir, "trace.json", "read").expect(t, exitDone, "")
	for _, name := range []string{"slice.parquet", "thread.parquet", "track.parquet"} {
		piped, err := os.ReadFile(filepath.Join(dir, "piped", name))
		if err != nil {
			t.Fatal(err)
		}
		read, err := os.ReadFile(filepath.Join(dir, "read", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(piped, read) {
			t.Errorf("%s differs between a pipe and a file", name)
		}
	}
}

// stalled starts a conversion of a trace that never ends, and returns once the
// conversion has begun to write.
func stalled(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := command(t, dir, "-", "out")
	stall(t, cmd)
	return cmd
}

// stall starts a conversion and sends it the beginning of a trace. It returns a writer for the rest.
func stall(t *testing.T, cmd *exec.Cmd) io.WriteCloser {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.TrimSuffix(goodTrace, "]")+strings.Repeat(" ", 4<<20)); err != nil {
		t.Fatal(err)
	}
	if len(names(t, cmd.Dir)) == 0 {
		t.Fatal("nothing is being written")
	}
	return in
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals; TestInterruptedConsole is there instead")
	}
	for _, of := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(of.String(), func(t *testing.T) {
			// If the tests ignore the signal, as under nohup, the command inherits that.
			// It does not inherit that they catch the signal.
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, of)
			defer signal.Stop(caught)
			dir := t.TempDir()
			cmd := stalled(t, dir)
			if err := cmd.Process.Signal(of); err != nil {
				t.Fatal(err)
			}
			cmd.Wait() // it would wait for its input for ever
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			if all := names(t, dir); len(all) > 0 {
				t.Errorf("left behind: %v", all)
			}
		})
	}
}

// TestIgnoredSignals interrupts a conversion that ignores signals, as under nohup.
func TestIgnoredSignals(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, "-", "out")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP INT; exec "$@"`, "sh"}, cmd.Args...)
	cmd.Path = "/bin/sh"
	in := stall(t, cmd)
	if err := errors.Join(cmd.Process.Signal(syscall.SIGHUP), cmd.Process.Signal(os.Interrupt)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if _, err := io.WriteString(in, "]"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Errorf("%v", err)
	}
	if n := rows(t, dir, "out", "slice.parquet"); n != 2 {
		t.Errorf("%d slices", n)
	}
}

func TestKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := stalled(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	left := names(t, dir)
	for _, name := range left {
		if !strings.HasPrefix(name, ".") {
			t.Errorf("%s looks like a dataset", name)
		}
	}
	if len(left) == 0 {
		t.Error("nothing to clean up: the test shows nothing")
	}
	next := command(t, dir, "-", "out")
	next.Stdin = strings.NewReader(goodTrace)
	finish(t, next).expect(t, exitDone, "")
	if all := names(t, dir); !slices.Equal(all, []string{"out"}) {
		t.Errorf("not cleaned up: %v", all)
	}
}

func TestJSON(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": lossyTrace, "empty": ""})
	got := tpconvert(t, dir, "--json", "--log-level", "info", "trace.json", "out")
	got.expect(t, exitDone, "")
	var s struct {
		Type string `json:"message_type"`
		console.Summary
	}
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatalf("%v: %s", err, got.stdout)
	}
	if s.Type != "summary" || s.Out != "out" || len(s.Traces) != 1 {
		t.Fatalf("summary: %s", got.stdout)
	}
	c := s.Traces[0]
	if c.Path != "trace.json" || c.Format != "json" || c.Bytes != int64(len(lossyTrace)) {
		t.Errorf("trace: %+v", c)
	}
	if i := slices.IndexFunc(c.Tables, func(t api.TableSize) bool { return t.Name == "slice" }); i < 0 || c.Tables[i].Rows != 3 || c.Tables[i].Bytes == 0 {
		t.Errorf("tables: %+v", c.Tables)
	}
	if len(c.Counts) != 1 || c.Counts[0].Value != 1 {
		t.Errorf("losses: %+v", c.Losses)
	}
	var m struct {
		Type, Level, Trace, Text string
	}
	if err := json.Unmarshal([]byte(got.stderr), &m); err != nil || m.Trace != "trace.json" {
		t.Errorf("%v: %s", err, got.stderr)
	}

	got = tpconvert(t, dir, "--json", "empty", "out2")
	var e struct {
		Type  string `json:"message_type"`
		Code  int    `json:"exit_code"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(got.stderr), &e); err != nil {
		t.Fatalf("%v: %s", err, got.stderr)
	}
	if e.Type != "error" || e.Code != exitBadInput || e.Error == "" || got.code != exitBadInput {
		t.Errorf("error: %s, exit code %d", got.stderr, got.code)
	}
}

func TestQuiet(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	got := tpconvert(t, dir, "--quiet", "trace.json", "out")
	got.expect(t, exitDone, "")
	if got.stdout != "" || got.stderr != "" {
		t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
	}
}

func TestTables(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	tpconvert(t, dir, "--tables", "slice,thread", "trace.json", "out").expect(t, exitDone, "")
	want := []string{"_tpconvert.json", "slice.parquet", "thread.parquet"}
	if all := names(t, dir, "out"); !slices.Equal(all, want) {
		t.Errorf("files %v, want %v", all, want)
	}
}

func TestEmptyTables(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	tpconvert(t, dir, "--empty-tables", "--format", "arrow", "trace.json", "out").expect(t, exitDone, "")
	if all := names(t, dir, "out"); !slices.Contains(all, "ftrace_event.arrow") {
		t.Errorf("files %v", all)
	}
}

func TestEnvironment(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	cmd := command(t, dir, "--trace-id", "mine", "trace.json", "out")
	cmd.Env = append(cmd.Env, "TPCONVERT_TABLES=slice", "TPCONVERT_TRACE_ID=theirs", "TPCONVERT_QUIET=1")
	got := finish(t, cmd)
	got.expect(t, exitDone, "")
	if got.stdout != "" {
		t.Errorf("TPCONVERT_QUIET is ignored: %s", got.stdout)
	}
	m := manifestAt(t, dir, "out", "_tpconvert.json")
	if len(m.Tables) != 1 || m.TraceID != "mine" {
		t.Errorf("tables %v, trace id %s", m.Tables, m.TraceID)
	}
	cmd = command(t, dir, "trace.json", "out2")
	cmd.Env = append(cmd.Env, "TPCONVERT_MEMORY=lots")
	finish(t, cmd).expect(t, exitUsage, "TPCONVERT_MEMORY")
}

func TestAnalyzeContent(t *testing.T) {
	dir := folder(t, map[string]string{"trace.pftrace": string(perfettoSlice(t, 1, 2, 5, 5, 10, 20))})
	const sizes = "SELECT path, size FROM experimental_proto_content WHERE path LIKE '%#name.string'"
	const header, row = `"path","size"` + "\n", `"TracePacket.#track_event.TrackEvent.#name.string",11` + "\n" // "in Perfetto"
	query := func(flags ...string) outcome {
		got := tpconvert(t, dir, append([]string{"query", "--perfetto", "--format", "csv"}, flags...)...)
		got.expect(t, exitDone, "")
		return got
	}
	if got := query("--analyze-trace-proto-content", "trace.pftrace", sizes); got.stdout != header+row {
		t.Errorf("with the flag: %s", got.stdout)
	}
	for value, want := range map[string]string{"true": header + row, "false": header} {
		cmd := command(t, dir, "-q", "--empty-tables", "trace.pftrace", value)
		cmd.Env = append(cmd.Env, "TPCONVERT_ANALYZE_TRACE_PROTO_CONTENT="+value)
		finish(t, cmd).expect(t, exitDone, "")
		if got := query(value, sizes); got.stdout != want {
			t.Errorf("with the variable %s: %s", value, got.stdout)
		}
	}
}

func TestManyTraces(t *testing.T) {
	dir := folder(t, map[string]string{"one.json": goodTrace, "bad": "\x01", "two.json": lossyTrace})
	got := tpconvert(t, dir, "one.json", "bad", "two.json", "out")
	got.expect(t, exitSomeFailed, "error: bad at byte 0: unknown format")
	got.expect(t, exitSomeFailed, "1 of 3 traces could not be converted")
	want := []string{"_tpconvert", "trace_id=_empty", "trace_id=" + id(goodTrace), "trace_id=" + id(lossyTrace)}
	slices.Sort(want)
	if all := names(t, dir, "out"); !slices.Equal(all, want) {
		t.Errorf("traces %v, want %v", all, want)
	}
	if n := rows(t, dir, "out", "trace_id="+id(goodTrace), "slice.parquet"); n != 2 {
		t.Errorf("%d slices, want 2", n)
	}
	if m := manifestAt(t, dir, "out", "trace_id="+id(lossyTrace), "_tpconvert.json"); m.Input.Name != "two.json" {
		t.Errorf("manifest of %s", m.Input.Name)
	}
	if all := names(t, dir); !slices.Equal(all, []string{"bad", "one.json", "out", "two.json"}) {
		t.Errorf("left behind: %v", all)
	}
}

func TestManyTracesAllBad(t *testing.T) {
	dir := folder(t, map[string]string{"one": "\x01", "two": "\x02"})
	tpconvert(t, dir, "one", "two", "out").expect(t, exitBadInput, "2 of 2")
	tpconvert(t, dir, "one", "nowhere", "out").expect(t, exitFailure, "2 of 2")
	if all := names(t, dir); !slices.Equal(all, []string{"one", "two"}) {
		t.Errorf("left behind: %v", all)
	}
}

func TestFolderOfTraces(t *testing.T) {
	dir := folder(t, map[string]string{"one.json": goodTrace, ".hidden": "", "two.json": lossyTrace})
	out := filepath.Join(t.TempDir(), "out")
	tpconvert(t, dir, ".", out).expect(t, exitDone, "")
	if all := tracesIn(t, out); len(all) != 2 {
		t.Errorf("traces %v", all)
	}
}

// tracesIn lists the traces of a dataset of many traces.
func tracesIn(t *testing.T, out string) (all []string) {
	t.Helper()
	for _, name := range names(t, out) {
		if id, ok := strings.CutPrefix(name, "trace_id="); ok && id != "_empty" {
			all = append(all, id)
		}
	}
	return all
}

func TestResume(t *testing.T) {
	dir := folder(t, map[string]string{"one.json": goodTrace, "same.json": goodTrace, "two.json": lossyTrace, "bad": "\x01"})
	out := filepath.Join(dir, "out")
	expect := func(got outcome, code int, traces int, known ...string) {
		t.Helper()
		got.expect(t, code, "")
		for _, text := range known {
			if !strings.Contains(got.stdout, text) {
				t.Errorf("%q does not tell %q", got.stdout, text)
			}
		}
		if all := tracesIn(t, out); len(all) != traces {
			t.Errorf("traces %v, want %d", all, traces)
		}
	}
	expect(tpconvert(t, dir, "--append", "one.json", "out"), exitDone, 1, "one.json (json) -> out")
	expect(tpconvert(t, dir, "--append", "same.json", "out"), exitDone, 1, "same.json has the same content as a trace in the dataset")
	m := manifestAt(t, out, "trace_id="+id(goodTrace), "_tpconvert.json")
	if len(m.Also) != 1 || m.Also[0].Path != filepath.Join(dir, "same.json") {
		t.Errorf("also %v", m.Also)
	}

	expect(tpconvert(t, dir, "one.json", "same.json", "bad", "two.json", "out"), exitSomeFailed, 2,
		"1 of 4 traces -> out", "one.json is already in the dataset", "same.json is already in the dataset")
	failed := names(t, out, "_tpconvert", "failed")
	if len(failed) != 1 {
		t.Fatalf("failed: %v", failed)
	}
	text, err := os.ReadFile(filepath.Join(out, "_tpconvert", "failed", failed[0]))
	if err != nil || !strings.Contains(string(text), filepath.Join(dir, "bad")) || !strings.Contains(string(text), "unknown format") {
		t.Errorf("failed: %s, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad"), []byte(strings.Replace(goodTrace, "10", "11", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	expect(tpconvert(t, dir, "one.json", "same.json", "bad", "two.json", "out"), exitDone, 3, "1 of 4 traces -> out")
	if failed := names(t, out, "_tpconvert", "failed"); len(failed) != 0 {
		t.Errorf("failed: %v", failed)
	}
	expect(tpconvert(t, dir, "one.json", "two.json", "out"), exitDone, 3, "0 of 2 traces -> out", "2 not converted")
	expect(tpconvert(t, dir, "--force", "one.json", "two.json", "out"), exitDone, 3, "2 of 2 traces -> out")

	// The same content twice in one run, and from standard input, which cannot be read twice.
	expect(tpconvert(t, dir, "same.json", "one.json", "out2"), exitDone, 3, "one.json has the same content as same.json")
	cmd := command(t, dir, "--append", "-", "out2")
	cmd.Stdin = strings.NewReader(goodTrace)
	expect(finish(t, cmd), exitDone, 3, "- has the same content as a trace in the dataset")
	if all := tracesIn(t, filepath.Join(dir, "out2")); len(all) != 1 {
		t.Errorf("traces %v", all)
	}
	tpconvert(t, dir, "one.json", "out").expect(t, exitFailure, "--append adds a trace to it")
}

func id(trace string) string {
	sum := sha256.Sum256([]byte(trace))
	return "t_" + hex.EncodeToString(sum[:])[:16]
}

func TestStrict(t *testing.T) {
	dir := folder(t, map[string]string{"good.json": goodTrace, "lossy.json": lossyTrace})
	tpconvert(t, dir, "--strict", "good.json", "good").expect(t, exitDone, "")
	got := tpconvert(t, dir, "--strict", "lossy.json", "lossy")
	got.expect(t, exitFailure, "data was lost or damaged: 1 ")
	if !strings.Contains(got.stdout, "\nDamaged: 1 ") {
		t.Errorf("summary: %s", got.stdout)
	}
	if n := rows(t, dir, "lossy", "slice.parquet"); n != 3 {
		t.Errorf("%d slices, want 3", n)
	}
}

// Parts of a trace that are recognized but make no rows are named and counted. They are no loss.
func TestUnreadIsNamed(t *testing.T) {
	const (
		events = `{"traceEvents":[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"a"},
			{"ph":"M","pid":1,"name":"num_cpus","args":{"number":8}},
			{"ph":"O","ts":2,"pid":1,"tid":1,"name":"o","id":1},{"ph":"O","ts":3,"pid":1,"tid":1,"name":"o","id":1}],"stats":{"a"}}`
		calls = "7 1700000000.000001 read(3) = 1\n7 1700000000.000002 --- SIGCHLD {si_signo=SIGCHLD} ---\n" +
			"7 1700000000.000003 +++ exited with 0 +++\n"
	)
	dir := folder(t, map[string]string{"trace.json": events, "calls": calls})
	for name, want := range map[string]string{
		"trace.json": "Not read: 2 phase 'O' events are not read, 1 stats member is not read, 1 num_cpus metadata event is not read.",
		"calls":      "Not read: 1 signal line is not read, 1 exit line is not read.",
	} {
		got := tpconvert(t, dir, "--strict", name, "out_"+name)
		got.expect(t, exitDone, "")
		if !strings.Contains(got.stdout, want) {
			t.Errorf("summary %s\nwant %s", got.stdout, want)
		}
		if n := rows(t, dir, "out_"+name, "import_log.parquet"); int(n) != strings.Count(want, "not read") {
			t.Errorf("%s: %d entries in import_log", name, n)
		}
	}
}

func TestInspect(t *testing.T) {
	dir := folder(t, map[string]string{"trace.json": goodTrace})
	got := tpconvert(t, dir, "inspect", "--json", "trace.json")
	got.expect(t, exitDone, "")
	var i inspection
	if err := json.Unmarshal([]byte(got.stdout), &i); err != nil {
		t.Fatal(err)
	}
	if i.Format != "json" || i.Start == nil || *i.Start != 10_000 || *i.End != 15_000 {
		t.Errorf("%+v", i)
	}
	if at := slices.IndexFunc(i.Tables, func(t api.TableSize) bool { return t.Name == "slice" }); at < 0 || i.Tables[at].Rows != 2 {
		t.Errorf("tables: %+v", i.Tables)
	}
	if text := tpconvert(t, dir, "inspect", "trace.json").stdout; !strings.Contains(text, "10000 to 15000 ns") {
		t.Errorf("text: %s", text)
	}
	if all := names(t, dir); len(all) != 1 {
		t.Errorf("written: %v", all)
	}
}

func TestDescribeTables(t *testing.T) {
	got := tpconvert(t, t.TempDir(), "tables", "--json", "flow")
	got.expect(t, exitDone, "")
	var d description
	if err := json.Unmarshal([]byte(got.stdout), &d); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.Columns, func(c columnDescription) bool { return c.Name == "slice_out" })
	if d.Name != "flow" || d.Doc == "" || at < 0 || d.Columns[at].Type != "int64" || d.Columns[at].Ref != "slice" {
		t.Errorf("%+v", d)
	}
	if text := tpconvert(t, t.TempDir(), "tables", "flow", "slice").stdout; strings.Count(text, "\n\n") != 2 || !strings.Contains(text, "slice_out") {
		t.Errorf("text: %s", text)
	}
	lines := strings.Split(tpconvert(t, t.TempDir(), "tables").stdout, "\n")
	if len(lines) < 100 || !strings.HasPrefix(lines[0], "slice  ") || !strings.HasSuffix(lines[0], " A span of time on a track, or an instant") {
		t.Errorf("%d lines: %.500q", len(lines), lines)
	}
	if all := tpconvert(t, t.TempDir(), "tables", "--planned").stdout; strings.Count(all, "\n") < len(lines) {
		t.Errorf("with planned ones: %.500s", all)
	}
}

func TestVersion(t *testing.T) {
	if got := tpconvert(t, t.TempDir(), "version"); !strings.HasPrefix(got.stdout, "tpconvert ") {
		t.Errorf("%+v", got)
	}
	var v versions
	if err := json.Unmarshal([]byte(tpconvert(t, t.TempDir(), "version", "--json").stdout), &v); err != nil || v.Schema == 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := tpconvert(t, t.TempDir(), "completion", shell); got.code != 0 || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: exit code %d, %.100s", shell, got.code, got.stdout)
		}
	}
	got := tpconvert(t, t.TempDir(), "__complete", "--tables", "slice,thr")
	if !strings.Contains(got.stdout, "slice,thread_track\t") || strings.Contains(got.stdout, "slice,slice\t") {
		t.Errorf("--tables: %s", got.stdout)
	}
}

func TestManPages(t *testing.T) {
	dir := t.TempDir()
	tpconvert(t, dir, "man", "pages").expect(t, exitDone, "")
	text, err := os.ReadFile(filepath.Join(dir, "pages", "tpconvert.1"))
	if err != nil || !strings.Contains(string(text), "row\\-group\\-rows") && !strings.Contains(string(text), "row-group-rows") {
		t.Errorf("%v: %.500s", err, text)
	}
	if all := names(t, dir, "pages"); !slices.Contains(all, "tpconvert-inspect.1") {
		t.Errorf("pages: %v", all)
	}
}

func TestHelp(t *testing.T) {
	got := tpconvert(t, t.TempDir(), "--help")
	for _, text := range []string{"130  interrupted", "Examples:", "TPCONVERT_ROW_GROUP_ROWS", "--compression"} {
		if !strings.Contains(got.stdout, text) {
			t.Errorf("the help lacks %q", text)
		}
	}
	for _, cmd := range newRootCommand(&console.UI{}).Commands() {
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no help or no example", cmd.CommandPath())
		}
	}
}

// rowsOf runs a query and returns its CSV.
func rowsOf(t *testing.T, dir, input, sql string, flags ...string) string {
	t.Helper()
	got := tpconvert(t, dir, append([]string{"query", "--format", "csv", input, sql}, flags...)...)
	got.expect(t, exitDone, "")
	return got.stdout
}
