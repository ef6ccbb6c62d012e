package lake

import (
	"context"
	"maps"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
)

// Label gives the picked entries of the ledger labels, of which one without a value is removed, and their rows in the tables of metrics. It
// returns the number of entries that changed.
func (l *Lake) Label(ctx context.Context, p Picked, labels task.Labels) (entries int, err error) {
	_, err = l.transact(ctx, "label", func(ctx context.Context, t *table.Table, done *progress) error {
		c, now := choice{objects: map[task.Trace]bool{}}, map[string]string{}
		err := pick(ctx, t, p, columnNames(t), func(e entry) error {
			before := e.Labels.Text()
			if e.Labels == nil {
				e.Labels = task.Labels{}
			}
			maps.Copy(e.Labels, labels)
			maps.DeleteFunc(e.Labels, func(_, value string) bool { return value == "" })
			if e.Labels.Text() == before || e.Status == task.Forgotten {
				return nil
			}
			c.objects[e.Trace] = true
			c.entries = append(c.entries, e)
			if e.Status == task.OK {
				now[e.TraceID] = e.Labels.Text()
			}
			return nil
		})
		if entries = len(c.entries); err != nil || entries == 0 {
			return err
		}
		return l.changeMetrics(ctx, t, &c, now, done, func(t *table.Table, name string, files []table.FileScanTask) (table.CompactionGroupResult, error) {
			return l.relabelled(ctx, t, name, files, now, done)
		})
	})
	return entries, err
}

// relabelled writes those of some files of a table of metrics that have rows of traces again, with the labels that these have now.
func (l *Lake) relabelled(ctx context.Context, t *table.Table, name string, files []table.FileScanTask, now map[string]string, done *progress) (all table.CompactionGroupResult, err error) {
	if _, there := t.Schema().FindFieldByName(task.LabelsColumn); !there {
		return all, nil // an older version made it
	}
	some := work.Gone{}
	for id := range now {
		some[id] = ""
	}
	for _, f := range files {
		one, err := done.of(f, now, func() (table.CompactionGroupResult, error) {
			_, n, err := l.count(ctx, t, f, some)
			if err != nil || n == 0 {
				return table.CompactionGroupResult{}, err
			}
			return l.rewrite(ctx, t, name, []table.FileScanTask{f}, "", work.Repacking{Labels: now})
		})
		if err != nil {
			return all, err
		}
		all = joined(all, one)
	}
	return all, nil
}
