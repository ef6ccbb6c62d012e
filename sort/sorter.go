// Package sort puts the events of a trace in order of time, between the
// tokenizers that find them and the parsers that parse them.
//
// A tokenizer pushes each event, a timestamp and an opaque payload, to the
// stream of its source: one per CPU for ftrace, one for a JSON file. The
// sorter delivers the events of all streams to the sinks of their streams.
//
// Events of one stream are delivered in the order of (time, arrival), or (time,
// tie, arrival) if the stream has a tie function. If several streams have an
// event of the same time, the one that delivered last continues; otherwise the
// one that was created first begins. Trace Processor does the same.
//
// The algorithm:
//
//  1. A payload is copied to an arena of large blocks, in order of arrival. Its
//     location there, a number that only grows, stands for its arrival.
//  2. The time and the location, 16 bytes, are appended to the queue of the
//     stream. A comparison tells whether the queue is still in order.
//  3. Before delivery, a queue that is out of order is sorted from its earliest
//     late event, which a binary search finds. If all events are only a little
//     late, they are sorted in buckets of time, otherwise by a stable radix sort
//     on the time, least significant digit first; then equal times are sorted by
//     tie. While a queue grows, events that are a little late are sorted from time
//     to time, which takes little memory because their times are close.
//  4. A heap merges the streams. The first one delivers as long as its events
//     are not later than the next one of the second.
//  5. Delivered events leave the queue. Empty blocks and pages are reused.
//  6. When queues and arena approach the memory budget, the queues are sorted
//     and written to a temporary file, a run, with one segment for each stream. A
//     goroutine does this while new queues and a new arena are filled. From then
//     on each stream is a merge of its segments and its queue.
//  7. 32 runs of a level are merged into one, to limit the number of open files,
//     and of segments that are read at once.
package sort

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// DefaultMemory is the default of Options.Memory, in bytes.
const DefaultMemory = 256 << 20

var (
	// ErrDelivering is returned to a sink that calls its sorter.
	ErrDelivering = errors.New("sort: called from a sink during delivery")
	// ErrClosed is returned by all calls after Close.
	ErrClosed = errors.New("sort: sorter is closed")
)

// Options configure a Sorter.
type Options struct {
	// Memory is the memory budget for staged events in bytes. Above it, sorted
	// runs spill to temporary files. 0 means DefaultMemory.
	Memory int64
	// TempDir is the directory of temporary files. Empty means os.TempDir().
	TempDir string
	// Progress, if not nil, counts the events.
	Progress *Progress
	// Context stops deliveries with its error once it is done; nil means never.
	Context context.Context
}

// Progress counts the events of all sorters that share it. It is safe for
// concurrent use.
type Progress struct {
	// Staged counts the events that arrived before the latest delivery began,
	// and Delivered those that were passed to sinks.
	Staged, Delivered atomic.Int64
}

// A Sink takes the events of a stream in order of time. The payload is valid
// only during the call. The sink must not push, release, flush or close the
// sorter that calls it: such calls fail with ErrDelivering. An error ends the
// delivery; Release or Flush returns it, as do all later calls.
type Sink interface {
	Event(ts int64, payload []byte) error
}

// A Mark is a position in the order of arrival.
type Mark uint64

// A Sorter sorts the events of several streams by time. It is not safe for
// concurrent use.
type Sorter struct {
	limit   int64 // maximum of bytes staged and held
	held    int64 // bytes held for staged events
	tempDir string

	stage    *stage    // being filled
	spilling *spilling // being written to a run meanwhile, or nil
	streams  []*Stream
	active   []*Stream // those with staged events
	runs     []*run    // in order of arrival
	parcels  [parcels]parcel

	err error // returned by every call when not nil

	ctx      context.Context
	progress *Progress
	arrived  int64 // events not yet counted in progress

	pushed     bool
	max        int64 // highest time pushed
	delivered  int64 // highest time delivered since the last Flush
	outOfOrder int64
}

// New returns an empty Sorter.
func New(o Options) *Sorter {
	memory := o.Memory
	if memory <= 0 {
		memory = DefaultMemory
	}
	shift := uint(bits.Len64(uint64(memory) / 64))
	s := &Sorter{
		limit:     memory - memory/readShare,
		tempDir:   o.TempDir,
		stage:     &stage{arena: arena{shift: min(max(shift, 10), maxBlockShift)}},
		delivered: math.MinInt64,
		progress:  o.Progress,
		ctx:       o.Context,
	}
	if s.ctx == nil {
		s.ctx = context.Background()
	}
	if s.progress == nil {
		s.progress = new(Progress)
	}
	return s
}

