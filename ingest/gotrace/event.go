package gotrace

import (
	"golang.org/x/exp/trace"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// kind is the kind of an event. Tokens begin with the goroutine, P and thread where the event happened; the fields
// that follow are listed at each kind.
type kind uint64

const (
	goroutineState kind = iota // goroutine, state before and after, reason, start function, stack
	procState                  // P, whether it ran before and runs after
	metric                     // name, value
	rangeBegin                 // name, scope, id of the scope, stack
	rangeActive                // name, scope, id of the scope
	rangeEnd                   // name, scope, id of the scope, then names and values
	taskBegin                  // id, parent, type, stack
	taskEnd                    // id, type, stack
	regionBegin                // task, type, stack
	regionEnd                  // task, type, stack
	logged                     // task, category, message, stack
	label                      // label
	sample                     // stack
)

// write encodes an event. It returns false if the event has no rows.
func (r *reader) write(e trace.Event) bool {
	switch e.Kind() {
	case trace.EventStateTransition:
		r.transition(e)
	case trace.EventMetric:
		m := e.Metric()
		if m.Value.Kind() != trace.ValueUint64 {
			return r.unread("metric " + m.Name)
		}
		r.begin(metric, e)
		r.event.Text([]byte(m.Name))
		r.event.Uint(m.Value.Uint64())
	case trace.EventRangeBegin:
		r.span(rangeBegin, e)
		r.stack(e.Stack())
	case trace.EventRangeActive:
		r.span(rangeActive, e)
	case trace.EventRangeEnd:
		r.span(rangeEnd, e)
		for _, a := range e.RangeAttributes() {
			if a.Value.Kind() == trace.ValueUint64 {
				r.event.Text([]byte(a.Name))
				r.event.Uint(a.Value.Uint64())
			}
		}
	case trace.EventTaskBegin:
		task := e.Task()
		r.begin(taskBegin, e)
		r.event.Uint(uint64(task.ID))
		r.event.Uint(uint64(task.Parent))
		r.event.Text([]byte(task.Type))
		r.stack(e.Stack())
	case trace.EventTaskEnd:
		r.begin(taskEnd, e)
		r.event.Uint(uint64(e.Task().ID))
		r.stack(e.Stack())
	case trace.EventRegionBegin:
		r.region(regionBegin, e)
	case trace.EventRegionEnd:
		r.region(regionEnd, e)
	case trace.EventLog:
		l := e.Log()
		r.begin(logged, e)
		r.event.Uint(uint64(l.Task))
		r.event.Text([]byte(l.Category))
		r.event.Text([]byte(l.Message))
		r.stack(e.Stack())
	case trace.EventLabel:
		l := e.Label()
		r.begin(label, e)
		r.event.Text([]byte(l.Label))
	case trace.EventStackSample:
		r.begin(sample, e)
		r.stack(e.Stack())
	case trace.EventExperimental:
		return r.unread("event of the experiment " + e.Experimental().Experiment)
	default:
		return r.unread("event of kind " + e.Kind().String())
	}
	return true
}

// unread counts an event without rows.
func (r *reader) unread(noun string) bool {
	r.read++
	r.in.File.Unread(model.StatUnreadEvent, model.None, noun).AddAt(r.source.offset)
	return false
}

func (r *reader) begin(k kind, e trace.Event) {
	r.event.Uint(uint64(k))
	r.event.Int(int64(e.Goroutine()))
	r.event.Int(int64(e.Proc()))
	r.event.Int(int64(e.Thread()))
}

func (r *reader) transition(e trace.Event) {
	t := e.StateTransition()
	switch t.Resource.Kind {
	case trace.ResourceGoroutine:
		from, to := t.Goroutine()
		r.begin(goroutineState, e)
		r.event.Int(int64(t.Resource.Goroutine()))
		r.event.Uint(uint64(from))
		r.event.Uint(uint64(to))
		r.event.Text([]byte(t.Reason))
		r.event.Uint(uint64(r.outermost(t.Stack)))
		stack := trace.NoStack
		if to == trace.GoSyscall {
			stack = t.Stack
		} else if e.Stack() != trace.NoStack {
			r.in.File.Unread(model.StatUnreadFact, model.None, "wait, wakeup or creation stack").AddAt(r.source.offset)
		}
		r.stack(stack)
	case trace.ResourceProc:
		from, to := t.Proc()
		r.begin(procState, e)
		r.event.Int(int64(t.Resource.Proc()))
		r.event.Uint(running(from))
		r.event.Uint(running(to))
	}
}

func running(s trace.ProcState) uint64 {
	if s == trace.ProcRunning {
		return 1
	}
	return 0
}

func (r *reader) span(k kind, e trace.Event) {
	s := e.Range()
	r.begin(k, e)
	r.event.Text([]byte(s.Name))
	r.event.Uint(uint64(s.Scope.Kind))
	switch s.Scope.Kind {
	case trace.ResourceGoroutine:
		r.event.Int(int64(s.Scope.Goroutine()))
	case trace.ResourceProc:
		r.event.Int(int64(s.Scope.Proc()))
	default:
		r.event.Int(0)
	}
}

func (r *reader) region(k kind, e trace.Event) {
	region := e.Region()
	r.begin(k, e)
	r.event.Uint(uint64(region.Task))
	r.event.Text([]byte(region.Type))
	r.stack(e.Stack())
}

// outermost returns the name of a stack's outermost function, or 0 for an empty stack.
func (r *reader) outermost(s trace.Stack) model.StringID {
	name, known := r.outer[s]
	if !known {
		for f := range s.Frames() {
			name = r.in.Store.Strings.Intern(f.Func)
		}
		r.outer[s] = name
	}
	return name
}

// stack appends the callsite of a stack, or None for an empty stack.
func (r *reader) stack(s trace.Stack) {
	id, known := r.callsites[s]
	if !known {
		id = r.callsite(s)
		r.callsites[s] = id
	}
	r.event.Int(int64(id))
}

func (r *reader) callsite(s trace.Stack) profile.CallsiteID {
	stacks, strs := r.in.Store.Stacks, r.in.Store.Strings
	var frames []profile.FrameID // innermost first
	for f := range s.Frames() {
		if r.mapping == model.None {
			r.mapping = stacks.DummyMapping("go")
		}
		frames = append(frames, stacks.FunctionFrame(r.mapping, strs.Intern(f.Func), strs.Intern(f.File), int64(min(f.Line, 1<<31))))
	}
	callsite := profile.CallsiteID(model.None)
	for i := len(frames) - 1; i >= 0; i-- {
		callsite = stacks.Callsite(callsite, frames[i])
	}
	return callsite
}
