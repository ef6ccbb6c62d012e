package lake

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/batch"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/model"
)

// Status is the state of a lake.
type Status struct {
	OK        int `json:"ok"` // entries of the ledger
	Copies    int `json:"copies"`
	Bad       int `json:"bad"`
	Large     int `json:"large"` // wait for a worker that may use more
	Forgotten int `json:"forgotten"`
	// Superseded entries are of older versions of objects.
	Superseded int           `json:"superseded"`
	Bytes      int64         `json:"bytes"`   // of the traces that are OK
	Rows       int64         `json:"rows"`    // of all tables but the ledger
	Seconds    float64       `json:"seconds"` // that conversions took, as far as the ledger knows
	Failures   []Count       `json:"failures"`
	Lossy      int           `json:"lossy"`     // traces of which something is lost or damaged
	Truncated  int           `json:"truncated"` // traces that end too early
	Lost       []Loss        `json:"lost"`
	Tables     []TableStatus `json:"tables"` // with rows, in order
}

// Count counts traces, and what they have of something.
type Count struct {
	Name   string `json:"name"`
	Traces int    `json:"traces"`
	Value  int64  `json:"value,omitempty"`
}

// Loss is a cause of lost or damaged data, and what it costs the fleet.
type Loss struct {
	Count
	Effect  string `json:"effect"`  // lost or damaged
	Source  string `json:"source"`  // trace: in recording; analysis: in conversion
	Meaning string `json:"meaning"` // of the count
	Example string `json:"example"` // id of the trace with the greatest count

	greatest int64
}

// TableStatus is the state of a table.
type TableStatus struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Status counts the entries of the ledger, and what the tables hold and lack.
func (l *Lake) Status(ctx context.Context) (s Status, err error) {
	err = l.read(ctx, "status", func(ctx context.Context) error {
		s = Status{}
		if err := l.countTraces(ctx, &s); err != nil {
			return err
		}
		return l.lost(ctx, &s)
	})
	if err != nil {
		return s, err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	names, err := l.tableNames(ctx)
	if err != nil {
		return s, err
	}
	for _, name := range names {
		group.Go(func() error {
			t, err := l.load(ctx, name)
			if err != nil {
				return err
			}
			snapshot := t.CurrentSnapshot()
			if snapshot == nil || snapshot.Summary == nil {
				return nil
			}
			number := func(key string) int64 {
				n, _ := strconv.ParseInt(snapshot.Summary.Properties[key], 10, 64)
				return n
			}
			mu.Lock()
			defer mu.Unlock()
			if name != task.Ledger {
				s.Rows += number("total-records")
			}
			s.Tables = append(s.Tables, TableStatus{name, number("total-records"), number("total-data-files"), number("total-files-size")})
			return nil
		})
	}
	err = group.Wait()
	slices.SortFunc(s.Tables, func(a, b TableStatus) int { return strings.Compare(a.Name, b.Name) })
	return s, err
}

func (l *Lake) countTraces(ctx context.Context, s *Status) error {
	t, err := l.ledger(ctx)
	if err != nil {
		return err
	}
	failures := counts{}
	statuses := map[string]*int{task.OK: &s.OK, task.Copy: &s.Copies, task.Bad: &s.Bad, task.Large: &s.Large, task.Forgotten: &s.Forgotten, task.Superseded: &s.Superseded}
	ns := int64(0)
	err = eachBatch(ctx, t, []string{"url", "status", "bytes", "convert_ns", "error", "truncated"}, func(b batch.Batch) error {
		for row := range b.Rows {
			status := b.Text("status", row)
			if n := statuses[status]; n != nil {
				*n++
			}
			if took := b.Number("convert_ns", row); took != nil {
				ns += *took
			}
			switch status {
			case task.OK:
				s.Bytes += *b.Number("bytes", row)
				if cut := b.Number("truncated", row); cut != nil {
					s.Truncated += int(*cut)
				}
			case task.Bad, task.Large:
				failures.add(task.Kind(b.Text("url", row), b.Text("error", row)), 1, 0)
			}
		}
		return nil
	})
	s.Seconds, s.Failures = float64(ns)/1e9, failures.sorted()
	return err
}

// lost counts what the traces lack, by the names in stats.
func (l *Lake) lost(ctx context.Context, s *Status) error {
	s.Lost = []Loss{}
	v, err := l.view(ctx)
	if err != nil {
		return err
	}
	t, err := l.load(ctx, "stats")
	if err != nil || t.CurrentSnapshot() == nil {
		return err
	}
	all, last, lossy := map[string]*Loss{}, map[string]string{}, ""
	columns := []string{"trace_id", "name", "value", "effect", "source", "description"}
	if v != nil {
		columns = append(columns, export.TraceAttemptColumn)
	}
	err = eachBatch(ctx, t, columns, func(b batch.Batch) error {
		for row := range b.Rows {
			if v != nil && !v.names(b.Text("trace_id", row), b.Text(export.TraceAttemptColumn, row)) {
				continue
			}
			value := *b.Number("value", row)
			if effect := b.Text("effect", row); value <= 0 || effect != model.Lost.String() && effect != model.Damaged.String() {
				continue
			}
			name, id := strings.Clone(b.Text("name", row)), strings.Clone(b.Text("trace_id", row))
			loss := all[name]
			if loss == nil {
				loss = &Loss{Count: Count{Name: name}, Effect: strings.Clone(b.Text("effect", row)), Source: strings.Clone(b.Text("source", row)), Meaning: strings.Clone(b.Text("description", row))}
				all[name] = loss
			}
			// The rows of a trace are together.
			if last[name] != id {
				last[name] = id
				loss.Traces++
			}
			if lossy != id {
				lossy = id
				s.Lossy++
			}
			if loss.Value += value; value > loss.greatest {
				loss.greatest, loss.Example = value, id
			}
		}
		return nil
	})
	for _, loss := range all {
		s.Lost = append(s.Lost, *loss)
	}
	slices.SortFunc(s.Lost, func(a, b Loss) int { return cmp.Or(cmp.Compare(b.Traces, a.Traces), cmp.Compare(a.Name, b.Name)) })
	return err
}

// counts are counts by name.
type counts map[string]*Count

// maxCounts is the number of names that are told apart.
const maxCounts = 1000

func (c counts) add(name string, traces int, value int64) {
	if c[name] == nil {
		if len(c) >= maxCounts {
			name = "others"
		}
		if c[name] == nil {
			name = strings.Clone(name)
			c[name] = &Count{Name: name}
		}
	}
	c[name].Traces += traces
	c[name].Value += value
}

// sorted returns the counts, that of most traces first.
func (c counts) sorted() []Count {
	all := make([]Count, 0, len(c))
	for _, one := range c {
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Traces, a.Traces), cmp.Compare(a.Name, b.Name)) })
	return all
}

// tableNames returns the names of all tables but those of metrics, that of the ledger first.
func tableNames() []string {
	names := []string{task.Ledger}
	for _, s := range task.Packed() {
		names = append(names, s.Name)
	}
	return names
}

// Files returns the URLs of a table's data files that may have rows for which all filters are true.
func (l *Lake) Files(ctx context.Context, name string, filters ...iceberg.BooleanExpression) (urls []string, err error) {
	err = l.read(ctx, "files", func(ctx context.Context) error {
		t, err := l.load(ctx, name)
		if err != nil {
			return err
		}
		urls = nil
		tasks, err := planFiles(ctx, t, filters...)
		for _, task := range tasks {
			urls = append(urls, task.File.FilePath())
		}
		return err
	})
	return urls, err
}
