package lake

import (
	"context"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
)

// Forgot counts what Forget did.
type Forgot struct {
	Traces  int   `json:"traces"`  // that were forgotten
	Entries int   `json:"entries"` // of the ledger that say so
	Known   int   `json:"known"`   // entries that said so before
	Rows    int64 `json:"rows"`    // that were removed
	Files   int   `json:"files"`   // that were replaced or removed
	Tries   int   `json:"tries"`
	Purged  int   `json:"purged,omitempty"` // files that Purge deleted

	ids work.Gone // of the traces, also of those that were forgotten before
}

// Forget removes the rows of traces from all tables, in one transaction. The ledger keeps that they were forgotten, and
// why, so that nothing with the same content is added again. The old files stay until Expire and Clean remove them.
// If the catalog commits to one table at a time, the ledger comes first, and the rows leave the tables after that.
func (l *Lake) Forget(ctx context.Context, p Picked, why string, dry bool) (f Forgot, err error) {
	all := work.Gone{}
	tries, err := l.transact(ctx, "forget", func(ctx context.Context, t *table.Table, done *progress) (err error) {
		f, err = l.forget(ctx, t, p, why, dry, done, all)
		return err
	})
	f.Tries, f.ids = tries, all
	if err != nil || dry {
		return f, err
	}
	left, err := l.sweep(ctx, all)
	f.Rows += left.rows
	f.Files += left.files
	return f, err
}

// forget tries to forget once. all gets the ids of what is forgotten, now or before.
func (l *Lake) forget(ctx context.Context, t *table.Table, p Picked, why string, dry bool, done *progress, all work.Gone) (f Forgot, err error) {
	c := choice{objects: map[task.Trace]bool{}, gone: work.Gone{}}
	now := time.Now().UnixNano()
	forget := func(e entry) error {
		if id := e.content(); id != "" {
			all[id] = ""
		}
		if e.Status == task.Forgotten {
			f.Known++
			return nil
		}
		if id := e.content(); id != "" && (e.Status == task.OK || e.Status == task.Copy || e.Status == task.Superseded) {
			c.gone[id] = ""
		}
		if !c.objects[e.Trace] {
			c.objects[e.Trace] = true
			e.Outcome, e.changed = forgotten(e.Outcome, why), &now
			c.entries = append(c.entries, e)
		}
		return nil
	}
	if err := pick(ctx, t, p, nil, forget); err != nil {
		return f, err
	}
	// Copies of the same content, which have no id, and what copies are of.
	err = eachBatch(ctx, t, entryColumns, func(b batch.Batch) error {
		for row := range b.Rows {
			if sum := b.Text("sha256", row); sum != "" && c.gone.Has(export.TraceID(sum), "") {
				if err := forget(entryIn(b, row)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	f.Traces, f.Entries = len(c.gone), len(c.entries)
	if err != nil || dry {
		return f, err
	}
	err = l.carryOut(ctx, t, &c, nil, done)
	f.Rows, f.Files = c.removed.rows, c.removed.files
	return f, err
}

// Remember removes the entries of forgotten traces from the ledger, so that their objects are new again. It returns
// their number.
func (l *Lake) Remember(ctx context.Context, p Picked) (entries int, err error) {
	_, err = l.transact(ctx, "remember", func(ctx context.Context, t *table.Table, done *progress) error {
		c, ids := choice{objects: map[task.Trace]bool{}}, work.Gone{}
		err := pick(ctx, t, p, nil, func(e entry) error {
			if e.Status == task.Forgotten {
				c.objects[e.Trace], ids[e.TraceID] = true, ""
			}
			return nil
		})
		if err != nil {
			return err
		}
		// Their old rows may be left, if Forget was killed.
		if _, err := l.sweep(ctx, ids); err != nil {
			return err
		}
		entries = len(c.objects)
		return l.carryOut(ctx, t, &c, nil, done)
	})
	return entries, err
}
