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
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/export/staging"
)

// Catalog is the catalog of a lake in a folder: a SQLite database with the tables of Iceberg's JDBC catalog, which
// PyIceberg and Spark read, too. It commits to several tables in one transaction of SQLite. With the same transaction, it
// notes the files of each table, which export.LakeFiles lists for those who read no Iceberg.
type Catalog struct {
	db   *sql.DB
	turn *sql.DB // whose lock is the turn of a transaction
	root string  // URL of the folder

	mu      sync.Mutex
	open    *sql.Tx  // of Together, or nil
	waiting []change // for its end
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
		CREATE TABLE IF NOT EXISTS tpfleet_known (namespace TEXT NOT NULL, table_name TEXT NOT NULL, metadata_location TEXT NOT NULL, PRIMARY KEY (namespace, table_name));
		CREATE TABLE IF NOT EXISTS tpfleet_data (namespace TEXT NOT NULL, table_name TEXT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (namespace, table_name, url)) WITHOUT ROWID;
		DROP TABLE IF EXISTS tpfleet_state;
		DROP TABLE IF EXISTS tpfleet_file; -- of older versions, which did not tell namespaces apart`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close(), turn.Close())
	}
	c := &Catalog{db: db, turn: turn, root: fileScheme + filepath.ToSlash(folder)}
	return c, c.refresh(ctx)
}

func (c *Catalog) CreateNamespace(ctx context.Context, namespace table.Identifier, _ iceberg.Properties) error {
	name := strings.Join(namespace, ".")
	if url.PathEscape(name) != name || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%q cannot be the name of a folder, which that of a namespace is", name)
	}
	return c.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO iceberg_namespace_properties VALUES (?, ?, 'exists', 'true') ON CONFLICT DO NOTHING", catalogName, name)
		return err
	})
}

// Together makes one transaction of all that do does with the catalog, which nobody else uses meanwhile.
func (c *Catalog) Together(ctx context.Context, do func() error) error {
	err := c.write(ctx, func(tx *sql.Tx) error {
		c.open = tx
		defer func() { c.open, c.waiting = nil, nil }()
		if err := do(); err != nil {
			return err
		}
		return keep(c.root, c.waiting)
	})
	if err != nil {
		return err
	}
	return c.list(ctx)
}

// Place returns the location of a table, where no other table has files.
func (c *Catalog) Place(t table.Identifier) string {
	return c.root + "/" + namespaceOf(t) + "/" + catalog.TableNameFromIdent(t)
}

func namespaceOf(t table.Identifier) string { return strings.Join(catalog.NamespaceFromIdent(t), ".") }

// where selects the row of a table.
const where = " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"

func key(t table.Identifier) []any {
	return []any{catalogName, namespaceOf(t), catalog.TableNameFromIdent(t)}
}

func (c *Catalog) LoadTable(ctx context.Context, t table.Identifier) (*table.Table, error) {
	for before := ""; ; {
		var location string
		err := c.find(ctx, t, &location)
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

// find returns where the metadata of a table are.
func (c *Catalog) find(ctx context.Context, t table.Identifier, location *string) error {
	const query = "SELECT metadata_location FROM iceberg_tables" + where
	if c.open == nil {
		return c.db.QueryRowContext(ctx, query, key(t)...).Scan(location)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open.QueryRowContext(ctx, query, key(t)...).Scan(location)
}

func (c *Catalog) CreateTable(ctx context.Context, t table.Identifier, schema *iceberg.Schema, options ...catalog.CreateTableOpt) (*table.Table, error) {
	var config catalog.CreateTableCfg
	for _, o := range options {
		o(&config)
	}
	metadata, err := table.NewMetadata(schema, config.PartitionSpec, config.SortOrder, c.Place(t), config.Properties)
	if err != nil {
		return nil, err
	}
	location, err := c.stage(metadata, 0)
	if err != nil {
		return nil, err
	}
	err = c.keep(change{after: location})
	if err == nil {
		err = c.enter(ctx, t, location)
	}
	if err != nil {
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
	written        []string // manifests and lists of them
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
	if err := c.apply(ctx, changes); err != nil || c.open != nil {
		return err
	}
	for _, change := range changes {
		for _, file := range change.superfluous {
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
	c.written = append(c.written, s.ManifestList)
	for _, m := range manifests {
		if m.SnapshotID() != s.SnapshotID {
			continue
		}
		c.written = append(c.written, m.FilePath())
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
	for _, change := range changes {
		_ = os.Remove(Path(change.after))
	}
}

// apply makes changes visible, all at once. They are refused and discarded if a table is no longer as it was.
func (c *Catalog) apply(ctx context.Context, changes []change) error {
	err := c.keep(changes...)
	if err != nil {
		discard(changes...)
		return err
	}
	err = c.write(ctx, func(tx *sql.Tx) error {
		for _, change := range changes {
			updated, err := tx.ExecContext(ctx, "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = metadata_location"+where+" AND metadata_location = ?",
				slices.Concat([]any{change.after}, key(change.table), []any{change.before})...)
			if err != nil {
				return err
			}
			if n, err := updated.RowsAffected(); err != nil || n != 1 {
				return cmp.Or(err, table.ErrCommitFailed)
			}
			if err := c.note(ctx, tx, &change); err != nil {
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
	if c.open != nil {
		return nil
	}
	if err := c.list(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w: %w", ErrList, err)
	}
	return nil
}

// keep puts what changes name on the disk before the transaction.
func (c *Catalog) keep(changes ...change) error {
	if c.open == nil {
		return keep(c.root, changes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, changes...)
	return nil
}

// keep puts what changes name on the disk, the files and then their folders, so that no transaction outlives them.
func keep(root string, changes []change) error {
	var files errgroup.Group
	files.SetLimit(atOnce)
	folders := map[string]bool{}
	for _, change := range changes {
		for _, name := range slices.Concat(change.added, change.written, []string{change.after}) {
			file := Path(name)
			files.Go(func() error { return staging.Sync(file) })
			for dir := filepath.Dir(file); len(dir) >= len(Path(root)); dir = filepath.Dir(dir) {
				folders[dir] = true
			}
		}
	}
	err := files.Wait()
	for dir := range folders {
		if err == nil {
			err = staging.Sync(dir)
		}
	}
	return err
}

// atOnce is the number of files that are written to the disk at the same time.
const atOnce = 16

// write runs a transaction that other processes wait for, or a part of that of Together.
func (c *Catalog) write(ctx context.Context, do func(tx *sql.Tx) error) error {
	if c.open != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return do(c.open)
	}
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
func (c *Catalog) note(ctx context.Context, tx *sql.Tx, change *change) error {
	namespace, name := namespaceOf(change.table), catalog.TableNameFromIdent(change.table)
	var known string
	err := tx.QueryRowContext(ctx, "SELECT metadata_location FROM tpfleet_known WHERE namespace = ? AND table_name = ?", namespace, name).Scan(&known)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	removed, added := change.removed, change.added
	if known != change.before {
		if _, err := tx.ExecContext(ctx, "DELETE FROM tpfleet_data WHERE namespace = ? AND table_name = ?", namespace, name); err != nil {
			return err
		}
		removed = nil
		if added, err = currentFiles(ctx, change.table, change.after); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		sql   string
		files []string
	}{{"DELETE FROM tpfleet_data WHERE namespace = ? AND table_name = ? AND url = ?", removed}, {"INSERT OR REPLACE INTO tpfleet_data VALUES (?, ?, ?)", added}} {
		for _, file := range step.files {
			if _, err := tx.ExecContext(ctx, step.sql, namespace, name, file); err != nil {
				return err
			}
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO tpfleet_known VALUES (?, ?, ?)", namespace, name, change.after)
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

// refresh notes the files of the tables that another program changed, and writes the list of files if it is not that of this state: the
// process that should have may have been killed.
func (c *Catalog) refresh(ctx context.Context) error {
	var now string
	err := c.write(ctx, func(tx *sql.Tx) error {
		changed, err := changedByOthers(ctx, tx)
		for i := range changed {
			if err == nil {
				err = c.note(ctx, tx, &changed[i])
			}
		}
		if err == nil {
			now, err = state(ctx, tx)
		}
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

// changedByOthers returns the tables whose files are not known.
func changedByOthers(ctx context.Context, tx *sql.Tx) (changed []change, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT t.table_namespace, t.table_name, t.metadata_location FROM iceberg_tables AS t
		LEFT JOIN tpfleet_known AS k ON k.namespace = t.table_namespace AND k.table_name = t.table_name
		WHERE t.catalog_name = ? AND k.metadata_location IS NOT t.metadata_location`, catalogName)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var namespace, name, location string
		if err := rows.Scan(&namespace, &name, &location); err != nil {
			return nil, err
		}
		changed = append(changed, change{table: append(strings.Split(namespace, "."), name), before: location, after: location})
	}
	return changed, rows.Err()
}

