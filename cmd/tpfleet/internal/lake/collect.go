package lake

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	model "github.com/tpconvert/tpconvert/model/table"
)

// collectedProperty is the property of the ledger with view.collected.
const collectedProperty = "tpfleet.collected-unix-ns"

// removed counts what was removed from tables.
type removed struct {
	rows  int64
	files int // that were replaced or removed
}

func (r *removed) add(b removed) {
	r.rows += b.rows
	r.files += b.files
}

// removedBy counts what a replacement of files removes.
func removedBy(r table.CompactionGroupResult) (by removed) {
	for _, f := range r.OldDataFiles {
		by.rows += f.Count()
	}
	for _, f := range r.NewDataFiles {
		by.rows -= f.Count()
	}
	by.files = len(r.OldDataFiles)
	return by
}

// collectOld removes rows that the ledger has not named for some time: those of attempts that were not committed, and those
// that were replaced or forgotten.
func (l *Lake) collectOld(ctx context.Context, v *view, age time.Duration) (removed, error) {
	until := time.Now().Add(-age)
	traces, recent := work.Gone{}, work.Gone{}
	for id, c := range v.changed {
		if c.at <= until.UnixNano() {
			traces[id] = ""
		} else {
			recent[id] = ""
		}
	}
	var mu sync.Mutex
	old := map[string]bool{} // of an attempt, whether all its files are
	err := l.eachOpen(ctx, v, func(t *table.Table, f table.FileScanTask, attempt string, added time.Time) error {
		is := !added.After(until)
		if is && len(recent) > 0 {
			// All its rows were replaced, some of them just now.
			_, some, err := l.count(ctx, t, f, recent)
			if err != nil {
				return err
			}
			is = some == 0
		}
		mu.Lock()
		defer mu.Unlock()
		before, there := old[attempt]
		old[attempt] = is && (before || !there)
		return nil
	})
	if err != nil {
		return removed{}, err
	}
	maps.DeleteFunc(old, func(_ string, is bool) bool { return !is })
	r, err := l.collect(ctx, old, traces)
	if err != nil {
		return r, err
	}
	_, err = l.repeat(ctx, "collect", func(ctx context.Context) error {
		ledger, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		if before, _ := strconv.ParseInt(ledger.Properties()[collectedProperty], 10, 64); before >= until.UnixNano() || len(v.changed) == 0 {
			return nil
		}
		tx := ledger.NewTransaction()
		if err := tx.SetProperties(iceberg.Properties{collectedProperty: strconv.FormatInt(until.UnixNano(), 10)}); err != nil {
			return err
		}
		_, err = tx.Commit(ctx)
		return commitError(err)
	})
	return r, err
}

// sweep removes rows of traces that the ledger does not name, also those of attempts that may be about to be committed: these
// begin again without the trace.
func (l *Lake) sweep(ctx context.Context, traces work.Gone) (removed, error) {
	if len(traces) == 0 {
		return removed{}, nil
	}
	v, err := l.view(ctx)
	if err != nil || v == nil { // the transaction removed them
		return removed{}, err
	}
	var mu sync.Mutex
	orphans := map[string]bool{}
	err = l.eachOpen(ctx, v, func(t *table.Table, f table.FileScanTask, attempt string, _ time.Time) error {
		_, some, err := l.count(ctx, t, f, traces)
		if err != nil || some == 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		orphans[attempt] = true
		return nil
	})
	if err != nil {
		return removed{}, err
	}
	return l.collect(ctx, orphans, traces)
}

