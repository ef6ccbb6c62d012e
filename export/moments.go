package export

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/tpconvert/tpconvert/export/parquet"
	"github.com/tpconvert/tpconvert/export/staging"
	"github.com/tpconvert/tpconvert/model/schema"
	"github.com/tpconvert/tpconvert/model/table"
)

// MomentTables are the tables that Moments reads.
var MomentTables = []string{"slice", "counter", "flow"}

// Moments are the times whose events the rows of a range need: those in the range, and those outside at which rows that reach
// into it begin or end. A slice has both its begin and its end in it, or neither.
type Moments struct {
	Span
	outside map[int64]struct{}
}

// Has reports whether events at a time are needed.
func (m *Moments) Has(ts int64) bool {
	return ts >= m.Start && ts < m.End || m.outsideHas(ts)
}

func (m *Moments) outsideHas(ts int64) bool {
	_, ok := m.outside[ts]
	return ok
}

func (m *Moments) add(ts int64) bool {
	if m.Has(ts) {
		return false
	}
	m.outside[ts] = struct{}{}
	return true
}

// addRow adds the begin and the end of a row, and reports whether one is new.
func (m *Moments) addRow(ts, dur int64) bool {
	added := m.add(ts)
	if dur > 0 && m.add(ts+dur) {
		added = true
	}
	return added
}

// reaches reports whether a row reaches into the range.
func (m *Moments) reaches(ts, dur int64) bool {
	return ts < m.End && (ts >= m.Start || dur < 0 || dur > m.Start-ts)
}

// MomentsOf returns the moments of a range of the dataset of one trace in a folder.
func MomentsOf(folder string, manifest *Manifest, r Range) (*Moments, error) {
	if manifest.Start == nil || manifest.End == nil {
		return nil, errTimeless
	}
	within, err := r.within(Span{*manifest.Start, *manifest.End})
	if err != nil {
		return nil, err
	}
	d := momentsReader{&Moments{within, map[int64]struct{}{}}, folder}
	for _, read := range []func() error{d.counters, d.slices} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d.Moments, nil
}

// momentsReader finds the moments of a range in a dataset.
type momentsReader struct {
	*Moments
	folder string
}

// rows calls f with the values of 64-bit columns of each row of a table, in the order of rows or against it. A NULL is -1. Row groups
// that group refuses are left out; nil is for all.
func (d momentsReader) rows(name string, backwards bool, columns []string, group func(n int) bool, f func(row []int64)) error {
	all := schema.All()
	s := all[slices.IndexFunc(all, func(s *table.Schema) bool { return s.Name == name })]
	path := filepath.Join(d.folder, name+"."+Parquet)
	if !staging.Exists(path) {
		return nil
	}
	reader, err := parquet.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer reader.Close()
	row, values := make([]int64, len(columns)), make([][]int64, len(columns))
	groups := reader.NumRowGroups()
	for n := range groups {
		if backwards {
			n = groups - 1 - n
		}
		if group != nil && !group(n) {
			continue
		}
		g := parquet.Group(reader, n)
		for i, column := range columns {
			var some []bool
			if values[i], some, err = g.Int64s(s.Column(column)); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			for k, there := range some {
				if !there {
					values[i][k] = -1
				}
			}
		}
		rows := len(values[0])
		for k := range rows {
			if backwards {
				k = rows - 1 - k
			}
			for i := range row {
				row[i] = values[i][k]
			}
			f(row)
		}
	}
	return nil
}

// counters adds the last values before the range, and the first of each track, which may name it.
func (d momentsReader) counters() error {
	last := map[int64]int64{}
	err := d.rows("counter", false, []string{"ts", "track_id"}, nil, func(row []int64) {
		ts, track := row[0], row[1]
		if _, known := last[track]; !known {
			d.add(ts)
		}
		if _, known := last[track]; !known || ts <= d.Start {
			last[track] = ts
		}
	})
	for _, ts := range last {
		d.add(ts)
	}
	return err
}

// slices adds the slices in the range, the first of each track, which may name it, and those with flows, because what another flow
// of the same id is linked to follows from them. Then it adds those that begin or end when another one does, until there are no more.
func (d momentsReader) slices() error {
	linked, tracks := ids{}, ids{}
	err := d.rows("flow", false, []string{"slice_out", "slice_in"}, nil, func(row []int64) {
		linked.add(row[0])
		linked.add(row[1])
	})
	if err != nil {
		return err
	}
	var groups []groupTimes
	begin := func(n int) bool {
		groups = append(groups, groupTimes{math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64})
		return true
	}
	err = d.rows("slice", false, []string{"ts", "dur", "track_id", "id"}, begin, func(row []int64) {
		ts, dur, track, id := row[0], row[1], row[2], row[3]
		if d.reaches(ts, dur) || !tracks.has(track) || linked.has(id) {
			d.addRow(ts, dur)
		}
		tracks.add(track)
		groups[len(groups)-1].add(ts, ts+max(dur, 0))
	})
	// Times that are new since a slice was last compared with them. Slices follow each other, so the direction alternates.
	fresh := maps.Clone(d.outside)
	for backwards := true; err == nil && len(fresh) > 0; backwards = !backwards {
		order, added := slices.Sorted(maps.Keys(fresh)), map[int64]struct{}{}
		add := func(ts int64) {
			if d.add(ts) {
				fresh[ts], added[ts] = struct{}{}, struct{}{}
			}
		}
		err = d.rows("slice", backwards, []string{"ts", "dur"}, func(n int) bool {
			return groups[n].hasOne(order) || groups[n].hasOne(slices.Sorted(maps.Keys(added)))
		}, func(row []int64) {
			ts, end := row[0], row[0]+max(row[1], 0)
			if _, begins := fresh[ts]; begins {
				add(end)
			} else if _, ends := fresh[end]; ends {
				add(ts)
			}
		})
		fresh = added
	}
	return err
}

// groupTimes are the times at which slices of a row group begin and end.
type groupTimes struct{ firstBegin, lastBegin, firstEnd, lastEnd int64 }

func (g *groupTimes) add(begin, end int64) {
	g.firstBegin, g.lastBegin = min(g.firstBegin, begin), max(g.lastBegin, begin)
	g.firstEnd, g.lastEnd = min(g.firstEnd, end), max(g.lastEnd, end)
}

// hasOne reports whether a slice of the group may begin or end at one of the ascending times.
func (g *groupTimes) hasOne(times []int64) bool {
	within := func(from, to int64) bool {
		i, _ := slices.BinarySearch(times, from)
		return i < len(times) && times[i] <= to
	}
	return within(g.firstBegin, g.lastBegin) || within(g.firstEnd, g.lastEnd)
}
