package export

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
)

// tree lists the files below a folder.
func tree(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func equalTree(t *testing.T, dir string, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

// write commits n rows of kinds.
func write(t *testing.T, w *Writer, n int, trace string) error {
	t.Helper()
	fill(t, n, 10, w)
	return w.Commit(&Manifest{TraceID: trace})
}

func create(t *testing.T, dir string, o Options) *Writer {
	t.Helper()
	o.Schemas = kindsSchemas()
	w, err := Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTablesOfADataset(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
		want []string
	}{
		{"rows", Options{}, []string{"kinds.parquet", "kinds_child.parquet"}},
		{"empty", Options{EmptyTables: true}, []string{"kinds.parquet", "kinds_child.parquet", "none.parquet"}},
		{"named", Options{Tables: []string{"none", "kinds"}}, []string{"kinds.parquet", "none.parquet"}},
		{"arrow", Options{Tables: []string{"none"}, Format: Arrow}, []string{"none.arrow"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			if err := write(t, create(t, dir, test.o), 30, "t_1"); err != nil {
				t.Fatal(err)
			}
			equalTree(t, dir, append(test.want, manifestName)...)
			m, err := readManifest(filepath.Join(dir, manifestName))
			if err != nil {
				t.Fatal(err)
			}
			if m.TraceID != "t_1" || m.Stats == nil || m.Warnings == nil {
				t.Errorf("manifest %+v", m)
			}
			for i, table := range m.Tables {
				info, err := os.Stat(filepath.Join(dir, table.File))
				if err != nil || info.Size() != table.Bytes || table.File != test.want[i] || (table.Rows == 0) != (table.Name == "none") {
					t.Errorf("manifest has %+v, the file %v %v", table, info, err)
				}
			}
		})
	}
}

func TestEmptyTableHasASchema(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := write(t, create(t, dir, Options{EmptyTables: true}), 0, "t_1"); err != nil {
		t.Fatal(err)
	}
	rows, f := readParquetGo(t, filepath.Join(dir, "none.parquet"))
	if len(rows) != 0 || len(f.Schema().Fields()) != 3 {
		t.Errorf("%d rows of %v", len(rows), f.Schema())
	}
	if rows := readArrowGo(t, filepath.Join(dir, "none.parquet")); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestCoreTablesAreAlwaysThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w, err := Create(dir, Options{Schemas: schema.All()})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(&Manifest{TraceID: "t_1"}); err != nil {
		t.Fatal(err)
	}
	want := []string{manifestName}
	for _, name := range []string{
		"track", "thread_track", "process_track", "counter_track", "slice", "counter", "flow", "args", "thread",
		"process", "cpu", "sched_slice", "thread_state", "stats", "metadata", "trace", "trace_bounds",
	} {
		want = append(want, name+".parquet")
	}
	equalTree(t, dir, want...)
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{Format: "csv"},
		{Format: Arrow, Compression: Compression{codec: "snappy"}},
		{Format: Arrow, Compression: Compression{codec: "zstd", level: 3}},
		{Tables: []string{"kinds", "nonsense"}},
		{Tables: []string{"raw"}},
	} {
		o.Schemas = slices.Concat(kindsSchemas(), schema.All())
		if _, err := Create(filepath.Join(t.TempDir(), "out"), o); !errors.Is(err, ErrOption) {
			t.Errorf("Create(%+v) = %v", o, err)
		}
	}
	for s, want := range map[string]string{
		"zstd": "zstd", "zstd:22": "zstd:22", "gzip:9": "gzip:9", "snappy": "snappy", "none": "none",
		"": "", "zstd:": "", "zstd:0": "", "zstd:23": "", "gzip:10": "", "snappy:1": "", "lzma": "", "zstd:x": "",
	} {
		c, err := ParseCompression(s)
		if want == "" && !errors.Is(err, ErrOption) || want != "" && (err != nil || c.String() != want) {
			t.Errorf("ParseCompression(%q) = %q, %v", s, c, err)
		}
	}
}

func TestTargetThatExists(t *testing.T) {
	put := func(t *testing.T, path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("mine"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name          string
		prepare       func(t *testing.T, dir string)
		plain, forced error
	}{
		{"empty folder", func(t *testing.T, dir string) { os.Mkdir(dir, 0o777) }, nil, nil},
		{"dataset", func(t *testing.T, dir string) { write(t, create(t, dir, Options{}), 10, "t_0") }, ErrExists, nil},
		{"file", put, ErrForeign, ErrForeign},
		{"foreign folder", func(t *testing.T, dir string) { put(t, dir+"/a") }, ErrForeign, ErrForeign},
		{"dataset and more", func(t *testing.T, dir string) {
			write(t, create(t, dir, Options{}), 10, "t_0")
			put(t, dir+"/a")
		}, ErrForeign, ErrForeign},
		{"many traces", func(t *testing.T, dir string) {
			d := openDataset(t, dir, false)
			commitTrace(t, d, 10, "t_0")
		}, ErrForeign, ErrForeign},
		{"no such parent", func(t *testing.T, dir string) { os.Remove(filepath.Dir(dir)) }, ErrTarget, ErrTarget},
	} {
		t.Run(test.name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "p")
			if err := os.Mkdir(parent, 0o777); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(parent, "out")
			test.prepare(t, dir)
			var before []string
			if test.name != "no such parent" {
				before = tree(t, parent)
			}
			for _, force := range []bool{false, true} {
				want := test.plain
				if force {
					want = test.forced
				}
				w, err := Create(dir, Options{Schemas: kindsSchemas(), Force: force})
				if !errors.Is(err, want) {
					t.Fatalf("force %t: %v, want %v", force, err, want)
				}
				if err != nil && !strings.Contains(err.Error(), dir) {
					t.Errorf("%q does not name %s", err, dir)
				}
				if err == nil {
					if err := write(t, w, 100, "t_1"); err != nil {
						t.Fatal(err)
					}
					rows, _ := readParquetGo(t, filepath.Join(dir, "kinds.parquet"))
					if len(rows) != 100 {
						t.Errorf("%d rows", len(rows))
					}
					equalTree(t, parent, "out/kinds.parquet", "out/kinds_child.parquet", "out/"+manifestName)
				} else if before != nil {
					equalTree(t, parent, before...)
				}
				if want == nil {
					break
				}
			}
		})
	}
}

