package lake

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
)

// manifestsOf returns the manifests of the current snapshot of a table, and the store where they are.
func manifestsOf(ctx context.Context, t *table.Table) (all []iceberg.ManifestFile, in icebergio.IO, err error) {
	in, err = t.FS(ctx)
	if err == nil && t.CurrentSnapshot() != nil {
		all, err = t.CurrentSnapshot().Manifests(in)
	}
	return all, in, err
}

// named returns the files that snapshots of a table name: lists of manifests, manifests, and the files in these, with those that a
// snapshot removed if all is set.
func named(ctx context.Context, t *table.Table, snapshots []table.Snapshot, all bool) (map[string]bool, error) {
	files, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	names, ids := map[string]bool{}, map[int64]bool{}
	for _, s := range snapshots {
		names[s.ManifestList], ids[s.SnapshotID] = true, true
		manifests, err := s.Manifests(files)
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			if names[m.FilePath()] {
				continue
			}
			names[m.FilePath()] = true
			for e, err := range m.Entries(files, !all) {
				if err != nil {
					return nil, err
				}
				names[e.DataFile().FilePath()] = true
			}
		}
	}
	for s := range t.Metadata().Statistics() {
		if ids[s.SnapshotID] {
			names[s.StatisticsPath] = true
		}
	}
	for s := range t.Metadata().PartitionStatistics() {
		if ids[s.SnapshotID] {
			names[s.StatisticsPath] = true
		}
	}
	return names, nil
}

// The folders of a table; that of expired files has lists of files that only expired snapshots name.
const dataFolder, metadataFolder, expiredFolder = "data", "metadata", "expired"

// folderOf returns the URL of a folder of a table, with a slash at its end.
func folderOf(t *table.Table, name string) string {
	return strings.TrimSuffix(t.Location(), "/") + "/" + name + "/"
}

// list writes down the files that nothing names any more after a transaction that removes snapshots. It comes before the transaction:
// whoever is killed in between, finish finds the list.
func (l *Lake) list(ctx context.Context, t *table.Table, tx *table.Transaction) error {
	after, err := tx.StagedTable()
	if err != nil {
		return err
	}
	var old []table.Snapshot
	for _, s := range t.Metadata().Snapshots() {
		if after.SnapshotByID(s.SnapshotID) == nil {
			old = append(old, s)
		}
	}
	if len(old) == 0 {
		return nil
	}
	gone, err := named(ctx, t, old, true)
	if err != nil {
		return err
	}
	live, err := named(ctx, t, after.Metadata().Snapshots(), false)
	if err != nil {
		return err
	}
	maps.DeleteFunc(gone, func(file string, _ bool) bool { return live[file] })
	text, err := json.Marshal(slices.Sorted(maps.Keys(gone)))
	if err != nil {
		return err
	}
	return l.stores.Write(ctx, folderOf(t, expiredFolder)+strings.ToLower(rand.Text())+".json", text)
}

// finish deletes the files on a table's lists that no snapshot names, and the lists of which nothing is left. A transaction that is
// based on this state names no others.
func (l *Lake) finish(ctx context.Context, t *table.Table) (deleted int, err error) {
	lists, err := l.files(ctx, folderOf(t, expiredFolder))
	if err != nil || len(lists) == 0 {
		return 0, err
	}
	live, err := named(ctx, t, t.Metadata().Snapshots(), false)
	if err != nil {
		return 0, err
	}
	for _, list := range lists {
		if list.Unfinished() {
			if time.Since(list.Modified()) < time.Hour {
				continue
			}
			if err := l.stores.Delete(ctx, list.URL); err != nil {
				return deleted, err
			}
			continue
		}
		text, err := l.stores.Read(ctx, list.URL)
		if err != nil {
			return deleted, err
		}
		var files []string
		if err := json.Unmarshal(text, &files); err != nil {
			return deleted, fmt.Errorf("%s: %w", list.URL, err)
		}
		gone := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return live[file] })
		if err := l.delete(ctx, gone); err != nil {
			return deleted, err
		}
		deleted += len(gone)
		if len(gone) < len(files) {
			continue // its transaction is still to come, or never will
		}
		if err := l.stores.Delete(ctx, list.URL); err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

// finishTable is finish for a table as it is now.
func (l *Lake) finishTable(ctx context.Context, name string, c *Cleaned) error {
	return l.read(ctx, "gc", func(ctx context.Context) error {
		t, err := l.load(ctx, name)
		if err != nil || checkHistory(t) != nil {
			return err
		}
		n, err := l.finish(ctx, t)
		c.Files += n
		return err
	})
}

// delete deletes files, some at a time. Those that are gone already are no error.
func (l *Lake) delete(ctx context.Context, files []string) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, file := range files {
		group.Go(func() error { return l.stores.Delete(ctx, file) })
	}
	return group.Wait()
}

// files lists the objects in a folder, none if it is missing.
func (l *Lake) files(ctx context.Context, folder string) (all []store.Object, err error) {
	err = l.stores.List(ctx, folder, func(o store.Object) { all = append(all, o) })
	if errors.Is(err, store.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return all, err
}
