package functions

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

var flatColumns = define.Specs("id, ts, dur, track_id, category text, name text, arg_set_id, source_id, start_bound, end_bound")

// flatSlice is a time in which a slice is the deepest on its track, or in which there is none.
type flatSlice struct {
	ts, end int64
	track   int64
	source  int // its row, or -1
}

// flatTrack is what is open on a track.
type flatTrack struct {
	id    int64
	rows  []int // the slices, the root first
	shown int   // number of the flatSlice that is open
}

// flatten returns which slices are the deepest between two times, those that begin in it. Times are in ns.
func (s *sliceTable) flatten(start, end int64, stop func() bool) ([]flatSlice, error) {
	var all []flatSlice
	show := func(t *flatTrack, ts int64) {
		source := -1
		if n := len(t.rows); n > 0 {
			source = t.rows[n-1]
		}
		t.shown = len(all)
		all = append(all, flatSlice{ts: ts, track: t.id, source: source})
	}
	// closeBefore closes the slices of a track that end until a time.
	closeBefore := func(t *flatTrack, ts int64) {
		for len(t.rows) > 0 {
			last := s.end(t.rows[len(t.rows)-1])
			if last > ts {
				return
			}
			all[t.shown].end = last
			t.rows = t.rows[:len(t.rows)-1]
			show(t, last)
		}
	}
	tracks := map[int64]*flatTrack{}
	var order []*flatTrack
	for row := range s.frame.Rows {
		if row%65536 == 65535 && stop() {
			return nil, errors.New("interrupted")
		}
		ts := s.ts.Int(row)
		if ts < start {
			continue
		}
		if ts >= end {
			break
		}
		if s.dur.Int(row) == 0 {
			continue
		}
		t := tracks[s.track.Int(row)]
		if t == nil {
			if s.depth.Int(row) != 0 {
				continue // it began before
			}
			t = &flatTrack{id: s.track.Int(row)}
			tracks[t.id], order = t, append(order, t)
			show(t, start)
		}
		closeBefore(t, ts)
		all[t.shown].end = ts
		t.rows = append(t.rows, row)
		show(t, ts)
	}
	for _, t := range slices.Backward(order) {
		closeBefore(t, end)
		all[t.shown].end = end
	}
	return all, nil
}

func defineFlat(d *define.Definer, load func() (*sliceTable, error)) {
	const name = "experimental_flat_slice"
	d.Rows(&dataframe.Function{Name: name, Columns: flatColumns, Args: []string{"_fn_arg0", "_fn_arg1"},
		Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
			b := dataframe.NewBuilder(d.Tables.Pool(), flatColumns...)
			if args[0].IsNull() || args[1].IsNull() {
				return b.Frame(), nil
			}
			if args[0].Type() != sqlite.Integer || args[1].Type() != sqlite.Integer {
				return nil, fmt.Errorf("%s: the arguments are no timestamps", name)
			}
			s, err := load()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			start, end := args[0].Int(), args[1].Int()
			all, err := s.flatten(start, end, d.DB.Interrupted)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for i, f := range all {
				values := []any{int64(i), f.ts, f.end - f.ts, f.track, nil, nil, nil, nil, start, end}
				if f.source >= 0 {
					values[4], values[5] = s.category.Any(f.source), s.name.Any(f.source)
					values[6], values[7] = s.args.Any(f.source), s.byID.ID.Int(f.source)
				}
				for column, v := range values {
					if err := b.Any(column, v); err != nil {
						return nil, err
					}
				}
			}
			return b.Frame(), nil
		}})
}
