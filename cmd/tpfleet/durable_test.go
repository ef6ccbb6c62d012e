package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tpconvert/tpconvert/internal/datasettest"
)

// strace returns the command under strace, or skips the test.
func strace(t *testing.T, options []string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace")
	}
	c := command(t, args...)
	c.Args, c.Path = append(append([]string{program, "-f", "--seccomp-bpf"}, options...), append([]string{c.Path}, args...)...), program
	return c
}

// The disk has all files that a commit names, and their names, before the catalog names them.
func TestDurable(t *testing.T) {
	f := newFolder(t)
	tasks := f.run(t, "", "plan", f.upload(t, smallTraces(t, 4)...))
	results := tpfleet(t, tasks, "work")
	before := map[string]bool{}
	walk := func(do func(path string)) {
		t.Helper()
		if err := filepath.WalkDir(f.tables, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.HasSuffix(path, ".parquet") {
				do(path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	walk(func(path string) { before[path] = true })
	log := filepath.Join(t.TempDir(), "log")
	c := strace(t, []string{"-y", "-o", log, "-e", "trace=fsync,fdatasync"}, "commit", "--lake", f.folder)
	c.Stdin = strings.NewReader(results)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	order, catalog := map[string]int{}, 0
	for i, call := range regexp.MustCompile(`sync\([0-9]+<([^>]*)>`).FindAllStringSubmatch(string(text), -1) {
		if order[call[1]] = i + 1; strings.Contains(call[1], "catalog.db") && catalog == 0 {
			catalog = i + 1
		}
	}
	files := 0
	check := func(path string) {
		if at := order[path]; at == 0 || at > catalog || order[filepath.Dir(path)] < at || order[filepath.Dir(path)] > catalog {
			t.Errorf("%s was synced in call %d, its folder in %d, the catalog in %d", path, at, order[filepath.Dir(path)], catalog)
		}
		files++
	}
	walk(func(path string) {
		if !before[path] {
			check(path)
		}
	})
	data, _ := filepath.Glob(filepath.Join(f.tables, "*", "data", "*.parquet"))
	for _, path := range data {
		check(path)
	}
	if files < 30 {
		t.Errorf("the commit has only %d files", files)
	}
}

// An expire that is killed at any deletion is completed by the next one, or by gc.
func TestExpireKilled(t *testing.T) {
	good, _ := traces(t)
	killed := 0
	for i, at := range []int{1, 1, 2, 2, 3} { // of each thread
		f := newFolder(t)
		f.run(t, "", "run", "-j1", "--task-traces", "3", f.upload(t, append(good[:4:4], secretTrace(t))...))
		f.run(t, "", "forget", idOf(t, f, "private.json"))
		c := strace(t, []string{"-o", os.DevNull, "-e", "trace=unlinkat", "-e", fmt.Sprintf("inject=unlinkat:signal=KILL:when=%d", at)},
			"expire", "--lake", f.folder, "--older-than", "0s", "--keep", "1")
		if err := c.Run(); err != nil {
			killed++
		}
		if i%2 == 0 {
			f.run(t, "", "gc")
		}
		// What is left of a list whose writer was killed is no list, and goes when nobody can be writing it.
		halves := []string{"old.json.18ecc470b2ef3297.tmp", "new.json.18ecc475d7b5172b.tmp"}
		for i, name := range halves {
			halves[i] = filepath.Join(f.tables, "slice", "expired", name)
			if err := cmp.Or(os.MkdirAll(filepath.Dir(halves[i]), 0o755), os.WriteFile(halves[i], []byte(`["file:`), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if yesterday := time.Now().Add(-24 * time.Hour); os.Chtimes(halves[0], yesterday, yesterday) != nil {
			t.Fatal("no time")
		}
		f.run(t, "", "expire", "--older-than", "0s", "--keep", "1")
		for _, file := range datasettest.Find(t, f.tables, secret) {
			t.Errorf("killed at deletion %d: the secret is still in %s", at, file)
		}
		if lists, _ := filepath.Glob(filepath.Join(f.tables, "*", "expired", "*")); !slices.Equal(lists, halves[1:]) {
			t.Errorf("lists are left: %q", lists)
		}
		equalTables(t, database(t), converted(t, good[:4]...), f.source(t, f.lake(t.Context(), t)))
	}
	if killed < 2 {
		t.Errorf("only %d were killed", killed)
	}
}

// A result whose writer was killed is none.
func TestHalfResult(t *testing.T) {
	good, _ := traces(t)
	f := newFolder(t)
	dir := t.TempDir()
	results := "file://" + dir + "/"
	tpfleet(t, f.run(t, "", "plan", f.upload(t, good[4])), "work", "--results", results)
	if err := os.WriteFile(filepath.Join(dir, "r.json.18ecc470b2ef3297.tmp"), []byte(`{"task`), 0o644); err != nil {
		t.Fatal(err)
	}
	if a := account(t, f.run(t, "", "commit", results)); a.OK != 1 {
		t.Errorf("%+v", a)
	}
}

// Purging leaves no byte of a trace, also none of attempts that were never committed, and nothing else goes.
func TestPurge(t *testing.T) {
	t.Run("folder", func(t *testing.T) { testPurge(t, newFolder(t)) })
	t.Run("catalog", func(t *testing.T) { testPurge(t, newFleetOn(t, needServers(t).withSnapshots(t))) })
	t.Run("ledger", func(t *testing.T) { testPurge(t, newSingle(t)) })
}

func testPurge(t *testing.T, f *fleet) {
	good, _ := traces(t)
	url := f.upload(t, append(good[:4:4], secretTrace(t))...)
	tasks := f.run(t, "", "plan", url)
	tpfleet(t, tasks, "work") // and no commit
	f.run(t, "", "run", "-j1", url)
	other := f.run(t, "", "plan", f.upload(t, good[4]))
	waiting := tpfleet(t, other, "work")
	id := idOf(t, f, "private.json")
	if out := f.run(t, "", "forget", "--purge", id); !strings.Contains(out, `"purged":`) {
		t.Error(out)
	}
	for _, file := range datasettest.Find(t, f.tables, secret) {
		t.Errorf("the secret is still in %s", file)
	}
	if a := account(t, f.run(t, waiting, "commit")); a.OK != 1 {
		t.Errorf("the attempt of another trace: %+v", a)
	}
	if out := f.run(t, "", "forget", "--purge", id); !strings.Contains(out, `"known":1`) {
		t.Errorf("again: %s", out)
	}
	equalTables(t, database(t), converted(t, good[:5]...), f.source(t, f.lake(t.Context(), t)))
}
