// Package binaries finds the binaries that a trace refers to: by build id in perf's cache and in folders that the user names,
// and there also by name. It opens nothing outside of these folders, whatever a trace says.
package binaries

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/internal/unwind"
)

// Finder finds binaries in folders. The zero value finds none.
type Finder struct {
	Folders []string // of binaries, in the order of preference
	Cache   string   // of perf, "" for none
}

// Found are the files of a binary: the binary itself, and one of its symbols where the binary is stripped.
type Found struct {
	Files []*unwind.File
	Wrong []string // why files of its name are not used
}

// Find finds a binary by its path and its raw build id, of which one may be "".
func (f *Finder) Find(file, buildID string) Found {
	var found Found
	if f == nil {
		return found
	}
	names := namesOf(file)
	for _, folder := range f.Folders {
		found.look(folder, append(namesByID(buildID), names...), buildID)
	}
	if buildID == "" && len(found.Files) > 0 { // the file says what symbols belong to it
		buildID = string(found.Files[0].BuildID)
		for _, folder := range f.Folders {
			found.look(folder, namesByID(buildID), buildID)
		}
	}
	if f.Cache != "" {
		found.look(f.Cache, namesByID(buildID), buildID)
	}
	return found
}

// namesByID returns where a folder may have the binary with a build id: as perf's cache does, or as packages of debug
// information do.
func namesByID(buildID string) []string {
	if len(buildID) < 2 {
		return nil
	}
	id := hex.EncodeToString([]byte(buildID))
	at := path.Join(".build-id", id[:2], id[2:])
	return []string{path.Join(at, "elf"), path.Join(at, "vdso"), path.Join(at, "debug"), at, at + ".debug",
		path.Join("usr/lib/debug", at+".debug")}
}

// namesOf returns where a folder may have a binary by its path: there below the folder, or in the folder itself.
func namesOf(file string) []string {
	name := strings.TrimPrefix(path.Clean("/"+file), "/")
	if !strings.HasPrefix(file, "/") || name == "" {
		return nil // "[vdso]", "//anon"
	}
	if base := path.Base(name); base != name {
		return []string{name, base}
	}
	return []string{name}
}

// look opens the files with these names in a folder.
func (found *Found) look(folder string, names []string, buildID string) {
	if len(names) == 0 || found.complete() {
		return
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return
	}
	defer root.Close()
	for _, name := range names {
		info, err := root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // opening a pipe would wait
		}
		file, err := unwind.Open(&late{folder, name}, info.Size())
		switch {
		case err != nil:
			found.Wrong = append(found.Wrong, fmt.Sprintf("%s: %v", filepath.Base(name), err))
		case buildID != "" && !bytes.Equal(file.BuildID, []byte(buildID)):
			found.Wrong = append(found.Wrong, fmt.Sprintf("%s has the build id %q, and %x was recorded", filepath.Base(name),
				hex.EncodeToString(file.BuildID), buildID))
		default:
			found.Files = append(found.Files, file)
		}
		if found.complete() {
			return
		}
	}
}

// complete reports whether no other file is needed.
func (found *Found) complete() bool {
	unwinds, names := false, false
	for _, f := range found.Files {
		unwinds, names = unwinds || f.CanUnwind(), names || f.HasSymbols()
	}
	return unwinds && names
}

// late is a file of a folder, which is opened for each read, because a trace may have more binaries than a process can open.
type late struct{ folder, name string }

// ReadAt implements io.ReaderAt.
func (l *late) ReadAt(p []byte, offset int64) (int, error) {
	root, err := os.OpenRoot(l.folder)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	f, err := root.Open(l.name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(p, offset)
	if n == len(p) && err == io.EOF {
		err = nil
	}
	return n, err
}
