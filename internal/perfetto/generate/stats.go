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
const statColumns = "name\tkind\tseverity\tsource\teffect\tvalue\tdescription\n"

// effectNames are the names in Go of effects. A value that is not a number of events is one of gaps.
var effectNames = map[string]string{"none": "NoEffect", "notice": "Noticed", "not_read": "NotRead", "damaged": "Damaged", "lost": "Lost"}

// statsList generates the list of stats in package model. A stat's number is its
// row.
func statsList(table io.Reader) ([]byte, error) {
	var info, names bytes.Buffer
	s := bufio.NewScanner(table)
	for row := 0; s.Scan(); row++ {
		words := strings.Split(s.Text(), "\t")
		if len(words) != 7 {
			return nil, fmt.Errorf("%s:%d: %d columns, not 7", statsFile, row+1, len(words))
		}
		if row == 0 {
			continue
		}
		stat, kind, severity, source, effect, value, description := words[0], words[1], words[2], words[3], words[4], words[5], words[6]
		if effect == "" || value == "" || description == "" {
			return nil, fmt.Errorf("%s:%d: %s has no effect, value or description: write them", statsFile, row+1, stat)
		}
		name := "Stat" + goName(stat)
		fmt.Fprintf(&info, "%s: {%q, %t, %s, From%s, %s, %t, %q},\n", name,
			stat, kind == "indexed", goName(severity), goName(source), effectNames[effect], value == "gaps", description)
		if row == 1 {
			name += " Stat = iota"
		}
		fmt.Fprintf(&names, "%s\n", name)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return format.Source(fmt.Appendf(nil, head+`package model

// stats lists the stats by their number in Trace Processor, which is the stat_key of import_log.
var stats = [...]StatInfo{
%s}

// The stats, named as in the table.
const (
%s)
`, &info, &names))
}
