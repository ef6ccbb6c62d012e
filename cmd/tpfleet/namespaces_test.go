package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// Namespaces have nothing in common: what one removes or commits leaves the others as they are.
func TestNamespaces(t *testing.T) { withLedger(t, testNamespaces) }

func testNamespaces(t *testing.T, f *fleet) {
	small, other := smallTraces(t, 4), *f
	other.namespace, other.traces = f.namespace+"q2", strings.TrimSuffix(f.traces, "/")+"q2/"
	other.tables = filepath.Join(filepath.Dir(f.tables), other.namespace)
	var options []string
	if f.single {
		options = append(options, "--single-table")
	}
	other.run(t, "", "init", options...)
	f.run(t, "", "run", f.upload(t, small[:2]...))
	other.run(t, "", "run", other.upload(t, small[2]))
	other.run(t, "", "run", other.upload(t, small[3]))
	if removes := f.folder != "" || f.single; removes { // Nessie keeps all states
		f.run(t, "", "gc", "--older-than", "0s")
		f.run(t, "", "compact", "--min-files", "2")
		f.run(t, "", "expire", "--older-than", "0s", "--keep", "1")
		f.run(t, "", "gc", "--older-than", "0s")
	} else {
		f.run(t, "", "compact", "--min-files", "2")
	}
	for _, f := range []*fleet{f, &other} {
		if out := f.run(t, "", "status"); !strings.HasPrefix(out, "2 traces: 2 ok,") {
			t.Errorf("%s: %s", f.namespace, out)
		}
		if n := number(t, database(t), "SELECT count(*) FROM "+f.source(t, f.lake(t.Context(), t))("slice")); n != 2 {
			t.Errorf("%s has %d slices", f.namespace, n)
		}
	}
}

// tpconvert reads each namespace of a folder by its own list of files.
func TestFolderNamespaces(t *testing.T) {
	lake, small := filepath.Join(t.TempDir(), "lake"), smallTraces(t, 4)
	for i, namespace := range []string{"q1", "q2"} {
		tpfleet(t, "", "init", "--namespace", namespace, lake)
		tpfleet(t, "", "run", "--lake", lake, "--namespace", namespace, small[2*i], small[2*i+1])
		if out := converter(t, "query", "--format", "csv", filepath.Join(lake, namespace), "SELECT count(*) FROM slice"); !strings.HasSuffix(out, "\n2\n") {
			t.Errorf("%s has %s", namespace, out)
		}
	}
	list, err := export.ReadLakeFiles(lake)
	if err != nil || len(list.Namespaces["q1"]["slice"]) != 1 || len(list.Namespaces["q2"]["slice"]) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if out, err := exec.Command(tpconvertPath, "query", lake, "FROM slice").CombinedOutput(); err == nil || !strings.Contains(string(out), "namespaces q1, q2") {
		t.Errorf("two namespaces: %s, %v", out, err)
	}
	if out, err := command(t, "init", "--namespace", "../q3", lake).CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot be the name of a folder") {
		t.Errorf("a namespace that is no folder: %s, %v", out, err)
	}
}

// Tables of an older version lie in a folder that other namespaces may share. They are read, and init moves them; gc waits for that.
func TestOldPlaces(t *testing.T) {
	f := newFolder(t)
	good, _ := traces(t)
	f.run(t, "", "run", f.upload(t, good[:3]...))
	for _, s := range task.Packed() {
		locate(t, f, s.Name)
	}
	locate(t, f, task.Ledger)
	if out, err := command(t, "gc", "--lake", f.folder, "--older-than", "0s").CombinedOutput(); err == nil || !strings.Contains(string(out), "tpfleet init") {
		t.Errorf("gc: %s, %v", out, err)
	}
	tpfleet(t, "", "init", f.folder)
	f.run(t, "", "run", f.upload(t, good[3:]...))
	f.run(t, "", "gc", "--older-than", "0s")
	equalTables(t, database(t), converted(t, good...), f.source(t, f.lake(t.Context(), t)))
	layout, err := f.lake(t.Context(), t).Layout(t.Context(), "")
	if err != nil || !strings.HasPrefix(layout, "file://"+f.tables+"/") {
		t.Errorf("the layout is %s, %v", layout, err)
	}
}

// locate makes the location of a table that which older versions gave it.
func locate(t *testing.T, f *fleet, table string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.tables, table, "metadata", "*.metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		old := strings.Replace(string(text), `"location":"file://`+filepath.Join(f.tables, table)+`"`, `"location":"file://`+filepath.Join(f.folder, table)+`"`, 1)
		if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
