package tpconvert

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// session unpacks a recording of LTTng, and returns its folder and that of the trace in it.
func session(t *testing.T) (outer, trace string) {
	t.Helper()
	packed, err := os.Open("testdata/ust.ctf.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	outer = t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return outer, filepath.Join(outer, "trace", "ust", "uid", "0", "64-bit")
		}
		data, err := io.ReadAll(r)
		path := filepath.Join(outer, filepath.FromSlash(h.Name))
		if err == nil && h.Typeflag == tar.TypeReg {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTraceInSeveralFiles checks that a folder that is a trace is read as one, alone, among others, merged and packed.
func TestTraceInSeveralFiles(t *testing.T) {
	outer, trace := session(t)
	var o Options
	slicesOf := func(facts *Facts, err error) int64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(facts.Tables, func(n TableRows) bool { return n.Name == "slice" })
		return facts.Tables[i].Rows
	}
	want := slicesOf(ReadFile(t.Context(), "testdata/ust.ctf.tar.gz", nil, o))
	if got := slicesOf(ReadFile(t.Context(), trace, nil, o)); got != want || want == 0 {
		t.Errorf("the folder has %d slices, the archive %d", got, want)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.CopyFS(other, os.DirFS(trace)); err != nil {
		t.Fatal(err)
	}
	bundle, err := NewBundle([]string{trace, other}, Merge{}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.Close()
	if got := slicesOf(Read(t.Context(), "merged", bundle.Reader(), nil, o)); got != 2*want {
		t.Errorf("merged, %d slices, want twice %d", got, want)
	}

	out := filepath.Join(t.TempDir(), "out")
	for i, known := range []bool{false, true} {
		result, err := Convert(t.Context(), []string{outer}, out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Traces) != 1 || result.Traces[0].Path != trace || known != (result.Traces[0].Known != "") {
			t.Errorf("conversion %d: %+v", i, result.Traces)
		}
	}
}

// TestFolderNames checks that a folder is what it is however its path is written, as shells complete it, and by a link.
func TestFolderNames(t *testing.T) {
	outer, trace := session(t)
	t.Chdir(filepath.Dir(trace))
	for link, to := range map[string]string{"one": trace, "many": outer} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	name := filepath.Base(trace)
	for _, path := range []string{name + "/", "./" + name, "../" + filepath.Base(filepath.Dir(trace)) + "/./" + name, "one", "one/"} {
		out := filepath.Join(t.TempDir(), "out")
		result, err := Convert(t.Context(), []string{path}, out, Options{})
		if err != nil || len(result.Traces) != 1 {
			t.Errorf("%s: %+v, %v", path, result, err)
		}
		if _, err := os.Stat(filepath.Join(out, "slice.parquet")); err != nil {
			t.Errorf("%s is converted as a folder of traces: %v", path, err)
		}
	}
	for _, path := range []string{"many", "many/", "./many"} {
		out := filepath.Join(t.TempDir(), "out")
		result, err := Convert(t.Context(), []string{path}, out, Options{})
		if err != nil || len(result.Traces) != 1 || result.Traces[0].Path == path {
			t.Errorf("%s: %+v, %v", path, result, err)
		}
	}
	if _, err := ReadFile(t.Context(), "many", nil, Options{}); err == nil || err.Error() != "many is a folder, not a trace: name the files in it" {
		t.Error(err)
	}
}

// TestTraceFolder checks that a dataset is no trace, whose tables have the names of those that tools record.
func TestTraceFolder(t *testing.T) {
	_, trace := session(t)
	one, many := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "many")
	for out, inputs := range map[string][]string{one: {trace}, many: {trace, "testdata/app.ftrace"}} {
		if _, err := Convert(t.Context(), inputs, out, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ofMany, err := filepath.Glob(filepath.Join(many, "trace_id=*"))
	if err != nil || len(ofMany) < 2 {
		t.Fatalf("%q, %v", ofMany, err)
	}
	if !IsTraceFolder(trace) {
		t.Error("a recording is no trace")
	}
	for _, dataset := range append(ofMany, one, many) {
		if IsTraceFolder(dataset) {
			t.Errorf("%s is a trace", dataset)
		}
	}
}
