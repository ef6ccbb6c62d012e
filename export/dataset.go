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
	"syscall"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
)

// Dataset is a dataset of many traces. Each trace is a folder `trace_id=<id>`, which a
// single rename puts in place complete; everything else is in `_tpconvert`. Each trace has
// its own Writer. Writers may run side by side, even in several processes.
//
// The folder trace_id=_empty has all tables, without rows, so that a pattern like
// trace_id=*/slice.parquet always matches a file.
type Dataset struct {
	path    string
	options Options
	workers chan *parquet.Scratch // shared by all Writers
}

const (
	// ownFolder marks a dataset of many traces.
	ownFolder = "_tpconvert"
	partition = "trace_id="
	// noTrace is not a valid trace id.
	noTrace = "_empty"
)

// traceID matches trace ids, which are words that are safe in paths.
var traceID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

const maxTraceID = 128 // bytes

// TraceID is the id of the trace whose content has this SHA-256, unless it is given another.
func TraceID(sha256 string) string { return "t_" + sha256[:16] }

// CheckTraceID returns an ErrOption unless the text is a valid trace id.
func CheckTraceID(id string) error {
	if len(id) <= maxTraceID && traceID.MatchString(id) {
		return nil
	}
	return fmt.Errorf("trace id %q: %w: want letters, digits, dots, dashes and underscores, at most %d, beginning with a letter or a digit",
		id, ErrOption, maxTraceID)
}

// isMany reports whether a folder is a dataset of many traces.
func isMany(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, ownFolder))
	return err == nil && info.IsDir()
}

// IsDataset reports whether a folder is a dataset of one or many traces.
func IsDataset(dir string) bool {
	return staging.Exists(filepath.Join(dir, manifestName)) || staging.Exists(filepath.Join(dir, ownFolder))
}

// OpenDataset opens the dataset at dir, or begins one if dir does not exist or is an empty
// folder. It removes the remains of killed runs.
func OpenDataset(dir string, o Options) (*Dataset, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Format != Parquet {
		return nil, fmt.Errorf("format %q: %w: a dataset of many traces must be Parquet", o.Format, ErrOption)
	}
	d := &Dataset{path: dir, options: o, workers: newWorkers(o.Jobs)}
	entries, err := os.ReadDir(dir)
	if err != nil && staging.Exists(dir) {
		return nil, fmt.Errorf("%s exists and is %w: %w", dir, ErrForeign, err)
	}
	if len(entries) > 0 && !isMany(dir) {
		return nil, fmt.Errorf("%s exists and is %w of many traces", dir, ErrForeign)
	}
	if old, _ := filepath.Glob(filepath.Join(pattern(d.own()), "*.json")); len(old) > 0 {
		return nil, fmt.Errorf("%s was written by an older version of tpconvert: convert its traces again, into another folder", dir)
	}
	unlock, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = staging.Sweep(d.own("tmp"), "", func(path string) (string, error) {
		m, err := readManifest(filepath.Join(path, manifestName))
		if err != nil {
			return "", err
		}
		return d.folder(m.TraceID), nil
	})
	if err != nil {
		return nil, staging.Error(d.path, err)
	}
	return d, nil
}

// own returns a path in the folder for everything but traces.
func (d *Dataset) own(names ...string) string {
	return filepath.Join(append([]string{d.path, ownFolder}, names...)...)
}

// folder returns the path of a trace.
func (d *Dataset) folder(trace string) string { return filepath.Join(d.path, partition+trace) }

// Has reports whether the trace is in the dataset.
func (d *Dataset) Has(trace string) bool { return staging.Exists(d.folder(trace)) }

// Manifest reads the manifest of a trace.
func (d *Dataset) Manifest(trace string) (*Manifest, error) {
	return readManifest(filepath.Join(d.folder(trace), manifestName))
}

// Manifests reads the manifests of all traces in the dataset.
func (d *Dataset) Manifests() ([]*Manifest, error) {
	all, _, err := ReadManifests(d.path)
	return all, err
}

