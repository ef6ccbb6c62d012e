package lake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Account says what became of the traces in some results.
type Account struct {
	Tasks  int `json:"tasks"`
	OK     int `json:"ok"`     // added
	Bad    int `json:"bad"`    // added to the ledger alone
	Copies int `json:"copies"` // added to the ledger alone, as their content is in the tables
	Known  int `json:"known"`  // in the ledger before
	Failed int `json:"failed"` // not added
	// Again counts the good traces that were not added because other traces of their task were in the tables: a
	// file cannot be added in part. The next plan has them.
	Again int `json:"again"`
	Files int `json:"files"`
	Tries int `json:"tries"` // of the transaction
}

// maxTries is the number of times that a commit begins again.
const maxTries = 60

// Commit adds results to the tables and the ledger, in one transaction. Results that are in already are left out,
// so a commit can be repeated, by any number of processes. If another commit comes first, or it is unknown
// whether the transaction succeeded, Commit begins again from the ledger.
func (l *Lake) Commit(ctx context.Context, results []task.Result) (Account, error) {
	for try := 1; ; try++ {
		account, err := l.commit(ctx, results)
		account.Tries = try
		var again repeatError
		if err == nil || !errors.As(err, &again) || try == maxTries {
			return account, err
		}
		wait := time.Duration(rand.Int64N(int64(min(try, 10)) * int64(200*time.Millisecond)))
		select {
		case <-ctx.Done():
			return account, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// repeatError is an error after which a commit begins again.
type repeatError struct{ error }

func (e repeatError) Unwrap() error { return e.error }

// commit tries to commit once.
func (l *Lake) commit(ctx context.Context, results []task.Result) (Account, error) {
	t, err := l.load(ctx, task.Ledger)
	if err != nil {
		return Account{}, err
	}
	if t.CurrentSnapshot() == nil {
		return Account{}, errIncomplete // see createLedger
	}
	ledger, err := readLedger(ctx, t)
	if err != nil {
		return Account{}, err
	}
	c := choose(ledger, results)
	if len(c.entries) == 0 {
		return c.account, nil
	}
	changes, err := l.changes(ctx, t, c)
	if err != nil {
		return c.account, err
	}
	all, err := catalog.NewMultiTableTransaction(l.catalog)
	if err != nil {
		return c.account, err
	}
	for _, tx := range changes {
		if err := all.AddTransaction(tx); err != nil {
			return c.account, err
		}
	}
	switch err := all.Commit(ctx); {
	case err == nil:
		return c.account, nil
	case errors.Is(err, rest.ErrEndpointNotSupported):
		return c.account, ErrCatalog
	case errors.Is(err, rest.ErrBadRequest), errors.Is(err, rest.ErrForbidden), errors.Is(err, rest.ErrUnauthorized):
		return c.account, err
	default: // a conflict, or nobody knows
		return c.account, repeatError{err}
	}
}

// choice is what a transaction adds.
type choice struct {
	entries []entry
	files   map[string][]task.File // by table
	account Account
}

// choose selects what is not in the ledger, and updates it.
func choose(ledger *Ledger, results []task.Result) choice {
	c := choice{files: map[string][]task.File{}, account: Account{Tasks: len(results)}}
	for _, r := range results {
		c.add(ledger, &r)
	}
	return c
}

func (c *choice) add(ledger *Ledger, r *task.Result) {
	isNew := func(o *task.Outcome) bool { return o.Status == task.OK && !ledger.content[o.TraceID] }
	isKnown := func(o *task.Outcome) bool { return o.Status == task.OK && ledger.content[o.TraceID] }
	fresh, mixed := 0, false
	for i := range r.Traces {
		if isNew(&r.Traces[i]) {
			fresh++
		}
		mixed = mixed || isKnown(&r.Traces[i])
	}
	mixed = mixed && fresh > 0
	if fresh > 0 && !mixed {
		for _, f := range r.Files {
			c.files[f.Table] = append(c.files[f.Table], f)
		}
		c.account.Files += len(r.Files)
	}
	for _, o := range r.Traces {
		known := ledger.Object(o.Trace)
		switch {
		case o.Status == task.Failed:
			c.account.Failed++
			continue
		case known.Done && !isNew(&o), o.Status == task.Bad && known.Bad == o.Version:
			c.account.Known++
			continue
		case o.Status == task.Bad:
			c.account.Bad++
		case isNew(&o) && mixed, o.Status == task.Copy && !ledger.content[traceID(o.SHA256)]:
			c.account.Again++
			continue
		case isNew(&o):
			c.account.OK++
		default:
			o.Status, o.TraceID = task.Copy, ""
			c.account.Copies++
		}
		ledger.add(o.Trace, o.Status, o.TraceID, o.Version)
		c.entries = append(c.entries, entry{r.Task, o})
	}
}

// traceID returns the id of a trace with this content.
func traceID(sha256 string) string { return "t_" + sha256[:16] }

// changes builds the changes of the ledger and of all tables with new files.
func (l *Lake) changes(ctx context.Context, ledger *table.Table, c choice) ([]*table.Transaction, error) {
	names := make([]string, 0, len(c.files))
	for name := range c.files {
		names = append(names, name)
	}
	slices.Sort(names)
	changes := make([]*table.Transaction, 1+len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	group.Go(func() error {
		tx := ledger.NewTransaction()
		changes[0] = tx
		if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
			return err
		}
		rows := records(c.entries)
		defer rows.Release()
		return tx.Append(ctx, rows, nil)
	})
	for i, name := range names {
		group.Go(func() error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			files := make([]iceberg.DataFile, len(c.files[name]))
			for k, f := range c.files[name] {
				if files[k], err = dataFile(t.Spec(), f); err != nil {
					return fmt.Errorf("%s: %w", f.URL, err)
				}
			}
			changes[1+i] = t.NewTransaction()
			// The assertion of the ledger's snapshot rules out that a file is added twice.
			return changes[1+i].AddDataFiles(ctx, files, nil, table.WithoutDuplicateCheck(), table.WithoutAutoNameMapping())
		})
	}
	return changes, group.Wait()
}

// dataFile describes a file for Iceberg, whose bounds have the same encoding.
func dataFile(spec iceberg.PartitionSpec, f task.File) (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, f.URL, iceberg.ParquetFile, nil, nil, nil, f.Rows, f.Bytes)
	if err != nil {
		return nil, err
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

// Add adds another account.
func (a *Account) Add(b Account) {
	a.Tasks += b.Tasks
	a.OK += b.OK
	a.Bad += b.Bad
	a.Copies += b.Copies
	a.Known += b.Known
	a.Failed += b.Failed
	a.Again += b.Again
	a.Files += b.Files
	a.Tries += b.Tries
}
