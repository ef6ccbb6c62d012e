package ingest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tpconvert/tpconvert/ingest"
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/internal/tracecase"
	"github.com/tpconvert/tpconvert/model"
)

// kind is an input of a kind that can be read.
type kind struct {
	format, name string
	data         []byte
}

// recorded are inputs by their format: recordings, which are decompressed if the name says so, and cases.
var recorded = map[string][]string{
	"android_dumpstate": {"cases/dumpstate/battery.txtar"},
	"android_logcat":    {"cases/logcat/threadtime.txtar"},
	"art_hprof":         {"arrays.hprof", "cases/hprof/nan.txtar"},
	"art_method":        {"cases/art/calls.txtar"},
	"collapsed_stack":   {"cases/collapsed/stacks.txtar"},
	"ctrace":            {"cases/systrace/compressed.txtar"},
	"fuchsia":           {"cases/fuchsia/durations.txtar"},
	"gecko":             {"cases/gecko/damaged.txtar"},
	"go_trace":          {"cases/gotrace/generations.txtar", "go_1.21.trace"},
	"gzip":              {"cases/compressed/gzip.txtar", "go_block.pb.gz"},
	"instruments_xml":   {"cases/instruments/samples.txtar"},
	"jfr":               {"java.jfr.gz"},
	"json":              {"cases/json/nested.txtar", "node.cpuprofile"},
	"netlog":            {"netlog.json.gz"},
	"nettrace":          {"dotnet.nettrace.gz"},
	"ninja_log":         {"ninja_v4.ninja_log", "ninja_v5.ninja_log", "ninja_v7.ninja_log"},
	"nsys":              {"cases/nsys/types.txtar"},
	"perf":              {"perf.data", "perf.pipe.data", "cases/perfdata/samples.txtar"},
	"perf_text":         {"perf.script", "cases/perfscript/samples.txtar"},
	"pprof":             {"cases/pprof/cpu.txtar", "go_cpu.pb", "go_mutex.pb.gz"},
	"primes":            {"cases/primes/edges.txtar"},
	"proto":             {"frames.pftrace", "cases/perfetto/winscope_transactions.txtar"},
	"rocpd":             {"cases/rocpd/hip.txtar"},
	"simpleperf_proto":  {"cases/simpleperf/samples.txtar"},
	"strace":            {"cases/strace/calls.txtar"},
	"systrace":          {"app.ftrace", "cases/systrace/text.txtar"},
	"tar":               {"ust.ctf.tar.gz"},
	"xz":                {"../ingest/arrowtar/testdata/app.tar.xz"},
}

// kinds returns all inputs, by format and name.
func kinds(t *testing.T) (all []kind) {
	t.Helper()
	add := func(name string, f *txtar.File) {
		name2, data, err := tracecase.Trace(f)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		all = append(all, kind{name, path.Base(name2), data})
	}
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		for _, file := range recorded[name] {
			data, err := os.ReadFile(filepath.Join("../testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if path.Ext(file) == ".txtar" {
				add(name, &txtar.Parse(data).Files[0])
				continue
			}
			if path.Ext(file) == ".gz" && name != "gzip" {
				data = unzipped(t, data)
				file = strings.TrimSuffix(file, ".gz")
			}
			all = append(all, kind{name, path.Base(file), data})
		}
	}
	more, err := txtar.ParseFile("testdata/kinds.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := range more.Files {
		add(path.Dir(more.Files[i].Name), &more.Files[i])
	}
	return all
}

func unzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func packed(t *testing.T, k kind) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: k.name, Mode: 0o644, Size: int64(len(k.data))})
	if err == nil {
		_, err = w.Write(k.data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A format sets every column that may not be NULL in the rows that it appends.
func TestRowsAreComplete(t *testing.T) {
	all := kinds(t)
	cases, err := filepath.Glob("../testdata/cases/*/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, data, err := tracecase.Trace(&a.Files[0])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, kind{"", name, data})
	}
	for _, k := range all {
		unset := map[string]bool{}
		store := model.NewStore(model.Options{Unset: func(table, column string) { unset[table+"."+column] = true }})
		_ = ingest.Read(store, k.name, bytes.NewReader(k.data), ingest.Options{TempDir: t.TempDir()})
		if err := store.Finish(); err != nil {
			t.Fatal(err)
		}
		store.Close()
		for column := range unset {
			t.Errorf("%s %s: a row has no %s, which may not be NULL", k.format, k.name, column)
		}
	}
}

// outcome is what becomes of an input.
type outcome struct {
	formats []string // of the file and those in it
	rows    map[string]int64
	losses  map[model.Stat]int64
	err     error
}

func outcomeOf(name string, data []byte) (o outcome) {
	store := model.NewStore(model.Options{})
	defer store.Close()
	detected := func(_, format string) { o.formats = append(o.formats, format) }
	o.err = ingest.Read(store, name, bytes.NewReader(data), ingest.Options{Detected: detected})
	o.losses = map[model.Stat]int64{}
	for _, c := range store.Stats() {
		if e := c.Stat.Effect(); e == model.Lost || e == model.Damaged || c.Stat == model.StatUnendedLine {
			o.losses[c.Stat] += c.Value
		}
	}
	o.rows = store.Rows()
	for _, table := range []string{"trace_file", "metadata", "stats", "import_log", "args"} {
		delete(o.rows, table)
	}
	maps.DeleteFunc(o.rows, func(_ string, n int64) bool { return n == 0 })
	return o
}

// maxRenamed is the size of inputs that are read under all names, in bytes.
const maxRenamed = 512

// An input is read as what it is, whatever its name is and whatever it is packed in.
func TestMatrix(t *testing.T) {
	all := kinds(t)
	if len(all) < 55 {
		t.Errorf("%d kinds", len(all))
	}
	var names []string // one with each extension
	for _, k := range all {
		if !slices.ContainsFunc(names, func(n string) bool { return path.Ext(n) == path.Ext(k.name) }) {
			names = append(names, k.name)
		}
	}
	titles := map[string]string{}
	for _, f := range ingest.Formats {
		titles[f.Name] = f.String()
	}
	for _, k := range all {
		f := ingest.Detect(k.data[:min(len(k.data), format.HeadBytes)])
		if f == nil || f.Name != k.format {
			t.Errorf("%s: %v, want %s", k.name, f, k.format)
			continue
		}
		own := outcomeOf(k.name, k.data)
		if own.err != nil && k.format != "perfetto_manifest" {
			if !slices.Contains([]string{"symbols", "r8_mapping"}, k.format) { // which name what others have
				t.Errorf("%s: %v", k.name, own.err)
			}
		}
		same := func(how string, o outcome, outer ...string) {
			if want := append(outer, own.formats...); !slices.Equal(o.formats, want) {
				t.Errorf("%s %s: read as %q, want %q", k.name, how, o.formats, want)
			}
			if (o.err == nil) != (own.err == nil) || !maps.Equal(o.rows, own.rows) {
				t.Errorf("%s %s: %v %v, want %v %v", k.name, how, o.rows, o.err, own.rows, own.err)
			}
		}
		same("in gzip", outcomeOf(k.name+".gz", zipped(t, k.data, 1)), titles["gzip"])
		if k.format != "xz" && k.format != "tar" { // what is in it is one trace with the archive around it
			same("in a tar", outcomeOf("a.tar", packed(t, k)), titles["tar"])
		}
		if len(k.data) > maxRenamed || k.format == "r8_mapping" { // the name of a mapping is that of its package
			continue
		}
		for _, name := range names {
			if path.Ext(name) != path.Ext(k.name) {
				same("as "+name, outcomeOf(name, k.data))
			}
		}
	}
}

// cutAt are the places, as shares of an input, at which it is cut.
var cutAt = []float64{0.2, 0.4, 0.6, 0.8, 0.95}

// No input whose end is missing passes for a whole one.
func TestCuts(t *testing.T) {
	cuts := 0
	for _, k := range kinds(t) {
		for _, share := range cutAt {
			at := int(share * float64(len(k.data)))
			if k.format == "tar" && at > len(bytes.TrimRight(k.data, "\x00")) {
				continue // the rest is padding
			}
			for at > 1 && (k.data[at-1] == '\n' || k.data[at] == '\n') { // the end of a line
				at--
			}
			cuts++
			o := outcomeOf(k.name, k.data[:at])
			switch {
			case o.err != nil && !format.BadInput(o.err):
				t.Errorf("%s at byte %d of %d: %v", k.name, at, len(k.data), o.err)
			case o.err == nil && len(o.losses) == 0:
				t.Errorf("%s %s cut at byte %d of %d: no word, rows %v, ends %q", k.format, k.name, at, len(k.data), o.rows, k.data[max(0, at-30):at])
			case o.err == nil && o.losses[model.StatTruncatedInput]+o.losses[model.StatIncompleteFile] == 0:
				t.Logf("%s %s cut at byte %d of %d: only %v", k.format, k.name, at, len(k.data), o.losses)
			}
		}
	}
	if cuts < 212 {
		t.Errorf("%d cuts", cuts)
	}
}
