package functions

import (
	"errors"
	"fmt"

	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/functions/define"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqlite"
)

// sampleCounters finds the counters that were read when a sample was taken.
type sampleCounters struct {
	samples        define.RowsByID
	set            dataframe.Reader // of a sample
	counters       define.RowsByID
	track, value   dataframe.Reader // of a counter
	tracks         define.RowsByID
	trackName      dataframe.Reader
	countersOfSets map[int64][]int64
}

func readSampleCounters(tables dataframe.Source) (*sampleCounters, error) {
	s := &sampleCounters{countersOfSets: map[int64][]int64{}}
	var set, counter dataframe.Reader
	sets, err := define.Columns(tables, "profiler_counter_set", define.Readers{"counter_set_id": &set, "counter_id": &counter})
	if err != nil {
		return nil, err
	}
	for row := range sets.Rows {
		s.countersOfSets[set.Int(row)] = append(s.countersOfSets[set.Int(row)], counter.Int(row))
	}
	for _, table := range []struct {
		name    string
		rows    *define.RowsByID
		columns define.Readers
	}{
		{"profiler_sample", &s.samples, define.Readers{"id": &s.samples.ID, "counter_set_id": &s.set}},
		{"counter", &s.counters, define.Readers{"id": &s.counters.ID, "track_id": &s.track, "value": &s.value}},
		{"track", &s.tracks, define.Readers{"id": &s.tracks.ID, "name": &s.trackName}},
	} {
		f, err := define.Columns(tables, table.name, table.columns)
		if err != nil {
			return nil, err
		}
		table.rows.Rows = f.Rows
	}
	return s, nil
}

func defineCounters(d *define.Definer) {
	const function = "__intrinsic_perf_counter_for_sample"
	load := define.Once(func() (*sampleCounters, error) { return readSampleCounters(d.Tables) })
	d.Scalar(function, 2, func(c sqlite.Context, args []sqlite.Value) error {
		switch args[0].Type() {
		case sqlite.Null:
			return nil
		case sqlite.Integer:
		default:
			return errors.New(function + ": the first argument is not the id of a sample")
		}
		if args[1].Type() != sqlite.TextOf {
			return errors.New(function + ": the second argument is not the name of a counter")
		}
		s, err := load()
		if err != nil {
			return fmt.Errorf("%s: %w", function, err)
		}
		sample := s.samples.Find(int64(uint32(args[0].Int())))
		if sample < 0 {
			return fmt.Errorf("%s: there is no sample %d", function, args[0].Int())
		}
		if s.set.IsNull(sample) {
			return nil
		}
		name := args[1].View()
		for _, id := range s.countersOfSets[s.set.Int(sample)] {
			row := s.counters.Find(id)
			if row < 0 {
				continue
			}
			if track := s.tracks.Find(s.track.Int(row)); track >= 0 && s.trackName.Text(track) == name && !s.trackName.IsNull(track) {
				c.Float(s.value.Float(row))
				return nil
			}
		}
		return nil
	})
}
