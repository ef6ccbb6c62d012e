package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Stage is a folder where files are written before they are published. It stays locked while
// its process lives, so that other processes can tell a folder in use from one that a killed
// run left.
type Stage struct {
	Path string
	lock io.Closer
}

// replaced is the suffix of a folder that was renamed to make room for a new one, on systems
// that cannot swap two names atomically.
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
		// Another run removed the folder before it was locked, taking it for abandoned.
		if !errors.Is(err, errLocked) {
			os.Remove(path)
			return nil, targetError(path, err)
		}
	}
}

// Remove removes the folder, if it still exists, and unlocks it.
func (s *Stage) Remove() error {
	if s.lock == nil {
		return nil
	}
	err := os.RemoveAll(s.Path)
	s.lock.Close()
	s.lock = nil
	return err
}

// Sweep removes the folders whose names begin with prefix and that no process is using. If a
// folder made room for another that never came, and home is not nil, it moves back to home.
// Folders that cannot be removed, because of another owner or a disk error, stay: they do no
// harm, and the next run tries again.
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

// settle moves back a folder that made room for another.
func settle(path string, home func(path string) (string, error)) error {
	if home == nil || !strings.HasSuffix(path, replaced) {
		return nil
	}
	to, err := home(path)
	if err != nil || exists(to) {
		return err
	}
	return rename(path, to)
}

// install renames a finished folder to path. An existing folder at path stays there until the
// new one takes its place, and then gets the new folder's old name. If install fails, one of
// the two folders is complete.
func install(folder, path string) error {
	parent := filepath.Dir(path)
	var err error
	switch {
	case !exists(path):
		err = rename(folder, path)
	case exchange(folder, path) != nil:
		err = giveWay(folder, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(parent)
}

// giveWay is install for systems that cannot swap names atomically. If it is interrupted,
// Sweep puts the old folder back.
func giveWay(folder, path string) error {
	old := folder + replaced
	if err := rename(path, old); err != nil {
		return err
	}
	if err := rename(folder, path); err != nil {
		return errors.Join(err, rename(old, path))
	}
	return rename(old, folder)
}

// errLocked is returned by tryLock if another process has the lock or the folder does not
// exist.
var errLocked = errors.New("locked by another process")

// tryLock locks a folder until the lock is closed or the process ends.
func tryLock(path string) (io.Closer, error) { return lockFolder(path, false) }

// LockFolder locks a folder until unlock is called. It waits for other processes that hold the
// lock.
func LockFolder(path string) (unlock func() error, err error) {
	f, err := lockFolder(path, true)
	if err != nil {
		return nil, targetError(path, err)
	}
	return f.Close, nil
}

// lockFolder is tryLock, but waits for other processes if wait is set.
func lockFolder(path string, wait bool) (io.Closer, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	held, err := lock(f, wait)
	if err != nil {
		return nil, err
	}
	// Another process may have put another folder here before this one got the lock.
	if named, err := os.Stat(path); err == nil && os.SameFile(opened, named) {
		return held, nil
	}
	held.Close()
	return nil, errLocked
}

// closeSynced closes a written file after its data has reached the disk.
func closeSynced(f *os.File) error { return errors.Join(f.Sync(), f.Close()) }

// exists reports whether anything exists at the path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
