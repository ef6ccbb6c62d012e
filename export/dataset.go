package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dataset is a dataset of many traces: a folder `trace_id=<id>` for each, which
// one rename puts there whole, and `_tpconvert` for everything else. Each trace
// has a Writer, and they may be at work side by side, in several processes too.
//
// The folder trace_id=_empty has every table, without rows, so that a pattern
// like trace_id=*/slice.parquet always finds one.
type Dataset struct {
	path    string
	options Options
	workers chan *scratch // for all Writers together
}

const (
	// ownFolder marks a dataset of many traces.
	ownFolder = "_tpconvert"
	partition = "trace_id="
	// noTrace is no id of a trace.
	noTrace = "_empty"
)

// traceID is what names a trace: a word that is safe in paths.
var traceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)

// CheckTraceID returns an ErrOption unless the text can name a trace.
func CheckTraceID(id string) error {
	if traceID.MatchString(id) {
		return nil
	}
	return fmt.Errorf("trace id %q: %w: want letters, digits, dots, dashes and underscores, at most 128 and first a letter or a digit",
		id, ErrOption)
}

// isMany reports whether a folder is a dataset of many traces.
func isMany(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ownFolder))
	return err == nil && info.IsDir()
}

// OpenDataset opens the dataset at dir, or begins one if there is nothing yet or
// an empty folder. What killed runs left is removed.
func OpenDataset(dir string, o Options) (*Dataset, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Format != Parquet {
		return nil, fmt.Errorf("format %q: %w: a dataset of many traces is Parquet", o.Format, ErrOption)
	}
	d := &Dataset{path: dir, options: o, workers: newWorkers(o.Jobs)}
	entries, err := os.ReadDir(dir)
	if err != nil && exists(dir) {
		return nil, fmt.Errorf("%s exists and is %w: %w", dir, ErrForeign, err)
	}
	if len(entries) > 0 && !isMany(dir) {
		return nil, fmt.Errorf("%s exists and is %w of many traces", dir, ErrForeign)
	}
	if old, _ := filepath.Glob(filepath.Join(pattern(d.own()), "*.json")); len(old) > 0 {
		return nil, fmt.Errorf("%s is of an older version of tpconvert: convert its traces again, into another folder", dir)
	}
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = Sweep(d.own("tmp"), "", func(path string) (string, error) {
		m, err := readManifest(filepath.Join(path, manifestName))
		if err != nil {
			return "", err
		}
		return d.folder(m.TraceID), nil
	})
	if err != nil {
		return nil, targetError(d.path, err)
	}
	return d, nil
}

// own is a path in the folder that has everything but traces.
func (d *Dataset) own(names ...string) string {
	return filepath.Join(append([]string{d.path, ownFolder}, names...)...)
}

// folder is the place of a trace.
func (d *Dataset) folder(trace string) string { return filepath.Join(d.path, partition+trace) }

// Has reports whether the trace is in the dataset.
func (d *Dataset) Has(trace string) bool { return exists(d.folder(trace)) }

// Manifest reads that of a trace.
func (d *Dataset) Manifest(trace string) (*Manifest, error) {
	return readManifest(filepath.Join(d.folder(trace), manifestName))
}

// Manifests reads those of the traces that are in the dataset.
func (d *Dataset) Manifests() ([]*Manifest, error) {
	all, _, err := ReadManifests(d.path)
	return all, err
}

// ReadManifests reads the manifests of a dataset: of its one trace, or of each of
// many. It tells which of the two it is.
func ReadManifests(dir string) (all []*Manifest, many bool, err error) {
	if !isMany(dir) {
		m, err := readManifest(filepath.Join(dir, manifestName))
		if err != nil {
			return nil, false, err
		}
		return []*Manifest{m}, false, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, true, err
	}
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), partition)
		if !ok || id == noTrace {
			continue
		}
		m, err := readManifest(filepath.Join(dir, e.Name(), manifestName))
		if err != nil {
			return nil, true, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		all = append(all, m)
	}
	return all, true, nil
}

// Create begins a trace. The manifest that it is committed with names it.
func (d *Dataset) Create() (*Writer, error) {
	s, err := d.stage()
	if err != nil {
		return nil, err
	}
	return newWriter(d.options, d, s, d.workers), nil
}

