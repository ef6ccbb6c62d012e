package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model/table"
	"github.com/tpconvert/tpconvert/sqlfuncs"
)

// database is a connection to a DuckDB database in memory, to which a file or dataset is attached.
type database struct {
	db   *sql.DB
	conn *sql.Conn
}

// attached is the name under which databases are attached.
const attached = "dataset"

func openDatabase(ctx context.Context) (*database, error) {
	db, err := newDatabase()
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{db, conn}, nil
}

func (d *database) Close() error { return errors.Join(d.conn.Close(), d.db.Close()) }

// exec runs statements one after the other.
func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// attach attaches a DuckDB file, or an empty database if path is "". Relative paths in the file are taken to be
// relative to its folder.
func (d *database) attach(ctx context.Context, path, options string) error {
	from := path
	if path == "" {
		from = ":memory:"
	}
	err := d.exec(ctx,
		"SET file_search_path = "+sqlText(filepath.Dir(from)),
		fmt.Sprintf("ATTACH %s AS %s %s", sqlText(from), attached, options))
	switch {
	case err == nil:
		return d.exec(ctx, "USE "+attached)
	case strings.Contains(err.Error(), "Could not set lock"):
		return fmt.Errorf("%s is locked by another process: close it there first", path)
	case strings.Contains(err.Error(), "not a valid DuckDB database file"):
		return fmt.Errorf("%s is not a DuckDB file", path)
	}
	return err
}

// parquetFolders returns the folders of the Parquet files that the attached database reads. Their paths may be relative to
// folder, or to the working folder, where DuckDB looks too.
func (d *database) parquetFolders(ctx context.Context, folder string) ([]string, error) {
	rows, err := d.conn.QueryContext(ctx, `
		SELECT regexp_extract(sql, 'read_parquet\(''((?:[^'']|'''')*)''', 1) AS path
		FROM duckdb_views() WHERE database_name = '`+attached+`' AND path <> ''`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return nil, err
		}
		path = filepath.Dir(path)
		if filepath.Base(path) == "trace_id=*" { // of many traces
			path = filepath.Dir(path)
		}
		path = strings.NewReplacer("''", "'", "[*]", "*", "[?]", "?", "[[]", "[").Replace(path)
		found[path] = true
		if !filepath.IsAbs(path) {
			found[filepath.Join(folder, path)] = true
		}
	}
	return slices.Collect(maps.Keys(found)), rows.Err()
}

// detach closes what attach opened.
func (d *database) detach(ctx context.Context) error {
	return d.exec(ctx, "USE memory", "DETACH "+attached)
}

func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// storedDataset is a dataset on disk.
type storedDataset struct {
	path   string // absolute
	layout sqlfuncs.Layout
	tables []string // with files
}

// at describes the dataset to sqlfuncs, with the path by which DuckDB finds it.
func (s *storedDataset) at(path string) sqlfuncs.Dataset {
	return sqlfuncs.Dataset{Path: filepath.ToSlash(path), Layout: s.layout, Tables: s.tables}
}

// openStored reads the manifests of the dataset at path.
func openStored(path string) (*storedDataset, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &storedDataset{path: absolute}
	manifests, many, err := readManifests(path)
	if err != nil {
		return nil, err
	}
	if many {
		s.layout = sqlfuncs.ManyTraces
	}
	for _, m := range manifests {
		if m.SchemaVersion != table.SchemaVersion {
			return nil, fmt.Errorf("%s has schema version %d, this tpconvert reads %d: convert the trace again",
				path, m.SchemaVersion, table.SchemaVersion)
		}
		for _, t := range m.Tables {
			if filepath.Ext(t.File) != "."+export.Parquet {
				return nil, fmt.Errorf("%s has Arrow files, which DuckDB does not read: convert with --format parquet", path)
			}
			if !slices.Contains(s.tables, t.Name) {
				s.tables = append(s.tables, t.Name)
			}
		}
	}
	return s, nil
}
