package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// Derivation is a query whose rows `tpconvert derive` added to a dataset.
type Derivation struct {
	Kind    string `json:"kind"` // events, annotations or alerts
	Name    string `json:"name"`
	Dialect string `json:"dialect"` // of the query: duckdb or perfetto
	Query   string `json:"query"`
	Track   string `json:"track,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Level   string `json:"level,omitempty"`
	Text    string `json:"text,omitempty"`
	Link    string `json:"link,omitempty"`
	Rows    int64  `json:"rows"` // of the query
}

// Extension adds rows to the tables of a trace in a dataset, in files of their own. Those that the conversion wrote stay.
//
// An Extension is a table.Sink for the new rows. Commit or Abort ends it.
type Extension struct {
	*Writer
	// Manifest describes the trace without any additions.
	Manifest *Manifest
	// Earlier are the additions that the trace has now. Commit replaces them.
	Earlier []Derivation
	// Folder is a dataset of the trace without any additions.
	Folder string

	target string
	found  []byte // the manifest in the target
	lock   io.Closer
}

// Extend begins to replace the additions to a trace of the dataset at dir. Only one process at a time extends a trace; it
// waits for others. traceID is "" in a dataset of one trace.
func Extend(dir, traceID string, o Options) (*Extension, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Force, o.Tables, o.EmptyTables = true, nil, false
	var to place
	var begin func() (*staging.Stage, error)
	var target string
	if traceID == "" {
		s, parent, prefix, err := openSingle(dir, true)
		if err != nil {
			return nil, err
		}
		to, target = s, s.path
		begin = func() (*staging.Stage, error) { return staging.New(parent, prefix) }
	} else {
		d, err := OpenDataset(dir, o)
		if err != nil {
			return nil, err
		}
		to, target, begin = d, d.folder(traceID), d.stage
	}
	e := &Extension{target: target}
	if err := e.acquire(); err != nil {
		return nil, err
	}
	m := &Manifest{}
	found, err := os.ReadFile(filepath.Join(target, manifestName))
	if err == nil {
		err = json.Unmarshal(found, m)
	}
	if err == nil && m.SchemaVersion != table.SchemaVersion {
		err = fmt.Errorf("%s has schema version %d, this tpconvert extends %d: convert the trace again", dir, m.SchemaVersion, table.SchemaVersion)
	}
	if old := m.check(); err == nil && old != nil {
		err = fmt.Errorf("%s: %w", target, old)
	}
	if err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	stage, err := begin()
	if err != nil {
		return nil, errors.Join(err, e.lock.Close())
	}
	e.Writer, e.Folder, e.found = newWriter(o, to, stage, newWorkers(o.Jobs)), stage.Path, found
	e.extends = true
	for _, out := range e.outputs {
		out.path = filepath.Join(e.Folder, schema.DerivedFolder, filepath.Base(out.path))
	}
	if err := e.restore(m); err != nil {
		return nil, errors.Join(staging.Error(dir, err), e.Abort())
	}
	return e, nil
}

// acquire locks the folder of the trace, which another process may replace meanwhile.
func (e *Extension) acquire() (err error) {
	for {
		if e.lock, err = staging.WaitLock(e.target); !errors.Is(err, staging.ErrLocked) {
			break
		}
		if !staging.Exists(e.target) {
			return fmt.Errorf("%s does not exist", e.target)
		}
	}
	if err != nil {
		return staging.Error(e.target, err)
	}
	return nil
}

// restore makes the stage a dataset without additions, which shares its files with the target.
func (e *Extension) restore(m *Manifest) error {
	e.Manifest, e.Earlier = m, m.Derived
	m.Derived, m.DerivedTables = nil, nil
	for _, t := range m.Tables {
		from, to := filepath.Join(e.target, t.File), filepath.Join(e.Folder, t.File)
		if os.Link(from, to) == nil {
			continue
		}
		if err := copyFile(from, to); err != nil { // the file system may not have links
			return err
		}
	}
	return m.write(filepath.Join(e.Folder, manifestName))
}

// copyFile copies a file.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", from, err), out.Close())
	}
	return staging.CloseSynced(out)
}

// Rows returns the number of rows that a table has without additions.
func (e *Extension) Rows(name string) int64 {
	if i := slices.IndexFunc(e.Manifest.Tables, func(t Table) bool { return t.Name == name }); i >= 0 {
		return e.Manifest.Tables[i].Rows
	}
	return 0
}

// Chunk queues a chunk of new rows, as Writer.Chunk does.
func (e *Extension) Chunk(c *table.Chunk) error {
	if err := os.MkdirAll(filepath.Join(e.Folder, schema.DerivedFolder), 0o777); err != nil {
		return err
	}
	return e.Writer.Chunk(c)
}

// Commit puts the dataset with the added rows in place, at once for all tables. all are the queries that gave them.
func (e *Extension) Commit(all []Derivation) error {
	defer e.Abort()
	e.running.Wait()
	if e.err != nil {
		return e.err
	}
	added := &Manifest{TraceID: e.Manifest.TraceID}
	if err := e.finish(added); err != nil {
		return err
	}
	m := e.Manifest
	m.Derived, m.DerivedTables = all, added.Tables
	for i, t := range m.DerivedTables {
		m.DerivedTables[i].File = path.Join(schema.DerivedFolder, t.File)
	}
	err := m.write(filepath.Join(e.Folder, manifestName))
	if err == nil && len(m.DerivedTables) > 0 {
		err = staging.Sync(filepath.Join(e.Folder, schema.DerivedFolder))
	}
	if err = errors.Join(err, staging.Sync(e.Folder)); err != nil {
		return staging.Error(e.target, err)
	}
	if now, err := os.ReadFile(filepath.Join(e.target, manifestName)); err != nil || !bytes.Equal(now, e.found) {
		return staging.Error(e.target, errors.New("it was changed meanwhile"))
	}
	return e.place.publish(e.Folder, m)
}

// Abort discards everything written so far. After Commit it does nothing.
func (e *Extension) Abort() error { return errors.Join(e.Writer.Abort(), e.lock.Close()) }
