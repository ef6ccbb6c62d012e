package lake

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
)

// progress is what was done for a transaction that begins again: the files that were rewritten, and those that were added.
type progress struct {
	transaction.Name
	mu   sync.Mutex
	how  map[string]string // what was done to the rows of traces
	made map[string]table.CompactionGroupResult

	added map[string]bool // files that were added by commits of their own, by URL
}

func newProgress() *progress {
	return &progress{Name: transaction.NewName(), made: map[string]table.CompactionGroupResult{}, added: map[string]bool{}}
}

// left returns the files that were not added.
func (r *progress) left(files []resultFile) (left []resultFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range files {
		if !r.added[f.URL] {
			left = append(left, f)
		}
	}
	return left
}

// add notes that files were added.
func (r *progress) add(files []resultFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range files {
		r.added[f.URL] = true
	}
}

// of rewrites a file, unless the same was done to it before.
func (r *progress) of(f table.FileScanTask, how map[string]string, rewrite func() (table.CompactionGroupResult, error)) (table.CompactionGroupResult, error) {
	key := f.File.FilePath() + "\n" + deletesOf(f)
	r.mu.Lock()
	if !maps.Equal(r.how, how) {
		r.how, r.made = how, map[string]table.CompactionGroupResult{}
	}
	made, there := r.made[key]
	r.mu.Unlock()
	if there {
		return made, nil
	}
	made, err := rewrite()
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.made[key] = made
	}
	return made, err
}

// daysOf returns the days of traces with rows, "" for those that the ledger does not have.
func daysOf(ctx context.Context, ledger *table.Table, some map[string]string) (all []string, err error) {
	if len(some) == 0 {
		return nil, nil
	}
	ids := map[string]bool{}
	for id := range some {
		ids[id] = true
	}
	files, err := withIDs(ctx, ledger, nil, ids)
	if err != nil {
		return nil, err
	}
	dayOf, err := days(ctx, ledger, files)
	for id := range some {
		all = append(all, dayOf[id])
	}
	return all, err
}

// without writes the files of a table with rows of some traces again, without those rows. on has the days of these traces, "" for any.
func (l *Lake) without(ctx context.Context, t *table.Table, name string, gone work.Gone, on []string, done *progress) (all table.CompactionGroupResult, err error) {
	if len(gone) == 0 || t.CurrentSnapshot() == nil {
		return all, nil
	}
	files, err := filesOn(ctx, t, slices.Values(on))
	if err != nil {
		return all, err
	}
	return l.filesWithout(ctx, t, name, files, gone, done)
}

// filesWithout is without for some files of the table.
func (l *Lake) filesWithout(ctx context.Context, t *table.Table, name string, files []table.FileScanTask, gone work.Gone, done *progress) (all table.CompactionGroupResult, err error) {
	for _, f := range files {
		one, err := done.of(f, gone, func() (one table.CompactionGroupResult, err error) {
			all, some, err := l.count(ctx, t, f, gone)
			if err != nil || some == 0 {
				return one, err
			}
			if some == all {
				return removing([]table.FileScanTask{f}), nil
			}
			one, err = l.rewrite(ctx, t, name, []table.FileScanTask{f}, "", work.Repacking{Gone: gone})
			left := int64(0)
			for _, f := range one.NewDataFiles {
				left += f.Count()
			}
			if err == nil && left != all-some {
				err = fmt.Errorf("%s has %d rows, of which %d are left, not %d", f.File.FilePath(), all, left, all-some)
			}
			return one, err
		})
		if err != nil {
			return all, err
		}
		all = joined(all, one)
	}
	return all, nil
}

// mayHave reports whether a file may have rows of some traces: whether any is between its bounds, which are cut and may be unknown.
func mayHave(t *table.Table, f iceberg.DataFile, traces map[string]string) bool {
	id, there := t.Schema().FindFieldByName("trace_id")
	least, greatest := string(f.LowerBoundValues()[id.ID]), string(f.UpperBoundValues()[id.ID])
	for trace := range traces {
		if !there || trace >= least && (greatest == "" || trace <= greatest) {
			return true
		}
	}
	return false
}

