package lake

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/measure"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
)

// Measured counts what Measure did.
type Measured struct {
	Traces     int `json:"traces"`               // whose metrics were computed
	Unmeasured int `json:"unmeasured,omitempty"` // those of them for which a spec failed
	Known      int `json:"known"`                // that had the metrics of all specs
	Left       int `json:"left,omitempty"`       // that others changed meanwhile
}

// mostMeasured is the number of traces whose metrics are committed together.
const mostMeasured = 1000

// Measure computes the metrics of all specs for the picked traces from their rows in the tables, unless they have those.
func (l *Lake) Measure(ctx context.Context, p Picked, modules fs.FS, most time.Duration, jobs int) (total Measured, err error) {
	ledger, err := l.ledger(ctx)
	if err != nil {
		return total, err
	}
	layout, err := l.readLayout(ctx, ledger)
	if err != nil {
		return total, err
	}
	specs, err := measure.Read(layout.Specs)
	if err != nil {
		return total, err
	}
	specs.Modules, specs.MaxTime = modules, most
	s, err := l.Select(ctx, p, []string{"metrics"})
	if err != nil {
		return total, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	want := specs.Digests().Text()
	total.Known = len(s.Traces)
	s.Traces = slices.DeleteFunc(s.Traces, func(t Selected) bool { return want == "" || t.Facts[0] == want })
	total.Known -= len(s.Traces)
	for some := range slices.Chunk(s.Traces, mostMeasured) {
		done, err := l.measure(ctx, s, some, layout, specs, jobs)
		if err != nil {
			return total, err
		}
		add(&total, done)
	}
	return total, nil
}

// measure computes the metrics of some traces, and commits them.
func (l *Lake) measure(ctx context.Context, s *Selection, some []Selected, layout task.Layout, specs *measure.Specs, jobs int) (done Measured, err error) {
	dir, err := os.MkdirTemp("", "tpfleet-")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(dir)
	spool, err := export.NewSpool(dir)
	if err != nil {
		return done, err
	}
	defer spool.Close()
	schemas, metrics := layout.MetricSchemas(), map[string]task.Labels{}
	var mu sync.Mutex
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for _, trace := range some {
		group.Go(func() error {
			chunks, digests, err := specs.Trace(working, s.Rows(trace.ID), s.labels[trace.ID], schemas)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, c := range chunks {
				if err := spool.Chunk(c); err != nil {
					return err
				}
			}
			metrics[trace.ID] = digests
			return spool.Keep(trace.ID, s.days[trace.ID], s.attempts[trace.ID])
		})
	}
	if err := group.Wait(); err != nil {
		return done, err
	}
	packed, err := layout.PackedMetrics()
	if err != nil {
		return done, err
	}
	files, err := spool.Pack(dir, packed, l.version)
	if err != nil {
		return done, err
	}
	name := "measure-" + strings.ToLower(rand.Text())
	c := choice{files: map[string][]resultFile{}, gone: work.Gone{}}
	for _, f := range files {
		file := work.Describe(f, packed)
		file.URL = layout.Tables[f.Table].Location + "/data/" + name + export.DaySuffix(f.Day) + ".parquet"
		if err := l.stores.Put(ctx, file.URL, f.Path); err != nil {
			return done, err
		}
		c.files[f.Table] = append(c.files[f.Table], resultFile{file, name})
	}
	_, err = l.transact(ctx, "measure", func(ctx context.Context, ledger *table.Table, progress *progress) error {
		done = Measured{}
		return l.commitMetrics(ctx, ledger, &c, s, metrics, &done, progress)
	})
	return done, err
}

// commitMetrics replaces the rows of traces in the tables of metrics. If a trace has other rows meanwhile, none are.
func (l *Lake) commitMetrics(ctx context.Context, ledger *table.Table, c *choice, s *Selection, metrics map[string]task.Labels, done *Measured, progress *progress) error {
	c.entries, c.objects = nil, map[task.Trace]bool{}
	ids := slices.Sorted(maps.Keys(metrics))
	err := pick(ctx, ledger, Picked{IDs: ids}, columnNames(ledger), func(e entry) error {
		if e.Status != task.OK || e.task != s.tasks[e.TraceID] || e.attempt != s.attempts[e.TraceID] || e.Labels.Text() != s.labels[e.TraceID].Text() {
			return nil
		}
		e.Metrics = metrics[e.TraceID]
		if failedSpec(e.Metrics) {
			done.Unmeasured++
		}
		c.objects[e.Trace] = true
		c.entries = append(c.entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	if len(c.entries) != len(metrics) {
		*done = Measured{Left: len(metrics)}
		return nil
	}
	done.Traces = len(metrics)
	for _, id := range ids {
		c.gone[id] = ""
	}
	return l.changeMetrics(ctx, ledger, c, c.gone, progress, func(t *table.Table, name string, files []table.FileScanTask) (table.CompactionGroupResult, error) {
		return l.filesWithout(ctx, t, name, files, c.gone, progress)
	})
}
