package inputs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Trace is a file, a dataset, or one of the traces of a dataset of many.
type Trace struct {
	Path string
	ID   string // of one of many, else ""

	dataset *session.Traces
}

// Open makes the tables of one of the traces of a dataset of many available.
func (t Trace) Open(ctx context.Context, s *session.Session) error {
	return s.OpenTrace(ctx, t.dataset, t.ID)
}

// String is the name of the trace.
func (t Trace) String() string {
	if t.ID == "" {
		return t.Path
	}
	return t.Path + " (" + t.ID + ")"
}

// FindTraces returns the traces at a path: a trace, a dataset, or a folder with files of traces, also in its folders.
func FindTraces(ctx context.Context, path string) ([]Trace, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || api.IsTraceFolder(path) {
		return []Trace{{Path: path}}, nil
	}
	traces, err := session.ReadTraces(ctx, path)
	if err == nil && traces != nil {
		var all []Trace
		for _, id := range traces.IDs {
			all = append(all, Trace{path, id, traces})
		}
		return all, nil
	}
	if _, _, err := export.ReadManifests(path); err == nil {
		return []Trace{{Path: path}}, nil
	}
	var all []Trace
	root := filepath.Clean(path) + string(filepath.Separator) // which follows a link
	err = filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(e.Name(), ".") && file != root
		switch {
		case err != nil:
			return err
		case e.IsDir() && hidden:
			return fs.SkipDir
		case e.IsDir() && api.IsTraceFolder(file):
			all = append(all, Trace{Path: file})
			return fs.SkipDir
		case e.Type().IsRegular() && !hidden:
			all = append(all, Trace{Path: file})
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s has no traces", path)
	}
	return all, err
}
