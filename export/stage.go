package export

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// stage is a folder in which files are written before they are published. It
// is locked as long as its process lives, so that others can tell a folder at
// work from one that a killed run left.
type stage struct {
	path string
	lock *os.File
}

// newStage makes a folder whose name begins with prefix.
func newStage(parent, prefix string) (*stage, error) {
	for {
		path := filepath.Join(parent, fmt.Sprintf("%s%016x", prefix, rand.Uint64()))
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, targetError(path, err)
		}
		lock, err := tryLock(path)
		if err == nil {
			return &stage{path, lock}, nil
		}
		// Another run took it for dead before it was locked.
		if !errors.Is(err, errLocked) {
			os.Remove(path)
			return nil, targetError(path, err)
		}
	}
}

// remove removes the folder, if it is still there, and unlocks it.
func (s *stage) remove() error {
	if s.lock == nil {
		return nil
	}
	err := os.RemoveAll(s.path)
	s.lock.Close()
	s.lock = nil
	return err
}

// sweep calls settle with each folder whose name begins with prefix and that
// no process is at work in, then removes it.
func sweep(parent, prefix string, settle func(path string) error) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := tryLock(path)
		if err != nil {
			continue
		}
		if err := settle(path); err != nil {
			lock.Close()
			return err
		}
		err = os.RemoveAll(path)
		lock.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// errLocked is returned by tryLock if another has the lock or the folder is gone.
var errLocked = errors.New("locked by another process")

// tryLock locks a folder until the file is closed or the process ends.
func tryLock(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	if err := lock(f, false); err != nil {
		f.Close()
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Stat(path); err == nil && os.SameFile(opened, named) {
			return f, nil
		}
	}
	f.Close()
	return nil, errLocked
}

// closeSynced closes a file that was written, once it is safe on disk.
func closeSynced(f *os.File) error { return errors.Join(f.Sync(), f.Close()) }

// syncFolder makes the names in a folder safe on disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return closeSynced(f)
}

// exists reports whether there is anything at the path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
