package primes

import (
	"github.com/tpconvert/tpconvert/ingest/wire"
	"github.com/tpconvert/tpconvert/model"
)

// Fields of TraceEdge.
const (
	fieldEdgeID      = 1
	fieldStartOffset = 2
	fieldSliceBegin  = 3
	fieldSliceEnd    = 4
	fieldMark        = 5
)

// Fields of SliceBegin; Mark has the first of them.
const (
	fieldDetails      = 1
	fieldExecutorName = 6
	fieldExecutorID   = 8
)

// Fields of TraceEntityDetails.
const (
	fieldDetailsName = 1
	fieldParentID    = 2
	fieldFollowsFrom = 3
	fieldFlowIDs     = 4
)

var executor = model.AsyncBlueprint(model.Blueprint{Classification: "primes_executor_slice", Dims: []string{"executor_id"}})

// parser makes slices of edges in the order of time.
type parser struct {
	*model.Context
	executors                      map[uint64]int64 // by edge
	edgeKey, parentKey, debugIDKey model.StringID
}

func newParser(c *model.Context) *parser {
	intern := c.Store.Strings.Intern
	return &parser{c, map[uint64]int64{}, intern("edge_id"), intern("parent_id"), intern("debug_edge_id")}
}

// details are what a slice and a mark have in common.
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
		case fieldDetailsName:
			d.name = p.Store.Strings.InternBytes(r.Bytes())
		case fieldParentID:
			d.parent, d.hasParent = r.Uint64(), true
		case fieldFollowsFrom:
			d.followsFrom = append(d.followsFrom, r.Uint64())
		case fieldFlowIDs:
			d.flowIDs = append(d.flowIDs, r.Uint64())
		}
	}
	return d
}

// Event makes a slice of an edge, or ends one.
func (p *parser) Event(ts int64, edge []byte) error {
	var id uint64
	var begin, end, mark wire.Field
	r := wire.Read(edge)
	for r.Next() {
		switch r.Number {
		case fieldEdgeID:
			id = r.Uint64()
		case fieldSliceBegin:
			begin = r.Field
		case fieldSliceEnd:
			end = r.Field
		case fieldMark:
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

// log logs an edge that cannot be read.
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
		case fieldDetails:
			d = p.details(r.Bytes())
		case fieldExecutorName:
			name = p.Store.Strings.InternBytes(r.Bytes())
		case fieldExecutorID:
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
	entity, ok := wire.Find(message, fieldDetails)
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

// flows draws the arrows to a slice, from those that it follows from and from those
// before it in its flows, and lets others follow from it.
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
