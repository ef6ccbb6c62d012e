package perfdata

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
)

// sums add up the samples of perf record --no-timestamp, which have no place on the timeline.
type sums struct {
	values map[site]float64
	sites  []site // in the order of their first samples
	bad    int64  // samples whose period is not known
}

type site struct {
	event    *event
	callsite profile.CallsiteID
}

func (s *sums) add(e *event, token []byte, callsite profile.CallsiteID) {
	period, ok := e.periodOf(token)
	if !ok {
		s.bad++
		return
	}
	if s.values == nil {
		s.values = map[site]float64{}
	}
	at := site{e, callsite}
	if _, known := s.values[at]; !known {
		s.sites = append(s.sites, at)
	}
	s.values[at] += float64(period)
}

// periodOf returns what a sample counts. It is not known if the event has a frequency and its samples have no period.
func (e *event) periodOf(token []byte) (n uint64, ok bool) {
	if token[sampleHas]&hasPeriod != 0 {
		return binary.LittleEndian.Uint64(token[sampleWeight:]), true
	}
	return e.period, !e.freq
}

// store stores a profile for each event.
func (s *sums) store(c *model.Context, scope string) {
	if s.bad > 0 {
		c.File.Add(model.StatPerfRecordSkipped, recordSample, s.bad)
	}
	profiles := map[*event]profile.AggregateID{}
	strings, t := c.Store.Strings, &c.Store.AggregateSample
	for _, at := range s.sites {
		id, ok := profiles[at.event]
		if !ok {
			t := &c.Store.AggregateProfile
			row := t.Append()
			name := strings.Intern(at.event.ownName())
			t.Scope.Set(row, strings.Intern(scope))
			t.Name.Set(row, name)
			t.SampleTypeType.Set(row, name)
			unit := at.event.unit()
			if unit == "ns" { // in profiles
				unit = "nanoseconds"
			}
			t.SampleTypeUnit.Set(row, strings.Intern(unit))
			t.IsDefault.Set(row, len(profiles) == 0)
			id = profile.AggregateID(row)
			profiles[at.event] = id
		}
		row := t.Append()
		t.AggregateProfileID.Set(row, id)
		if at.callsite != model.None {
			t.CallsiteID.Set(row, at.callsite)
		}
		t.Value.Set(row, s.values[at])
	}
}
