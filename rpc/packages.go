package rpc

import (
	"archive/zip"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql"
)

// Packages are the files of PerfettoSQL's modules: a/b/c.sql is the module a.b.c. They are those of a folder and those of the
// packages that were added. Any goroutine may use them.
type Packages struct {
	standard fs.FS

	mu      sync.Mutex
	added   map[string]map[string]string // SQL by path, by the path of the package
	files   fs.FS                        // what was added, a ZIP archive in memory
	objects *perfettosql.Objects         // nil once a client has added a package
}

// NewPackages returns the packages of a folder, which may be nil.
func NewPackages(standard fs.FS) *Packages {
	if standard == nil {
		standard = embed.FS{}
	}
	return &Packages{standard: standard, added: map[string]map[string]string{}, files: embed.FS{}, objects: &perfettosql.Objects{}}
}

// Objects implements perfettosql.Documented.
func (p *Packages) Objects() *perfettosql.Objects {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.objects
}

// Package implements perfettosql.Documented.
func (p *Packages) Package(file string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, added := p.owner(file)
	if !added {
		name, _, _ = strings.Cut(file, "/")
	}
	return strings.ReplaceAll(name, "/", ".")
}

// owner returns the path of the added package that a path belongs to.
func (p *Packages) owner(file string) (string, bool) {
	for name := range p.added {
		if within(file, name) {
			return name, true
		}
	}
	return "", false
}

// within reports whether a path is a folder or below it.
func within(file, folder string) bool {
	rest, ok := strings.CutPrefix(file, folder)
	return ok && (rest == "" || rest[0] == '/')
}

// Add adds the package in a folder, or replaces the one with its name.
func (p *Packages) Add(name string, folder fs.FS) error {
	modules := map[string]string{}
	err := fs.WalkDir(folder, ".", func(file string, entry fs.DirEntry, err error) error {
		module, ok := strings.CutSuffix(file, ".sql")
		if err != nil || entry.IsDir() || !ok {
			return err
		}
		sql, err := fs.ReadFile(folder, file)
		modules[name+"."+strings.ReplaceAll(module, "/", ".")] = string(sql)
		return err
	})
	if err != nil {
		return err
	}
	return p.add(name, modules, true)
}

// register adds the package of a client.
func (p *Packages) register(name string, modules map[string]string, replace bool) error {
	err := p.add(name, modules, replace)
	if err == nil {
		p.mu.Lock()
		p.objects = nil
		p.mu.Unlock()
	}
	return err
}

// add adds a package; modules maps names to SQL. One with its name is replaced, or is an error.
func (p *Packages) add(name string, modules map[string]string, replace bool) error {
	folder := strings.ReplaceAll(name, ".", "/")
	files := map[string]string{}
	for module, sql := range modules {
		file := strings.ReplaceAll(module, ".", "/") + ".sql"
		if !strings.HasPrefix(module, name+".") || !fs.ValidPath(file) {
			return fmt.Errorf("module %q is not of the package %q", module, name)
		}
		files[file] = sql
	}
	if !fs.ValidPath(folder) || folder == "." {
		return fmt.Errorf("%q is no name of a package", name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.added[folder]
	for other := range p.added {
		if other != folder && (within(folder, other) || within(other, folder)) {
			return fmt.Errorf("package %q: there is a package %q, and the name of one may not begin with that of another", name, strings.ReplaceAll(other, "/", "."))
		}
	}
	top, _, inside := strings.Cut(folder, "/")
	_, err := fs.Stat(p.standard, top)
	if err == nil && inside {
		return fmt.Errorf("package %q: there is a package %q, and the name of one may not begin with that of another", name, top)
	}
	if (err == nil || known) && !replace {
		return fmt.Errorf("there is a package %q already", name)
	}
	added := maps.Clone(p.added)
	added[folder] = files
	archive, err := archived(added)
	if err != nil {
		return err
	}
	p.added, p.files = added, archive
	return nil
}

// archived returns the files of packages, which have folders in a ZIP archive.
func archived(packages map[string]map[string]string) (fs.FS, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, files := range packages {
		for file, sql := range files {
			f, err := w.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Store})
			if err != nil {
				return nil, err
			}
			if _, err := f.Write([]byte(sql)); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
}

// Open implements fs.FS.
func (p *Packages) Open(file string) (fs.File, error) {
	p.mu.Lock()
	_, added := p.owner(file)
	files := p.files
	p.mu.Unlock()
	if !added {
		f, err := p.standard.Open(file)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return files.Open(file)
}

// ReadDir implements fs.ReadDirFS.
func (p *Packages) ReadDir(folder string) ([]fs.DirEntry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := fs.ReadDir(p.files, folder)
	if _, added := p.owner(folder); added {
		return all, err
	}
	standard, none := fs.ReadDir(p.standard, folder)
	if err != nil && none != nil {
		return nil, none
	}
	for _, entry := range standard {
		_, replaced := p.owner(path.Join(folder, entry.Name()))
		if !replaced && !slices.ContainsFunc(all, func(e fs.DirEntry) bool { return e.Name() == entry.Name() }) {
			all = append(all, entry)
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}
