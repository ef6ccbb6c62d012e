package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/format"
	"io"
	"strings"
)

// statColumns are the columns of stats.tsv.
const statColumns = "name\tkind\tseverity\tsource\tdescription\n"

// statsList generates the list of stats in package model. A stat's number is its
// row.
func statsList(table io.Reader) ([]byte, error) {
	var info, names bytes.Buffer
	s := bufio.NewScanner(table)
	for row := 0; s.Scan(); row++ {
		words := strings.Split(s.Text(), "\t")
		if len(words) != 5 {
			return nil, fmt.Errorf("%s:%d: %d columns, not 5", statsFile, row+1, len(words))
		}
		if row == 0 {
			continue
		}
		if words[4] == "" {
			return nil, fmt.Errorf("%s:%d: %s has no description: write one", statsFile, row+1, words[0])
		}
		name := "Stat" + goName(words[0])
		fmt.Fprintf(&info, "%s: {%q, %t, %s, From%s, %q},\n", name, words[0], words[1] == "indexed", goName(words[2]), goName(words[3]), words[4])
		if row == 1 {
			name += " Stat = iota"
		}
		fmt.Fprintf(&names, "%s\n", name)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return format.Source(fmt.Appendf(nil, head+`package model

// stats lists the stats by their number in Trace Processor, which is the stat_key
// of import_log: name, whether it counts by index, severity, source, description.
var stats = [...]statInfo{
%s}

// The stats, named as in the table.
const (
%s)
`, &info, &names))
}
