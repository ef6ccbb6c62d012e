package functions

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

var flowColumns = define.Specs("id, slice_out, slice_in, trace_id, arg_set_id")

// flowTable has the flows of slices.
type flowTable struct {
	out, in, trace, args dataframe.Reader
	leaving, arriving    map[int64][]uint32 // rows by the slice's id
}

func readFlows(tables dataframe.Source) (*flowTable, error) {
	t := &flowTable{leaving: map[int64][]uint32{}, arriving: map[int64][]uint32{}}
	f, err := define.Columns(tables, "flow", define.Readers{
		"slice_out": &t.out, "slice_in": &t.in, "trace_id": &t.trace, "arg_set_id": &t.args,
	})
	if err != nil {
		return nil, err
	}
	for row := range f.Rows {
		t.leaving[t.out.Int(row)] = append(t.leaving[t.out.Int(row)], uint32(row))
		t.arriving[t.in.Int(row)] = append(t.arriving[t.in.Int(row)], uint32(row))
	}
	return t, nil
}

// direction says which flows to follow from a slice.
type direction struct {
	back, forth bool
	relatives   func(s *sliceTable, row int) ([]uint32, error) // whose flows count too, or nil
}

// arrival says how a slice was found.
type arrival uint8

const (
	atStart arrival = iota
	byFlowBack
	byFlowForth
	asRelative
)

// follow returns the rows of the flows that can be reached from a slice, breadth first.
func (t *flowTable) follow(s *sliceTable, start int64, to direction, stop func() bool) ([]uint32, error) {
	type visit struct {
		slice int64
		via   arrival
	}
	queue := []visit{{start, atStart}}
	known := map[int64]bool{start: true}
	var found []uint32
	add := func(slice int64, via arrival) {
		if !known[slice] {
			known[slice] = true
			queue = append(queue, visit{slice, via})
		}
	}
	for n := 0; n < len(queue); n++ {
		if n%256 == 255 && stop() {
			return nil, errors.New("interrupted")
		}
		v := queue[n]
		if row := s.byID.Find(v.slice); to.relatives != nil && v.via != asRelative && row >= 0 {
			rows, err := to.relatives(s, row)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				add(s.byID.ID.Int(int(r)), asRelative)
			}
		}
		if to.back && v.via != byFlowForth { // not back by the flow that led here
			for _, row := range t.arriving[v.slice] {
				found = append(found, row)
				add(t.out.Int(int(row)), byFlowBack)
			}
		}
		if to.forth && v.via != byFlowBack {
			for _, row := range t.leaving[v.slice] {
				found = append(found, row)
				add(t.in.Int(int(row)), byFlowForth)
			}
		}
	}
	return found, nil
}

func defineFlows(d *define.Definer, loadSlices func() (*sliceTable, error)) {
	load := define.Once(func() (*flowTable, error) { return readFlows(d.Tables) })
	define := func(name string, to direction) {
		d.Rows(&dataframe.Function{Name: name, Columns: flowColumns, Args: []string{"_fn_arg0"},
			Rows: func(args []sqlite.Value) (*dataframe.Frame, error) {
				s, err := loadSlices()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				b := dataframe.NewBuilder(d.Tables.Pool(), flowColumns...)
				start, err := s.start(name, args[0])
				if start < 0 || err != nil {
					return b.Frame(), err
				}
				t, err := load()
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				found, err := t.follow(s, args[0].Int(), to, d.DB.Interrupted)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				for i, row := range found {
					b.Int(0, int64(i))
					for column, r := range []dataframe.Reader{t.out, t.in, t.trace, t.args} {
						if err := b.Any(column+1, r.Any(int(row))); err != nil {
							return nil, err
						}
					}
				}
				return b.Frame(), nil
			}})
	}
	define("directly_connected_flow", direction{back: true, forth: true})
	define("preceding_flow", direction{back: true, relatives: (*sliceTable).ancestors})
	define("following_flow", direction{forth: true, relatives: func(s *sliceTable, row int) ([]uint32, error) {
		return s.descendants(row), nil
	}})
}
