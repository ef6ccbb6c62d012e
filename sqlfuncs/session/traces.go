package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
)

// Traces are the traces of a dataset of many, or of packed tables.
type Traces struct {
	IDs   []string
	Ranks map[string]int64 // of the traces of a job by id, all of them or none

	names  map[string]string // of the trace files by id; empty for packed tables
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
	t := &Traces{folder: folder, names: map[string]string{}}
	for _, m := range manifests {
		t.IDs = append(t.IDs, m.TraceID)
		t.names[m.TraceID] = m.Input.Name
	}
	t.Ranks = ranksOf(manifests)
	return t, nil
}

// ranksOf returns the ranks of the traces of a job, or nil if they are not those of one.
func ranksOf(manifests []*export.Manifest) map[string]int64 {
	ranks, ids := map[string]int64{}, map[int64]string{}
	for _, m := range manifests {
		if m.Rank == nil || ids[*m.Rank] != "" {
			return nil
		}
		ranks[m.TraceID], ids[*m.Rank] = *m.Rank, m.TraceID
	}
	return ranks
}

// Folder returns the folder of the trace with this id or name.
func (t *Traces) Folder(wanted string) (string, error) {
	if t.packed != nil {
		return "", fmt.Errorf("%s has packed tables, without a folder for each trace", t.folder)
	}
	id, err := FindTrace(t.folder, wanted, t.IDs, t.names)
	return t.folderOf(id), err
}

func (t *Traces) folderOf(id string) string { return filepath.Join(t.folder, "trace_id="+id) }

// Several returns the error for an input that must be one trace.
func (t *Traces) Several() error {
	err := fmt.Errorf("%s has several traces: %s", t.folder, ListTraces(t.IDs, t.names))
	if t.packed == nil && len(t.IDs) > 0 {
		err = fmt.Errorf("%w; name one by its folder, such as %s", err, t.folderOf(t.IDs[0]))
	}
	return err
}

// FindTrace returns the id of the trace with this id or name, among all traces of an input and their names.
func FindTrace(input, wanted string, ids []string, names map[string]string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == wanted {
			return id, nil
		}
		if name := names[id]; name == wanted || path.Base(filepath.ToSlash(name)) == wanted {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s has no trace %s, only %s", input, wanted, ListTraces(ids, names))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s has several traces with the name %s: %s", input, wanted, ListTraces(found, names))
}

// ListTraces names the first few traces, and says how many more there are.
func ListTraces(ids []string, names map[string]string) string {
	const most = 10
	var all []string
	for _, id := range ids[:min(len(ids), most)] {
		if name := names[id]; name != "" {
			id = name + " (" + id + ")"
		}
		all = append(all, id)
	}
	text := strings.Join(all, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// OpenTrace makes the tables of one of the traces available.
func (s *Session) OpenTrace(ctx context.Context, traces *Traces, id string) error {
	if traces.packed == nil {
		return s.OpenFolder(ctx, traces.folderOf(id), id)
	}
	if s.options.Perfetto {
		return s.openTables(tables.NewDataset(traces.packed.opener(id)))
	}
	return s.register(ctx, traces.packed.dataset(id))
}
