package functions

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// sliceColumns are the columns of slice.
var sliceColumns = define.Specs(`id, ts, dur, track_id, category text, name text, depth, parent_id, arg_set_id, thread_ts, thread_dur,
	thread_instruction_count, thread_instruction_delta`)

// sliceTable reads slice row by row.
type sliceTable struct {
	frame                         *dataframe.Frame
	byID                          define.RowsByID
	ts, dur, track, depth, parent dataframe.Reader
	category, name, args          dataframe.Reader
	tracks                        map[int64]*[]uint32 // rows by track, in order of ts; nil until they are needed
}

func readSlices(tables dataframe.Source) (*sliceTable, error) {
	s := &sliceTable{}
	f, err := define.Columns(tables, "slice", define.Readers{
		"id": &s.byID.ID, "ts": &s.ts, "dur": &s.dur, "track_id": &s.track, "depth": &s.depth, "parent_id": &s.parent,
		"category": &s.category, "name": &s.name, "arg_set_id": &s.args,
	})
	if err != nil {
		return nil, err
	}
	s.frame, s.byID.Rows = f, f.Rows
	for i, c := range sliceColumns {
		if i >= len(f.Columns) || f.Columns[i].Name != c.Name {
			return nil, fmt.Errorf("column %d of slice is not %s", i, c.Name)
		}
	}
	return s, nil
}

// end returns when a slice ends.
func (s *sliceTable) end(row int) int64 {
	if dur := s.dur.Int(row); dur >= 0 {
		return s.ts.Int(row) + dur
	}
	return math.MaxInt64
}

// parentOf returns the row of a slice's parent, or -1.
func (s *sliceTable) parentOf(row int) int {
	if s.parent.IsNull(row) {
		return -1
	}
	return s.byID.Find(s.parent.Int(row))
}

// ancestors returns the rows of a slice's ancestors, the root first.
func (s *sliceTable) ancestors(row int) ([]uint32, error) {
	return define.Ancestors(row, s.parentOf)
}

// onTrack returns the rows of a track's slices, in order of ts.
func (s *sliceTable) onTrack(track int64) []uint32 {
	if s.tracks == nil {
		s.tracks = map[int64]*[]uint32{}
		for row := range s.frame.Rows {
			rows := s.tracks[s.track.Int(row)]
			if rows == nil {
				rows = new([]uint32)
				s.tracks[s.track.Int(row)] = rows
			}
			*rows = append(*rows, uint32(row))
		}
		if !s.ts.Sorted() {
			for _, rows := range s.tracks {
				slices.SortStableFunc(*rows, func(a, b uint32) int { return cmp.Compare(s.ts.Int(int(a)), s.ts.Int(int(b))) })
			}
		}
	}
	if rows := s.tracks[track]; rows != nil {
		return *rows
	}
	return nil
}

// descendants returns the rows of a slice's descendants, in order of ts.
func (s *sliceTable) descendants(row int) []uint32 {
	start, end, depth := s.ts.Int(row), s.end(row), s.depth.Int(row)
	track := s.onTrack(s.track.Int(row))
	from := sort.Search(len(track), func(i int) bool { return s.ts.Int(int(track[i])) >= start })
	var below []uint32
	for _, at := range track[from:] {
		ts := s.ts.Int(int(at))
		if ts > end {
			break
		}
		// Slices on a track do not overlap, but those at the ends may belong to the slice before or after.
		if s.depth.Int(int(at)) > depth && (ts != start && ts != end || s.isBelow(int(at), row, depth)) {
			below = append(below, at)
		}
	}
	return below
}

// isBelow reports whether a slice is a descendant of another, which has a depth.
func (s *sliceTable) isBelow(row, ancestor int, depth int64) bool {
	for at := s.parentOf(row); at >= 0; at = s.parentOf(at) {
		if at == ancestor {
			return true
		}
		if s.depth.Int(at) <= depth {
			return false
		}
	}
	return false
}

// start returns the row of the slice that an argument names, or -1 for NULL.
func (s *sliceTable) start(function string, arg sqlite.Value) (int, error) {
	return define.StartRow(function, "slice", s.byID, arg)
}

func defineSlices(d *define.Definer, load func() (*sliceTable, error)) {
	define := func(name string, find func(s *sliceTable, row int) ([]uint32, error)) {
		d.Rows(&dataframe.Function{Name: name, Columns: sliceColumns, Args: []string{"_fn_arg0"},
			Pick: func(args []sqlite.Value) (*dataframe.Frame, []uint32, error) {
				s, err := load()
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %w", name, err)
				}
				row, err := s.start(name, args[0])
				if row < 0 || err != nil {
					return s.frame, nil, err
				}
				rows, err := find(s, row)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %w", name, err)
				}
				return s.frame, rows, nil
			}})
	}
	define("ancestor_slice", (*sliceTable).ancestors)
	define("descendant_slice", func(s *sliceTable, row int) ([]uint32, error) { return s.descendants(row), nil })
}
