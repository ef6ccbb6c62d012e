package sqlfuncs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// ReadDataset reads the manifests of the dataset at path, whose tables may have the rows that derive added. The dataset's Path
// is absolute.
func ReadDataset(path string, derived bool) (*Dataset, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	manifests, many, err := export.ReadManifests(path)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Path: filepath.ToSlash(absolute)}
	if many {
		d.Layout = ManyTraces
		d.Tables = parquetFiles(filepath.Join(path, "trace_id=_empty"))
	}
	for _, m := range manifests {
		if !table.Readable(m.SchemaVersion) {
			return nil, fmt.Errorf("%s has schema version %d, this tpconvert reads %d and %d: convert the trace again",
				path, m.SchemaVersion, table.OldestSchemaVersion, table.SchemaVersion)
		}
		d.Older = d.Older || m.SchemaVersion < table.SchemaVersion
		for _, t := range m.Tables {
			if filepath.Ext(t.File) != "."+export.Parquet {
				return nil, fmt.Errorf("%s has Arrow files, which DuckDB does not read: convert with --format parquet", path)
			}
			if !slices.Contains(d.Tables, t.Name) {
				d.Tables = append(d.Tables, t.Name)
			}
		}
		for _, t := range m.DerivedTables {
			if !slices.Contains(d.Derived, t.Name) {
				d.Derived = append(d.Derived, t.Name)
			}
		}
	}
	d.Derived = seen(d.Derived, derived)
	return d, nil
}

// ReadFolder describes one trace of a dataset of many by the files in its folder, which is absolute.
func ReadFolder(folder, traceID string, derived bool) Dataset {
	d := Dataset{Path: filepath.ToSlash(folder), Tables: parquetFiles(folder), TraceID: traceID}
	d.Derived = seen(parquetFiles(filepath.Join(folder, schema.DerivedFolder)), derived)
	return d
}

// Files returns the paths of the files of a table in a dataset of one trace.
func (d Dataset) Files(table string) (paths []string) {
	folder := filepath.FromSlash(d.Path)
	if slices.Contains(d.Tables, table) {
		paths = append(paths, filepath.Join(folder, table+".parquet"))
	}
	if slices.Contains(d.Derived, table) {
		paths = append(paths, filepath.Join(folder, schema.DerivedFolder, table+".parquet"))
	}
	return paths
}

// seen returns those of the tables with derived rows of which they are seen.
func seen(tables []string, derived bool) []string {
	return slices.DeleteFunc(tables, func(name string) bool { return !derived && !slices.Contains(schema.Additions, name) })
}

// parquetFiles returns the names of the Parquet files in a folder, without their ending. There are none if the folder
// does not exist.
func parquetFiles(folder string) (names []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), "."+export.Parquet); ok {
			names = append(names, name)
		}
	}
	return names
}
