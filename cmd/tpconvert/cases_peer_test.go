package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// peerFunctions returns statements that define caseFunctions in Trace Processor.
func peerFunctions() string {
	var b strings.Builder
	for _, f := range caseFunctions {
		fmt.Fprintf(&b, "CREATE PERFETTO FUNCTION %s(id LONG) RETURNS %s AS %s;\n", f[0], f[1], f[2])
	}
	return b.String()
}

// comparePeer logs Trace Processor's rows if they differ. It ignores their order, which
// Trace Processor only keeps if ids define it.
func comparePeer(t *testing.T, trace, query string, rows *txtar.File) {
	t.Helper()
	if *peerPath == "" {
		return
	}
	shell := exec.Command(*peerPath, "query", trace, peerFunctions()+query)
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	out, err := shell.Output()
	if _, table, missing := strings.Cut(stderr.String(), "no such table: "); missing && !strings.Contains(query, "__intrinsic") {
		table = strings.TrimSpace(table)
		comparePeer(t, trace, strings.ReplaceAll(query, "FROM "+table, "FROM __intrinsic_"+table), rows)
		return
	}
	if err != nil {
		text := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		t.Logf("-- %s -- in Trace Processor: %s", rows.Name, text[len(text)-1])
		return
	}
	csv := csv.NewReader(bytes.NewReader(out))
	csv.LazyQuotes, csv.FieldsPerRecord = true, -1 // quotes in cells are not escaped
	records, err := csv.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var table [][]any
	for _, record := range records[min(1, len(records)):] {
		if strings.HasSuffix(record[0], "_trace_duration_ns") || strings.HasSuffix(record[0], "_trace_type_duration_ns") {
			continue // how long reading took
		}
		row := make([]any, len(record))
		for i, c := range record {
			row[i] = c
			if f, err := strconv.ParseFloat(c, 64); err == nil && strings.Contains(c, ".") {
				row[i] = f
			} else if c == "[NULL]" {
				row[i] = nil
			}
		}
		table = append(table, row)
	}
	sorted := func(rows string) []string {
		return slices.Sorted(strings.Lines("|" + strings.ReplaceAll(rows, "\n", "\n|")))
	}
	ours := strings.Join(sorted(trimCells(string(rows.Data))), "")
	if theirs := align(table); strings.Join(sorted(trimCells(theirs)), "") != ours {
		t.Logf("-- %s -- in Trace Processor\n%s", rows.Name, theirs)
	}
}
