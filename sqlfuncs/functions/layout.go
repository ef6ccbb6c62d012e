package functions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// layout returns the depth of each slice of a list when several tracks are shown as one track without overlaps. Each root
// and its descendants stay together; the tallest of these groups are placed first, each in the first lines with room.
func (s *sliceTable) layout(rows []uint32, stop func() bool) ([]int64, error) {
	var groups []*group
	groupOf := make([]*group, len(rows)) // the group of each slice
	byRow := make(map[int]*group, len(rows))
	for i, r := range rows {
		row := int(r)
		g := byRow[s.parentOf(row)]
		if g == nil {
			g = &group{start: s.ts.Int(row)}
			groups = append(groups, g)
		}
		g.end, g.height = max(g.end, s.end(row)), max(g.height, s.depth.Int(row)+1)
		groupOf[i], byRow[row] = g, g
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.height, a.height), cmp.Compare(a.start, b.start))
	})
	var lines []line
	for i, g := range groups {
		if i%4096 == 4095 && stop() {
			return nil, errors.New("interrupted")
		}
		free := int64(0) // consecutive lines with room
		for l := 0; free < g.height; l++ {
			switch {
			case l == len(lines):
				lines = append(lines, nil)
				free++
			case lines[l].free(g.start, g.end):
				free++
			default:
				free = 0
			}
			g.top = int64(l) + 1 - free
		}
		for l := g.top; l < g.top+g.height; l++ {
			lines[l] = lines[l].taken(g.start, g.end)
		}
	}
	depths := make([]int64, len(rows))
	for i, g := range groupOf {
		depths[i] = g.top + s.depth.Int(int(rows[i]))
	}
	return depths, nil
}

// group is a root and its descendants.
type group struct {
	start, end  int64
	height, top int64 // lines
}

// line holds the start and end times at which a line is taken, in order.
type line [][2]int64

// at returns the index of the first range that starts at or after start.
func (l line) at(start int64) int {
	return sort.Search(len(l), func(i int) bool { return l[i][0] >= start })
}

func (l line) free(start, end int64) bool {
	if len(l) == 0 || start >= l[len(l)-1][1] {
		return true
	}
	i := l.at(start)
	return (i == len(l) || l[i][0] >= end) && (i == 0 || l[i-1][1] <= start)
}

func (l line) taken(start, end int64) line {
	if len(l) == 0 || start >= l[len(l)-1][0] {
		return append(l, [2]int64{start, end})
	}
	return slices.Insert(l, l.at(start), [2]int64{start, end})
}

// maxLayoutRows bounds the rows of the layouts that are kept.
const maxLayoutRows = 1 << 22

func defineLayout(d *define.Definer, load func() (*sliceTable, error)) {
	const name = "experimental_slice_layout"
	shape := define.Specs("id, layout_depth")
	known := map[string]*dataframe.Frame{} // the UI asks again for each range
	kept := 0                              // rows of those
	d.Rows(&dataframe.Function{Name: name, Columns: shape, Args: []string{"_fn_arg0"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			if args[0].Type() != sqlite.TextOf {
				return nil, errors.New(name + ": the argument is no list of track ids")
			}
			list := args[0].Text()
			if f := known[list]; f != nil {
				return f, nil
			}
			s, err := load()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			var tracks []int64
			for item := range strings.SplitSeq(list, ",") {
				if id, err := strconv.ParseUint(strings.TrimLeft(item, " \t\n\r\f\v"), 10, 32); err == nil {
					tracks = append(tracks, int64(id))
				}
			}
			slices.Sort(tracks)
			var rows []uint32
			for _, track := range slices.Compact(tracks) {
				rows = append(rows, s.onTrack(track)...)
			}
			slices.Sort(rows)
			b := dataframe.NewBuilder(d.Tables.Pool(), shape...)
			depths, err := s.layout(rows, d.DB.Interrupted)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for i, depth := range depths {
				b.Int(0, s.byID.ID.Int(int(rows[i])))
				b.Int(1, depth)
			}
			if kept += len(rows); kept > maxLayoutRows {
				clear(known)
				kept = len(rows)
			}
			known[list] = b.Frame()
			return known[list], nil
		}})
}
