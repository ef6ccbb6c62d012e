// Package folder has the catalog of a fleet in a folder.
package folder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // the driver

	"github.com/tpconvert/tpconvert/export"
)

// Catalog is the catalog of a lake in a folder: a SQLite database with the tables of Iceberg's JDBC catalog, which
// PyIceberg and Spark read, too. It commits to several tables in one transaction of SQLite. With the same transaction, it
// notes the files of each table, which export.LakeFiles lists for those who read no Iceberg.
type Catalog struct {
	db   *sql.DB
	turn *sql.DB // whose lock is the turn of a transaction
	root string  // URL of the folder
}

// catalogName is what the catalog calls itself in its tables.
const catalogName = "lake"

// turnName is a database without tables.
const turnName = ".turn.db"

// open opens a database. Each process waits for the others, and begins only what it can write.
func open(file string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file), RawQuery: "_pragma=busy_timeout(60000)&_txlock=immediate"}).String())
}

// Open opens the catalog in a folder, which it creates if create is set.
func Open(ctx context.Context, folder string, create bool) (*Catalog, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	// Programs differ in how they read escapes in the URLs of files.
	if slashed := filepath.ToSlash(folder); (&url.URL{Path: slashed}).EscapedPath() != slashed {
		return nil, fmt.Errorf("%s: the path of a lake may not have spaces or other characters that URLs escape", folder)
	}
	file := filepath.Join(folder, export.LakeCatalog)
	if create {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("there is no lake in %s: run \"tpfleet init %s\" first", folder, folder)
	}
	db, err := open(file)
	if err != nil {
		return nil, err
	}
	turn, err := open(filepath.Join(folder, turnName))
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `
		CREATE TABLE IF NOT EXISTS iceberg_tables (
			catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
			metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5),
			PRIMARY KEY (catalog_name, table_namespace, table_name));
		CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
			catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255) NOT NULL, property_value VARCHAR(1000),
			PRIMARY KEY (catalog_name, namespace, property_key));
		CREATE TABLE IF NOT EXISTS tpfleet_state (table_name TEXT PRIMARY KEY, metadata_location TEXT NOT NULL);
		CREATE TABLE IF NOT EXISTS tpfleet_file (table_name TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (table_name, url)) WITHOUT ROWID`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close(), turn.Close())
	}
	c := &Catalog{db, turn, fileScheme + filepath.ToSlash(folder)}
	if create {
		return c, c.refresh(ctx)
	}
	return c, c.catchUp(ctx)
}

func (c *Catalog) CreateNamespace(ctx context.Context, namespace table.Identifier, _ iceberg.Properties) error {
	_, err := c.db.ExecContext(ctx, "INSERT INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true') ON CONFLICT DO NOTHING", catalogName, strings.Join(namespace, "."))
	return err
}

// where selects the row of a table.
const where = " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"

func key(t table.Identifier) []any {
	return []any{catalogName, strings.Join(catalog.NamespaceFromIdent(t), "."), catalog.TableNameFromIdent(t)}
}

func (c *Catalog) LoadTable(ctx context.Context, t table.Identifier) (*table.Table, error) {
	for before := ""; ; {
		var location string
		err := c.db.QueryRowContext(ctx, "SELECT metadata_location FROM iceberg_tables"+where, key(t)...).Scan(&location)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, catalog.ErrNoSuchTable
		}
		if err != nil {
			return nil, err
		}
		loaded, err := table.NewFromLocation(ctx, t, location, icebergio.LoadFSFunc(nil, location), c)
		if !errors.Is(err, fs.ErrNotExist) || location == before {
			return loaded, err
		}
		before = location // later commits may have removed it since
	}
}

func (c *Catalog) CreateTable(ctx context.Context, t table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	var config catalog.CreateTableCfg
	for _, o := range options {
		o(&config)
	}
	location := c.root + "/" + catalog.TableNameFromIdent(t)
	metadata, err := table.NewMetadata(schema, config.PartitionSpec, config.SortOrder, location, config.Properties)
	if err != nil {
		return nil, err
	}
	if location, err = c.stage(metadata, 0); err != nil {
		return nil, err
	}
	if err := c.enter(ctx, t, location); err != nil {
		if !errors.As(err, new(unknown)) {
			discard(change{after: location})
		}
		return nil, err
	}
	return c.LoadTable(ctx, t)
}

// enter adds a new table.
func (c *Catalog) enter(ctx context.Context, t table.Identifier, location string) error {
	return c.write(ctx, func(tx *sql.Tx) error {
		made, err := tx.ExecContext(ctx, "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE') ON CONFLICT DO NOTHING", append(key(t), location)...)
		if err != nil {
			return err
		}
		if n, err := made.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, catalog.ErrTableAlreadyExists)
		}
		return c.note(ctx, tx, &change{table: t, after: location})
	})
}

