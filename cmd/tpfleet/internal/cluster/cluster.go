// Package cluster selects the files of a table that become fewer ones, sorted by day and trace_id.
package cluster

import (
	"encoding/hex"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/work"
	"github.com/tpconvert/tpconvert/export"
)

// mostTargets is the size of the files that are rewritten together, in files of the target size. So many parts has a day at
// least, for each as much data, of which a trace is in one.
const mostTargets = 16

// Cluster is a set of files that become one, or several with their own ranges of trace_id.
type Cluster struct {
	Files   []table.FileScanTask
	Undated bool // rows lack their day
	parts   int  // of each day
}

// Of selects the files of a table that are rewritten: those without a day or of several days, with small ones of the same
// days; small ones of another day; and of the same day those that have traces of nearly all ids. target is the size of the new
// files in bytes; files of 3/4 of it are left alone. number is the least of files that become one.
func Of(t *table.Table, files []table.FileScanTask, target int64, number int) (all []Cluster) {
	id, _ := t.Schema().FindFieldByName("trace_id")
	day, _ := t.Schema().FindFieldByName(export.TraceDayColumn)
	kinds := map[string][]table.FileScanTask{} // "" is that of mixed files
	var order []string
	first, last := "9", "" // days of mixed files
	for _, f := range files {
		if from := string(f.File.LowerBoundValues()[day.ID]); from != "" && oneDay(f.File, day.ID) == "" {
			first, last = min(first, from), max(last, string(f.File.UpperBoundValues()[day.ID]))
		}
	}
	for _, f := range files {
		kind := oneDay(f.File, day.ID)
		switch {
		case kind == "": // all of them
		case f.File.FileSizeBytes() < target*3/4 && first <= kind && kind <= last:
			kind = ""
		case f.File.FileSizeBytes() < target*3/4 || len(f.DeleteFiles)+len(f.EqualityDeleteFiles)+len(f.DeletionVectorFiles) > 0:
			kind += " small"
		case spanOf(f.File, id.ID) > 0.5:
			kind += " wide"
		default:
			continue
		}
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], f)
	}
	for _, kind := range order {
		least := number
		if kind == "" {
			least = 1
		}
		var c Cluster
		size := int64(0)
		end := func() {
			if len(c.Files) >= least {
				c.parts = max(1, int(size/target))
				all = append(all, c)
			}
			c, size = Cluster{}, 0
		}
		for _, f := range kinds[kind] {
			if size+f.File.FileSizeBytes() > mostTargets*target && len(c.Files) > 0 {
				end()
			}
			c.Files = append(c.Files, f)
			c.Undated = c.Undated || f.File.LowerBoundValues()[day.ID] == nil || f.File.NullValueCounts()[day.ID] > 0
			size += f.File.FileSizeBytes()
		}
		end()
	}
	return all
}

// oneDay returns the day of all rows in a file, "" if it has several or none.
func oneDay(f iceberg.DataFile, field int) string {
	least, greatest := f.LowerBoundValues()[field], f.UpperBoundValues()[field]
	if string(least) != string(greatest) || f.NullValueCounts()[field] > 0 {
		return ""
	}
	return string(least)
}

// spanOf returns which part of all ids is between the bounds of a file.
func spanOf(f iceberg.DataFile, field int) float64 {
	least, knowsLeast := place(string(f.LowerBoundValues()[field]))
	greatest, knowsGreatest := place(string(f.UpperBoundValues()[field]))
	if !knowsLeast || !knowsGreatest {
		return 1
	}
	return greatest - least
}

// place returns where an id is between the least and the greatest, from 0 to 1. Ids begin with t_ and a hash.
func place(id string) (at float64, known bool) {
	digits, known := strings.CutPrefix(id, "t_")
	if !known || len(digits) < 8 {
		return 0, false
	}
	b, err := hex.DecodeString(digits[:8])
	if err != nil {
		return 0, false
	}
	for i := len(b) - 1; i >= 0; i-- {
		at = (at + float64(b[i])) / 256
	}
	return at, true
}

// Repacking divides the rows of a cluster, whose days are those that day returns, or those of the rows if it is nil.
func (c *Cluster) Repacking(day func(string) string) work.Repacking {
	return work.Repacking{Day: day, Part: func(id, day string) work.Part {
		at, _ := place(id)
		return work.Part{Day: day, Number: int(at * float64(c.parts))}
	}}
}
