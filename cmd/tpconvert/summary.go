package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

// summary describes a finished run.
type summary struct {
	Out        string       `json:"out"`
	Traces     []conversion `json:"traces"`
	Seconds    float64      `json:"seconds"`
	PeakMemory int64        `json:"peak_memory_bytes"`
}

// conversion is the outcome for one trace.
type conversion struct {
	Trace   string      `json:"trace"`
	TraceID string      `json:"trace_id,omitempty"`
	Format  string      `json:"format,omitempty"`
	Bytes   int64       `json:"bytes"`
	Known   string      `json:"known,omitempty"` // why the trace was not converted: the dataset has it
	Error   string      `json:"error,omitempty"`
	Tables  []tableSize `json:"tables,omitempty"`
	Lost    []lostCount `json:"lost,omitempty"`
	Seconds float64     `json:"seconds"`
}

// tableSize is the size of a table.
type tableSize struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes,omitempty"` // of its file
}

// lostCount is the value of a stat that reports missing or unread data.
type lostCount struct {
	Name     string `json:"name"`
	Severity string `json:"severity"`
	Value    int64  `json:"value"`
	// Description follows the value; "" if the name says everything.
	Description string `json:"description,omitempty"`
}

// maxLostNamed is the maximum number of reasons in a summary.
const maxLostNamed = 8

// summaryTables is the maximum number of tables in a summary, so that it fits a screen.
const summaryTables = 12

func (s summary) text(w io.Writer) {
	var bytes int64
	var tables []tableSize
	var lost []lostCount
	done, known := 0, 0
	for _, c := range s.Traces {
		bytes += c.Bytes
		switch {
		case c.Known != "":
			known++
		case c.Error == "":
			done++
		}
		for _, t := range c.Tables {
			tables = addTable(tables, t)
		}
		for _, l := range c.Lost {
			lost = addLost(lost, l)
		}
	}
	what := fmt.Sprintf("%s of %s traces", count.String(done), count.String(len(s.Traces)))
	if done == 1 && len(s.Traces) == 1 {
		what = fmt.Sprintf("%s (%s)", printable(s.Traces[0].Trace), s.Traces[0].Format)
	}
	fmt.Fprintf(w, "%s -> %s\n", what, printable(s.Out))
	if known > 0 {
		fmt.Fprintf(w, "%s not converted, because the dataset already has their content:\n", count.String(known))
		for _, c := range s.Traces {
			if c.Known != "" {
				fmt.Fprintf(w, "  %s %s\n", printable(c.Trace), printable(c.Known))
			}
		}
	}
	fmt.Fprintln(w)
	printTables(w, tables, summaryTables)
	printLost(w, lost)
	fmt.Fprintf(w, "\nRead %s in %.1f s, %.0f MB/s; peak memory %s.\n",
		formatBytes(bytes), s.Seconds, float64(bytes)/1e6/max(s.Seconds, 1e-3), formatBytes(s.PeakMemory))
}

// printTables lists the largest tables, up to most, then the number and size of the others, then the total.
func printTables(w io.Writer, tables []tableSize, most int) {
	row := func(t tableSize) {
		size := ""
		if t.Bytes > 0 {
			size = formatBytes(t.Bytes)
		}
		fmt.Fprintf(w, "  %-32s %14s %12s\n", t.Name, count.String(t.Rows), size)
	}
	slices.SortStableFunc(tables, func(a, b tableSize) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(b.Bytes, a.Bytes))
	})
	total := tableSize{Name: "total"}
	rest := tableSize{Name: fmt.Sprintf("%d more", len(tables)-most)}
	for i, t := range tables {
		total.Rows, total.Bytes = total.Rows+t.Rows, total.Bytes+t.Bytes
		if i < most {
			row(t)
		} else {
			rest.Rows, rest.Bytes = rest.Rows+t.Rows, rest.Bytes+t.Bytes
		}
	}
	if len(tables) > most {
		row(rest)
	}
	row(total)
}

func printLost(w io.Writer, lost []lostCount) {
	if len(lost) > 0 {
		fmt.Fprintf(w, "\nNot imported: %s. See stats and import_log.\n", describeLost(lost))
	}
}

func describeLost(lost []lostCount) string {
	var parts []string
	for i, l := range lost {
		if i == maxLostNamed {
			parts = append(parts, fmt.Sprintf("and %d more", len(lost)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", count.String(l.Value), cmp.Or(l.Description, l.Name)))
	}
	return strings.Join(parts, ", ")
}

// addTable adds a size to that of the same table.
func addTable(all []tableSize, t tableSize) []tableSize {
	if i := slices.IndexFunc(all, func(o tableSize) bool { return o.Name == t.Name }); i >= 0 {
		all[i].Rows += t.Rows
		all[i].Bytes += t.Bytes
		return all
	}
	return append(all, t)
}

// lostOf returns the counts of stats that report missing data, then of those that report other unread data.
func lostOf(stats []export.Stat) (lost []lostCount) {
	for _, missing := range []bool{true, false} {
		for _, s := range stats {
			if s.Lost() == missing && (missing || s.Description != "") {
				lost = addLost(lost, lostCount{s.Name, s.Severity, s.Value, s.Description})
			}
		}
	}
	return lost
}

// addLost adds a count to that with the same name and description.
func addLost(all []lostCount, l lostCount) []lostCount {
	if i := slices.IndexFunc(all, func(o lostCount) bool { return o.Name == l.Name && o.Description == l.Description }); i >= 0 {
		all[i].Value += l.Value
		return all
	}
	return append(all, l)
}
