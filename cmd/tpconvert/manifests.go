package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/tpconvert/tpconvert/export"
	"github.com/tpconvert/tpconvert/internal/count"
)

// isDataset reports whether a folder is a dataset of one or many traces.
func isDataset(path string) bool {
	for _, name := range []string{manifestFile, manifestFolder} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}

const (
	manifestFile   = "_tpconvert.json" // in a dataset of one trace
	manifestFolder = "_tpconvert"      // in a dataset of many traces
)

// contents describes a dataset.
type contents struct {
	Dataset string             `json:"dataset"`
	Traces  []*export.Manifest `json:"traces"`
	Tables  []tableSize        `json:"tables"` // of all traces
	losses
}

func inspectDataset(path string) (contents, error) {
	traces, _, err := export.ReadManifests(path)
	c := contents{Dataset: path, Traces: traces}
	for _, m := range traces {
		for _, t := range m.Tables {
			c.Tables = addTable(c.Tables, tableSize{t.Name, t.Rows, t.Bytes})
		}
		c.losses.add(lossesOf(m.Events, m.Stats))
	}
	return c, err
}

func (c contents) text(w io.Writer) {
	if text := c.losses.alarm(); text != "" {
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
		fmt.Fprintf(w, "  %s  %s  %s, %s\n", m.TraceID, printable(m.Input.Name), m.Input.Format, formatBytes(m.Input.Bytes))
	}
	fmt.Fprintln(w)
	printTables(w, c.Tables, math.MaxInt)
	c.losses.text(w)
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