// Hold counts bytes that other code keeps until staged events are delivered towards the
// memory budget; a negative number releases them. A quarter of the budget always remains
// for events.
func (s *Sorter) Hold(bytes int64) { s.held += bytes }

// budget returns the maximum number of bytes to stage.
func (s *Sorter) budget() int64 { return s.limit - min(s.held, s.limit-s.limit/4) }

// NewStream adds a stream whose events go to sink.
func (s *Sorter) NewStream(sink Sink) *Stream {
	st := &Stream{sorter: s, index: int64(len(s.streams)), sink: sink, queue: queue{pool: &s.stage.pages}}
	st.restart()
	s.streams = append(s.streams, st)
	return st
}

// Mark returns the current position in the order of arrival.
func (s *Sorter) Mark() Mark { return Mark(s.stage.arena.end()) }

// Release delivers events in order, up to the first one that arrived at or after
// m. Trace Processor extracts events in the same way while it reads, up to the
// mark of an earlier flush of the trace.
func (s *Sorter) Release(m Mark) error { return s.deliver(uint64(m)) }

// Flush delivers all staged events. A later event may have any time without
// counting as out of order.
func (s *Sorter) Flush() error {
	err := s.deliver(math.MaxUint64)
	s.delivered = math.MinInt64
	return err
}

// Close drops all staged events and removes temporary files. It may be called
// more than once.
func (s *Sorter) Close() error {
	if s.err == ErrDelivering {
		return s.err
	}
	var errs []error
	if s.spilling != nil {
		<-s.spilling.done // its error no longer matters
	}
	for _, r := range s.runs {
		errs = append(errs, r.close())
	}
	*s = Sorter{stage: new(stage), err: ErrClosed, max: s.max, pushed: s.pushed, outOfOrder: s.outOfOrder}
	return errors.Join(errs...)
}

// OutOfOrder returns the number of events that were dropped because an event with a
// later time was already delivered, which only happens after Release. Trace Processor
// counts them in the stat sorter_push_event_out_of_order.
func (s *Sorter) OutOfOrder() int64 { return s.outOfOrder }

// MaxTimestamp returns the highest time pushed so far, or false if there was no
// event.
func (s *Sorter) MaxTimestamp() (int64, bool) { return s.max, s.pushed }

// merge packs events in order up to the first one that arrived at or after mark.
func (s *Sorter) merge(d *delivery, mark uint64) error {
	segments := 0
	for _, st := range s.streams {
		segments += len(st.segments)
	}
	var m merger[*Stream]
	for _, st := range s.streams {
		if err := st.open(s.readBuffer(segments)); err != nil {
			return err
		}
		if k, ok := st.next(); ok {
			m.add(k, st)
		}
	}
	for !m.empty() && m.first().loc < mark {
		st := m.first().seq
		if err := st.deliver(d, m.second().ts, mark); err != nil {
			return err
		}
		if k, ok := st.next(); ok {
			m.advance(k)
		} else {
			st.restart()
			m.drop()
		}
		if mark == math.MaxUint64 { // probably no later event could reuse the memory
			s.stage.free()
		}
	}
	d.flush()
	for _, st := range s.streams {
		st.pause()
	}
	s.prune()
	s.dropRuns()
	return nil
}

// prune removes streams without staged events from the active ones.
func (s *Sorter) prune() {
	s.active = slices.DeleteFunc(s.active, func(st *Stream) bool {
		st.active = !st.queue.empty()
		return !st.active
	})
}

// makeRoom spills if a payload stored in size bytes might exceed the budget.
func (s *Sorter) makeRoom(size int) error {
	need := max(int64(size), int64(s.stage.arena.blockSize())) + pageBytes
	var scratch int64
	staged, long := false, false
	for _, st := range s.active {
		scratch = max(scratch, st.queue.scratch())
		staged = staged || !st.queue.empty()
		long = long || st.queue.tail > maxQueue
	}
	used, budget := s.stage.used()+scratch+need, s.budget()
	if job := s.spilling; job != nil && (len(job.done) > 0 || long || used+job.size > budget) {
		if err := s.settle(); err != nil {
			return err
		}
	}
	if s.spilling == nil && staged && (long || used > budget-budget/spillAhead) {
		if err := s.spill(used); err != nil {
			return err
		}
	}
	s.stage.trim(need, budget)
	return nil
}

// pushing records the time of a pushed event.
func (s *Sorter) pushing(ts int64) {
	s.arrived++
	if ts > s.max || !s.pushed {
		s.max, s.pushed = ts, true
	}
}

// send packs one event, or counts it if it is too late.
func (s *Sorter) send(d *delivery, stream uint32, ts int64, payload []byte) error {
	if ts < s.delivered {
		s.outOfOrder++
		return nil
	}
	s.delivered = ts
	return d.add(stream, ts, payload)
}
