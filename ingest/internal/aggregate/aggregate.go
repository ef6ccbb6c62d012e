// Package aggregate adds up profiles without times, for formats whose stacks may come before the frames that they refer to.
package aggregate

import (
	"github.com/tpconvert/tpconvert/internal/paged"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// Profile is what a file measures at its stacks. Frames are numbers that the format gives them.
type Profile struct {
	store    *model.Store
	tree     profile.StackTree
	measures []profile.AggregateID
	scopes   map[string]bool // those with a measure
	sums     paged.List[sum]
	index    []map[profile.StackNumber]int // by measure: places in sums by stack
}

type sum struct {
	measure int
	stack   profile.StackNumber
	value   float64
}

// New returns an empty profile.
func New(store *model.Store) *Profile { return &Profile{store: store, scopes: map[string]bool{}} }

// Push returns the stack with a frame on top of another one, which is profile.EmptyStack for an outermost frame.
func (p *Profile) Push(stack profile.StackNumber, frame int32) profile.StackNumber {
	stack, _ = p.tree.Push(stack, frame)
	return stack
}

// Frame returns the innermost frame of a stack.
func (p *Profile) Frame(stack profile.StackNumber) int32 {
	_, frame := p.tree.Stack(stack)
	return frame
}

// Measure adds what is measured, such as time in nanoseconds, and returns its number. scope and name are the file's. The first
// measure of a scope is its default.
func (p *Profile) Measure(scope, name, kind, unit string) int {
	t, strings := &p.store.AggregateProfile, p.store.Strings
	row := t.Append()
	t.Scope.Set(row, strings.Intern(scope))
	t.Name.Set(row, strings.Intern(name))
	t.SampleTypeType.Set(row, strings.Intern(kind))
	t.SampleTypeUnit.Set(row, strings.Intern(unit))
	t.IsDefault.Set(row, !p.scopes[scope])
	p.scopes[scope] = true
	p.measures = append(p.measures, profile.AggregateID(row))
	p.index = append(p.index, map[profile.StackNumber]int{})
	return len(p.measures) - 1
}

// ID returns the row of a measure.
func (p *Profile) ID(measure int) profile.AggregateID { return p.measures[measure] }

// Add adds a value at a stack, which may be empty.
func (p *Profile) Add(measure int, stack profile.StackNumber, value float64) {
	if value == 0 {
		return
	}
	place, ok := p.index[measure][stack]
	if !ok {
		place = p.sums.Append(sum{measure: measure, stack: stack})
		p.index[measure][stack] = place
	}
	p.sums.At(place).value += value
}

// Store stores the sums. frame returns the frame of each number, or None.
func (p *Profile) Store(frame func(number int32) profile.FrameID) {
	callsites := make([]profile.CallsiteID, p.tree.Len())
	callsiteOf := func(stack profile.StackNumber) profile.CallsiteID {
		if stack == profile.EmptyStack {
			return model.None
		}
		return callsites[stack]
	}
	for i := range callsites {
		parent, number := p.tree.Stack(profile.StackNumber(i))
		callsites[i] = callsiteOf(parent)
		if id := frame(number); id != model.None {
			callsites[i] = p.store.Stacks.Callsite(callsites[i], id)
		}
	}
	t := &p.store.AggregateSample
	for i := range p.sums.Len() {
		s := p.sums.At(i)
		row := t.Append()
		t.AggregateProfileID.Set(row, p.measures[s.measure])
		if callsite := callsiteOf(s.stack); callsite != model.None {
			t.CallsiteID.Set(row, callsite)
		}
		t.Value.Set(row, s.value)
	}
}
