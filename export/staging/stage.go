// Package staging writes folders that appear whole or not at all: a folder is made under a hidden name, locked, and renamed
// when it is complete.
package staging

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

// ErrTarget is wrapped if the target cannot be written: no permission, no
// space, no such folder.
var ErrTarget = errors.New("cannot write")

// Error says that a path cannot be written. It wraps ErrTarget.
func Error(path string, err error) error {
	if wrapped, ok := err.(*fs.PathError); ok && wrapped.Path == path { // it would say the path twice
		err = wrapped.Err
	}
	return fmt.Errorf("%w %s: %w", ErrTarget, path, err)
}

// Stage is a folder where files are written before they are published. It stays locked while
// its process lives, so that other processes can tell a folder in use from one that a killed
// run left.
type Stage struct {
	Path string
	lock io.Closer
}

// Replaced is the suffix of a folder that was renamed to make room for a new one, on systems
// that cannot swap two names atomically.
const Replaced = ".replaced"

// New makes a folder whose name begins with prefix.
func New(parent, prefix string) (*Stage, error) {
	for {
		path := filepath.Join(parent, fmt.Sprintf("%s%016x", prefix, rand.Uint64()))
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, Error(filepath.Clean(parent), errors.Unwrap(err)) // the user does not know the hidden name
		}
		lock, err := TryLock(path)
		if err == nil {
			return &Stage{path, lock}, nil
		}
		// Another run removed the folder before it was locked, taking it for abandoned.
		if !errors.Is(err, ErrLocked) {
			os.Remove(path)
			return nil, Error(path, err)
		}
	}
}

// Remove removes the folder, if it still Exists, and unlocks it.
func (s *Stage) Remove() error {
	if s.lock == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(s.Path), s.Unlock())
}

// Unlock leaves the folder to others, as the end of the process does.
func (s *Stage) Unlock() error {
	err := s.lock.Close()
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
		lock, err := TryLock(path)
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
	if home == nil || !strings.HasSuffix(path, Replaced) {
		return nil
	}
	to, err := home(path)
	if err != nil || Exists(to) {
		return err
	}
	return Rename(path, to)
}

// Install renames a finished folder to path. An existing folder at path stays there until the
// new one takes its place, and then gets the new folder's old name. If Install fails, one of
// the two folders is complete.
func Install(folder, path string) error {
	parent := filepath.Dir(path)
	var err error
	switch {
	case !Exists(path):
		err = Rename(folder, path)
	case exchange(folder, path) != nil:
		err = giveWay(folder, path)
	}
	if err != nil {
		return err
	}
	return Sync(parent)
}

// giveWay is Install for systems that cannot swap names atomically. If it is interrupted,
// Sweep puts the old folder back.
func giveWay(folder, path string) error {
	old := folder + Replaced
	if err := Rename(path, old); err != nil {
		return err
	}
	if err := Rename(folder, path); err != nil {
		return errors.Join(err, Rename(old, path))
	}
	return Rename(old, folder)
}

// ErrLocked is returned by TryLock if another process has the lock or the folder does not
// exist.
var ErrLocked = errors.New("locked by another process")

// TryLock locks a folder until the lock is closed or the process ends.
func TryLock(path string) (io.Closer, error) { return lockFolder(path, false) }

// WaitLock is TryLock, but waits for other processes that hold the lock.
func WaitLock(path string) (io.Closer, error) { return lockFolder(path, true) }

// lockFolder is TryLock, but waits for other processes if wait is set.
func lockFolder(path string, wait bool) (io.Closer, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrLocked
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
	return nil, ErrLocked
}

// CloseSynced closes a written file after its data has reached the disk.
func CloseSynced(f *os.File) error { return errors.Join(f.Sync(), f.Close()) }

// Exists reports whether anything Exists at the path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
