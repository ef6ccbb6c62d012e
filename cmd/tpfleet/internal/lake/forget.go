package lake

import (
	"context"
	"time"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Forgot counts what Forget did.
type Forgot struct {
	Traces  int   `json:"traces"`  // that were forgotten
	Entries int   `json:"entries"` // of the ledger that say so
	Known   int   `json:"known"`   // entries that said so before
	Rows    int64 `json:"rows"`    // that were removed
	Files   int   `json:"files"`   // that were replaced or removed
	Tries   int   `json:"tries"`
}

// Forget removes the rows of traces from all tables, in one transaction. The ledger keeps that they were forgotten, and
// why, so that nothing with the same content is added again. The old files stay until Expire and Clean remove them.
func (l *Lake) Forget(ctx context.Context, p Picked, why string, dry bool) (f Forgot, err error) {
	var done rewrites
	f.Tries, err = repeat(ctx, "forget", func() error {
		tries := f.Tries
		f = Forgot{Tries: tries}
		return l.forget(ctx, p, why, dry, &done, &f)
	})
	return f, err
}

func (l *Lake) forget(ctx context.Context, p Picked, why string, dry bool, done *rewrites, f *Forgot) error {
	t, err := l.ledger(ctx)
	if err != nil {
		return err
	}
	c := choice{objects: map[task.Trace]bool{}, gone: map[string]bool{}}
	now := time.Now().UnixNano()
	forget := func(e picked) error {
		if e.status == task.Forgotten {
			f.Known++
			return nil
		}
		if id := e.content(); id != "" && (e.status == task.OK || e.status == task.Copy) {
			c.gone[id] = true
		}
		if !c.objects[e.Trace] {
			c.objects[e.Trace] = true
			e.Outcome, e.changed = forgotten(e.Outcome, why), &now
			c.entries = append(c.entries, e.entry)
		}
		return nil
	}
	if err := pick(ctx, t, p, forget); err != nil {
		return err
	}
	// Copies of the same content, which have no id, and what copies are of.
	known := f.Known
	err = eachBatch(ctx, t, entryColumns, func(b batch) error {
		for row := range b.rows {
			if sum := b.text("sha256", row); sum != "" && c.gone[traceID(sum)] {
				if err := forget(b.entry(row)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	f.Known, f.Traces, f.Entries = known, len(c.gone), len(c.entries)
	if err != nil || dry {
		return err
	}
	if err := l.carryOut(ctx, t, &c, nil, done); err != nil {
		return err
	}
	for _, made := range done.made {
		f.Files += len(made.OldDataFiles)
		for _, old := range made.OldDataFiles {
			f.Rows += old.Count()
		}
		for _, by := range made.NewDataFiles {
			f.Rows -= by.Count()
		}
	}
	return nil
}

// Remember removes the entries of forgotten traces from the ledger, so that their objects are new again. It returns
// their number.
func (l *Lake) Remember(ctx context.Context, p Picked) (entries int, err error) {
	_, err = repeat(ctx, "remember", func() error {
		t, err := l.ledger(ctx)
		if err != nil {
			return err
		}
		c := choice{objects: map[task.Trace]bool{}}
		err = pick(ctx, t, p, func(e picked) error {
			if e.status == task.Forgotten {
				c.objects[e.Trace] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
		entries = len(c.objects)
		return l.carryOut(ctx, t, &c, nil, nil)
	})
	return entries, err
}
