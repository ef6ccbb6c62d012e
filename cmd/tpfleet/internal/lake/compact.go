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

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
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
	names, err := l.tableNames(ctx)
	if err != nil {
		return total, err
	}
	var mu sync.Mutex
	var failed []error
	err = eachTable(ctx, names, o.Jobs, func(ctx context.Context, name string) error {
		var c Compacted
		err := l.read(ctx, "compact", func(ctx context.Context) error { return l.compact(ctx, name, o, v, &c) })
		c.Tables = min(c.Removed, 1)
		mu.Lock()
		defer mu.Unlock()
		add(&total, c)
		if err != nil {
			failed = append(failed, fmt.Errorf("table %s: %w", name, err))
		}
		return nil
	})
	return total, errors.Join(append(failed, err)...)
}

func (l *Lake) compact(ctx context.Context, name string, o CompactOptions, v *view, c *Compacted) error {
	t, err := l.load(ctx, name)
	if err != nil || t.CurrentSnapshot() == nil {
		return err
	}
	if spec := t.Spec(); name != task.Ledger && spec.IsUnpartitioned() {
		return errIncomplete
	}
	files, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	if v != nil {
		// A commit to come looks for the files that its attempt wrote.
		files = slices.DeleteFunc(files, func(f table.FileScanTask) bool { return v.open(f.File.FilePath()) != "" })
	}
	groups, err := o.groups(t, files)
	for _, g := range groups {
		if err == nil {
			err = l.merge(ctx, t, name, g, o, v != nil, c)
		}
	}
	return err
}

// mostUnpartitioned is the size in bytes of files without a partition that are rewritten together.
const mostUnpartitioned = 8 << 30

// groups divides files of a table into those that are rewritten together: small ones of a day, and all that are from before the table
// had its partitions.
func (o *CompactOptions) groups(t *table.Table, files []table.FileScanTask) ([]compaction.Group, error) {
	config := compaction.DefaultConfig()
	config.TargetFileSizeBytes, config.MinFileSizeBytes, config.MaxFileSizeBytes = o.Target, o.Target*3/4, o.Target*9/5
	config.MinInputFiles, config.DeleteFileThreshold = 1, 1
	before := config
	before.TargetFileSizeBytes, before.MinFileSizeBytes, before.MaxFileSizeBytes = mostUnpartitioned, mostUnpartitioned, mostUnpartitioned+1
	spec := t.Spec()
	isOld := func(f table.FileScanTask) bool { return int(f.File.SpecID()) != spec.ID() }
	old, err := before.PlanCompaction(slices.DeleteFunc(slices.Clone(files), func(f table.FileScanTask) bool { return !isOld(f) }))
	if err != nil {
		return nil, err
	}
	plan, err := config.PlanCompaction(slices.DeleteFunc(files, isOld))
	few := func(g compaction.Group) bool {
		return len(g.Tasks) < o.Files && g.TotalSizeBytes < config.MinFileSizeBytes && g.DeleteFileCount == 0
	}
	return append(old.Groups, slices.DeleteFunc(plan.Groups, few)...), err
}

// merge replaces the files of a group.
func (l *Lake) merge(ctx context.Context, t *table.Table, name string, g compaction.Group, o CompactOptions, single bool, c *Compacted) (err error) {
	var by table.CompactionGroupResult
	if name == task.Ledger {
		by, err = table.ExecuteCompactionGroup(ctx, t, table.CompactionTaskGroup{Tasks: g.Tasks, TotalSizeBytes: g.TotalSizeBytes})
	} else {
		by, err = l.rewrite(ctx, t, name, g.Tasks, o.TempDir, work.Repacking{})
	}
	if err != nil {
		return err
	}
	replaced, err := l.replace(ctx, name, g.Tasks, by, single)
	if err != nil {
		return err
	}
	if !replaced {
		c.Skipped += len(g.Tasks)
		return nil
	}
	c.Removed += len(g.Tasks)
	c.Added += len(by.NewDataFiles)
	for _, f := range by.NewDataFiles {
		c.Rows += f.Count()
		c.Bytes += f.FileSizeBytes()
	}
	return nil
}

// days returns the days of the traces with rows in some files of the ledger by id, also of those that were added before it had days.
func days(ctx context.Context, ledger *table.Table, files []table.FileScanTask) (map[string]string, error) {
	dayOf := map[string]string{}
	columns := []string{"trace_id", "status", export.TraceDayColumn, "start_unix_ns", "start_ts", "added_unix_ns"}
	err := eachBatchOf(ctx, ledger, files, columns, func(b batch.Batch) error {
		for row := range b.Rows {
			e := entryIn(b, row)
			if e.Day == "" {
				added := time.Time{}
				if e.added != nil {
					added = time.Unix(0, *e.added)
				}
				e.Day = task.Day(added, e.StartUnix, e.Start)
			}
			if e.Status == task.OK {
				dayOf[e.TraceID] = e.Day
			}
		}
		return nil
	})
	return dayOf, err
}

// rewrite writes the rows of some files, less those that are deleted or gone, to new files, one for each day.
func (l *Lake) rewrite(ctx context.Context, t *table.Table, name string, files []table.FileScanTask, tempDir string, how work.Repacking) (table.CompactionGroupResult, error) {
	r := removing(files)
	rows, complete := int64(0), how.Gone == nil
	for _, f := range files {
		rows += f.File.Count()
		complete = complete && deletesOf(f) == ""
	}
	fields, required := map[string]int{}, map[string]bool{}
	for _, f := range t.Schema().Fields() {
		fields[f.Name], required[f.Name] = f.ID, f.Required
	}
	packed, err := packedSchema(t, name)
	if err != nil {
		return r, err
	}
	schema, err := work.PackedSchema(packed, fields, func(column string) bool { return !required[column] })
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
	known := sync.OnceValues(func() (map[string]string, error) {
		ledger, err := l.ledger(ctx)
		if err != nil {
			return nil, err
		}
		files, err := planFiles(ctx, ledger)
		if err != nil {
			return nil, err
		}
		return days(ctx, ledger, files)
	})
	how.Day = func(id string) (string, error) {
		dayOf, err := known()
		return dayOf[id], err
	}
	err = work.Repack(dir, l.version, schema, batches, how, func(f task.File, path string) error {
		read += f.Rows
		f.URL = folderOf(t, dataFolder) + "compact-" + strings.ToLower(rand.Text()) + ".parquet"
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
	done := newProgress()
	_, err = l.repeat(ctx, "compact", func(ctx context.Context) error {
		t, err := l.load(ctx, name)
		if err != nil {
			return err
		}
		if replaced = done.IsIn(t); replaced {
			return nil
		}
		now, err := t.Scan().PlanFiles(ctx)
		if err != nil {
			return err
		}
		state := map[string]string{} // by URL
		for _, f := range now {
			state[f.File.FilePath()] = deletesOf(f)
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
		if err := tx.NewRewrite(done.Properties()).ApplyResult(by).Commit(ctx); err != nil {
			return err
		}
		err = l.commitTables(ctx, single, tx)
		replaced = err == nil
		return err
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
