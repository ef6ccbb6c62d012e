package perfdata

import (
	"errors"

	"github.com/tpconvert/tpconvert/model"
)

// recording is the data of a file other than its records.
type recording struct {
	events     []*event
	byID       map[uint64]int // indices of events, by the ids of their counters
	buildIDs   map[mappedFile]string
	simpleperf bool
	allThreads bool // of the machine, or of some of its CPUs
	symbols    symbols
	start      *int64 // earliest time of a record, ns of the trace clock, nil if none has a time
}

// mappedFile is a file, by its path, in a process.
type mappedFile struct {
	pid  int32
	path string
}

// anyProcess stands for all processes in build ids.
const anyProcess = -1

func newRecording() *recording {
	return &recording{byID: map[uint64]int{}, buildIDs: map[mappedFile]string{}}
}

// add adds an event and the ids of its counters.
func (r *recording) add(c *model.Context, e *event, ids []uint64) error {
	if len(r.events) > 0 {
		first := r.events[0]
		switch {
		case first.sampleIDAll != e.sampleIDAll:
			return errors.New("events with and without sample_id_all")
		case first.id != e.id || e.sampleIDAll && first.idFromEnd != e.idFromEnd:
			return errors.New("events with their ids at different offsets")
		case e.id < 0:
			return errors.New("several events without ids in samples")
		}
	}
	index := len(r.events)
	for _, id := range ids {
		if had, ok := r.byID[id]; ok && had != index {
			return errors.New("events that share an id")
		}
		r.byID[id] = index
	}
	e.session = c.Store.Stacks.NewSession(profiler, e.unit())
	r.events = append(r.events, e)
	return nil
}

// eventOf returns the index of a kernel record's event.
func (r *recording) eventOf(kind uint32, payload *words) (int, bool) {
	switch first := r.events[0]; {
	case len(r.events) == 1:
		return 0, true
	case kind == recordSample:
		return r.byIDAt(payload, first.id)
	case first.sampleIDAll:
		return r.byIDAt(payload, len(payload.data)-first.idFromEnd)
	}
	return 0, true
}

func (r *recording) byIDAt(payload *words, offset int) (int, bool) {
	id, ok := payload.at(offset)
	if !ok || id == 0 {
		return 0, ok
	}
	index, ok := r.byID[id]
	return index, ok
}

// timeOf returns the time of an event's record, or 0 if it has none.
func (e *event) timeOf(kind uint32, payload *words) uint64 {
	offset := e.time
	if kind != recordSample {
		if e.timeFromEnd < 0 {
			return 0
		}
		offset = len(payload.data) - e.timeFromEnd
	}
	time, _ := payload.at(offset)
	return time
}

// buildID returns the build id of a file in a process, or "" if unknown.
func (r *recording) buildID(pid uint32, path string) string {
	if id, ok := r.buildIDs[mappedFile{int32(pid), path}]; ok {
		return id
	}
	return r.buildIDs[mappedFile{anyProcess, path}]
}
