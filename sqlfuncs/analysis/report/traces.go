package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/sqlfuncs/metrics"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// traceTables are the tables whose rows the page of a dataset shows.
var traceTables = []string{"thread", "slice", "gpu_slice", "sched_slice", "counter", "stack_sample", "aggregate_sample"}

// maxLabels is how many things of a metric, such as slices of a name, the page of a dataset shows.
const maxLabels = 4

// Traces makes a page to choose a trace of a dataset, by a link to address and its id. computed are metrics by the id of the trace;
// lost gives the events that a trace has lost.
func Traces(name, address string, all []*export.Manifest, computed map[string][]metrics.Table, lost func(*export.Manifest) int64, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	t := &Table{Total: len(all), Columns: []Column{{"trace", false}, {"format", false}, {"machine", false}, {"start, UTC", true}, {"duration", true}, {"bytes", true}, {"events", true}, {"lost", true}}}
	values := labelled(computed)
	for _, v := range values {
		t.Columns = append(t.Columns, Column{m.text(v.name), true})
	}
	t.Columns = append(t.Columns, Column{"rows", false})
	longest := int64(1)
	for _, trace := range all {
		longest = max(longest, duration(trace))
	}
	for _, trace := range all {
		name := Cell{Text: m.text(path.Base(filepath.ToSlash(trace.Input.Name))), Link: address + url.QueryEscape(trace.TraceID)}
		var start, dur Cell
		if at := trace.StartUnix; at != nil {
			start = Cell{Text: time.Unix(0, *at).UTC().Format(time.DateTime), Sort: fmt.Sprint(*at)}
		}
		if ns := duration(trace); ns > 1 {
			dur = m.cell(ns, "ns")
			dur.Share = 100 * float64(ns) / float64(longest)
		}
		row := []Cell{name, {Text: m.text(trace.Input.Formats())}, {Text: m.text(trace.Machine.Name)}, start, dur, m.cell(trace.Input.Bytes, "bytes")}
		for _, n := range []int64{trace.Events, lost(trace)} {
			c := m.cell(n, "")
			if n == 0 {
				c.Text = "" // a column without any is dropped
			}
			row = append(row, c)
		}
		for _, v := range values {
			var c Cell
			if n, ok := v.byTrace[trace.TraceID]; ok {
				c = m.cell(n, v.unit)
				c.Share = max(0, 100*n/v.greatest())
			}
			row = append(row, c)
		}
		rows := Cell{}
		if len(values) == 0 { // which tell more, and take the room
			rows.Text = rowsOf(trace)
		}
		row = append(row, rows)
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	t.dropEmpty()
	return &Page{Title: m.text(name), Summary: fmt.Sprintf("%s traces; a click on a name opens the timeline", human.Count(len(all))),
		Sections: []Section{{"Traces", []Figure{{Table: t}}}}}
}

// rowsOf says how many rows a trace has in the tables that tell most.
func rowsOf(trace *export.Manifest) string {
	var all []string
	for _, table := range traceTables {
		for _, t := range trace.Tables {
			if t.Name == table && t.Rows > 0 {
				all = append(all, table+" "+human.Count(t.Rows))
			}
		}
	}
	return strings.Join(all, ", ")
}

// traceValue is what each trace says of a thing.
type traceValue struct {
	name, unit string
	byTrace    map[string]float64 // by the id of the trace
	sum        float64
}

func (v *traceValue) greatest() float64 { return slices.Max(slices.Collect(maps.Values(v.byTrace))) }

// labelled returns the values of metrics, of each those of the things that have most. Rows that differ only in a pid are added.
func labelled(computed map[string][]metrics.Table) (all []*traceValue) {
	byName := map[string]*traceValue{}
	var order []string // of metrics
	things := map[string][]*traceValue{}
	for _, id := range slices.Sorted(maps.Keys(computed)) {
		for _, t := range computed[id] {
			for i, c := range t.Columns[t.Dimensions:] {
				metric := t.ID + " " + strings.ReplaceAll(c.Name, "_", " ")
				if !slices.Contains(order, metric) {
					order = append(order, metric)
				}
				for _, row := range t.Rows {
					n := session.Float(row[t.Dimensions+i])
					if math.IsNaN(n) {
						continue
					}
					name := metric
					for d, dimension := range t.Columns[:t.Dimensions] {
						if row[d] != nil && dimension.Name != "pid" {
							name += " · " + fmt.Sprint(row[d])
						}
					}
					v := byName[name]
					if v == nil {
						v = &traceValue{name: name, unit: map[string]string{"TIME_NANOS": "ns", "BYTES": "bytes"}[t.Units[i]], byTrace: map[string]float64{}}
						byName[name], things[metric] = v, append(things[metric], v)
					}
					v.byTrace[id] += n
					v.sum += n
				}
			}
		}
	}
	for _, metric := range order {
		most := things[metric]
		slices.SortStableFunc(most, func(a, b *traceValue) int { return cmp.Compare(b.sum, a.sum) })
		all = append(all, most[:min(len(most), maxLabels)]...)
	}
	return all
}

// duration is from the first to the last event of a trace, or 0 if it has none.
func duration(trace *export.Manifest) int64 {
	if trace.Start == nil || trace.End == nil {
		return 0
	}
	return *trace.End - *trace.Start
}