// eachOpen calls do with the files of all tables that were written by attempts that the ledger does not name, and the times at
// which they were added, as far as snapshots tell.
func (l *Lake) eachOpen(ctx context.Context, v *view, do func(t *table.Table, f table.FileScanTask, attempt string, added time.Time) error) error {
	names, err := l.tableNames(ctx)
	if err != nil {
		return err
	}
	return eachTable(ctx, names[1:], atOnce, func(ctx context.Context, name string) error {
		return l.read(ctx, name, func(ctx context.Context) error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			manifests, files, err := manifestsOf(ctx, t)
			if err != nil {
				return err
			}
			for _, m := range manifests {
				for e, err := range m.Entries(files, true) {
					if err != nil {
						return err
					}
					attempt, added := v.open(e.DataFile().FilePath()), time.Time{}
					if attempt == "" {
						continue
					}
					if s := t.SnapshotByID(e.SnapshotID()); s != nil {
						added = time.UnixMilli(s.TimestampMs)
					}
					if err := do(t, table.FileScanTask{File: e.DataFile(), Length: e.DataFile().FileSizeBytes()}, attempt, added); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// collect removes the files of attempts, unless the ledger names them in the meantime, and rows of traces that it does not name.
//
// A commit of such an attempt may be under way, and its files in the tables. The ledger says first that the attempt is
// abandoned: so that commit fails, and all later ones leave it out.
func (l *Lake) collect(ctx context.Context, attempts map[string]bool, traces work.Gone) (total removed, err error) {
	_, err = l.transact(ctx, "abandon", func(ctx context.Context, ledger *table.Table, done *progress) error {
		return l.abandon(ctx, ledger, attempts, done)
	})
	if err != nil {
		return total, err
	}
	names, err := l.tableNames(ctx)
	if err != nil {
		return total, err
	}
	var mu sync.Mutex
	err = eachTable(ctx, names[1:], atOnce, func(ctx context.Context, name string) error {
		var r removed
		done := newProgress()
		_, err := l.repeat(ctx, "collect", func(ctx context.Context) error {
			t, err := l.load(ctx, name)
			if err != nil || t.CurrentSnapshot() == nil || done.IsIn(t) {
				return err
			}
			r, err = l.drop(ctx, t, name, traces, done)
			return err
		})
		mu.Lock()
		defer mu.Unlock()
		total.add(r)
		return err
	})
	return total, err
}

// abandon enters attempts into the ledger that it does not name.
func (l *Lake) abandon(ctx context.Context, ledger *table.Table, attempts map[string]bool, done *progress) error {
	v, err := l.viewOf(ctx, ledger)
	if err != nil {
		return err
	}
	var c choice
	now := time.Now().UnixNano()
	for _, name := range slices.Sorted(maps.Keys(attempts)) {
		if v.attempts[name] || v.abandoned[name] {
			continue
		}
		c.entries = append(c.entries, entry{attempt: name, added: &now, Outcome: task.Outcome{
			Trace: task.Trace{URL: name + ".parquet"}, Status: task.Abandoned, Version: l.version, Schema: model.SchemaVersion}})
	}
	if len(c.entries) == 0 {
		return nil
	}
	tx, err := l.ledgerChange(ctx, ledger, &c, done)
	if err != nil {
		return err
	}
	return l.commitTables(ctx, true, tx)
}

// drop removes from a table the files of abandoned attempts, and rows of traces that the ledger does not name.
func (l *Lake) drop(ctx context.Context, t *table.Table, name string, traces work.Gone, done *progress) (r removed, err error) {
	// The view is newer than the table: what the ledger names, and the table has, is known.
	v, err := l.view(ctx)
	if err != nil {
		return r, err
	}
	gone := work.Gone{}
	for id := range traces {
		if c, there := v.changed[id]; there {
			gone[id] = c.attempt
		}
	}
	files, err := planFiles(ctx, t)
	if err != nil {
		return r, err
	}
	var abandoned, others []table.FileScanTask
	for _, f := range files {
		switch attempt := v.open(f.File.FilePath()); {
		case attempt == "":
			others = append(others, f)
		case v.abandoned[attempt]:
			abandoned = append(abandoned, f)
		}
	}
	old, err := l.filesWithout(ctx, t, name, others, gone, done)
	if err != nil {
		return r, err
	}
	old = joined(old, removing(abandoned))
	if len(old.OldDataFiles) == 0 {
		return r, nil
	}
	tx := t.NewTransaction()
	if err := swap(ctx, tx, old, done.Properties()); err != nil {
		return r, err
	}
	return removedBy(old), l.commitTables(ctx, true, tx)
}
