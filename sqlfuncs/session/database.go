// Package session opens datasets, and DuckDB files made from them, for SQL: DuckDB's, or PerfettoSQL on SQLite.
package session

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/sqlfuncs"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Database is a connection to a DuckDB database in memory that a file or dataset is attached to.
type Database struct {
	Conn    *sql.Conn
	Catalog *sqlfuncs.Catalog // of the attached dataset; nil for a file

	db    *sql.DB
	maker *sql.Conn // creates the objects in the catalog, or nil
}

// attached is the name under which databases are attached.
const attached = "dataset"

// OpenDatabase opens an empty database.
func OpenDatabase(ctx context.Context) (*Database, error) {
	db, err := newDatabase()
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Database{Conn: conn, db: db}, nil
}

// Close closes the database.
func (d *Database) Close() error {
	err := d.Conn.Close()
	if d.maker != nil {
		err = errors.Join(err, d.maker.Close())
	}
	return errors.Join(err, d.db.Close())
}

// Exec runs statements one after the other.
func (d *Database) Exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.Conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Texts returns the values of the only column of a query with arguments.
func (d *Database) Texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	rows, err := d.Conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// Attach attaches a DuckDB file, or an empty database if path is "". Relative paths in the file start at its folder.
func (d *Database) Attach(ctx context.Context, path, options string) error {
	from := path
	if path == "" {
		from = ":memory:"
	}
	err := d.Exec(ctx,
		"SET file_search_path = "+sqltext.QuoteText(filepath.Dir(from)),
		fmt.Sprintf("ATTACH %s AS %s %s", sqltext.QuoteText(from), attached, options))
	switch {
	case err == nil:
		return d.Exec(ctx, "USE "+attached)
	case strings.Contains(err.Error(), "Could not set lock"):
		return fmt.Errorf("%s is locked by another process: close it there first", path)
	case strings.Contains(err.Error(), "not a valid DuckDB database file"):
		return fmt.Errorf("%s is not a DuckDB file", path)
	}
	return err
}

// attachCatalog attaches an empty database. The catalog creates tables, views and macros in it when they are needed,
// on its own connection, because names in them must only refer to the dataset.
func (d *Database) attachCatalog(ctx context.Context, catalog *sqlfuncs.Catalog) error {
	err := d.Attach(ctx, "", "")
	if err != nil {
		return err
	}
	if d.maker, err = d.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := d.maker.ExecContext(ctx, "USE "+attached); err != nil {
		return err
	}
	d.Catalog = catalog
	return catalog.CreateOn(ctx, d.maker)
}

// parquetFolders returns the folders of the Parquet files that the attached database reads. Their paths may be relative
// to folder or to the working folder, which DuckDB searches too.
func (d *Database) parquetFolders(ctx context.Context, folder string) ([]string, error) {
	paths, err := d.Texts(ctx, `
		SELECT regexp_extract(sql, 'read_parquet\(\[?''((?:[^'']|'''')*)''', 1) AS path
		FROM duckdb_views() WHERE database_name = '`+attached+`' AND path <> ''`)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, path := range paths {
		path = filepath.Dir(path)
		if filepath.Base(path) == schema.DerivedFolder {
			path = filepath.Dir(path)
		}
		if filepath.Base(path) == "trace_id=*" { // a dataset of many traces
			path = filepath.Dir(path)
		}
		path = strings.NewReplacer("''", "'", "[*]", "*", "[?]", "?", "[[]", "[").Replace(path)
		found[path] = true
		if !filepath.IsAbs(path) {
			found[filepath.Join(folder, path)] = true
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// Detach closes what Attach opened.
func (d *Database) Detach(ctx context.Context) error {
	return d.Exec(ctx, "USE memory", "DETACH "+attached)
}
