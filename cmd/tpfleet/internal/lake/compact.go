package lake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/cluster"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
)

// CompactOptions say which files are replaced by larger ones.
type CompactOptions struct {
	Target  int64         // size of a file, bytes; files of 3/4 of it are left alone
	Files   int           // least number of files that are replaced by one
	Jobs    int           // tables at a time
	Orphans time.Duration // age of rows that the ledger does not name and that are removed, if not all count
	TempDir string        // "" means the system's
}

// Compacted counts what Compact did.
type Compacted struct {
	Tables  int   `json:"tables"`  // that were changed
	Removed int   `json:"removed"` // files
	Added   int   `json:"added"`   // files
	Rows    int64 `json:"rows"`
	Bytes   int64 `json:"bytes"`             // of the new files
	Skipped int   `json:"skipped"`           // files that another process replaced or deleted from in the meantime
	Orphans int64 `json:"orphans,omitempty"` // rows that were removed because the ledger does not name them
}

// Compact replaces small files of the tables and of the ledger by large ones with the same rows, in a transaction for
// each new file. Commits may go on in the meantime. The old files stay until Expire and Clean remove them. A table that
// cannot be compacted does not stop the others. If commits are made table by table, rows that the ledger does not name are
// removed before.
func (l *Lake) Compact(ctx context.Context, o CompactOptions) (total Compacted, err error) {
	v, err := l.view(ctx)
	if err != nil {
		return total, err
	}
	if v != nil {
		orphans, err := l.collectOld(ctx, v, o.Orphans)
		if total.Orphans = orphans.rows; err != nil {
			return total, err
		}
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(o.Jobs)
	var failed []error
	days := sync.OnceValues(func() (func(string) string, error) { return l.days(ctx) })
	names, err := l.tableNames(ctx)
	if err != nil {
		return total, err
	}
	for _, name := range names {
		group.Go(func() error {
			var c Compacted
			err := l.read(ctx, "compact", func(ctx context.Context) error { return l.compact(ctx, name, o, days, v, &c) })
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("table %s: %w", name, err))
			}
			if c.Removed > 0 {
				total.Tables++
			}
			total.Removed += c.Removed
			total.Added += c.Added
			total.Rows += c.Rows
			total.Bytes += c.Bytes
			total.Skipped += c.Skipped
			return nil
		})
	}
	_ = group.Wait()
	return total, errors.Join(failed...)
}

