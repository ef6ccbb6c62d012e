package session

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// layoutFunction is the name of layout in SQL.
const layoutFunction = "_slice_layout"

// createLayout creates Trace Processor's function of this name. Its argument is a list of track ids, separated by
// commas.
const createLayout = `CREATE MACRO experimental_slice_layout(filter_track_ids) AS TABLE
SELECT unnest(_s.ids) AS id, unnest(` + layoutFunction + `(_s.ids, _s.parents, _s.starts, _s.durations, _s.depths)[1]) AS layout_depth
FROM (
    SELECT list(id) AS ids, list(coalesce(parent_id, -1)) AS parents, list(ts) AS starts, list(dur) AS durations,
           list(depth::BIGINT) AS depths
    FROM (SELECT unnest(list_distinct(list_transform(string_split(filter_track_ids::VARCHAR, ','), lambda x: TRY_CAST(trim(x) AS BIGINT)))) AS _track)
    JOIN dataset.slice ON track_id = _track
) AS _s`

// packFunction is the name of pack in SQL.
const packFunction = "_pack"

// pack returns the first free row for each slice, in order of ts. Times are in ns; dur is -1 if a slice did not end, and an
// instant takes no room.
func pack(ts, dur []int64) []int64 {
	var ends []int64 // of the last slice in each row
	rows := make([]int64, len(ts))
	for i, start := range ts {
		row := slices.IndexFunc(ends, func(end int64) bool { return end <= start })
		if row < 0 {
			row = len(ends)
			ends = append(ends, math.MinInt64)
		}
		switch rows[i] = int64(row); {
		case dur[i] < 0:
			ends[row] = math.MaxInt64
		case dur[i] > 0:
			ends[row] = start + dur[i]
		}
	}
	return rows
}

// layout returns the row of each slice when several tracks are shown as one track without overlaps. Each root and its
// descendants stay together; the tallest of these groups are placed first, each in the first rows with room. parents has
// the parents' ids, or -1; dur is -1 if a slice did not end. Times are in ns.
func layout(ids, parents, ts, dur, depths []int64) []int64 {
	order := make([]int, len(ids)) // DuckDB takes much longer to sort lists
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	var groups []*group
	of := make([]*group, len(ids)) // the group of each slice
	byID := make(map[int64]*group, len(ids))
	for _, i := range order {
		id := ids[i]
		end := int64(math.MaxInt64)
		if dur[i] >= 0 {
			end = ts[i] + dur[i]
		}
		g := byID[parents[i]]
		if g == nil {
			g = &group{start: ts[i]}
			groups = append(groups, g)
		}
		g.end, g.height = max(g.end, end), max(g.height, depths[i]+1)
		of[i], byID[id] = g, g
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(a.start, b.start))
	})
	var rows []row
	for _, g := range groups {
		free := int64(0) // consecutive rows with room
		for r := 0; free < g.height; r++ {
			switch {
			case r == len(rows):
				rows = append(rows, nil)
				free++
			case rows[r].free(g.start, g.end):
				free++
			default:
				free = 0
			}
			g.top = int64(r) + 1 - free
		}
		for r := g.top; r < g.top+g.height; r++ {
			rows[r] = rows[r].taken(g.start, g.end)
		}
	}
	placed := make([]int64, len(ids))
	for i, g := range of {
		placed[i] = g.top + depths[i]
	}
	return placed
}

// group is a root and its descendants.
type group struct {
	start, end  int64
	height, top int64 // rows
}

// row holds the start and end times at which a row is taken, in order.
type row [][2]int64

// at returns the index of the first range that starts at or after start.
func (r row) at(start int64) int {
	return sort.Search(len(r), func(i int) bool { return r[i][0] >= start })
}

func (r row) free(start, end int64) bool {
	if len(r) == 0 || start >= r[len(r)-1][1] {
		return true
	}
	i := r.at(start)
	return (i == len(r) || r[i][0] >= end) && (i == 0 || r[i-1][1] <= start)
}

func (r row) taken(start, end int64) row {
	if len(r) == 0 || start >= r[len(r)-1][0] {
		return append(r, [2]int64{start, end})
	}
	return slices.Insert(r, r.at(start), [2]int64{start, end})
}
