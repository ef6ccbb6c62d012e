package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/folder"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
	"github.com/tpconvert/tpconvert/export"
)

// Commit adds results to the tables and the ledger, in one transaction, or in several if there are two versions of an object. Results
// that are in already are left out, so a commit can be repeated, by any number of processes. If another commit comes first, or it is
// unknown whether the transaction succeeded, Commit begins again from the ledger.
func (l *Lake) Commit(ctx context.Context, results []task.Result) (total Account, err error) {
	for len(results) > 0 && err == nil {
		n := together(results)
		var account Account
		lost := map[string]bool{}
		tries, failed := l.transact(ctx, "commit", func(ctx context.Context, t *table.Table, done *progress) (err error) {
			account, err = l.commit(ctx, t, results[:n], lost, done)
			return err
		})
		account.Tries, err = tries, failed
		total.Add(account)
		results = results[n:]
	}
	return total, err
}

// together returns how many of the results are committed together: one transaction adds one version of an object, and new traces or
// replaced ones.
func together(results []task.Result) int {
	versions := map[string]task.Trace{}
	for n, r := range results {
		for _, o := range r.Traces {
			if before, there := versions[o.URL]; there && before != o.Trace || (r.Replaces == nil) != (results[0].Replaces == nil) {
				return max(n, 1)
			}
			versions[o.URL] = o.Trace
		}
	}
	return len(results)
}

// commitError tells the errors of a catalog after which a commit begins again.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rest.ErrEndpointNotSupported):
		return ErrCatalog
	case errors.Is(err, rest.ErrBadRequest), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrUnauthorized), errors.Is(err, folder.ErrList):
		return err
	default: // a conflict, or nobody knows
		return transaction.Again(err)
	}
}

// commit tries to commit once. lost has the names of results whose files are gone, and gets more.
func (l *Lake) commit(ctx context.Context, t *table.Table, results []task.Result, lost map[string]bool, done *progress) (Account, error) {
	if err := complete(t); err != nil {
		return Account{}, err
	}
	ledger, err := readLedger(ctx, t, wantedBy(results))
	if err != nil {
		return Account{}, err
	}
	if err := readCopies(ctx, t, ledger, results); err != nil {
		return Account{}, err
	}
	c := choose(ledger, results, lost)
	return c.account, l.carryOut(ctx, t, &c, lost, done)
}

// ledger reads the current state of the ledger.
func (l *Lake) ledger(ctx context.Context) (*table.Table, error) {
	t, err := l.load(ctx, task.Ledger)
	if err == nil && t.CurrentSnapshot() == nil {
		return nil, errIncomplete // see createLedger
	}
	return t, err
}

// carryOut carries out a choice, in one transaction.
func (l *Lake) carryOut(ctx context.Context, ledger *table.Table, c *choice, lost map[string]bool, done *progress) error {
	if err := c.addMoved(ctx, ledger); err != nil {
		return err
	}
	if len(c.entries)+len(c.objects) == 0 {
		return nil
	}
	if byLedger(ledger) {
		return l.carryOutByLedger(ctx, ledger, c, lost, done)
	}
	changes, err := l.changes(ctx, ledger, c, lost, done)
	if err != nil {
		return err
	}
	return l.commitTables(ctx, false, changes...)
}

// commitTables commits changes that are not nil, in one transaction, or to one table alone. It fails if another commit came first.
func (l *Lake) commitTables(ctx context.Context, alone bool, changes ...*table.Transaction) error {
	var commits []table.TableCommit
	for _, tx := range changes {
		if tx == nil {
			continue
		}
		commit, err := tx.TableCommit()
		if err != nil {
			return err
		}
		commits = append(commits, commit)
	}
	if alone {
		return commitError(l.commitOne(ctx, commits[0], true))
	}
	return commitError(l.catalog.CommitTransaction(ctx, commits))
}

// changes builds the changes of the ledger and of all tables, nil for those that stay as they are. If files are gone, it
// adds the names of their results to lost and returns an error after which the commit begins again.
func (l *Lake) changes(ctx context.Context, ledger *table.Table, c *choice, lost map[string]bool, done *progress) ([]*table.Transaction, error) {
	names := slices.Sorted(maps.Keys(c.files))
	if len(c.gone) > 0 {
		names = append(tableNames()[1:], metricNames(ledger)...)
	}
	on, err := daysOf(ctx, ledger, c.gone)
	if err != nil {
		return nil, err
	}
	changes := make([]*table.Transaction, 1+len(names))
	var mu sync.Mutex
	var gone []resultFile
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	group.Go(func() (err error) {
		changes[0], err = l.ledgerChange(ctx, ledger, c, done)
		return err
	})
	for i, name := range names {
		group.Go(func() error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			files, missing, err := l.dataFiles(ctx, t, name, c.files[name])
			if err != nil {
				return err
			}
			old, err := l.without(ctx, t, name, c.gone, on, done)
			if err != nil || len(old.OldDataFiles)+len(files) == 0 {
				return err
			}
			mu.Lock()
			gone = append(gone, missing...)
			c.removed.add(removedBy(old))
			mu.Unlock()
			old.NewDataFiles = append(files, old.NewDataFiles...)
			changes[1+i] = t.NewTransaction()
			return swap(ctx, changes[1+i], old, nil)
		})
	}
	err = group.Wait()
	if err == nil && len(gone) > 0 {
		err = goneError(gone, lost)
	}
	return changes, err
}

