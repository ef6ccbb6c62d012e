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

// Namespaces in a folder have nothing in common: what one removes or commits leaves the others as they are.
func TestNamespaces(t *testing.T) {
	lake, small := filepath.Join(t.TempDir(), "lake"), smallTraces(t, 4)
	tpfleet(t, "", "init", "--namespace", "q1", lake)
	tpfleet(t, "", "init", "--namespace", "q2", lake)
	in := func(namespace, name string, args ...string) string {
		t.Helper()
		return tpfleet(t, "", append([]string{name, "--lake", lake, "--namespace", namespace}, args...)...)
	}
	in("q1", "run", small[0], small[1])
	in("q2", "run", small[2])
	in("q2", "run", small[3])
	in("q1", "gc", "--older-than", "0s")
	in("q1", "compact", "--min-files", "2")
	in("q1", "expire", "--older-than", "0s", "--keep", "1")
	in("q1", "gc", "--older-than", "0s")
	for _, namespace := range []string{"q1", "q2"} {
		if out := in(namespace, "status"); !strings.HasPrefix(out, "2 traces: 2 ok,") {
			t.Errorf("%s: %s", namespace, out)
		}
		if out := converter(t, "query", "--format", "csv", filepath.Join(lake, namespace), "SELECT count(*) FROM slice"); !strings.HasSuffix(out, "\n2\n") {
			t.Errorf("%s has %s", namespace, out)
		}
	}
	list, err := export.ReadLakeFiles(lake)
	if err != nil || len(list.Namespaces["q1"]["slice"]) != 1 || len(list.Namespaces["q2"]["slice"]) != 2 {
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