func (l *Lake) compact(ctx context.Context, name string, o CompactOptions, days func() (func(string) string, error), v *view, c *Compacted) error {
	t, err := l.load(ctx, name)
	if err != nil || t.CurrentSnapshot() == nil {
		return err
	}
	files, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	if v != nil {
		// A commit to come looks for the files that its attempt wrote.
		files = slices.DeleteFunc(files, func(f table.FileScanTask) bool { return v.open(f.File.FilePath()) != "" })
	}
	change := func(files []table.FileScanTask, rewrite func() (table.CompactionGroupResult, error)) error {
		rewritten, err := rewrite()
		if err != nil {
			return err
		}
		replaced, err := l.replace(ctx, name, files, rewritten, v != nil)
		if err != nil {
			return err
		}
		if !replaced {
			c.Skipped += len(files)
			return nil
		}
		c.Removed += len(files)
		c.Added += len(rewritten.NewDataFiles)
		for _, f := range rewritten.NewDataFiles {
			c.Rows += f.Count()
			c.Bytes += f.FileSizeBytes()
		}
		return nil
	}
	if name == task.Ledger {
		config := compaction.DefaultConfig()
		config.TargetFileSizeBytes, config.MinFileSizeBytes, config.MaxFileSizeBytes = o.Target, o.Target*3/4, o.Target*9/5
		config.MinInputFiles = uint(o.Files)
		plan, err := config.PlanCompaction(files)
		for _, g := range plan.Groups {
			if err == nil {
				err = change(g.Tasks, func() (table.CompactionGroupResult, error) {
					return table.ExecuteCompactionGroup(ctx, t, table.CompactionTaskGroup{Tasks: g.Tasks, TotalSizeBytes: g.TotalSizeBytes})
				})
			}
		}
		return err
	}
	for _, group := range cluster.Of(t, files, o.Target, o.Files) {
		err := change(group.Files, func() (r table.CompactionGroupResult, err error) {
			var day func(string) string
			if group.Undated {
				if day, err = days(); err != nil {
					return r, err
				}
			}
			return l.rewrite(ctx, t, name, group.Files, o.TempDir, group.Repacking(day))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// days returns the days of the traces in the ledger, also of those that were added before files had them.
func (l *Lake) days(ctx context.Context) (func(id string) string, error) {
	of, names := map[string]string{}, map[string]string{}
	err := l.read(ctx, "days", func(ctx context.Context) error {
		t, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		return eachBatch(ctx, t, []string{"trace_id", "start_unix_ns", "start_ts", "added_unix_ns"}, func(b batch.Batch) error {
			for row := range b.Rows {
				id, converted := b.Text("trace_id", row), time.Time{}
				if id == "" {
					continue
				}
				if added := b.Number("added_unix_ns", row); added != nil {
					converted = time.Unix(0, *added)
				}
				day := task.Day(converted, b.Number("start_unix_ns", row), b.Number("start_ts", row))
				if names[day] == "" {
					names[day] = day
				}
				of[strings.Clone(id)] = names[day]
			}
			return nil
		})
	})
	return func(id string) string { return of[id] }, err
}

// rewrite writes the rows of some files, less those that are deleted, to new files.
func (l *Lake) rewrite(ctx context.Context, t *table.Table, name string, files []table.FileScanTask, tempDir string, how work.Repacking) (table.CompactionGroupResult, error) {
	r := table.CompactionGroupResult{
		SafePosDeletes: table.CollectSafePositionDeletes(files), SafeDeletionVectors: table.CollectSafeDeletionVectors(files),
	}
	rows, complete := int64(0), how.Gone == nil
	for _, f := range files {
		r.OldDataFiles = append(r.OldDataFiles, f.File)
		rows += f.File.Count()
		complete = complete && deletesOf(f) == ""
	}
	fields, required := map[string]int{}, map[string]bool{}
	for _, f := range t.Schema().Fields() {
		fields[f.Name], required[f.Name] = f.ID, f.Required
	}
	of, err := packedSchema(t, name)
	if err != nil {
		return r, err
	}
	schema, err := work.PackedSchema(of, fields, func(column string) bool { return !required[column] })
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp(tempDir, "tpfleet-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	// One file at a time, because a file that waits for its turn would be in memory.
	_, batches, err := t.Scan(table.WithMaxConcurrency(1)).ReadTasks(ctx, files)
	if err != nil {
		return r, err
	}
	read := int64(0)
	err = work.Repack(dir, l.version, schema, batches, how, func(f task.File, path string) error {
		read += f.Rows
		f.URL = dataFolder(t) + "compact-" + strings.ToLower(rand.Text()) + ".parquet"
		if err := l.stores.Put(ctx, f.URL, path); err != nil {
			return err
		}
		file, err := dataFile(t, f)
		r.NewDataFiles = append(r.NewDataFiles, file)
		return err
	})
	if err == nil && complete && read != rows {
		err = fmt.Errorf("%d of %d rows were read", read, rows)
	}
	return r, err
}

// replace replaces files in a table. It returns false if they are not as they were. single says whether there are only commits to
// one table at a time.
func (l *Lake) replace(ctx context.Context, name string, old []table.FileScanTask, by table.CompactionGroupResult, single bool) (replaced bool, err error) {
	_, err = l.repeat(ctx, "compact", func(ctx context.Context) error {
		t, err := l.load(ctx, name)
		if err != nil {
			return err
		}
		now, err := t.Scan().PlanFiles(ctx)
		if err != nil {
			return err
		}
		state := map[string]string{} // by URL
		for _, f := range now {
			state[f.File.FilePath()] = deletesOf(f)
		}
		if len(by.NewDataFiles) > 0 {
			// An earlier try may have succeeded although its answer was lost.
			if _, replaced = state[by.NewDataFiles[0].FilePath()]; replaced {
				return nil
			}
		}
		var v *view
		if single {
			if v, err = l.view(ctx); err != nil {
				return err
			}
		}
		for _, f := range old {
			if single && v.open(f.File.FilePath()) != "" {
				return nil // the ledger does not name it any more
			}
			if deletes, there := state[f.File.FilePath()]; !there || deletes != deletesOf(f) {
				return nil
			}
		}
		tx := t.NewTransaction()
		if err := tx.NewRewrite(nil).ApplyResult(by).Commit(ctx); err != nil {
			return err
		}
		c, err := tx.TableCommit()
		if err != nil {
			return err
		}
		if err := commitError(l.commitOne(ctx, c, single)); err != nil {
			return err
		}
		replaced = true
		return nil
	})
	return replaced, err
}

// deletesOf names the files that delete rows of a file.
func deletesOf(f table.FileScanTask) string {
	var b strings.Builder
	for _, files := range [][]iceberg.DataFile{f.DeleteFiles, f.EqualityDeleteFiles, f.DeletionVectorFiles} {
		for _, d := range files {
			b.WriteString(d.FilePath() + "\n")
		}
	}
	return b.String()
}

// dataFolder returns the URL of a table's folder of files.
func dataFolder(t *table.Table) string {
	return strings.TrimSuffix(t.Location(), "/") + "/" + dataName + "/"
}
