package export

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
)

// single is the target of a dataset of one trace.
type single struct {
	path  string
	force bool
}

// Create begins a dataset of one trace at dir. dir must be missing or an empty
// folder, unless Options.Force is set; its parent must exist. Create removes
// the folders that killed runs left next to dir.
func Create(dir string, o Options) (*Writer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, parent, prefix, err := openSingle(dir, o.Force)
	if err != nil {
		return nil, err
	}
	if err := s.admit(nil); err != nil {
		return nil, err
	}
	stage, err := staging.New(parent, prefix)
	if err != nil {
		return nil, err
	}
	return newWriter(o, s, stage, newWorkers(o.Jobs)).narrow()
}

// openSingle returns the target at dir, and the folder and name prefix of its stages. It removes those of killed runs.
func openSingle(dir string, force bool) (s single, parent, prefix string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return single{}, "", "", staging.Error(dir, err)
	}
	if linked, err := filepath.EvalSymlinks(dir); err == nil {
		dir = linked
	}
	parent, prefix = filepath.Dir(dir), "."+filepath.Base(dir)+".tpconvert-"
	if err := staging.Sweep(parent, prefix, func(string) (string, error) { return dir, nil }); err != nil {
		return single{}, "", "", staging.Error(dir, err)
	}
	if staging.IsMount(dir) {
		return single{}, "", "", staging.Error(dir, errors.New("it is a mount point, which a finished dataset cannot replace: give a folder inside it"))
	}
	return single{dir, force}, parent, prefix, nil
}

// admit checks that the target does not exist or may be replaced.
func (s single) admit(*Manifest) error {
	entries, err := os.ReadDir(s.path)
	switch {
	case err != nil && staging.Exists(s.path): // Windows says of a file that there is no such folder
		return fmt.Errorf("%s exists and is %w: %w", s.path, ErrForeign, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return staging.Error(s.path, err)
	case len(entries) == 0:
		return nil
	case isMany(s.path):
		return fmt.Errorf("%s is %w of one trace but of many: --append adds a trace to it", s.path, ErrForeign)
	}
	m, err := readManifest(filepath.Join(s.path, manifestName))
	if err != nil {
		return fmt.Errorf("%s exists and is %w", s.path, ErrForeign)
	}
	own := map[string]bool{manifestName: true}
	for _, t := range slices.Concat(m.Tables, m.DerivedTables) {
		own[t.File] = true
	}
	derived, _ := os.ReadDir(filepath.Join(s.path, schema.DerivedFolder)) // there are none without the folder
	for _, e := range entries {
		if e.Name() != schema.DerivedFolder && !own[e.Name()] {
			return s.foreign(e.Name())
		}
	}
	for _, e := range derived {
		if name := path.Join(schema.DerivedFolder, e.Name()); !own[name] {
			return s.foreign(name)
		}
	}
	if !s.force {
		return fmt.Errorf("%s %w", s.path, ErrExists)
	}
	return nil
}

// foreign returns the error for a target with a file that is not of the dataset.
func (s single) foreign(name string) error {
	return fmt.Errorf("%s is %w: it also contains %s", s.path, ErrForeign, name)
}

func (s single) partitioned() bool { return false }

func (s single) publish(folder string, m *Manifest) error {
	if err := s.admit(m); err != nil {
		return err
	}
	if err := staging.Install(folder, s.path); err != nil {
		return staging.Error(s.path, err)
	}
	return nil
}