// stage writes the metadata of a version of a table, and returns their URL.
func (c *Catalog) stage(metadata table.Metadata, version int) (location string, err error) {
	provider, err := table.LoadLocationProvider(metadata.Location(), metadata.Properties())
	if err != nil {
		return "", err
	}
	if location, err = provider.NewTableMetadataFileLocation(version); err != nil {
		return "", err
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		return "", err
	}
	file := Path(location)
	return location, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
}

// change is what a commit does to a table.
type change struct {
	table          table.Identifier
	before, after  string // URLs of the metadata
	added, removed []string
	superfluous    []string // older metadata, removed after the commit
}

// Turn waits until no other transaction has the turn, a minute at most, because that one may be frozen. What it returns ends the turn.
func (c *Catalog) Turn(ctx context.Context) (end func()) {
	tx, err := c.turn.BeginTx(ctx, nil)
	if err != nil {
		return func() {}
	}
	return func() { _ = tx.Rollback() }
}

// CommitTransaction carries out all commits, or none if a table is not as they require.
func (c *Catalog) CommitTransaction(ctx context.Context, commits []table.TableCommit) (err error) {
	changes := make([]change, len(commits))
	for i, commit := range commits {
		if changes[i], _, err = c.prepare(ctx, commit); err != nil {
			discard(changes[:i]...)
			return fmt.Errorf("%s: %w", catalog.TableNameFromIdent(commit.Identifier), err)
		}
	}
	if err := c.apply(ctx, changes); err != nil {
		return err
	}
	for _, of := range changes {
		for _, file := range of.superfluous {
			_ = os.Remove(Path(file))
		}
	}
	return nil
}

// CommitTable carries out a commit of iceberg-go, which removes older metadata itself.
func (c *Catalog) CommitTable(ctx context.Context, t table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	done, metadata, err := c.prepare(ctx, table.TableCommit{Identifier: t, Requirements: requirements, Updates: updates})
	if err != nil {
		return nil, "", err
	}
	if err := c.apply(ctx, []change{done}); err != nil {
		return nil, "", err
	}
	return metadata, done.after, nil
}

// prepare writes the metadata of a table after a commit.
func (c *Catalog) prepare(ctx context.Context, commit table.TableCommit) (done change, after table.Metadata, err error) {
	t, err := c.LoadTable(ctx, commit.Identifier)
	if err != nil {
		return done, nil, err
	}
	for _, r := range commit.Requirements {
		if err := r.Validate(t.Metadata()); err != nil {
			return done, nil, fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
		}
	}
	if after, err = table.UpdateTableMetadata(t.Metadata(), commit.Updates, t.MetadataLocation()); err != nil {
		return done, nil, err
	}
	done = change{table: commit.Identifier, before: t.MetadataLocation()}
	version, _, _ := strings.Cut(path.Base(done.before), "-")
	number, err := strconv.Atoi(version)
	if err != nil {
		return done, nil, fmt.Errorf("%s has no version", done.before)
	}
	files, err := t.FS(ctx)
	if err != nil {
		return done, nil, err
	}
	for _, s := range after.Snapshots() {
		if t.SnapshotByID(s.SnapshotID) != nil {
			continue
		}
		if err := done.files(files, &s); err != nil {
			return done, nil, err
		}
	}
	left := map[string]bool{}
	for m := range after.PreviousFiles() {
		left[m.MetadataFile] = true
	}
	for m := range t.Metadata().PreviousFiles() {
		if !left[m.MetadataFile] {
			done.superfluous = append(done.superfluous, m.MetadataFile)
		}
	}
	done.after, err = c.stage(after, number+1)
	return done, after, err
}

// files adds the files that a snapshot adds and removes.
func (c *change) files(from icebergio.IO, s *table.Snapshot) error {
	manifests, err := s.Manifests(from)
	if err != nil {
		return err
	}
	for _, m := range manifests {
		if m.SnapshotID() != s.SnapshotID {
			continue
		}
		for e, err := range m.Entries(from, false) {
			if err != nil {
				return err
			}
			switch e.Status() {
			case iceberg.EntryStatusADDED:
				c.added = append(c.added, e.DataFile().FilePath())
			case iceberg.EntryStatusDELETED:
				c.removed = append(c.removed, e.DataFile().FilePath())
			}
		}
	}
	return nil
}

// ErrList is wrapped if a commit is done, but not in the list of files, which the next process that opens the catalog writes.
var ErrList = errors.New("the commit is done, but the list of files could not be written")

// discard removes the metadata that were written for changes.
func discard(changes ...change) {
	for _, of := range changes {
		_ = os.Remove(Path(of.after))
	}
}

