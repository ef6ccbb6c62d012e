package session

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/tpconvert/tpconvert/export"
)

// Traces are the traces of a dataset of many, or of packed tables.
type Traces struct {
	IDs []string

	folder string
	packed *packedTables // nil for a dataset
}

// ReadTraces returns the traces in a folder, or nil if the path is no folder or a dataset of one trace.
func ReadTraces(ctx context.Context, folder string) (*Traces, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, nil // opening it reports the error
	}
	manifests, many, err := export.ReadManifests(folder)
	if err != nil && !many {
		packed, packedErr := readPacked(ctx, folder)
		if packedErr != nil || packed == nil {
			return nil, cmp.Or(packedErr, err)
		}
		return &Traces{IDs: packed.ids(), folder: folder, packed: packed}, nil
	}
	if err != nil || !many {
		return nil, err
	}
	t := &Traces{folder: folder}
	for _, m := range manifests {
		t.IDs = append(t.IDs, m.TraceID)
	}
	return t, nil
}

// OpenTrace makes the tables of one of the traces available.
func (s *Session) OpenTrace(ctx context.Context, of *Traces, id string) error {
	if of.packed == nil {
		return s.OpenFolder(ctx, filepath.Join(of.folder, "trace_id="+id), id)
	}
	return s.register(ctx, of.packed.dataset(id))
}
