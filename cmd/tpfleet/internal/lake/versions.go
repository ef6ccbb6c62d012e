package lake

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
)

// readCopies reads which other objects have the content of traces that results may supersede.
func readCopies(ctx context.Context, t *table.Table, ledger *Ledger, results []task.Result) error {
	ids := map[string]bool{}
	for _, r := range results {
		for _, o := range r.Traces {
			for _, e := range ledger.versions[o.URL] {
				if e.Trace != o.Trace && e.SHA256 != "" && r.Supersedes() {
					ids[export.TraceID(e.SHA256)] = true
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return eachBatch(ctx, t, []string{"url", "etag", "bytes", "status", "sha256"}, func(b batch.Batch) error {
		for row := range b.Rows {
			if sum := b.Text("sha256", row); b.Text("status", row) == task.Copy && sum != "" && ids[export.TraceID(sum)] {
				id := export.TraceID(sum)
				ledger.copies[id] = append(ledger.copies[id], kept(objectIn(b, row)))
			}
		}
		return nil
	})
}

// mostContents is the number of traces of one size that are told apart before conversion.
const mostContents = 100

// Contents returns the SHA-256 of the traces in the tables that have the sizes of others, unless very many have one. Of large files of the
// ledger it reads the sizes first.
func (l *Lake) Contents(ctx context.Context, traces []task.Trace) (all map[int64][]string, err error) {
	sizes := map[int64]bool{}
	for _, t := range traces {
		sizes[t.Bytes] = true
	}
	err = l.read(ctx, "plan", func(ctx context.Context) error {
		all = map[int64][]string{}
		t, err := l.load(ctx, task.Ledger)
		if err != nil {
			return err
		}
		files, err := planFiles(ctx, t)
		for _, f := range files {
			one, there := []table.FileScanTask{f}, f.File.FileSizeBytes() < smallFile
			if err == nil && !there {
				err = eachBatchOf(ctx, t, one, []string{"bytes"}, func(b batch.Batch) error {
					for row := 0; row < b.Rows && !there; row++ {
						there = sizes[*b.Number("bytes", row)]
					}
					return nil
				})
			}
			if err == nil && there {
				err = eachBatchOf(ctx, t, one, []string{"bytes", "status", "sha256"}, func(b batch.Batch) error {
					for row := range b.Rows {
						if n := *b.Number("bytes", row); sizes[n] && b.Text("status", row) == task.OK {
							all[n] = append(all[n], strings.Clone(b.Text("sha256", row)))
						}
					}
					return nil
				})
			}
		}
		return err
	})
	maps.DeleteFunc(all, func(_ int64, sums []string) bool { return len(sums) > mostContents })
	return all, err
}

// supersede removes the rows of older versions of an object. If another object has the content of one, its rows stay, as those of that.
func (c *choice) supersede(ledger *Ledger, now task.Trace, at int64) {
	older := slices.DeleteFunc(slices.Clone(ledger.versions[now.URL]), func(e entry) bool { return e.Trace == now })
	ledger.versions[now.URL] = slices.DeleteFunc(ledger.versions[now.URL], func(e entry) bool { return e.Trace != now })
	for _, e := range older {
		id := e.content()
		ledger.copies[id] = slices.DeleteFunc(ledger.copies[id], func(t task.Trace) bool { return t == e.Trace })
		holds := ledger.content[id].object == e.Trace && !ledger.content[id].forgotten
		c.objects[e.Trace] = true
		e.Outcome = task.Outcome{Trace: e.Trace, Status: task.Superseded, Error: "a newer version of the object was converted", SHA256: e.SHA256,
			Version: e.Version, Schema: e.Schema, Read: e.Read}
		e.changed, e.attempt = &at, ""
		switch {
		case holds && len(ledger.copies[id]) > 0:
			c.move(ledger, id, ledger.copies[id][0])
			c.account.Superseded++
		case holds:
			e.TraceID = id
			c.gone[id] = ""
			delete(c.moved, id)
			delete(ledger.content, id)
			c.account.Superseded++
		}
		ledger.add(&e)
		c.entries = append(c.entries, e)
	}
}

// move makes the rows of a trace those of another object with the same content.
func (c *choice) move(ledger *Ledger, id string, to task.Trace) {
	holder := ledger.content[id]
	c.objects[holder.object], c.objects[to] = true, true
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool { return e.Trace == to })
	ledger.copies[id] = slices.DeleteFunc(ledger.copies[id], func(t task.Trace) bool { return t == to })
	ledger.versions[to.URL] = append(slices.DeleteFunc(ledger.versions[to.URL], func(e entry) bool { return e.Trace == to || e.Trace == holder.object }),
		entry{task: holder.task, Outcome: task.Outcome{Trace: to, Status: task.OK, TraceID: id, SHA256: holder.sha256}})
	holder.object = to
	ledger.content[id], c.moved[id], ledger.objects[to] = holder, to, Known{Done: true}
}

// addMoved adds the entries of traces that moved, with all that the ledger knows of them.
func (c *choice) addMoved(ctx context.Context, ledger *table.Table) error {
	if len(c.moved) == 0 {
		return nil
	}
	ids := map[string]bool{}
	for id := range c.moved {
		ids[id] = true
	}
	files, err := withIDs(ctx, ledger, nil, ids)
	if err != nil {
		return err
	}
	return eachBatchOf(ctx, ledger, files, columnNames(ledger), func(b batch.Batch) error {
		for row := range b.Rows {
			to, there := c.moved[b.Text("trace_id", row)]
			if !there || b.Text("status", row) != task.OK {
				continue
			}
			e := entryIn(b, row)
			e.Trace = to
			c.entries = append(c.entries, e)
		}
		return nil
	})
}