// apply makes changes visible, all at once. They are refused and discarded if a table is no longer as it was.
func (c *Catalog) apply(ctx context.Context, changes []change) error {
	err := c.write(ctx, func(tx *sql.Tx) error {
		for _, of := range changes {
			updated, err := tx.ExecContext(ctx, "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = metadata_location"+where+" AND metadata_location = ?",
				slices.Concat([]any{of.after}, key(of.table), []any{of.before})...)
			if err != nil {
				return err
			}
			if n, err := updated.RowsAffected(); err != nil || n != 1 {
				return cmp.Or(err, table.ErrCommitFailed)
			}
			if err := c.note(ctx, tx, &of); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if !errors.As(err, new(unknown)) {
			discard(changes...)
		}
		return err
	}
	if err := c.list(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w: %w", ErrList, err)
	}
	return nil
}

// write runs a transaction that other processes wait for.
func (c *Catalog) write(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return unknown{err}
	}
	return nil
}

// unknown is the error of a transaction that may be committed.
type unknown struct{ error }

func (e unknown) Unwrap() error { return e.error }

// note updates the files of a table. If another program changed the table before, they are read anew.
func (c *Catalog) note(ctx context.Context, tx *sql.Tx, of *change) error {
	name := catalog.TableNameFromIdent(of.table)
	var known string
	err := tx.QueryRowContext(ctx, "SELECT metadata_location FROM tpfleet_state WHERE table_name = ?", name).Scan(&known)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	removed, added := of.removed, of.added
	if known != of.before {
		if _, err := tx.ExecContext(ctx, "DELETE FROM tpfleet_file WHERE table_name = ?", name); err != nil {
			return err
		}
		removed = nil
		if added, err = currentFiles(ctx, of.table, of.after); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		sql   string
		files []string
	}{{"DELETE FROM tpfleet_file WHERE table_name = ? AND url = ?", removed}, {"INSERT OR REPLACE INTO tpfleet_file VALUES (?, ?)", added}} {
		for _, file := range step.files {
			if _, err := tx.ExecContext(ctx, step.sql, name, file); err != nil {
				return err
			}
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO tpfleet_state VALUES (?, ?)", name, of.after)
	return err
}

// currentFiles returns the files of a table as its metadata have them.
func currentFiles(ctx context.Context, t table.Identifier, location string) (all []string, err error) {
	at, err := table.NewFromLocation(ctx, t, location, icebergio.LoadFSFunc(nil, location), nil)
	if err != nil {
		return nil, err
	}
	files, err := at.Scan().PlanFiles(ctx)
	for _, f := range files {
		all = append(all, f.File.FilePath())
	}
	return all, err
}

// refresh notes the files of the tables that another program changed.
func (c *Catalog) refresh(ctx context.Context) error {
	err := c.write(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT t.table_namespace, t.table_name, t.metadata_location FROM iceberg_tables AS t
			LEFT JOIN tpfleet_state AS s ON s.table_name = t.table_name WHERE t.catalog_name = ? AND s.metadata_location IS NOT t.metadata_location`, catalogName)
		if err != nil {
			return err
		}
		defer rows.Close()
		var changed []change
		for rows.Next() {
			var namespace, name, location string
			if err := rows.Scan(&namespace, &name, &location); err != nil {
				return err
			}
			changed = append(changed, change{table: append(strings.Split(namespace, "."), name), before: location, after: location})
		}
		for i := range changed {
			if err := c.note(ctx, tx, &changed[i]); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return cmp.Or(err, c.list(ctx))
}

// list writes the list of files. Whoever comes last writes the last state.
func (c *Catalog) list(ctx context.Context) error {
	return c.write(ctx, func(tx *sql.Tx) error {
		list := export.LakeFiles{Tables: map[string][]string{}}
		var err error
		if list.State, err = state(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT table_name, url FROM tpfleet_file ORDER BY table_name, url")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, url string
			if err := rows.Scan(&name, &url); err != nil {
				return err
			}
			list.Tables[name] = append(list.Tables[name], strings.TrimPrefix(url, c.root+"/"))
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return list.Write(Path(c.root))
	})
}

// catchUp writes the list of files if the process that should have was killed.
func (c *Catalog) catchUp(ctx context.Context) error {
	var now string
	err := c.write(ctx, func(tx *sql.Tx) (err error) {
		now, err = state(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	if list, err := export.ReadLakeFiles(Path(c.root)); err == nil && list != nil && list.State == now {
		return nil
	}
	return c.list(ctx)
}

// state identifies the state of all tables.
func state(ctx context.Context, tx *sql.Tx) (string, error) {
	var all sql.NullString
	err := tx.QueryRowContext(ctx, "SELECT group_concat(metadata_location) FROM (SELECT metadata_location FROM tpfleet_state ORDER BY table_name)").Scan(&all)
	sum := sha256.Sum256([]byte(all.String))
	return hex.EncodeToString(sum[:8]), err
}

const fileScheme = "file://"

// Path returns the path of a file: URL.
func Path(location string) string {
	return filepath.FromSlash(strings.TrimPrefix(location, fileScheme))
}
