package report

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

// traceTables are the tables whose rows the page of a dataset shows.
var traceTables = []string{"process", "thread", "slice", "sched_slice", "counter", "perf_sample", "stack_profile_sample"}

// begun is the column of the wall clock's time at the start.
const begun = "start, UTC"

// Traces makes a page to choose a trace of a dataset, by a link to address and its id. lost gives the events that a trace has lost.
func Traces(name, address string, all []*export.Manifest, lost func(*export.Manifest) int64, printable func(string) string) *Page {
	m := maker{Options: Options{Printable: printable}}
	t := &Table{Total: len(all), Columns: []Column{{"trace", false}, {"format", false}, {"machine", false}, {begun, true}, {"duration", true}, {"bytes", true}}}
	for _, table := range traceTables {
		t.Columns = append(t.Columns, Column{table, true})
	}
	t.Columns = append(t.Columns, Column{"events", true}, Column{"lost", true})
	for _, trace := range all {
		name := Cell{Text: m.text(path.Base(filepath.ToSlash(trace.Input.Name))), Link: address + url.QueryEscape(trace.TraceID)}
		var start, dur Cell
		if at := trace.StartUnix; at != nil {
			start = Cell{Text: time.Unix(0, *at).UTC().Format(time.DateTime), Sort: fmt.Sprint(*at)}
		}
		if trace.Start != nil && trace.End != nil {
			dur = m.cell(*trace.End-*trace.Start, "ns")
		}
		row := []Cell{name, {Text: m.text(trace.Input.Format)}, {Text: m.text(trace.Machine.Name)}, start, dur, m.cell(trace.Input.Bytes, "bytes")}
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
	t.addBars()
	return &Page{Title: m.text(name), Summary: fmt.Sprintf("%s traces; a click on a name opens the timeline", count.String(len(all))),
		Sections: []Section{{"Traces", []Figure{{Table: t}}}}}
}

// addBars shows the numbers of each column but times as bars, beside the greatest.
func (t *Table) addBars() {
	for i, column := range t.Columns {
		greatest := 0.0
		number := func(c Cell) float64 { v, _ := strconv.ParseFloat(c.Sort, 64); return v }
		for _, row := range t.Rows {
			greatest = max(greatest, number(row.Cells[i]))
		}
		if column.Name == begun || greatest == 0 {
			continue
		}
		for _, row := range t.Rows {
			row.Cells[i].Share = 100 * number(row.Cells[i]) / greatest
		}
	}
}
