package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// single is the place of a dataset of one trace.
type single struct {
	path  string
	force bool
}

// replaced ends the name of a dataset that makes room for a new one.
const replaced = ".replaced"

// Create begins a dataset of one trace at dir, whose parent must exist. An
// empty folder may be there. Folders that killed runs left beside it are
// removed.
func Create(dir string, o Options) (*Writer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, targetError(dir, err)
	}
	if linked, err := filepath.EvalSymlinks(dir); err == nil {
		dir = linked
	}
	parent, prefix := filepath.Dir(dir), "."+filepath.Base(dir)+".tpconvert-"
	err = sweep(parent, prefix, func(path string) error {
		if strings.HasSuffix(path, replaced) && !exists(dir) {
			return os.Rename(path, dir)
		}
		return nil
	})
	if err != nil {
		return nil, targetError(dir, err)
	}
	s := single{dir, o.Force}
	if err := s.admit(nil); err != nil {
		return nil, err
	}
	stage, err := newStage(parent, prefix)
	if err != nil {
		return nil, err
	}
	return newWriter(o, s, stage, newWorkers(o.Jobs)), nil
}

// admit checks that the target is free, or may be replaced.
func (s single) admit(*Manifest) error {
	entries, err := os.ReadDir(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !exists(s.path):
		return targetError(s.path, err)
	case err != nil:
		return fmt.Errorf("%s exists and is %w: %w", s.path, ErrForeign, err)
	case len(entries) == 0:
		return nil
	}
	m, err := readManifest(filepath.Join(s.path, manifestName))
	if err != nil {
		return fmt.Errorf("%s exists and is %w", s.path, ErrForeign)
	}
	for _, e := range entries {
		if e.Name() != manifestName && !slices.ContainsFunc(m.Tables, func(t Table) bool { return t.File == e.Name() }) {
			return fmt.Errorf("%s is %w alone: %s is in it", s.path, ErrForeign, e.Name())
		}
	}
	if !s.force {
		return fmt.Errorf("%s %w", s.path, ErrExists)
	}
	return nil
}

func (s single) file(table, format string, _ *Manifest) string { return table + "." + format }

// publish renames the folder. What it replaces goes out of the way first; Create
// puts it back if that is as far as it came.
func (s single) publish(folder string, m *Manifest) error {
	if err := s.admit(m); err != nil {
		return err
	}
	if err := s.swap(folder); err != nil {
		return targetError(s.path, err)
	}
	return nil
}

func (s single) swap(folder string) error {
	parent := filepath.Dir(s.path)
	// An empty folder is in the way as well, and goes without a trace.
	os.Remove(s.path)
	if !exists(s.path) {
		return errors.Join(os.Rename(folder, s.path), syncFolder(parent))
	}
	old := folder + replaced
	lock, err := tryLock(s.path)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := os.Rename(s.path, old); err != nil {
		return err
	}
	if err := os.Rename(folder, s.path); err != nil {
		return errors.Join(err, os.Rename(old, s.path))
	}
	return errors.Join(syncFolder(parent), os.RemoveAll(old))
}
