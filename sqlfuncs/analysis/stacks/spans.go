package stacks

import (
	"context"
	"slices"

	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// SpansByParent are the spans of distributed traces, each with its parent, the name of its service and its self time.
const SpansByParent = `
SELECT s.id, ifnull(s.parent_id, -1) AS parent_id, ifnull(s.name, '[no name]') AS name, ifnull(p.name, '') AS service, ifnull(self.dur, 0) AS self_dur
FROM _span AS s LEFT JOIN process AS p USING (upid)
LEFT JOIN (SELECT slice_id, sum(dur) AS dur FROM _span_piece GROUP BY slice_id) AS self ON self.slice_id = s.id AND NOT s.is_unfinished
ORDER BY s.ts, s.id`

// Spans returns the spans of distributed traces as a profile of their time, or nil if there are none. Their owner is the service of
// the first span. The session runs PerfettoSQL.
func Spans(ctx context.Context, s *session.Session) (*Profile, error) {
	type span struct {
		parent        int64
		name, service string
		self          float64
		node          int32
		placed        bool
	}
	var ids []int64
	all := map[int64]*span{}
	err := s.Each(ctx, SpansByParent, func(q *session.Query) error {
		return q.Each(ctx, func(v []any) error {
			id, _ := v[0].(int64)
			s := &span{self: session.Float(v[4]), node: -1}
			s.parent, _ = v[1].(int64)
			s.name, _ = v[2].(string)
			s.service, _ = v[3].(string)
			ids, all[id] = append(ids, id), s
			return nil
		})
	})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	p := &Profile{}
	p.Scope, p.Metric, p.Unit = "spans", "time", "nanoseconds"
	var r reader
	r.begin(p)
	for _, id := range ids {
		var path []*span
		at := int32(-1)
		for s := all[id]; s != nil; s = all[s.parent] { // where spans contain each other, one of them is the outermost
			if s.placed {
				at = s.node
				break
			}
			s.placed = true
			path = append(path, s)
		}
		for _, s := range slices.Backward(path) {
			var owner int32
			if at < 0 {
				owner = r.owner(Owner{Process: s.service})
			} else {
				owner = p.Nodes[at].Owner
			}
			at = r.child(place{at, owner, s.name})
			s.node = at
		}
		p.Nodes[at].Self += all[id].self
		p.Nodes[at].Total += all[id].self
		p.Total += all[id].self
	}
	for _, n := range slices.Backward(p.Nodes) {
		if n.Parent >= 0 {
			p.Nodes[n.Parent].Total += n.Total
		}
	}
	return p, nil
}