// count counts the rows of a file, and those that are gone. It does not read a file that has none by its bounds.
func (l *Lake) count(ctx context.Context, t *table.Table, f table.FileScanTask, gone work.Gone) (all, some int64, err error) {
	if !mayHave(t, f.File, gone) {
		return f.File.Count(), 0, nil
	}
	columns := []string{"trace_id"}
	if _, there := t.Schema().FindFieldByName(export.TraceAttemptColumn); there {
		columns = append(columns, export.TraceAttemptColumn)
	}
	_, batches, err := t.Scan(table.WithSelectedFields(columns...), table.WithMaxConcurrency(1)).ReadTasks(ctx, []table.FileScanTask{f})
	if err != nil {
		return 0, 0, err
	}
	for rows, err := range batches {
		if err != nil {
			return 0, 0, err
		}
		b := batch.Of(rows)
		all += int64(b.Rows)
		for row := range b.Rows {
			if gone.Has(b.Text("trace_id", row), b.Text(export.TraceAttemptColumn, row)) {
				some++
			}
		}
		rows.Release()
	}
	return all, some, nil
}

// removing returns the replacement of files by none.
func removing(files []table.FileScanTask) (r table.CompactionGroupResult) {
	for _, f := range files {
		r.OldDataFiles = append(r.OldDataFiles, f.File)
	}
	r.SafePosDeletes, r.SafeDeletionVectors = table.CollectSafePositionDeletes(files), table.CollectSafeDeletionVectors(files)
	return r
}

// joined returns two replacements in one.
func joined(a, b table.CompactionGroupResult) table.CompactionGroupResult {
	a.OldDataFiles, a.NewDataFiles = append(a.OldDataFiles, b.OldDataFiles...), append(a.NewDataFiles, b.NewDataFiles...)
	a.SafePosDeletes, a.SafeDeletionVectors = append(a.SafePosDeletes, b.SafePosDeletes...), append(a.SafeDeletionVectors, b.SafeDeletionVectors...)
	return a
}

// swap replaces files. That no file is added twice is known: the snapshot of the ledger is asserted, or its attempts are looked up.
func swap(ctx context.Context, tx *table.Transaction, r table.CompactionGroupResult, properties iceberg.Properties) error {
	deletes := slices.Concat(r.SafePosDeletes, r.SafeDeletionVectors) // of rows of the old files alone
	return tx.ReplaceFiles(ctx, r.OldDataFiles, r.NewDataFiles, deletes, properties, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping())
}

// changeLedger adds entries to the ledger and removes those of some objects.
func (l *Lake) changeLedger(ctx context.Context, tx *table.Transaction, t *table.Table, objects map[task.Trace]bool, add array.RecordReader, properties iceberg.Properties) error {
	files, err := t.Scan().PlanFiles(ctx)
	if err != nil {
		return err
	}
	var r table.CompactionGroupResult
	write := func(schema *arrow.Schema, rows iter.Seq2[arrow.RecordBatch, error]) error {
		for f, err := range table.WriteRecords(ctx, t, schema, rows, table.WithClusteredWrite()) {
			if err != nil {
				return err
			}
			r.NewDataFiles = append(r.NewDataFiles, f)
		}
		return nil
	}
	for _, f := range files {
		one := []table.FileScanTask{f}
		_, batches, err := t.Scan(table.WithSelectedFields("url", "etag", "bytes"), table.WithMaxConcurrency(1)).ReadTasks(ctx, one)
		if err != nil {
			return err
		}
		rows, found := 0, 0
		for from, err := range batches {
			if err != nil {
				return err
			}
			b := batch.Of(from)
			rows += b.Rows
			for row := range b.Rows {
				if objects[objectIn(b, row)] {
					found++
				}
			}
			from.Release()
		}
		if found == 0 {
			continue
		}
		r = joined(r, removing(one))
		if found == rows {
			continue
		}
		schema, batches, err := t.Scan(table.WithMaxConcurrency(1)).ReadTasks(ctx, one)
		if err != nil {
			return err
		}
		if err := write(schema, others(batches, objects)); err != nil {
			return err
		}
	}
	if add.Next() {
		rows := add.RecordBatch()
		rows.Retain() // for the writer
		if err := write(add.Schema(), func(yield func(arrow.RecordBatch, error) bool) { yield(rows, nil) }); err != nil {
			return err
		}
	}
	return swap(ctx, tx, r, properties)
}

// others yields the entries of other objects.
func others(batches iter.Seq2[arrow.RecordBatch, error], objects map[task.Trace]bool) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for from, err := range batches {
			if err != nil {
				yield(nil, err)
				return
			}
			b := batch.Of(from)
			for first, next := 0, 0; next <= b.Rows; next++ {
				if next < b.Rows && !objects[objectIn(b, next)] {
					continue
				}
				if next > first && !yield(from.NewSlice(int64(first), int64(next)), nil) {
					from.Release()
					return
				}
				first = next + 1
			}
			from.Release()
		}
	}
}
