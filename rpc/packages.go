package rpc

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// Packages are the files of PerfettoSQL's modules. A path begins with the package's name.
type Packages struct {
	standard fs.FS

	mu      sync.Mutex
	added   map[string]fs.FS
	objects *perfettosql.Objects // nil once a client has added a package
}

// NewPackages returns the packages of a folder, which may be nil.
func NewPackages(standard fs.FS) *Packages {
	return &Packages{standard: standard, added: map[string]fs.FS{}, objects: &perfettosql.Objects{}}
}

// Objects implements perfettosql.Documented.
func (p *Packages) Objects() *perfettosql.Objects {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects
}

// Add adds the package in a folder, or replaces the one with its name.
func (p *Packages) Add(name string, folder fs.FS) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added[name] = folder
}

// addModules adds a package; modules maps names to SQL. A ZIP archive in memory is the folder.
func (p *Packages) addModules(name string, modules map[string]string) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for module, sql := range modules {
		path, ok := strings.CutPrefix(module, name+".")
		file := strings.ReplaceAll(path, ".", "/") + ".sql"
		if !ok || !fs.ValidPath(file) {
			return fmt.Errorf("module %q is not of the package %q", module, name)
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := f.Write([]byte(sql)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	folder, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.objects = nil
	p.mu.Unlock()
	p.Add(name, folder)
	return nil
}

// Open implements fs.FS.
func (p *Packages) Open(path string) (fs.File, error) {
	name, rest, inside := strings.Cut(path, "/")
	if !inside {
		rest = "."
	}
	p.mu.Lock()
	folder := p.added[name]
	p.mu.Unlock()
	switch {
	case folder != nil:
		return folder.Open(rest)
	case p.standard != nil:
		return p.standard.Open(path)
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}
