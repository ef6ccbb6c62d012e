package lake

import (
	"context"
	"maps"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// Label gives the picked entries of the ledger labels, of which one without a value is removed. It returns the number of entries that changed.
func (l *Lake) Label(ctx context.Context, p Picked, labels task.Labels) (entries int, err error) {
	_, err = l.transact(ctx, "label", func(ctx context.Context, t *table.Table, done *progress) error {
		c := choice{objects: map[task.Trace]bool{}}
		err := pick(ctx, t, p, columnNames(t), func(e entry) error {
			before := e.Labels.Text()
			if e.Labels == nil {
				e.Labels = task.Labels{}
			}
			maps.Copy(e.Labels, labels)
			maps.DeleteFunc(e.Labels, func(_, value string) bool { return value == "" })
			if e.Labels.Text() != before && e.Status != task.Forgotten {
				c.objects[e.Trace] = true
				c.entries = append(c.entries, e)
			}
			return nil
		})
		if err != nil {
			return err
		}
		entries = len(c.entries)
		return l.carryOut(ctx, t, &c, nil, done)
	})
	return entries, err
}
