package binaries

import (
	"os"
	"path/filepath"
	"testing"
)

// A trace names paths, but only files below the folders are opened.
func TestOnlyFolders(t *testing.T) {
	program, err := os.ReadFile("../../../testdata/unwind/frames")
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	folder := filepath.Join(top, "folder")
	write := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, program, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(top, "secret"))
	write(filepath.Join(folder, "here"))
	write(filepath.Join(folder, "usr/lib/below"))
	if err := os.Symlink("../secret", filepath.Join(folder, "link")); err != nil {
		t.Skip(err)
	}
	f := &Finder{Folders: []string{folder}}
	for path, want := range map[string]int{
		filepath.Join(top, "secret"): 0, "/../secret": 0, "/folder/../../secret": 0, "/link": 0, "../secret": 0, "//anon": 0, "[vdso]": 0, "/": 0, "": 0,
		"/opt/here": 1, "/usr/lib/below": 1, "/usr/lib/../lib/below": 1, "/lib/below": 0,
	} {
		if found := f.Find(path, ""); len(found.Files) != want {
			t.Errorf("%s: %d files, %q", path, len(found.Files), found.Wrong)
		}
	}
	cached := &Finder{Cache: folder}
	if found := cached.Find("/opt/here", ""); len(found.Files) != 0 {
		t.Error("the cache is searched by name")
	}
	var none *Finder
	if found := none.Find("/opt/here", "12345678901234567890"); len(found.Files) != 0 {
		t.Error("a file of no folder")
	}
}
