package main

import (
	"fmt"
	"io"
	"math"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/internal/human"
	"github.com/tpconvert/tpconvert/internal/terminal"
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

func (c contents) Text(w io.Writer) {
	if text := c.Alarm(); text != "" {
		fmt.Fprintln(w, text)
	}
	fmt.Fprintf(w, "dataset  %s\n", terminal.Printable(c.Dataset))
	if len(c.Traces) > 0 {
		fmt.Fprintf(w, "schema   %d, by tpconvert %s\n", c.Traces[0].SchemaVersion, c.Traces[0].ConverterVersion)
	}
	fmt.Fprintf(w, "traces   %s\n", human.Count(len(c.Traces)))
	for i, m := range c.Traces {
		if i == console.MaxTraces {
			fmt.Fprintf(w, "  %s more\n", human.Count(len(c.Traces)-i))
			break
		}
		fmt.Fprintf(w, "  %s  %s  %s, %s\n", m.TraceID, terminal.Printable(m.Input.Name), m.Input.Format, human.Bytes(m.Input.Bytes))
	}
	fmt.Fprintln(w)
	console.PrintTables(w, c.Tables, math.MaxInt)
	console.PrintLosses(w, c.Losses)
	var all derivations
	for _, m := range c.Traces {
		all = append(all, derivationsOf(m, len(c.Traces) > 1)...)
	}
	if len(all) > 0 {
		fmt.Fprintln(w, "\nderived")
		all.Text(w)
	}
}
