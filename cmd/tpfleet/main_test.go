package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// asCommand makes the test binary behave like the command.
const asCommand = "TPFLEET_AS_COMMAND"

// tpconvertPath is the converter that results are compared with.
var tpconvertPath string

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "tpfleet-test-")
	if err != nil {
		panic(err)
	}
	tpconvertPath = filepath.Join(dir, "tpconvert")
	// Without the version of the checkout, which test binaries do not have: it is in the table metadata.
	build := exec.Command("go", "build", "-pgo=off", "-buildvcs=false", "-o", tpconvertPath, "./cmd/tpconvert")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%s%v\n", out, err)
		os.Exit(1)
	}
	code := m.Run()
	if running != nil {
		for _, stop := range running.stop {
			stop()
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// kills is the number of times that tests kill something.
func kills() int {
	n, err := strconv.Atoi(os.Getenv("FLEET_KILLS"))
	if err != nil {
		return 5
	}
	return n
}

// command returns the command with these arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

// tpfleet runs the command, which has to succeed, and returns its output.
func tpfleet(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	c := command(t, args...)
	var out, messages bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &messages
	if err := c.Run(); err != nil {
		t.Fatalf("tpfleet %q: %v\n%s", args, err, messages.String())
	}
	for line := range strings.Lines(messages.String()) {
		if file := strings.Contains(line, "://") || strings.HasPrefix(line, "/"); !file && !strings.HasPrefix(line, "tpfleet: ") {
			t.Errorf("tpfleet %q says %s", args, line) // a library does
		}
	}
	return out.String()
}

// lines decodes lines of JSON.
func lines[T any](t *testing.T, text string) (all []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

// line encodes a line of JSON.
func line(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// localLayout writes a layout of tables in dir. Like a catalog, it gives field ids of its own.
func localLayout(t *testing.T, dir string) (url string) {
	t.Helper()
	l := task.Layout{Tables: map[string]task.Table{}}
	for _, s := range task.Packed() {
		place := task.Table{Location: "file://" + filepath.Join(dir, s.Name), Fields: map[string]int{}}
		for i, c := range s.Columns {
			place.Fields[c.Name] = 1000 + i
		}
		l.Tables[s.Name] = place
	}
	file := filepath.Join(dir, "layout.json")
	if err := os.WriteFile(file, []byte(line(t, l)), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

// traces returns some traces of all kinds, and bad ones.
func traces(t *testing.T) (good, bad []string) {
	t.Helper()
	root, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app.ftrace", "arrays.hprof", "chromium.json.gz", "chromium.pftrace.gz", "frames.pftrace", "go.trace.gz", "go_cpu.pb", "go_heap.pb.gz", "ninja_v5.ninja_log", "node.cpuprofile", "perf.data", "perf.script"} {
		good = append(good, filepath.Join(root, name))
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "", "text.json": "This is no trace.", "cut.json.gz": "\x1f\x8b\x08\x00"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		bad = append(bad, file)
	}
	slices.Sort(bad)
	return good, bad
}

// newTask returns a task with these files.
func newTask(layout string, files ...string) task.Task {
	t := task.Task{Layout: layout}
	for _, f := range files {
		t.Traces = append(t.Traces, task.Trace{URL: "file://" + f})
	}
	t.ID = task.ID(t.Traces, nil)
	return t
}

// converted returns a dataset that tpconvert makes of traces.
func converted(t *testing.T, traces ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "want")
	oneByOne(t, dir, traces...)
	return dir
}

// oneByOne converts traces with tpconvert into a dataset.
func oneByOne(t *testing.T, dir string, traces ...string) {
	t.Helper()
	if out, err := exec.Command(tpconvertPath, append(append([]string{"--append", "-q"}, traces...), dir)...).CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
}

// database opens DuckDB.
func database(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// number returns the value of a query.
func number(t *testing.T, db *sql.DB, query string, args ...any) (n int64) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// equalTables compares each table, which packed returns in SQL, with the rows of tpconvert's dataset. It returns the
// number of tables with rows.
func equalTables(t *testing.T, db *sql.DB, dataset string, packed func(table string) string) (filled int) {
	t.Helper()
	for _, s := range task.Packed() {
		var columns []string
		for _, c := range s.Columns {
			if c.Name != export.TraceDayColumn {
				columns = append(columns, `"`+c.Name+`"`)
			}
		}
		files, _ := filepath.Glob(filepath.Join(dataset, "trace_id=*", s.Name+".parquet"))
		source := packed(s.Name)
		if len(files) == 0 {
			if source != "" && number(t, db, "SELECT count(*) FROM "+source) > 0 {
				t.Errorf("%s has rows", s.Name)
			}
			continue
		}
		want := fmt.Sprintf("(SELECT %s FROM read_parquet('%s/trace_id=*/%s.parquet', hive_partitioning = true))", strings.Join(columns, ", "), dataset, s.Name)
		if number(t, db, "SELECT count(*) FROM "+want) == 0 {
			continue
		}
		filled++
		if source == "" {
			t.Errorf("%s has no file", s.Name)
			continue
		}
		got := fmt.Sprintf("(SELECT %s FROM %s)", strings.Join(columns, ", "), source)
		for _, pair := range [][2]string{{got, want}, {want, got}} {
			if n := number(t, db, fmt.Sprintf("SELECT count(*) FROM (FROM %s EXCEPT ALL FROM %s)", pair[0], pair[1])); n != 0 {
				t.Errorf("%s: %d rows differ", s.Name, n)
			}
		}
	}
	return filled
}
