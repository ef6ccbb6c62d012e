package main

import (
	"fmt"
	"io"
	"math"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/internal/count"
)

// contents describes a dataset.
type contents struct {
	Dataset string          `json:"dataset"`
	Traces  []*api.Manifest `json:"traces"`
	Tables  []api.TableSize `json:"tables"` // of all traces
	api.Losses
}

func inspectDataset(path string) (contents, error) {
	d, err := api.Open(path)
	if err != nil {
		return contents{}, err
	}
	return contents{path, d.Traces, d.Tables(), d.Losses()}, nil
}

func (c contents) text(w io.Writer) {
	if text := c.Alarm(); text != "" {
		fmt.Fprintln(w, text)
	}
	fmt.Fprintf(w, "dataset  %s\n", printable(c.Dataset))
	if len(c.Traces) > 0 {
		fmt.Fprintf(w, "schema   %d, by tpconvert %s\n", c.Traces[0].SchemaVersion, c.Traces[0].ConverterVersion)
	}
	fmt.Fprintf(w, "traces   %s\n", count.String(len(c.Traces)))
	for i, m := range c.Traces {
		if i == maxTracesShown {
			fmt.Fprintf(w, "  %s more\n", count.String(len(c.Traces)-i))
			break
		}
		fmt.Fprintf(w, "  %s  %s  %s, %s\n", m.TraceID, printable(m.Input.Name), m.Input.Format, count.Bytes(m.Input.Bytes))
	}
	fmt.Fprintln(w)
	printTables(w, c.Tables, math.MaxInt)
	printLosses(w, c.Losses)
	var all derivations
	for _, m := range c.Traces {
		all = append(all, derivationsOf(m, len(c.Traces) > 1)...)
	}
	if len(all) > 0 {
		fmt.Fprintln(w, "\nderived")
		all.text(w)
	}
}

// maxTracesShown is the maximum number of a dataset's traces to list.
const maxTracesShown = 20
