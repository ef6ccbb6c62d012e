package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dataset is a dataset of many traces. Each has a Writer, and they may be at
// work side by side, in several processes too.
type Dataset struct {
	path    string
	options Options
	workers chan *scratch // for all Writers together
}

// traceID is what names a trace: a word that is safe in paths.
var traceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// OpenDataset opens the dataset at dir, or begins one if there is nothing yet
// or an empty folder. What killed runs left of a trace is completed if it was
// about to be published, and removed if not.
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
	if info, err := os.Stat(d.own()); len(entries) > 0 && (err != nil || !info.IsDir()) {
		return nil, fmt.Errorf("%s exists and is %w of many traces", dir, ErrForeign)
	}
	if err := os.MkdirAll(d.own("tmp"), 0o777); err != nil {
		return nil, targetError(d.path, err)
	}
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = sweep(d.own("tmp"), "", func(path string) error {
		m, err := readManifest(filepath.Join(path, manifestName))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return d.move(path, m)
	})
	if err != nil {
		return nil, targetError(d.path, err)
	}
	return d, nil
}

// own is a path in the folder that has everything but tables.
func (d *Dataset) own(names ...string) string {
	return filepath.Join(append([]string{d.path, "_tpconvert"}, names...)...)
}

// Has reports whether the trace is in the dataset.
func (d *Dataset) Has(trace string) bool { return exists(d.own(trace + ".json")) }

// Create begins a trace. The manifest that it is committed with names it.
func (d *Dataset) Create() (*Writer, error) {
	s, err := newStage(d.own("tmp"), "")
	if err != nil {
		return nil, err
	}
	return newWriter(d.options, d, s, d.workers), nil
}

// Close removes the folders of a dataset that no trace was committed to.
func (d *Dataset) Close() {
	for _, path := range []string{d.own("tmp"), d.own(), d.path} {
		if os.Remove(path) != nil {
			return
		}
	}
}

func (d *Dataset) admit(m *Manifest) error {
	if !traceID.MatchString(m.TraceID) {
		return fmt.Errorf("trace id %q: %w: want letters, digits, dots, dashes and underscores", m.TraceID, ErrOption)
	}
	if d.Has(m.TraceID) && !d.options.Force {
		return fmt.Errorf("trace %s in %s %w", m.TraceID, d.path, ErrExists)
	}
	return nil
}

// lock keeps others from publishing until unlock is called.
func (d *Dataset) lock() (unlock func() error, err error) {
	f, err := os.Open(d.own())
	if err == nil {
		if err = lock(f, true); err == nil {
			return f.Close, nil
		}
		f.Close()
	}
	return nil, targetError(d.path, err)
}

// partition is the folder of a table's files of a trace.
func partition(m *Manifest) string { return "trace_id=" + m.TraceID }

func (d *Dataset) file(table, format string, m *Manifest) string {
	return table + "/" + partition(m) + "/part-0." + format
}

// publish moves the files of a trace one by one and its manifest last. A trace
// that is replaced, or cannot be moved whole, is withdrawn.
func (d *Dataset) publish(folder string, m *Manifest) error {
	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.admit(m); err != nil {
		return err
	}
	if err := d.move(folder, m); err != nil {
		return errors.Join(targetError(d.path, err), d.withdraw(&Manifest{TraceID: m.TraceID}))
	}
	return nil
}

// move may be repeated until it succeeds.
func (d *Dataset) move(folder string, m *Manifest) error {
	if err := d.withdraw(m); err != nil {
		return err
	}
	for _, t := range m.Tables {
		to := filepath.Join(d.path, filepath.FromSlash(t.File))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		err := os.Rename(filepath.Join(folder, t.Name+"."+d.options.Format), to)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && exists(to)) {
			return err
		}
		if err := errors.Join(syncFolder(filepath.Dir(to)), syncFolder(filepath.Join(d.path, t.Name))); err != nil {
			return err
		}
	}
	return errors.Join(
		os.Rename(filepath.Join(folder, manifestName), d.own(m.TraceID+".json")),
		syncFolder(d.path), syncFolder(d.own()))
}

// withdraw removes a trace from the tables that are not in the manifest, and
// its own manifest.
func (d *Dataset) withdraw(m *Manifest) error {
	tables, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(d.own(m.TraceID + ".json")); err != nil {
		return err
	}
	for _, t := range tables {
		name := t.Name()
		if !t.IsDir() || strings.HasPrefix(name, "_") || slices.ContainsFunc(m.Tables, func(t Table) bool { return t.Name == name }) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.path, name, partition(m))); err != nil {
			return err
		}
		os.Remove(filepath.Join(d.path, name)) // if it was the last trace with rows
	}
	return nil
}
