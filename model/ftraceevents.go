package model

// FtraceEvent is a row of ftrace_event on its way there: the goroutine of the
// argInterner stores it, as most of it is args.
type FtraceEvent struct {
	ID    int64 // of the row in raw
	TS    int64 // ns
	UTID  UTID
	Flags int64
	UCPU  int64
	CPU   int32
	Name  StringID

	args ArgSetID
}

// AddFtraceEvent stores a row of ftrace_event with its args.
func (s *Store) AddFtraceEvent(e *FtraceEvent, args PackedArgs) {
	b := s.args.batch
	b.args = append(b.args, args...)
	b.events = append(b.events, *e)
	s.args.add(argSpan{event: true})
}

// storeEvents appends rows to ftrace_event.
func (s *Store) storeEvents(events []FtraceEvent) {
	t := &s.FtraceEvent
	for len(events) > 0 {
		row, n := t.AppendRows(len(events))
		ids, times, names := t.FillID(row, n), t.TS.Fill(row, n), t.Name.Fill(row, n)
		cpus, ucpus, utids := t.CPU.Fill(row, n), t.UCPU.Fill(row, n), t.UTID.Fill(row, n)
		flags, types := t.CommonFlags.Fill(row, n), t.Type.Fill(row, n)
		for i := range events[:n] {
			e := &events[i]
			ids[i], times[i], names[i] = e.ID, e.TS, e.Name
			cpus[i], ucpus[i], utids[i] = e.CPU, e.UCPU, e.UTID
			flags[i], types[i] = e.Flags, s.words.ftraceEvent
			if e.args != None {
				t.ArgSetID.Set(row+int64(i), e.args)
			}
		}
		events = events[n:]
	}
}
