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

// Stage is a folder in which files are written before they are published. It is
// locked as long as its process lives, so that others can tell a folder at work
// from one that a killed run left.
type Stage struct {
	Path string
	lock *os.File
}

// replaced ends the name of a folder that makes room for a new one, where two
// folders cannot change names at once.
const replaced = ".replaced"

// NewStage makes a folder whose name begins with prefix.
func NewStage(parent, prefix string) (*Stage, error) {
	for {
		path := filepath.Join(parent, fmt.Sprintf("%s%016x", prefix, rand.Uint64()))
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, targetError(path, err)
		}
		lock, err := tryLock(path)
		if err == nil {
			return &Stage{path, lock}, nil
		}
		// Another run took it for dead before it was locked.
		if !errors.Is(err, errLocked) {
			os.Remove(path)
			return nil, targetError(path, err)
		}
	}
}

// Remove removes the folder, if it is still there, and unlocks it.
func (s *Stage) Remove() error {
	if s.lock == nil {
		return nil
	}
	err := os.RemoveAll(s.Path)
	s.lock.Close()
	s.lock = nil
	return err
}

// Sweep removes the folders whose name begins with prefix and that no process is
// at work in. One that made room for a folder that did not come goes back to
// home, if that is not nil. What cannot be removed, because it is another user's
// or the disk is at fault, stays: it is in nobody's way, and the next run tries
// again.
func Sweep(parent, prefix string, home func(path string) (string, error)) error {
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
		if err := settle(path, home); err == nil {
			_ = os.RemoveAll(path)
		}
		lock.Close()
	}
	return nil
}

// settle puts back a folder that made room.
func settle(path string, home func(path string) (string, error)) error {
	if home == nil || !strings.HasSuffix(path, replaced) {
		return nil
	}
	to, err := home(path)
	if err != nil || exists(to) {
		return err
	}
	return os.Rename(path, to)
}

// install gives a finished folder its name. What has the name is there until the
// moment in which the new one is, and has the folder's old name then. If install
// fails, one of the two is there whole.
func install(folder, path string) error {
	parent := filepath.Dir(path)
	var err error
	switch {
	case !exists(path):
		err = os.Rename(folder, path)
	case exchange(folder, path) != nil:
		err = giveWay(folder, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(parent)
}

// giveWay is install where folders cannot change names at once. Sweep puts the
// old folder back if this does not come to its end.
func giveWay(folder, path string) error {
	old := folder + replaced
	if err := os.Rename(path, old); err != nil {
		return err
	}
	if err := os.Rename(folder, path); err != nil {
		return errors.Join(err, os.Rename(old, path))
	}
	return os.Rename(old, folder)
}

// errLocked is returned by tryLock if another has the lock or the folder is gone.
var errLocked = errors.New("locked by another process")

// tryLock locks a folder until the file is closed or the process ends.
func tryLock(path string) (*os.File, error) { return lockFolder(path, false) }

// LockFolder locks a folder, and waits for others that have it locked, until unlock is called.
func LockFolder(path string) (unlock func() error, err error) {
	f, err := lockFolder(path, true)
	if err != nil {
		return nil, targetError(path, err)
	}
	return f.Close, nil
}

// lockFolder is tryLock that waits for others if told to.
func lockFolder(path string, wait bool) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	if err := lock(f, wait); err != nil {
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