// stage makes a folder that no pattern for tables finds. Another run may just have
// removed the one around it, because that was empty.
func (d *Dataset) stage() (*Stage, error) {
	for {
		if err := os.MkdirAll(d.own("tmp"), 0o777); err != nil {
			return nil, targetError(d.path, err)
		}
		s, err := NewStage(d.own("tmp"), "")
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
}

// Close removes the folders of a dataset that no trace was committed to, unless
// others are at work in them.
func (d *Dataset) Close() {
	unlock, err := d.lock()
	if err != nil {
		return
	}
	defer unlock()
	d.removeUnused()
}

// removeUnused removes the folders if no trace was committed and nobody is at work in them.
func (d *Dataset) removeUnused() {
	if d.Has(noTrace) || os.Remove(d.own("tmp")) != nil {
		return
	}
	_ = os.RemoveAll(d.own("failed"))
	_ = os.Remove(d.own())
	_ = os.Remove(d.path)
}

func (d *Dataset) admit(m *Manifest) error {
	if err := CheckTraceID(m.TraceID); err != nil {
		return err
	}
	if d.Has(m.TraceID) && !d.options.Force {
		return fmt.Errorf("trace %s in %s %w", m.TraceID, d.path, ErrExists)
	}
	return nil
}

// lock keeps others from changing which traces there are until unlock is called.
func (d *Dataset) lock() (unlock func() error, err error) {
	for {
		if err := os.MkdirAll(d.own("tmp"), 0o777); err != nil {
			return nil, targetError(d.path, err)
		}
		f, err := lockFolder(d.own(), true)
		switch {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, errLocked): // another run removed the folder meanwhile
			d.removeUnused()
			return nil, targetError(d.path, err)
		}
	}
}

func (d *Dataset) partitioned() bool { return true }

// publish puts the trace in its place, after the tables without rows if it is the
// first.
func (d *Dataset) publish(folder string, m *Manifest) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.admit(m); err != nil {
		return err
	}
	if err := d.addEmptyTables(); err != nil {
		return err
	}
	if err := install(folder, d.folder(m.TraceID)); err != nil {
		return targetError(d.path, err)
	}
	return nil
}

// addEmptyTables writes the files of trace_id=_empty, if there are none.
func (d *Dataset) addEmptyTables() error {
	if d.Has(noTrace) {
		return nil
	}
	s, err := d.stage()
	if err != nil {
		return err
	}
	defer s.Remove()
	o := d.options
	o.Tables = nil
	w := newWriter(o, d, s, d.workers)
	w.bare = true
	if err := w.finish(&Manifest{TraceID: noTrace}); err != nil {
		return err
	}
	if err = syncFolder(s.Path); err == nil {
		err = install(s.Path, d.folder(noTrace))
	}
	if err != nil {
		return targetError(d.path, err)
	}
	return nil
}

// AddSource notes that a trace of the dataset has another source with the same
// content.
func (d *Dataset) AddSource(trace string, source Source) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	m, err := d.Manifest(trace)
	if err != nil {
		return err
	}
	if !m.addSource(source) {
		return nil
	}
	s, err := d.stage()
	if err != nil {
		return err
	}
	w := newWriter(d.options, d, s, d.workers)
	defer w.Abort() // which removes the folder
	if out := w.outputs[traceTable]; out != nil {
		tables := m.Tables
		if err := w.describe(m); err != nil {
			return err
		}
		if err := w.finish(m); err != nil {
			return err
		}
		if i := slices.IndexFunc(tables, func(t Table) bool { return t.Name == traceTable }); i >= 0 {
			tables[i] = m.Tables[0]
			if err := os.Rename(out.path, filepath.Join(d.folder(trace), tables[i].File)); err != nil {
				return targetError(d.path, err)
			}
		}
		m.Tables = tables
	}
	draft := filepath.Join(s.Path, manifestName)
	if err = m.write(draft); err == nil {
		err = os.Rename(draft, filepath.Join(d.folder(trace), manifestName))
	}
	if err != nil {
		return targetError(d.path, err)
	}
	return nil
}

// failure is a file in `_tpconvert/failed`.
type failure struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Failed notes that a source could not be converted, or, if err is nil, that it
// could.
func (d *Dataset) Failed(path string, err error) error {
	digest := sha256.Sum256([]byte(path))
	file := d.own("failed", hex.EncodeToString(digest[:8])+".json")
	if err == nil {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return targetError(d.path, err)
		}
		return nil
	}
	text, err := json.MarshalIndent(failure{path, err.Error()}, "", "  ")
	if err == nil {
		err = os.MkdirAll(d.own("failed"), 0o777)
	}
	if err == nil {
		err = writeWhole(file, append(text, '\n'))
	}
	if err != nil {
		return targetError(d.path, err)
	}
	return nil
}

// pattern makes a path one that only it matches.
func pattern(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}
