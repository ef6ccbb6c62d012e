package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

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
	losses
	Seconds float64 `json:"seconds"`
}

// tableSize is the size of a table.
type tableSize struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes,omitempty"` // of its file
}

// summaryTables is the maximum number of tables in a summary, so that it fits a screen.
const summaryTables = 12

func (s summary) text(w io.Writer) {
	var bytes int64
	var tables []tableSize
	var losses losses
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
		losses.add(c.losses)
	}
	s.alarm(w)
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
	losses.text(w)
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

// alarm says in one line for each trace that its dataset is far from complete.
func (s summary) alarm(w io.Writer) {
	said := 0
	for _, c := range s.Traces {
		text := c.losses.alarm()
		if text == "" {
			continue
		}
		if said++; said <= maxTracesShown {
			fmt.Fprintf(w, "%s: %s\n", printable(c.Trace), text)
		}
	}
	if said > maxTracesShown {
		fmt.Fprintf(w, "%s more traces are incomplete\n", count.String(said-maxTracesShown))
	}
	if said > 0 {
		fmt.Fprintln(w)
	}
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