// goneError adds the names of the results of some files to lost.
func goneError(files []resultFile, lost map[string]bool) error {
	for _, f := range files {
		lost[f.result] = true
	}
	return transaction.Again(fmt.Errorf("%s and %d other files are gone", files[0].URL, len(files)-1))
}

// ledgerChange builds the change of the ledger, which fails if another comes first.
func (l *Lake) ledgerChange(ctx context.Context, ledger *table.Table, c *choice, done *progress) (*table.Transaction, error) {
	tx := ledger.NewTransaction()
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	rows := records(c.entries, byLedger(ledger))
	defer rows.Release()
	if len(c.objects) == 0 {
		return tx, tx.Append(ctx, rows, done.Properties())
	}
	return tx, l.changeLedger(ctx, tx, ledger, c.objects, rows, done.Properties())
}

// dataFiles describes files of results for a table, and returns those that are gone.
func (l *Lake) dataFiles(ctx context.Context, t *table.Table, name string, from []resultFile) (files []iceberg.DataFile, gone []resultFile, err error) {
	for _, f := range from {
		// Files in other places may belong to someone else, but expiring snapshots would delete them.
		day, _ := dayOf(t, f.File)
		if place := folderOf(t, dataFolder) + f.result; f.URL != place+".parquet" && f.URL != place+export.DaySuffix(day)+".parquet" {
			return nil, nil, fmt.Errorf("%s is not a file of the table %s and the result %s", f.URL, name, f.result)
		}
		there, err := l.stores.Exists(ctx, f.URL)
		if err != nil {
			return nil, nil, err
		}
		if !there {
			gone = append(gone, f)
		}
		file, err := dataFile(t, f.File)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.URL, err)
		}
		files = append(files, file)
	}
	return files, gone, nil
}

// dataFile describes a file for Iceberg, whose bounds have the same encoding. Its partition is the day of its rows.
func dataFile(t *table.Table, f task.File) (iceberg.DataFile, error) {
	spec, partition := t.Spec(), map[int]any{}
	day, one := dayOf(t, f)
	if !one { // an older version made it
		i := slices.IndexFunc(t.Metadata().PartitionSpecs(), func(s iceberg.PartitionSpec) bool { return s.IsUnpartitioned() })
		if i < 0 {
			return nil, errors.New("its rows are of several days: an older version of tpfleet made it")
		}
		spec = t.Metadata().PartitionSpecs()[i]
	}
	for _, field := range spec.Fields() { // one, unless somebody else changed them, which is an error later
		if field.Name == export.TraceDayColumn {
			if partition[field.FieldID] = nil; day != "" {
				partition[field.FieldID] = day
			}
		}
	}
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, f.URL, iceberg.ParquetFile, partition, nil, nil, f.Rows, f.Bytes)
	if err != nil {
		return nil, err
	}
	if one {
		b.SortOrderID(t.SortOrder().OrderID()) // it is sorted by trace_id
	}
	sizes, values, nulls := map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for _, c := range f.Columns {
		sizes[c.Field], values[c.Field], nulls[c.Field] = c.Bytes, f.Rows, c.Nulls
		if len(c.Least) > 0 {
			lower[c.Field] = c.Least
		}
		if len(c.Greatest) > 0 {
			upper[c.Field] = c.Greatest
		}
	}
	return b.ColumnSizes(sizes).ValueCounts(values).NullValueCounts(nulls).LowerBoundValues(lower).UpperBoundValues(upper).SplitOffsets(f.Groups).Build(), nil
}

// dayOf returns the day of the rows of a file, "" if they have none, and whether all have the same.
func dayOf(t *table.Table, f task.File) (day string, one bool) {
	field, _ := t.Schema().FindFieldByName(export.TraceDayColumn)
	for _, c := range f.Columns {
		switch {
		case c.Field != field.ID:
		case c.Nulls == f.Rows:
			return "", true
		case c.Nulls == 0 && bytes.Equal(c.Least, c.Greatest):
			return string(c.Least), true
		}
	}
	return "", false
}
