package staging

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folders makes two folders, each with a file of its own name.
func folders(t *testing.T) (dir, old, new string) {
	t.Helper()
	dir = t.TempDir()
	old, new = filepath.Join(dir, "old"), filepath.Join(dir, "new")
	for _, name := range []string{old, new} {
		if err := errors.Join(os.Mkdir(name, 0o777), os.WriteFile(filepath.Join(name, filepath.Base(name)), nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, old, new
}

// want compares all files below a folder.
func want(t *testing.T, dir string, files ...string) {
	t.Helper()
	got, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		rel, _ := filepath.Rel(dir, got[i])
		got[i] = filepath.ToSlash(rel)
	}
	if strings.Join(got, " ") != strings.Join(files, " ") {
		t.Errorf("%v, want %v", got, files)
	}
}

// TestGiveWay replaces a folder without an atomic swap, and tries to replace it
// with a missing folder.
func TestGiveWay(t *testing.T) {
	dir, old, new := folders(t)
	if err := giveWay(filepath.Join(dir, "missing"), old); err == nil {
		t.Error("no error")
	}
	want(t, dir, "new/new", "old/old")
	if err := giveWay(new, old); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "new/old", "old/new")
	if err := Install(new, old); err != nil {
		t.Fatal(err)
	}
	want(t, dir, "new/new", "old/old")
}

// TestSweep leaves folders in use, and puts back one that had given way.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	used, err := New(dir, ".stage-")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Remove()
	left, home := filepath.Join(dir, ".stage-1"), filepath.Join(dir, "home")
	gone := left + Replaced
	if err := errors.Join(os.Mkdir(left, 0o777), os.Mkdir(gone, 0o777), os.WriteFile(filepath.Join(gone, "file"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dir, ".stage-", func(string) (string, error) { return home, nil }); err != nil {
		t.Fatal(err)
	}
	if !Exists(used.Path) || Exists(left) || Exists(gone) || !Exists(filepath.Join(home, "file")) {
		t.Errorf("in use: %t, left: %t, given way: %t, at home: %t", Exists(used.Path), Exists(left), Exists(gone), Exists(home))
	}
	if _, err := TryLock(used.Path); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := used.Remove(); err != nil || Exists(used.Path) {
		t.Errorf("Remove = %v", err)
	}
}
