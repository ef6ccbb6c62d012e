package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// mixedTraces are 285 traces of many formats and 15 bad ones in a folder, and what tpconvert makes of the good ones.
type mixedTraces struct {
	good, bad []string
	dataset   string
}

var mixed struct {
	sync.Mutex
	*mixedTraces
}

// needMixed returns the mixed traces, or skips the test if the recordings that they are taken from are missing.
func needMixed(t *testing.T) *mixedTraces {
	t.Helper()
	from := os.Getenv("FLEET_CONFORMANCE")
	if _, err := os.Stat(filepath.Join(from, "traces")); err != nil {
		t.Skip("300 MIXED TRACES ARE NOT TESTED: the recordings are not in ../shared/conformance")
	}
	mixed.Lock()
	defer mixed.Unlock()
	if mixed.mixedTraces != nil {
		return mixed.mixedTraces
	}
	dir := filepath.Join(filepath.Dir(tpconvertPath), "mixed")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &mixedTraces{dataset: dir + "-dataset"}
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	seen := map[[32]byte]bool{}
	for _, path := range append(filesBelow(t, filepath.Join(from, "traces")), filesBelow(t, filepath.Join(from, "difftests"))...) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		if len(m.good) == 285 || info.Size() == 0 || info.Size() > 100<<10 || strings.Contains(path, "malformed") ||
			strings.Contains(path, "difftests") && !strings.HasPrefix(name, "trace.") || strings.HasSuffix(name, ".tsv") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if digest := sha256.Sum256(content); !seen[digest] {
			seen[digest] = true
			m.good = append(m.good, write(fmt.Sprintf("%03d-%s", len(m.good), name), content))
		}
	}
	if len(m.good) != 285 {
		t.Fatalf("there are only %d traces", len(m.good))
	}
	for i := range 15 {
		content := []byte(strings.Repeat("This is no trace.\n", i))
		if i%2 == 1 {
			content = append([]byte("\x1f\x8b\x08\x00"), content...) // gzip, damaged
		}
		m.bad = append(m.bad, write(fmt.Sprintf("bad-%02d", i), content))
	}
	oneByOne(t, m.dataset, m.good...)
	mixed.mixedTraces = m
	return m
}

// filesBelow returns the files below a folder in order.
func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}