// ReadManifests reads the manifests of a dataset: one for a dataset of one trace, else one
// for each of its traces. many reports which of the two it is.
func ReadManifests(dir string) (all []*Manifest, many bool, err error) {
	if !isMany(dir) {
		m, err := readManifest(filepath.Join(dir, manifestName))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			hint := ""
			if info, e := os.Stat(dir); e == nil && info.IsDir() {
				hint = "; if these are traces, convert them first: tpconvert " + dir + " DATASET"
			}
			err = fmt.Errorf("%s is %w: it has no %s%s", dir, ErrForeign, manifestName, hint)
		}
		if err != nil {
			return nil, false, err
		}
		if err := m.check(); err != nil {
			return nil, false, fmt.Errorf("%s: %w", dir, err)
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
		if err == nil {
			err = m.check()
		}
		if err != nil {
			return nil, true, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		all = append(all, m)
	}
	return all, true, nil
}

// Create begins a trace. Its id comes from the manifest passed to Commit.
func (d *Dataset) Create() (*Writer, error) {
	s, err := d.stage()
	if err != nil {
		return nil, err
	}
	return newWriter(d.options, d, s, d.workers).narrow()
}

// stage makes a folder that no pattern for tables matches. It retries because another run
// may have just removed the empty parent folder.
func (d *Dataset) stage() (*staging.Stage, error) {
	for {
		if err := os.MkdirAll(d.own("tmp"), 0o777); err != nil {
			return nil, staging.Error(d.path, err)
		}
		s, err := staging.New(d.own("tmp"), "")
		if !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
}

// Close removes the folders of a dataset without traces, unless other runs are using them.
func (d *Dataset) Close() {
	unlock, err := d.lock()
	if err != nil {
		return
	}
	defer unlock()
	d.removeUnused()
}

// removeUnused removes the folders if no trace was committed and no run is using them.
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

// lock keeps other runs from adding or replacing traces until unlock is called.
func (d *Dataset) lock() (unlock func() error, err error) {
	for {
		if err := os.MkdirAll(d.own("tmp"), 0o777); err != nil {
			return nil, staging.Error(d.path, err)
		}
		f, err := staging.WaitLock(d.own())
		switch {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, staging.ErrLocked): // staging.ErrLocked: another run has just removed the folder
			d.removeUnused()
			return nil, staging.Error(d.path, err)
		}
	}
}

func (d *Dataset) partitioned() bool { return true }

// publish puts the trace in place. The first trace is preceded by the tables without rows.
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
	if err := staging.Install(folder, d.folder(m.TraceID)); err != nil {
		return staging.Error(d.path, err)
	}
	return nil
}

// addEmptyTables writes the files of trace_id=_empty if they do not exist.
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
	if err = staging.Sync(s.Path); err == nil {
		err = staging.Install(s.Path, d.folder(noTrace))
	}
	if err != nil {
		return staging.Error(d.path, err)
	}
	return nil
}

// AddSource records another source with the same content as a trace of the dataset.
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
	defer w.Abort() // removes the folder
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
			if err := staging.Rename(out.path, filepath.Join(d.folder(trace), tables[i].File)); err != nil {
				return staging.Error(d.path, err)
			}
		}
		m.Tables = tables
	}
	draft := filepath.Join(s.Path, manifestName)
	if err = m.write(draft); err == nil {
		err = staging.Rename(draft, filepath.Join(d.folder(trace), manifestName))
	}
	if err != nil {
		return staging.Error(d.path, err)
	}
	return nil
}

// failure is a file in `_tpconvert/failed`.
type failure struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Failed records that a source could not be converted. If err is nil, it removes that
// record.
func (d *Dataset) Failed(path string, err error) error {
	digest := sha256.Sum256([]byte(path))
	file := d.own("failed", hex.EncodeToString(digest[:8])+".json")
	if err == nil {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return staging.Error(d.path, err)
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
		return staging.Error(d.path, err)
	}
	return nil
}

// pattern escapes a path so that it matches only itself.
func pattern(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}