// TestReplaceWhileRead replaces a dataset that another program reads. Where the system forbids that, the old one stays.
func TestReplaceWhileRead(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	if err := write(t, create(t, dir, Options{}), 10, "t_1"); err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(filepath.Join(dir, "kinds.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	replace := func() error { return write(t, create(t, dir, Options{Force: true}), 100, "t_2") }
	want := 100
	if err := replace(); err != nil {
		want = 10
		if runtime.GOOS != "windows" || !errors.Is(err, ErrTarget) {
			t.Error(err)
		}
	}
	if rows, _ := readParquetGo(t, filepath.Join(dir, "kinds.parquet")); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	if err := errors.Join(reader.Close(), replace()); err != nil {
		t.Error(err)
	}
	equalTree(t, parent, "out/kinds.parquet", "out/kinds_child.parquet", "out/"+manifestName)
}

func TestTargetAppearsMeanwhile(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	first, second := create(t, dir, Options{}), create(t, dir, Options{})
	if err := write(t, first, 10, "t_1"); err != nil {
		t.Fatal(err)
	}
	if err := write(t, second, 20, "t_2"); !errors.Is(err, ErrExists) {
		t.Errorf("Commit = %v", err)
	}
	equalTree(t, parent, "out/kinds.parquet", "out/kinds_child.parquet", "out/"+manifestName)
}

func TestTargetIsALink(t *testing.T) {
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "out"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	if err := write(t, create(t, link, Options{}), 10, "t_1"); err != nil {
		t.Fatal(err)
	}
	if !staging.Exists(filepath.Join(dir, manifestName)) || !staging.Exists(filepath.Join(link, manifestName)) {
		t.Errorf("there is %v", tree(t, parent))
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	parent := t.TempDir()
	w := create(t, filepath.Join(parent, "out"), Options{})
	fill(t, 100, 10, w)
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestEncoderThatFails(t *testing.T) {
	parent := t.TempDir()
	w := create(t, filepath.Join(parent, "out"), Options{})
	if err := os.RemoveAll(w.stage.Path); err != nil {
		t.Fatal(err)
	}
	var chunks keep
	fill(t, 1000, 10, &chunks)
	var err error
	for _, c := range chunks {
		err = errors.Join(err, w.Chunk(c))
	}
	if !errors.Is(err, ErrTarget) || !strings.Contains(err.Error(), "kinds") {
		t.Errorf("Chunk = %v", err)
	}
	if err := w.Commit(&Manifest{TraceID: "t_1"}); !errors.Is(err, ErrTarget) {
		t.Errorf("Commit = %v", err)
	}
}

// TestMain also runs as the process that TestKilledRun kills.
func TestMain(m *testing.M) {
	dir := os.Getenv("EXPORT_TEST_DIR")
	if dir == "" {
		os.Exit(m.Run())
	}
	w, err := Create(dir, Options{Schemas: kindsSchemas()})
	if err != nil {
		panic(err)
	}
	fill(&testing.B{}, 100, 10, w)
	w.running.Wait()
	os.Stdout.WriteString("written\n")
	select {}
}

func TestKilledRun(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	hidden := func() []string {
		found, _ := filepath.Glob(filepath.Join(parent, ".out.tpconvert-*"))
		return found
	}
	run := exec.Command(os.Args[0])
	run.Env = append(os.Environ(), "EXPORT_TEST_DIR="+dir)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "written\n" {
		t.Fatal(line, err)
	}
	create(t, dir, Options{}).Abort()
	if len(hidden()) != 1 {
		t.Errorf("beside a run at work there is %v", hidden())
	}
	run.Process.Kill()
	run.Wait()
	if len(hidden()) != 1 || staging.Exists(dir) {
		t.Errorf("the killed run left %v", hidden())
	}
	create(t, dir, Options{}).Abort()
	if len(hidden()) != 0 {
		t.Errorf("the next run left %v", hidden())
	}
}

func TestKilledWhileReplacing(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "out")
	if err := write(t, create(t, dir, Options{}), 10, "t_1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, filepath.Join(parent, ".out.tpconvert-0"+staging.Replaced)); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, Options{Schemas: kindsSchemas()}); !errors.Is(err, ErrExists) {
		t.Errorf("Create = %v", err)
	}
	equalTree(t, parent, "out/kinds.parquet", "out/kinds_child.parquet", "out/"+manifestName)
}

func openDataset(t *testing.T, dir string, force bool) *Dataset {
	t.Helper()
	d, err := OpenDataset(dir, Options{Schemas: kindsSchemas(), Force: force})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func commitTrace(t *testing.T, d *Dataset, n int, trace string) {
	t.Helper()
	w, err := d.Create()
	if err == nil {
		err = write(t, w, n, trace)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDatasetOfManyTraces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	d := openDataset(t, dir, false)
	a, err := d.Create()
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Create()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, 100, 10, a)
	fill(t, 1, 10, b)
	// Opening the dataset again does not touch traces still being written.
	again := openDataset(t, dir, false)
	if err := errors.Join(a.Commit(&Manifest{TraceID: "t_a"}), b.Commit(&Manifest{TraceID: "t_b"})); err != nil {
		t.Fatal(err)
	}
	files := func(trace string, tables ...string) (all []string) {
		for _, table := range append(tables, manifestName) {
			all = append(all, "trace_id="+trace+"/"+table)
		}
		return all
	}
	empty := []string{"trace_id=_empty/kinds.parquet", "trace_id=_empty/kinds_child.parquet", "trace_id=_empty/none.parquet"}
	both, one := files("t_a", "kinds.parquet", "kinds_child.parquet"), files("t_b", "kinds.parquet")
	if rows := readArrowGo(t, filepath.Join(dir, "trace_id=t_b/kinds.parquet")); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
	equalTree(t, dir, slices.Concat(both, one, empty)...)
	all, err := d.Manifests()
	if err != nil || len(all) != 2 || all[0].TraceID != "t_a" || all[0].Tables[0].File != "kinds.parquet" {
		t.Errorf("manifests %+v, %v", all, err)
	}
	if !again.Has("t_a") || again.Has("t_c") {
		t.Error("Has is wrong")
	}

	c, err := again.Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t, c, 5, "t_a"); !errors.Is(err, ErrExists) {
		t.Errorf("Commit of a trace that exists = %v", err)
	}
	equalTree(t, dir, slices.Concat(both, one, empty)...)

	// The new t_a has no row of kinds_child.
	commitTrace(t, openDataset(t, dir, true), 1, "t_a")
	equalTree(t, dir, slices.Concat(files("t_a", "kinds.parquet"), one, empty)...)
	if _, err := OpenDataset(dir, Options{Format: Arrow}); !errors.Is(err, ErrOption) {
		t.Errorf("OpenDataset of Arrow = %v", err)
	}
}

func TestTraceIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	d := openDataset(t, dir, false)
	for _, id := range []string{"", ".", "..", "a/b", "a b", "../x", ".a", "a=b", "a\x00"} {
		w, err := d.Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := write(t, w, 1, id); !errors.Is(err, ErrOption) {
			t.Errorf("%q: %v", id, err)
		}
	}
	d.Close()
	if staging.Exists(dir) {
		t.Errorf("an empty dataset is left: %v", tree(t, dir))
	}
}

func TestDatasetIsForeign(t *testing.T) {
	parent := t.TempDir()
	if err := write(t, create(t, filepath.Join(parent, "single"), Options{}), 1, "t_1"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"single", "file"} {
		if _, err := OpenDataset(filepath.Join(parent, name), Options{Force: true}); !errors.Is(err, ErrForeign) {
			t.Errorf("OpenDataset(%s) = %v", name, err)
		}
	}
}

// TestLeftBehind checks the remains of runs killed before or after their trace
// was published, and while it replaced another.
func TestLeftBehind(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	d := openDataset(t, dir, false)
	commitTrace(t, d, 30, "t_1")
	want := tree(t, dir)
	leave := func(name string) string {
		t.Helper()
		w, err := d.Create()
		if err != nil {
			t.Fatal(err)
		}
		fill(t, 30, 10, w)
		w.running.Wait()
		m := Manifest{TraceID: "t_1"}
		if err := errors.Join(w.finish(&m), m.write(filepath.Join(w.stage.Path, manifestName)), w.stage.Unlock()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(filepath.Dir(w.stage.Path), name)
		if err := os.Rename(w.stage.Path, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(what string) {
		t.Helper()
		for range 2 {
			openDataset(t, dir, false)
			equalTree(t, dir, want...)
			if left, err := os.ReadDir(d.own("tmp")); err != nil || len(left) > 0 {
				t.Errorf("%s: %v, %v", what, left, err)
			}
		}
	}
	leave("1")
	check("finished")
	if err := os.Remove(filepath.Join(leave("2"), manifestName)); err != nil {
		t.Fatal(err)
	}
	check("unfinished")
	leave("3" + staging.Replaced)
	check("replaced")
	if err := os.Rename(d.folder("t_1"), d.own("tmp", "4"+staging.Replaced)); err != nil {
		t.Fatal(err)
	}
	check("made room")
}

// TestSourcesOfATrace adds a source to a trace, with and without the table trace.
func TestSourcesOfATrace(t *testing.T) {
	for _, tables := range [][]string{nil, {"slice"}} {
		d, err := OpenDataset(filepath.Join(t.TempDir(), "out"), Options{Schemas: schema.All(), Tables: tables})
		if err != nil {
			t.Fatal(err)
		}
		w, err := d.Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(&Manifest{TraceID: "t_1", Input: Input{Path: "/a", Bytes: 5}}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/b", "/b", "/c", "/a"} {
			if err := d.AddSource("t_1", Source{Path: path, Bytes: 5}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := d.Manifest("t_1")
		if err != nil || len(m.Also) != 2 || m.otherPaths() != "/b\n/c" {
			t.Fatalf("%+v, %v", m, err)
		}
		if tables != nil {
			continue
		}
		path := filepath.Join(d.folder("t_1"), "trace.parquet")
		rows, f := readParquetGo(t, path)
		names := f.Schema().Columns()
		at := slices.IndexFunc(names, func(c []string) bool { return c[0] == "other_paths" })
		if len(rows) != 1 || rows[0][at] != "/b\n/c" {
			t.Errorf("trace: %v", rows)
		}
		if slices.ContainsFunc(names, func(c []string) bool { return c[0] == "trace_id" }) {
			t.Error("trace_id is in the file and in its path")
		}
		info, err := os.Stat(path)
		if err != nil || m.Tables[0].Bytes != info.Size() {
			t.Errorf("manifest %+v, file %v %v", m.Tables[0], info, err)
		}
	}
}
