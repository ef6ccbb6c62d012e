package primes

import (
	"github.com/tpconvert/tpconvert/internal/perfetto/primespb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var executor = model.AsyncBlueprint(model.Blueprint{Classification: "primes_executor_slice", Dims: []string{"executor_id"}})

// parser turns edges, in timestamp order, into slices.
type parser struct {
	*model.Context
	executors                      map[uint64]int64 // by edge
	edgeKey, parentKey, debugIDKey model.StringID
}

func newParser(c *model.Context) *parser {
	intern := c.Store.Strings.Intern
	return &parser{c, map[uint64]int64{}, intern("edge_id"), intern("parent_id"), intern("debug_edge_id")}
}

// details are the fields common to slices and marks.
type details struct {
	name                 model.StringID
	parent               uint64
	hasParent            bool
	followsFrom, flowIDs []uint64
}

func (p *parser) details(message []byte) (d details) {
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case primespb.TraceEdge_TraceEntityDetails_Name:
			d.name = p.Store.Strings.InternBytes(r.Bytes())
		case primespb.TraceEdge_TraceEntityDetails_ParentID:
			d.parent, d.hasParent = r.Uint64(), true
		case primespb.TraceEdge_TraceEntityDetails_FollowsFromIDs:
			d.followsFrom = append(d.followsFrom, r.Uint64())
		case primespb.TraceEdge_TraceEntityDetails_FlowIDs:
			d.flowIDs = append(d.flowIDs, r.Uint64())
		}
	}
	return d
}

// Event begins or ends a slice for an edge, or adds a mark.
func (p *parser) Event(ts int64, edge []byte) error {
	var id uint64
	var begin, end, mark wire.Field
	r := wire.Read(edge)
	for r.Next() {
		switch r.Number {
		case primespb.TraceEdge_ID:
			id = r.Uint64()
		case primespb.TraceEdge_SliceBegin:
			begin = r.Field
		case primespb.TraceEdge_SliceEnd:
			end = r.Field
		case primespb.TraceEdge_Mark:
			mark = r.Field
		}
	}
	switch {
	case begin.Number != 0:
		p.begin(ts, id, begin.Bytes())
	case end.Number != 0:
		p.end(ts, id)
	case mark.Number != 0:
		p.mark(ts, id, mark.Bytes())
	default:
		p.log(model.StatPrimesUnknownEdgeType, ts, p.edgeKey, id)
	}
	return nil
}

// log logs an invalid edge.
func (p *parser) log(stat model.Stat, ts int64, key model.StringID, id uint64) {
	p.File.LogTime(stat, ts, model.ArgFunc(func(set *model.ArgSet) { set.Add(key, model.IntArg(int64(id))) }))
}

func (p *parser) begin(ts int64, id uint64, message []byte) {
	var d details
	var on int64
	var name model.StringID
	outermost := false
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case primespb.TraceEdge_SliceBegin_EntityDetails:
			d = p.details(r.Bytes())
		case primespb.TraceEdge_SliceBegin_ExecutorName:
			name = p.Store.Strings.InternBytes(r.Bytes())
		case primespb.TraceEdge_SliceBegin_ExecutorID:
			on, outermost = r.Int64(), true
		}
	}
	if !outermost {
		name = 0
		if !d.hasParent {
			p.log(model.StatPrimesMissingParentID, ts, p.edgeKey, id)
			return
		}
		var ok bool
		if on, ok = p.executors[d.parent]; !ok {
			p.File.LogTime(model.StatPrimesExecutorNotFound, ts, model.ArgFunc(func(set *model.ArgSet) {
				set.Add(p.edgeKey, model.IntArg(int64(id)))
				set.Add(p.parentKey, model.IntArg(int64(d.parent)))
			}))
			return
		}
	}
	p.executors[id] = on
	track := p.Async.Begin(executor, &model.TrackOptions{Name: name}, int64(id), model.IntDim(on))
	if slice := p.Slices.Begin(ts, track, 0, d.name, nil); slice != model.None {
		p.flows(slice, ts, id, d)
	}
}

func (p *parser) end(ts int64, id uint64) {
	on, ok := p.executors[id]
	if !ok {
		p.log(model.StatPrimesEndWithoutMatchingBegin, ts, p.edgeKey, id)
		return
	}
	track := p.Async.End(executor, nil, int64(id), model.IntDim(on))
	p.Slices.End(ts, track, 0, 0, nil)
}

func (p *parser) mark(ts int64, id uint64, message []byte) {
	entity, ok := wire.Find(message, primespb.TraceEdge_Mark_EntityDetails)
	if !ok {
		p.log(model.StatPrimesMissingEntityDetails, ts, p.edgeKey, id)
		return
	}
	d := p.details(entity.Bytes())
	if !d.hasParent {
		p.log(model.StatPrimesMissingParentID, ts, p.edgeKey, id)
		return
	}
	on, ok := p.executors[d.parent]
	if !ok {
		p.log(model.StatPrimesExecutorNotFound, ts, p.debugIDKey, id)
		return
	}
	track := p.Async.Begin(executor, nil, int64(id), model.IntDim(on))
	if slice := p.Slices.Scoped(ts, 0, track, 0, d.name, nil); slice != model.None {
		p.flows(slice, ts, id, d)
	}
}

// flows adds flows to a slice from the slices that it follows and from the previous
// slices of its flows. It also starts a flow that other slices may follow.
func (p *parser) flows(slice model.SliceID, ts int64, id uint64, d details) {
	p.Flows.BeginAt(slice, ts, model.FlowID(id))
	for _, from := range d.followsFrom {
		p.Flows.EndAt(slice, ts, model.FlowID(from), false)
	}
	for _, flow := range d.flowIDs {
		if p.Flows.Active(model.FlowID(flow)) {
			p.Flows.StepAt(slice, ts, model.FlowID(flow))
		} else {
			p.Flows.BeginAt(slice, ts, model.FlowID(flow))
		}
	}
}
