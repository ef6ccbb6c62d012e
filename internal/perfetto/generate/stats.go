package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/format"
	"io"
	"strings"
)

// statsList generates the list of stats in package model. A stat's number is its
// row.
func statsList(table io.Reader) ([]byte, error) {
	var info, names bytes.Buffer
	s := bufio.NewScanner(table)
	for row := 0; s.Scan(); row++ {
		words := strings.Split(s.Text(), "\t")
		if len(words) != 4 {
			return nil, fmt.Errorf("%s:%d: %d columns, not 4", statsFile, row+1, len(words))
		}
		if row == 0 {
			continue
		}
		name := "Stat" + goName(words[0])
		fmt.Fprintf(&info, "%s: {%q, %t, %s, From%s},\n", name, words[0], words[1] == "indexed", goName(words[2]), goName(words[3]))
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
// of import_log: name, whether it counts by index, severity, source.
var stats = [...]statInfo{
%s}

// The stats, named as in the table.
const (
%s)
`, &info, &names))
}
