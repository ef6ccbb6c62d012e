package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
)

// Purge deletes all bytes of the traces that Forget forgot, now or before: older snapshots, the files that only those name, and files
// of attempts that were never committed. Then it looks whether any file has rows of them.
func (l *Lake) Purge(ctx context.Context, f *Forgot) error {
	expired, err := l.Expire(ctx, 0, 1)
	f.Purged += expired.Files
	if err != nil {
		return err
	}
	left := 0
	names, err := l.tableNames(ctx)
	if err != nil {
		return err
	}
	err = eachTable(ctx, names, 1, func(ctx context.Context, name string) error {
		_, err := l.repeat(ctx, "purge", func(ctx context.Context) error { // in a folder no transaction writes beside it
			found, err := l.strays(ctx, name, f.ids)
			if err == nil {
				err = l.delete(ctx, found)
			}
			if err != nil {
				return err
			}
			f.Purged += len(found)
			n, err := l.remains(ctx, name, f.ids)
			if err == nil {
				left += n
			}
			return err
		})
		return err
	})
	if err == nil && left > 0 {
		return fmt.Errorf("%d files still have rows of traces that were forgotten: the same command deletes them", left)
	}
	return err
}

// strays returns the files in a table's folders that no snapshot names and that tell of traces: files with their rows, files that a
// writer did not complete, and manifests that name such files. An attempt whose files are gone is made again.
func (l *Lake) strays(ctx context.Context, name string, gone work.Gone) (found []string, err error) {
	t, err := l.load(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := l.owns(t); err != nil {
		return nil, err
	}
	live, err := named(ctx, t, t.Metadata().Snapshots(), false)
	if err != nil {
		return nil, err
	}
	data, err := l.files(ctx, folderOf(t, dataFolder))
	if err != nil {
		return nil, err
	}
	left := maps.Clone(live)
	for _, o := range data {
		if live[o.URL] {
			continue
		}
		some := int64(1)
		if strings.HasSuffix(o.URL, ".parquet") {
			if some, err = l.rowsIn(ctx, t, o.URL, o.Bytes, gone); err != nil {
				return nil, err
			}
		}
		if some > 0 {
			found = append(found, o.URL)
		} else {
			left[o.URL] = true
		}
	}
	metadata, err := l.files(ctx, folderOf(t, metadataFolder))
	for _, o := range metadata {
		if err == nil && !live[o.URL] && strings.HasSuffix(o.URL, ".avro") && !strings.Contains(o.URL, "/snap-") {
			var stray bool
			if stray, err = l.namesOthers(ctx, o.URL, left); stray {
				found = append(found, o.URL)
			}
		}
	}
	return found, err
}

// rowsIn counts the rows of traces in a file that no snapshot names. A file without its end may have one: its writer was killed.
func (l *Lake) rowsIn(ctx context.Context, t *table.Table, url string, size int64, gone work.Gone) (int64, error) {
	if whole, err := hasEnd(ctx, t, url, size); err != nil || !whole {
		return 1, err
	}
	b, err := iceberg.NewDataFileBuilder(t.Spec(), iceberg.EntryContentData, url, iceberg.ParquetFile, nil, nil, nil, 1, size)
	if err != nil {
		return 0, err
	}
	_, some, err := l.count(ctx, t, table.FileScanTask{File: b.Build(), Length: size}, gone)
	if err != nil {
		err = fmt.Errorf("%s: %w", url, err)
	}
	return some, err
}

// hasEnd reports whether a Parquet file ends as one does.
func hasEnd(ctx context.Context, t *table.Table, url string, size int64) (bool, error) {
	const magic = "PAR1"
	if size < int64(2*len(magic)) {
		return false, nil
	}
	files, err := t.FS(ctx)
	if err != nil {
		return false, err
	}
	f, err := files.Open(url)
	if err != nil {
		return false, err
	}
	defer f.Close()
	end := make([]byte, len(magic))
	_, err = f.ReadAt(end, size-int64(len(magic)))
	return string(end) == magic, err
}

// namesOthers reports whether a manifest names a file that is not among some, or may do so, because it lacks its end.
func (l *Lake) namesOthers(ctx context.Context, url string, some map[string]bool) (bool, error) {
	text, err := l.stores.Read(ctx, url)
	if err != nil {
		return false, err
	}
	entries, err := iceberg.ReadManifest(iceberg.NewManifestFile(2, url, int64(len(text)), 0, 1).Build(), bytes.NewReader(text), false)
	return err != nil || slices.ContainsFunc(entries, func(e iceberg.ManifestEntry) bool { return !some[e.DataFile().FilePath()] }), nil
}

// remains counts the files with rows of traces, and the lists of files that are to be deleted.
func (l *Lake) remains(ctx context.Context, name string, gone work.Gone) (n int, err error) {
	found, err := l.strays(ctx, name, gone)
	if err != nil {
		return 0, err
	}
	t, err := l.load(ctx, name)
	if err != nil {
		return 0, err
	}
	lists, err := l.files(ctx, folderOf(t, expiredFolder))
	lists = slices.DeleteFunc(lists, store.Object.Unfinished) // these are followed by no transaction
	if err != nil || name == task.Ledger {                    // it says that they were forgotten
		return len(found) + len(lists), err
	}
	files, err := planFiles(ctx, t)
	n = len(found) + len(lists)
	for _, f := range files {
		_, some, failed := l.count(ctx, t, f, gone)
		if err = errors.Join(err, failed); some > 0 {
			n++
		}
	}
	return n, err
}
