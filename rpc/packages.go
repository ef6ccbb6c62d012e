package rpc

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing/fstest"
)

// Packages are the files of PerfettoSQL's modules. A path begins with the package's name.
type Packages struct {
	standard fs.FS

	mu    sync.Mutex
	added map[string]fs.FS
}

// NewPackages returns the packages of a folder, which may be nil.
func NewPackages(standard fs.FS) *Packages {
	return &Packages{standard: standard, added: map[string]fs.FS{}}
}

// Add adds the package in a folder, or replaces the one with its name.
func (p *Packages) Add(name string, folder fs.FS) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added[name] = folder
}

// addModules adds a package; modules maps names to SQL.
func (p *Packages) addModules(name string, modules map[string]string) error {
	folder := fstest.MapFS{}
	for module, sql := range modules {
		path, ok := strings.CutPrefix(module, name+".")
		file := strings.ReplaceAll(path, ".", "/") + ".sql"
		if !ok || !fs.ValidPath(file) {
			return fmt.Errorf("module %q is not of the package %q", module, name)
		}
		folder[file] = &fstest.MapFile{Data: []byte(sql)}
	}
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
