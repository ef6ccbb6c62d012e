package primes

import (
	"math"

	"github.com/tpconvert/tpconvert/internal/perfetto/primespb"
	"github.com/tpconvert/tpconvert/internal/wire"
	"github.com/tpconvert/tpconvert/model"
)

var (
	executors = model.AsyncBlueprint(model.Blueprint{Classification: "primes_executor_slice", Dims: []string{"executor_id"}})
	threads   = model.AsyncBlueprint(model.Blueprint{Classification: "primes_thread_slice", Dims: []string{"thread_id"}})
)

// place is where a slice runs: an executor, or a thread if there is none.
type place struct {
	*model.Blueprint
	id int64
}

// parser turns edges, in timestamp order, into slices.
type parser struct {
	*model.Context
	places                         map[uint64]place        // by edge
	flowIDs                        map[uint64]model.FlowID // by number in the trace
	edgeKey, parentKey, debugIDKey model.StringID
	threadID, threadName           model.StringID
}

func newParser(c *model.Context) *parser {
	intern := c.Store.Strings.Intern
	return &parser{c, map[uint64]place{}, map[uint64]model.FlowID{}, intern("edge_id"), intern("parent_id"), intern("debug_edge_id"), intern("thread_id"), intern("thread_name")}
}

// unread counts a fact that makes no rows.
func (p *parser) unread(noun string, ts int64) {
	p.File.Unread(model.StatUnreadFact, model.None, noun).Add(model.LogEntry{TS: ts, HasTS: true})
}

// details are the fields common to slices and marks.
type details struct {
	name                 model.StringID
	parent               uint64
	hasParent            bool
	followsFrom, flowIDs []uint64
}

func (p *parser) details(ts int64, message []byte) (d details) {
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case primespb.TraceEdge_TraceEntityDetails_Name:
			d.name = p.Store.Strings.InternBytes(r.Bytes())
		case primespb.TraceEdge_TraceEntityDetails_ParentID:
			d.parent, d.hasParent = r.Uint64(), true
		case primespb.TraceEdge_TraceEntityDetails_FollowsFromIDs:
			d.followsFrom = r.AppendVarints(d.followsFrom)
		case primespb.TraceEdge_TraceEntityDetails_FlowIDs:
			d.flowIDs = r.AppendVarints(d.flowIDs)
		case primespb.TraceEdge_TraceEntityDetails_CallSite:
			p.unread("call site", ts)
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
		p.end(ts, id, end.Bytes())
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
	var executor, thread uint64 // 0 is invalid
	hasExecutor := false
	var name, threadName model.StringID
	var cpu model.ThreadClock
	r := wire.Read(message)
	for r.Next() {
		switch r.Number {
		case primespb.TraceEdge_SliceBegin_EntityDetails:
			d = p.details(ts, r.Bytes())
		case primespb.TraceEdge_SliceBegin_ExecutorName:
			name = p.Store.Strings.InternBytes(r.Bytes())
		case primespb.TraceEdge_SliceBegin_ExecutorID:
			executor, hasExecutor = r.Uint64(), true
		case primespb.TraceEdge_SliceBegin_ThreadID:
			thread = r.Uint64()
		case primespb.TraceEdge_SliceBegin_ThreadName:
			threadName = p.Store.Strings.InternBytes(r.Bytes())
		case primespb.TraceEdge_SliceBegin_TotalCPUTime:
			cpu.Time, cpu.HasTime = nanoseconds(r.Bytes())
		case primespb.TraceEdge_SliceBegin_UserCPUTime:
			p.unread("user CPU time", ts)
		case primespb.TraceEdge_SliceBegin_ExecutorType:
			p.unread("executor type", ts)
		}
	}
	var on place
	switch {
	case hasExecutor && (executor != 0 || thread == 0):
		on = place{executors, int64(executor)}
	case thread != 0:
		on, name = place{threads, int64(thread)}, threadName
	case !d.hasParent:
		p.log(model.StatPrimesMissingParentID, ts, p.edgeKey, id)
		return
	default:
		name = 0
		var ok bool
		if on, ok = p.places[d.parent]; !ok {
			p.File.LogTime(model.StatPrimesExecutorNotFound, ts, model.ArgFunc(func(set *model.ArgSet) {
				set.Add(p.edgeKey, model.IntArg(int64(id)))
				set.Add(p.parentKey, model.IntArg(int64(d.parent)))
			}))
			return
		}
	}
	var args model.ArgSource
	if thread != 0 {
		args = model.ArgFunc(func(set *model.ArgSet) {
			set.Add(p.threadID, model.IntArg(int64(thread)))
			if threadName != 0 {
				set.Add(p.threadName, model.StringArg(threadName))
			}
		})
	}
	p.places[id] = on
	track := p.Async.Begin(on.Blueprint, &model.TrackOptions{Name: name}, int64(id), model.IntDim(on.id))
	if slice := p.Slices.BeginAt(ts, track, 0, d.name, args, cpu); slice != model.None {
		p.flows(slice, ts, id, d)
	}
}

func (p *parser) end(ts int64, id uint64, message []byte) {
	on, ok := p.places[id]
	if !ok {
		p.log(model.StatPrimesEndWithoutMatchingBegin, ts, p.edgeKey, id)
		return
	}
	var cpu model.ThreadClock
	if total, ok := wire.Find(message, primespb.TraceEdge_SliceEnd_TotalCPUTime); ok {
		cpu.Time, cpu.HasTime = nanoseconds(total.Bytes())
	}
	track := p.Async.End(on.Blueprint, nil, int64(id), model.IntDim(on.id))
	p.Slices.EndAt(ts, track, 0, 0, nil, cpu)
}

func (p *parser) mark(ts int64, id uint64, message []byte) {
	entity, ok := wire.Find(message, primespb.TraceEdge_Mark_EntityDetails)
	if !ok {
		p.log(model.StatPrimesMissingEntityDetails, ts, p.edgeKey, id)
		return
	}
	d := p.details(ts, entity.Bytes())
	if !d.hasParent {
		p.log(model.StatPrimesMissingParentID, ts, p.edgeKey, id)
		return
	}
	on, ok := p.places[d.parent]
	if !ok {
		p.log(model.StatPrimesExecutorNotFound, ts, p.debugIDKey, id)
		return
	}
	track := p.Async.Begin(on.Blueprint, nil, int64(id), model.IntDim(on.id))
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
	for _, number := range d.flowIDs {
		flow := p.flowID(number)
		if p.Flows.Active(flow) {
			p.Flows.StepAt(slice, ts, flow)
		} else {
			p.Flows.BeginAt(slice, ts, flow)
		}
	}
}

// flowID returns a number for a flow that no edge has: flows may have the numbers of edges.
func (p *parser) flowID(number uint64) model.FlowID {
	id, ok := p.flowIDs[number]
	if !ok {
		id = math.MaxUint64 - model.FlowID(len(p.flowIDs))
		p.flowIDs[number] = id
	}
	return id
}
