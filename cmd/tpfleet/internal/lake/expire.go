package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/folder"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
)

// ErrHistory is wrapped if the catalog keeps older states of the tables itself.
var ErrHistory = errors.New("the catalog keeps the history of its tables itself (gc.enabled is false), so that its own tool removes what is old: Nessie's is nessie-gc")

// checkHistory returns ErrHistory if files that no snapshot names may still be reachable.
func checkHistory(t *table.Table) error {
	if t.Properties()[table.GCEnabledKey] == "false" {
		return ErrHistory
	}
	return nil
}

// Expired counts what Expire removed.
type Expired struct {
	Snapshots int `json:"snapshots"`
	Files     int `json:"files"`
}

// Expire removes the snapshots that are older than age, except for the last ones of each table, and the files that
// only those name, also what is left of an earlier one that was killed.
func (l *Lake) Expire(ctx context.Context, age time.Duration, keep int) (removed Expired, err error) {
	names, err := l.tableNames(ctx)
	if err != nil {
		return removed, err
	}
	err = eachTable(ctx, names, 1, func(ctx context.Context, name string) error {
		_, err := l.repeat(ctx, "expire", func(ctx context.Context) error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			if err := checkHistory(t); err != nil {
				return err
			}
			if t, err = l.bury(ctx, t); err != nil {
				return err
			}
			tx := t.NewTransaction()
			if err := tx.ExpireSnapshots(table.WithOlderThan(age), table.WithRetainLast(keep), table.WithPostCommit(false)); err != nil {
				return err
			}
			if err := l.list(ctx, t, tx); err != nil {
				return err
			}
			after, err := tx.Commit(ctx)
			if err != nil {
				return commitError(err)
			}
			removed.Snapshots += len(t.Metadata().Snapshots()) - len(after.Metadata().Snapshots())
			files, err := l.finish(ctx, after)
			removed.Files += files
			return err
		})
		return err
	})
	return removed, err
}

// bury rewrites the manifests that describe removed files, with the bounds of their columns, without those.
func (l *Lake) bury(ctx context.Context, t *table.Table) (*table.Table, error) {
	manifests, _, err := manifestsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	removed := func(m iceberg.ManifestFile) bool { return m.DeletedDataFiles() != 0 }
	if !slices.ContainsFunc(manifests, removed) {
		return t, nil
	}
	tx := t.NewTransaction()
	// A manifest alone is rewritten only if it is divided by something.
	all := func(iceberg.DataFile) any { return nil }
	if _, err := tx.RewriteManifests(ctx, table.WithRewriteManifestPredicate(removed), table.WithRewriteManifestClusterBy(all)); err != nil {
		return nil, err
	}
	after, err := tx.Commit(ctx)
	return after, commitError(err)
}

// Cleaned counts the files that Clean removed or would remove.
type Cleaned struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Clean removes the files in the tables' folders of data and metadata that no snapshot names and that are older than age:
// those of attempts that were never committed. found is called with the URL of each. If dry is set, nothing is removed. If force
// is set, files that only the catalog's own history names are removed, too.
func (l *Lake) Clean(ctx context.Context, age time.Duration, dry, force bool, found func(url string)) (c Cleaned, err error) {
	names, err := l.tableNames(ctx)
	if err != nil {
		return c, err
	}
	err = eachTable(ctx, names, 1, func(ctx context.Context, name string) (err error) {
		if !dry {
			err = l.finishTable(ctx, name, &c)
		}
		for _, part := range []string{dataFolder, metadataFolder} {
			if err == nil {
				err = l.clean(ctx, name, part, age, dry, force, found, &c)
			}
		}
		return err
	})
	return c, err
}

func (l *Lake) clean(ctx context.Context, name, part string, age time.Duration, dry, force bool, found func(string), total *Cleaned) error {
	var place string
	var plan table.OrphanCleanupPlan
	err := l.read(ctx, "gc", func(ctx context.Context) error {
		t, err := l.load(ctx, name)
		if err != nil {
			return err
		}
		place = folderOf(t, part)
		if err := l.owns(t); err != nil {
			return err
		}
		if err := checkHistory(t); err != nil {
			if !force {
				return err
			}
			if part == metadataFolder {
				return nil // the catalog's own
			}
		}
		plan, err = t.PlanOrphanFiles(ctx, table.WithLocation(strings.TrimSuffix(place, "/")), table.WithFilesOlderThan(age))
		if errors.Is(err, fs.ErrNotExist) && noFiles(t) {
			return nil // there is no folder
		}
		if err != nil {
			return err
		}
		// A commit after the list was made may have added old files.
		now, err := l.load(ctx, name)
		if err == nil && now.MetadataLocation() != t.MetadataLocation() {
			err = transaction.Again(errors.New("commits keep coming"))
		}
		return err
	})
	if err != nil {
		return err
	}
	var orphans []string
	for _, f := range plan.OrphanFiles() {
		name, there := strings.CutPrefix(f.Path, place)
		if !there { // a folder of this machine
			name, there = strings.CutPrefix(f.Path, folder.Path(place))
		}
		if !there {
			return fmt.Errorf("%s is not in the table's folder", f.Path)
		}
		found(f.Path)
		orphans = append(orphans, place+filepath.ToSlash(name))
		total.Files++
		total.Bytes += f.SizeBytes
	}
	if dry {
		return nil
	}
	return l.delete(ctx, orphans)
}

// owns returns an error if files in the table's folder may be those of another table.
func (l *Lake) owns(t *table.Table) error {
	if c, there := l.catalog.(places); there && c.Place(t.Identifier()) != t.Location() {
		return errors.New("an older version made it, in a folder that other namespaces may share: \"tpfleet init\" gives it its own")
	}
	return nil
}

// noFiles reports whether a table has no data files.
func noFiles(t *table.Table) bool {
	s := t.CurrentSnapshot()
	return s == nil || s.Summary != nil && s.Summary.Properties["total-data-files"] == "0"
}
