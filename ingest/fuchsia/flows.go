package fuchsia

import "github.com/tpconvert/tpconvert/model"

// flows gives the flows of a trace unique ids. A correlation belongs to the
// process that began the flow. Another process may continue the flow unless it
// was begun in several processes.
type flows struct {
	last   model.FlowID
	open   map[flowKey]model.FlowID
	owners map[correlation]owner
}

// correlation is what the events of a flow have in common, as TRACE_FLOW_BEGIN in Fuchsia's lib/trace/event.h says.
type correlation struct {
	category, name model.StringID
	id             uint64
}

type flowKey struct {
	pid int64
	correlation
}

// owner is the process that began a flow, or ambiguous if several did with one
// correlation.
type owner struct {
	pid       int64
	ambiguous bool
}

// flow is an open flow.
type flow struct {
	id  model.FlowID
	key flowKey
}

func newFlows() flows {
	return flows{open: map[flowKey]model.FlowID{}, owners: map[correlation]owner{}}
}

// begin returns the id of a flow that begins in a process.
func (f *flows) begin(pid int64, c correlation) model.FlowID {
	key := flowKey{pid, c}
	if id, ok := f.open[key]; ok {
		return id
	}
	f.last++
	f.open[key] = f.last
	if known, ok := f.owners[c]; !ok {
		f.owners[c] = owner{pid: pid}
	} else if known.pid != pid {
		known.ambiguous = true
		f.owners[c] = known
	}
	return f.last
}

// find returns the open flow that a process refers to.
func (f *flows) find(pid int64, c correlation) (flow, bool) {
	key := flowKey{pid, c}
	if id, ok := f.open[key]; ok {
		return flow{id, key}, true
	}
	known, ok := f.owners[c]
	if !ok || known.ambiguous {
		return flow{}, false
	}
	key.pid = known.pid
	id, ok := f.open[key]
	return flow{id, key}, ok
}

// end forgets a flow.
func (f *flows) end(ended flow) {
	delete(f.open, ended.key)
	delete(f.owners, ended.key.correlation)
}
