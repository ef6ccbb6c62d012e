package mcp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// maxOpen is how many traces keep their columns in memory. Others are opened again, but not converted again.
const maxOpen = 8

// library has the traces that were opened.
type library struct {
	options *Options
	scratch string // for the datasets of traces that were converted

	converting *semaphore.Weighted // one trace at a time

	mu     sync.Mutex
	traces map[[2]string]*trace // by path and id
	recent []*trace             // open ones, the latest last
}

// trace is a trace or a dataset at a path.
type trace struct {
	path, id string // id is of a trace in a dataset of many

	opening   *semaphore.Weighted // the trace is opened by one call
	as        string              // size and time of the file that was converted
	converted string              // folder with the dataset of the file, "" if it was not converted yet
	session   *session.Session
	facts     *export.Manifest
}

// open returns a trace that is open.
func (l *library) open(ctx context.Context, path, id string) (*trace, error) {
	if path == "" {
		var err error
		if path, id, err = l.only(id); err != nil {
			return nil, err
		}
	}
	path, err := l.allowed(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	isFolder := info.IsDir() && !tpconvert.IsTraceFolder(path)
	t := l.trace(path, id)
	if err := t.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer t.opening.Release(1)
	if as := fmt.Sprint(info.Size(), info.ModTime()); !isFolder && as != t.as { // it is new, or has changed
		if err := errors.Join(l.closed(t), os.RemoveAll(t.converted)); err != nil {
			return nil, err
		}
		t.as, t.converted = as, ""
	}
	if t.session == nil {
		if err := l.load(ctx, t, isFolder); err != nil {
			return nil, err
		}
	}
	return t, l.used(t)
}

// only returns the only trace that is open.
func (l *library) only(id string) (string, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.recent) == 1 && (id == "" || id == l.recent[0].id):
		return l.recent[0].path, l.recent[0].id, nil
	case len(l.recent) == 0 && len(l.options.Inputs) == 1:
		return l.options.Inputs[0], id, nil
	}
	return "", "", errors.New(`name the trace: the argument "trace" is its path`)
}

// allowed returns the absolute path of a trace, without symbolic links, if it may be opened. Of other paths it does not say whether
// they exist.
func (l *library) allowed(path string) (string, error) {
	at, err := resolved(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: no such file or folder", path)
	}
	if len(l.options.Inputs) == 0 {
		return at, err
	}
	if err != nil {
		at, _ = filepath.Abs(path) // the name tells whether it would be below
	}
	for _, input := range l.options.Inputs {
		root, failed := resolved(input)
		if failed != nil {
			return "", failed
		}
		named, failed := filepath.Abs(input)
		if failed != nil {
			return "", failed
		}
		if isBelow(root, at) || err != nil && isBelow(named, at) {
			return at, err
		}
	}
	return "", fmt.Errorf("%s is not below %s, which is all that may be opened here", path, strings.Join(l.options.Inputs, ", "))
}

func isBelow(folder, path string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(below)
}

func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

func (l *library) trace(path, id string) *trace {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{path, id}
	t := l.traces[key]
	if t == nil {
		t = &trace{path: path, id: id, opening: semaphore.NewWeighted(1)}
		l.traces[key] = t
	}
	return t
}

// load makes the tables of a trace available. A trace is converted the first time.
func (l *library) load(ctx context.Context, t *trace, isFolder bool) error {
	folder := t.path
	switch {
	case isFolder:
		traces, err := session.ReadTraces(ctx, t.path)
		switch {
		case err != nil:
			return err
		case traces == nil && t.id != "":
			return fmt.Errorf("trace_id is for a dataset of many traces; %s is none", t.path)
		case traces == nil:
		case t.id == "":
			return fmt.Errorf("%w; or give trace_id", traces.Several())
		default:
			if folder, err = traces.Folder(t.id); err != nil {
				return err
			}
		}
	case session.IsDuckDB(t.path):
		return fmt.Errorf("%s is a DuckDB file: open the dataset that it was made from", t.path)
	case t.id != "":
		return fmt.Errorf("trace_id is for a dataset of many traces; %s is a file", t.path)
	case t.converted != "":
		folder = filepath.Join(t.converted, "out")
	default:
		if err := l.convert(ctx, t); err != nil {
			return err
		}
		folder = filepath.Join(t.converted, "out")
	}
	manifests, _, err := export.ReadManifests(folder)
	if err != nil {
		return err
	}
	s, err := session.New(ctx, session.Options{Perfetto: true, Shared: true, Modules: l.options.Modules, Derived: true, Memory: l.options.Memory})
	if err != nil {
		return err
	}
	if err := s.OpenDataset(ctx, folder); err != nil {
		return errors.Join(err, s.Close())
	}
	l.mu.Lock()
	t.session, t.facts = s, manifests[0]
	l.mu.Unlock()
	return nil
}

// convert converts a trace. One is converted at a time, because each takes the memory of a conversion.
func (l *library) convert(ctx context.Context, t *trace) error {
	if err := l.converting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer l.converting.Release(1)
	folder, err := os.MkdirTemp(l.scratch, "trace-")
	if err != nil {
		return err
	}
	if err := l.options.Convert(ctx, t.path, filepath.Join(folder, "out")); err != nil {
		return errors.Join(err, os.RemoveAll(folder))
	}
	t.converted = folder
	return nil
}

// closed ends the session of a trace. Calls that use its data have sessions of their own.
func (l *library) closed(t *trace) error {
	l.mu.Lock()
	s := t.session
	t.session = nil
	l.recent = slices.DeleteFunc(l.recent, func(o *trace) bool { return o == t })
	l.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}

// used notes that a trace is used. If too many are open, it closes the one that was not used for the longest time.
func (l *library) used(t *trace) error {
	l.mu.Lock()
	l.recent = append(slices.DeleteFunc(l.recent, func(o *trace) bool { return o == t }), t)
	var oldest *trace
	if len(l.recent) > maxOpen {
		oldest = l.recent[0]
	}
	l.mu.Unlock()
	if oldest == nil || !oldest.opening.TryAcquire(1) {
		return nil
	}
	defer oldest.opening.Release(1)
	return l.closed(oldest)
}

// fork returns a session of PerfettoSQL for one call, which sees nothing that others have created.
func (l *library) fork(t *trace) (*session.Session, error) {
	l.mu.Lock()
	if t.session == nil {
		l.mu.Unlock()
		return nil, errors.New("too many traces are used at once, or the file has changed: try again")
	}
	s := t.session.Fork()
	l.mu.Unlock()
	if err := s.Begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// close ends the sessions.
func (l *library) close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.recent {
		err = errors.Join(err, t.session.Close())
	}
	return err
}
