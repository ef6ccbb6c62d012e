package lake

import (
	"context"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
	"github.com/tpconvert/tpconvert/export"
)

// The property of the ledger that says how results are committed. Without it, a transaction over all tables adds them. By the
// ledger, each table gets its files in a commit of its own, and then the ledger names the attempts that made them: rows
// count if it names theirs for their trace.
//
// Of an attempt that the ledger does not name, the rows are in the files that the attempt wrote, and nowhere else. So a table's list
// of files says whether it has them, however often they are committed.
const commitProperty, commitByLedger = "tpfleet.commit", "ledger"

func byLedger(ledger *table.Table) bool { return ledger.Properties()[commitProperty] == commitByLedger }

var errMoved = errors.New("the ledger has changed")

// carryOutByLedger adds the files to their tables, and then commits to the ledger. Rows that are replaced stay until they are collected.
func (l *Lake) carryOutByLedger(ctx context.Context, ledger *table.Table, c *choice, lost map[string]bool, done *progress) error {
	var group errgroup.Group // without a context: a conflict in one table does not end the commits to others
	group.SetLimit(atOnce)
	missing := make(chan []resultFile, len(c.files))
	for name, files := range c.files {
		group.Go(func() error {
			gone, err := l.addFiles(ctx, ledger, name, files, done)
			missing <- gone
			return err
		})
	}
	err := group.Wait()
	close(missing)
	var gone []resultFile
	for files := range missing {
		gone = append(gone, files...)
	}
	if len(gone) > 0 {
		return goneError(gone, lost)
	}
	if err != nil {
		return err
	}
	tx, err := l.ledgerChange(ctx, ledger, c, done)
	if err != nil {
		return err
	}
	return l.commitTables(ctx, true, tx)
}

// addFiles adds files to a table that it does not have. If some are gone, it returns those, and adds none.
func (l *Lake) addFiles(ctx context.Context, ledger *table.Table, name string, files []resultFile, done *progress) (gone []resultFile, err error) {
	missing := done.left(files)
	if len(missing) == 0 {
		return nil, nil
	}
	t, err := l.load(ctx, name)
	if err != nil {
		return nil, err
	}
	// Another process may have committed the same results, and a third one may have compacted the files. As the ledger was read
	// before, and is still the same after the table was loaded, the table in this state has nothing of that.
	now, err := l.ledger(ctx)
	if err != nil {
		return nil, err
	}
	if now.CurrentSnapshot().SnapshotID != ledger.CurrentSnapshot().SnapshotID {
		return nil, transaction.Again(errMoved)
	}
	added, err := notIn(ctx, t, missing)
	if err != nil {
		return nil, err
	}
	data, gone, err := l.dataFiles(ctx, t, name, added)
	if err != nil || len(gone) > 0 {
		return gone, err
	}
	if len(data) > 0 {
		tx := t.NewTransaction()
		if err := swap(ctx, tx, table.CompactionGroupResult{NewDataFiles: data}, nil); err != nil {
			return nil, err
		}
		if err := l.commitTables(ctx, true, tx); err != nil {
			return nil, err
		}
	}
	done.add(missing)
	return nil, nil
}

// notIn returns the files that a table does not have.
func notIn(ctx context.Context, t *table.Table, files []resultFile) (others []resultFile, err error) {
	there := map[string]bool{}
	if t.CurrentSnapshot() != nil {
		all, err := planFiles(ctx, t)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			there[f.File.FilePath()] = true
		}
	}
	for _, f := range files {
		if !there[f.URL] {
			others = append(others, f)
		}
	}
	return others, nil
}

// view is what the ledger says of the rows in the tables.
type view struct {
	snapshot  int64
	collected int64           // time up to which the rows of traces that changed were collected, ns since 1970
	attempts  map[string]bool // that it names
	abandoned map[string]bool
	changed   map[string]changed // traces whose rows were replaced or forgotten since then, by id
}

// changed says when the rows of a trace changed, and which attempt's count now, "" for none.
type changed struct {
	at      int64
	attempt string
}

// names reports whether the ledger names an attempt for a trace.
func (v *view) names(trace, attempt string) bool {
	c, there := v.changed[trace]
	return v.attempts[attempt] && (!there || c.attempt == attempt)
}

// open returns the attempt that wrote a file, if the ledger does not name it. It may do so later.
func (v *view) open(file string) string {
	if match := attemptFile.FindStringSubmatch(path.Base(file)); match != nil && !v.attempts[match[1]] {
		return match[1]
	}
	return ""
}

// attemptFile is the name of a file of a result, which begins with that of the result.
var attemptFile = regexp.MustCompile(`^([0-9a-f]{16}-[0-9a-f]{8})(-\d{4}-\d\d-\d\d)?\.parquet$`)

// view returns the view of the ledger as it is now, nil if there are transactions over several tables, so that all rows count.
func (l *Lake) view(ctx context.Context) (v *view, err error) {
	err = l.read(ctx, "view", func(ctx context.Context) error {
		ledger, err := l.ledger(ctx)
		if err == nil && byLedger(ledger) {
			v, err = l.viewOf(ctx, ledger)
		}
		return err
	})
	return v, err
}

func (l *Lake) viewOf(ctx context.Context, ledger *table.Table) (*view, error) {
	collected, _ := strconv.ParseInt(ledger.Properties()[collectedProperty], 10, 64)
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.seen; v != nil && v.snapshot == ledger.CurrentSnapshot().SnapshotID && v.collected == collected {
		return v, nil
	}
	v := &view{snapshot: ledger.CurrentSnapshot().SnapshotID, collected: collected,
		attempts: map[string]bool{}, abandoned: map[string]bool{}, changed: map[string]changed{}}
	err := eachBatch(ctx, ledger, []string{"trace_id", "status", "changed_unix_ns", export.TraceAttemptColumn}, func(b batch.Batch) error {
		for row := range b.Rows {
			id, status, attempt := b.Text("trace_id", row), b.Text("status", row), strings.Clone(b.Text(export.TraceAttemptColumn, row))
			switch {
			case status == task.Abandoned:
				v.abandoned[attempt] = true
				continue
			case attempt != "":
				v.attempts[attempt] = true
			}
			if at := b.Number("changed_unix_ns", row); at != nil && id != "" && *at > collected-int64(clocksDiffer) {
				if before, there := v.changed[id]; !there || *at > before.at || *at == before.at && attempt != "" {
					v.changed[strings.Clone(id)] = changed{*at, attempt}
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.seen = v
	return v, nil
}

// clocksDiffer is more than the difference between the clocks of those who commit and those who collect.
const clocksDiffer = time.Hour
