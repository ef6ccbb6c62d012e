package netlog

import "github.com/tpconvert/tpconvert/model"

// openEvents are the events of sources that have begun and not ended.
type openEvents struct {
	of   map[int64]*openStack
	last map[openKey]int // places of the innermost ones of each name
}

type openKey struct {
	source int64
	name   model.StringID
}

// openStack are those of a source, the innermost last, with places of some that have ended.
type openStack struct {
	events []openEvent
	ended  int
}

type openEvent struct {
	name  model.StringID // 0 once it has ended
	outer int            // the place of the next one of the name, or none
}

// compactAt is from how many places on a stack of which most have ended is made anew.
const compactAt = 64

func newOpenEvents() openEvents {
	return openEvents{map[int64]*openStack{}, map[openKey]int{}}
}

func (o *openEvents) begin(source int64, name model.StringID) {
	s := o.of[source]
	if s == nil {
		s = &openStack{}
		o.of[source] = s
	}
	o.push(s, openKey{source, name})
}

func (o *openEvents) push(s *openStack, k openKey) {
	outer, ok := o.last[k]
	if !ok {
		outer = none
	}
	o.last[k] = len(s.events)
	s.events = append(s.events, openEvent{k.name, outer})
}

// end ends the innermost event of a name, and reports whether there was one and no other event of the source was in it.
func (o *openEvents) end(source int64, name model.StringID) (begun, innermost bool) {
	k := openKey{source, name}
	place, ok := o.last[k]
	if !ok {
		return false, false
	}
	s := o.of[source]
	if outer := s.events[place].outer; outer == none {
		delete(o.last, k)
	} else {
		o.last[k] = outer
	}
	s.events[place].name = 0
	s.ended++
	innermost = place == len(s.events)-1
	for n := len(s.events); n > 0 && s.events[n-1].name == 0; n-- {
		s.events = s.events[:n-1]
		s.ended--
	}
	switch {
	case len(s.events) == 0:
		delete(o.of, source)
	case len(s.events) >= compactAt && s.ended > len(s.events)/2:
		o.compact(source, s)
	}
	return true, innermost
}

// compact forgets the places of events that have ended.
func (o *openEvents) compact(source int64, s *openStack) {
	old := s.events
	s.events, s.ended = make([]openEvent, 0, len(old)), 0
	for _, e := range old {
		delete(o.last, openKey{source, e.name})
	}
	for _, e := range old {
		if e.name != 0 {
			o.push(s, openKey{source, e.name})
		}
	}
}
