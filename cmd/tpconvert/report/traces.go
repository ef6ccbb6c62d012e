package report

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

// traceTables are the tables whose rows the page of a dataset shows.
var traceTables = []string{"thread", "slice", "gpu_slice", "sched_slice", "counter", "stack_sample", "aggregate_sample"}

// Traces makes a page to choose a trace of a dataset, by a link to address and its id. lost gives the events that a trace has lost.
func Traces(name, address string, all []*export.Manifest, lost func(*export.Manifest) int64, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	t := &Table{Total: len(all), Columns: []Column{{"trace", false}, {"format", false}, {"machine", false}, {"start, UTC", true}, {"duration", true}, {"bytes", true}}}
	for _, table := range traceTables {
		t.Columns = append(t.Columns, Column{table, true})
	}
	t.Columns = append(t.Columns, Column{"events", true}, Column{"lost", true})
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
		if ns := duration(trace); ns > 0 {
			dur = m.cell(ns, "ns")
			dur.Share = 100 * float64(ns) / float64(longest)
		}
		row := []Cell{name, {Text: m.text(trace.Input.Formats())}, {Text: m.text(trace.Machine.Name)}, start, dur, m.cell(trace.Input.Bytes, "bytes")}
		rows := map[string]int64{}
		for _, table := range trace.Tables {
			rows[table.Name] = table.Rows
		}
		numbers := make([]int64, 0, len(traceTables)+2)
		for _, table := range traceTables {
			numbers = append(numbers, rows[table])
		}
		for _, n := range append(numbers, trace.Events, lost(trace)) {
			c := m.cell(n, "")
			if n == 0 {
				c.Text = "" // a column without any is dropped
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	t.dropEmpty()
	return &Page{Title: m.text(name), Summary: fmt.Sprintf("%s traces; a click on a name opens the timeline", count.String(len(all))),
		Sections: []Section{{"Traces", []Figure{{Table: t}}}}}
}

// duration is from the first to the last event of a trace, or 0 if it has none.
func duration(trace *export.Manifest) int64 {
	if trace.Start == nil || trace.End == nil {
		return 0
	}
	return *trace.End - *trace.Start
}
