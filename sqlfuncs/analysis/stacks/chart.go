package stacks

import (
	"context"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/profiles"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
	"github.com/tpconvert/tpconvert/sqlfuncs/sqltext"
)

// Chart is what a thread, or a stream of a GPU, did in the order of time.
type Chart struct {
	Owner Owner
	Boxes []Box   // parents come first, and siblings in order
	Total float64 // the width of all

	least float64         // width of a box of its own
	rest  map[int32]int32 // by parent, the last box that stands for several
}

// Box is a function, or a slice, from its begin to its end. Those that are too small for a box of their own share one.
type Box struct {
	Parent     int32 // -1 for the outermost
	Function   string
	Start, End float64
	Value      float64 // how long it, or what it stands for, lasts
	Smaller    int     // how many it stands for, or 0
}

const (
	parts  = 4096 // of the width of a chart, of which each box has at least one
	shared = -2   // the box of what has none of its own
)

func newChart(owner Owner, total float64) *Chart {
	return &Chart{Owner: owner, Total: total, least: total / parts, rest: map[int32]int32{}}
}

// add adds a box after those that began before, and returns its place.
func (c *Chart) add(b Box) int32 {
	if b.Parent == shared {
		return shared
	}
	b.Value = b.End - b.Start
	at := int32(len(c.Boxes))
	if b.Value >= c.least {
		delete(c.rest, b.Parent)
		c.Boxes = append(c.Boxes, b)
		return at
	}
	if i, ok := c.rest[b.Parent]; ok && b.End-c.Boxes[i].Start <= c.least {
		box := &c.Boxes[i]
		box.End, box.Value, box.Smaller = max(box.End, b.End), box.Value+b.Value, box.Smaller+1
		return shared
	}
	b.Smaller = 1
	c.rest[b.Parent] = at
	c.Boxes = append(c.Boxes, b)
	return shared
}

// owners are the tracks of threads and GPUs.
const owners = `
owner AS MATERIALIZED (
  SELECT k.id AS track_id, coalesce(process.name, '') AS process, coalesce(thread.name, 'thread ' || thread.tid, '') AS thread, 0 AS is_gpu
  FROM thread_track AS k JOIN thread USING (utid) LEFT JOIN process USING (upid)
  UNION ALL
  SELECT id, 'GPU', coalesce(name, ''), 1 FROM track WHERE id IN (SELECT track_id FROM gpu_slice)
)`

// slicesInTime are the slices of the tracks with most time in them, in order.
const slicesInTime = `
WITH` + owners + `,
busy AS (
  SELECT track_id, is_gpu, row_number() OVER (PARTITION BY is_gpu ORDER BY sum(dur) DESC, track_id) AS place
  FROM _lasting_slice JOIN owner USING (track_id) WHERE depth = 0 AND dur > 0 GROUP BY track_id
)
SELECT is_gpu, place, process, thread, s.id, ifnull(s.parent_id, -1), ifnull(s.name, '[no name]'), s.ts - start_ts, s.dur, end_ts - start_ts
FROM busy JOIN owner USING (track_id, is_gpu) JOIN _lasting_slice AS s USING (track_id), trace_bounds
WHERE place <= 8 AND s.dur > 0
ORDER BY is_gpu, place, s.ts, s.depth`

// SliceCharts returns the slices of the busiest threads, or of the busiest streams of GPUs. Their width is the trace. The session
// runs PerfettoSQL.
func SliceCharts(ctx context.Context, s *session.Session) (threads, gpus []*Chart, err error) {
	var c *Chart
	var at map[int64]int32
	last := [2]int64{-1}
	err = each(ctx, s, slicesInTime, func(v []any) error {
		gpu, _ := v[0].(int64)
		place, _ := v[1].(int64)
		if key := [2]int64{gpu, place}; key != last {
			last = key
			process, _ := v[2].(string)
			thread, _ := v[3].(string)
			c, at = newChart(Owner{process, thread}, session.Float(v[9])), map[int64]int32{-1: -1}
			if gpu != 0 {
				gpus = append(gpus, c)
			} else {
				threads = append(threads, c)
			}
		}
		id, _ := v[4].(int64)
		above, _ := v[5].(int64)
		name, _ := v[6].(string)
		start := session.Float(v[7])
		parent, ok := at[above]
		if !ok {
			parent = shared
		}
		if own := c.add(Box{Parent: parent, Function: name, Start: start, End: start + session.Float(v[8])}); own != shared {
			at[id] = own
		}
		return nil
	})
	return threads, gpus, err
}

// samplesInTime are the samples of the threads with the greatest values, in order.
func samplesInTime(m profiles.Measure) string {
	return `
WITH sample AS MATERIALIZED (
  SELECT utid, ts, callsite_id, value FROM _stack_value
  WHERE kind = 'samples' AND scope = ` + sqltext.QuoteText(m.Scope) + ` AND metric = ` + sqltext.QuoteText(m.Metric) + ` AND value > 0 AND ts IS NOT NULL
),
busy AS (SELECT utid, sum(value) AS total FROM sample GROUP BY utid ORDER BY total DESC, utid LIMIT 8)
SELECT utid, coalesce(process.name, ''), coalesce(thread.name, 'thread ' || thread.tid, ''), cast(total AS REAL), callsite_id, cast(value AS REAL)
FROM busy JOIN sample USING (utid) LEFT JOIN thread USING (utid) LEFT JOIN process USING (upid)
ORDER BY total DESC, utid, ts`
}

// SampleCharts returns the samples of the threads with the greatest values of a profile. Each sample is as wide as its value, and a
// function that is in several samples, one after the other, is one box. The session runs PerfettoSQL.
func SampleCharts(ctx context.Context, s *session.Session, p *Profile) ([]*Chart, error) {
	r, err := newReader(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []*Chart
	var boxes []Box
	var open []int32 // of the last sample, from the outermost
	end := 0.0
	finish := func() {
		for _, i := range open {
			boxes[i].End = end
		}
		if len(all) > 0 {
			c := all[len(all)-1]
			at := make([]int32, len(boxes))
			for i, b := range boxes {
				if b.Parent >= 0 {
					b.Parent = at[b.Parent]
				}
				at[i] = c.add(b)
			}
		}
		boxes, open, end = boxes[:0], open[:0], 0
	}
	last := int64(-1)
	paths := map[int64][]string{}
	err = each(ctx, s, samplesInTime(p.Measure), func(v []any) error {
		if utid, _ := v[0].(int64); utid != last || len(all) == 0 {
			finish()
			last = utid
			process, _ := v[1].(string)
			thread, _ := v[2].(string)
			all = append(all, newChart(Owner{process, thread}, session.Float(v[3])))
		}
		callsite, _ := v[4].(int64)
		path, ok := paths[callsite]
		if !ok {
			var err error
			if path, err = r.path(callsite); err != nil {
				return err
			}
			paths[callsite] = path
		}
		same := 0
		for same < min(len(path), len(open)) && boxes[open[same]].Function == path[same] {
			same++
		}
		for _, i := range open[same:] {
			boxes[i].End = end
		}
		open = open[:same]
		for _, function := range path[same:] {
			parent := int32(-1)
			if len(open) > 0 {
				parent = open[len(open)-1]
			}
			open = append(open, int32(len(boxes)))
			boxes = append(boxes, Box{Parent: parent, Function: function, Start: end})
		}
		end += session.Float(v[5])
		return nil
	})
	finish()
	return all, err
}