// list writes the list of files. Whoever comes last writes the last state.
func (c *Catalog) list(ctx context.Context) error {
	return c.write(ctx, func(tx *sql.Tx) error {
		list := export.LakeFiles{Namespaces: map[string]map[string][]string{}}
		var err error
		if list.State, err = state(ctx, tx); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT namespace, table_name, url FROM tpfleet_known LEFT JOIN tpfleet_data USING (namespace, table_name) ORDER BY 1, 2, 3")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var namespace, name string
			var file sql.NullString
			if err := rows.Scan(&namespace, &name, &file); err != nil {
				return err
			}
			if list.Namespaces[namespace] == nil {
				list.Namespaces[namespace] = map[string][]string{}
			}
			if file.Valid {
				list.Namespaces[namespace][name] = append(list.Namespaces[namespace][name], strings.TrimPrefix(file.String, c.root+"/"))
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return list.Write(Path(c.root))
	})
}

// state identifies the state of all tables.
func state(ctx context.Context, tx *sql.Tx) (string, error) {
	var all sql.NullString
	err := tx.QueryRowContext(ctx, "SELECT group_concat(metadata_location) FROM (SELECT metadata_location FROM tpfleet_known ORDER BY namespace, table_name)").Scan(&all)
	sum := sha256.Sum256([]byte(all.String))
	return hex.EncodeToString(sum[:8]), err
}

const fileScheme = "file://"

// Path returns the path of a file: URL.
func Path(location string) string {
	return filepath.FromSlash(strings.TrimPrefix(location, fileScheme))
}
