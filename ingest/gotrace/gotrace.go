// Package gotrace reads execution traces of Go programs, which runtime/trace and its flight recorder write.
//
// The program becomes a process, its goroutines the threads of it with their numbers as tids, and its Ps, which run
// goroutines, the CPUs.
package gotrace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is Go execution traces of Go 1.11 and later.
var Format = &format.Format{Name: "go_trace", Sniff: sniff, Read: read}

// sniff accepts the header, such as "go 1.26 trace" and three zeros.
func sniff(head []byte) bool {
	rest, ok := bytes.CutPrefix(head, []byte("go 1."))
	version, rest, found := bytes.Cut(rest, []byte(" "))
	return ok && found && len(version) <= 3 && bytes.HasPrefix(rest, []byte("trace\x00\x00\x00"))
}

const (
	// maxGeneration is how many bytes there may be of a generation, which the library holds in memory. Programs
	// begin one about every second.
	maxGeneration = 256 << 20
	// maxWhole is how large traces before Go 1.22 may be, of which the library holds all events.
	maxWhole = 64 << 20
)

var errTooLarge = errors.New("too large")

// source counts what the library reads, and ends it at a limit.
type source struct {
	io.Reader
	offset, limit int64
	end           error // what ended it
}

func (s *source) Read(p []byte) (n int, err error) {
	if s.offset >= s.limit {
		s.end = errTooLarge
		return 0, s.end
	}
	n, err = s.Reader.Read(p)
	s.offset += int64(n)
	if err != nil {
		s.end = err
	}
	return n, err
}

// reader cuts the trace into events. The library gives them in the order of time.
type reader struct {
	in      *format.Input
	source  source
	lib     *trace.Reader
	events  *sort.Stream
	event   *token.Writer
	version int  // of Go, behind "1."
	started bool // the clock is known
	// How many events there were, and how many of this generation.
	read, generation int
	// Of the stacks of this generation, as far as they are needed.
	callsites map[trace.Stack]model.CallsiteID
	outer     map[trace.Stack]model.StringID
	mapping   model.MappingID // of all frames, None before the first
}

func read(in *format.Input) error {
	input := bufio.NewReader(in)
	r := &reader{in: in, source: source{Reader: input, limit: maxWhole}, event: token.NewWriter(in.Store), mapping: model.None}
	head, _ := input.Peek(len("go 1.26"))
	_, _ = fmt.Sscanf(string(head), "go 1.%d", &r.version) // the library complains
	r.events = in.Sorter.NewStream(newParser(in.Context))
	err := guard(func() (err error) {
		r.lib, err = trace.NewReader(&r.source)
		return err
	})
	for err == nil {
		r.event.Reset()
		var ts int64
		var ready bool
		err = guard(func() (err error) {
			ts, ready, err = r.next()
			return err
		})
		if err == nil && ready {
			if pushed := r.push(ts); pushed != nil {
				return pushed
			}
		}
	}
	return r.finish(err)
}

// guard turns a panic of the library, which trusts much of its input, into an error.
func guard(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%v", fault)
		}
	}()
	return f()
}

// finish tells how the trace ended.
func (r *reader) finish(err error) error {
	s := &r.source
	switch {
	case err == io.EOF && r.read == 0:
		return format.Errorf(format.ErrNoEvents, -1, "a Go execution trace without events")
	case err == io.EOF:
		return nil
	case s.end != nil && s.end != io.EOF && s.end != errTooLarge:
		return s.end // the reading itself failed
	case s.end == errTooLarge && r.lib == nil:
		return format.Errorf(format.ErrUnsupported, s.offset, "a Go execution trace of before Go 1.22 with more than %d MiB", maxWhole>>20)
	case s.end == errTooLarge:
		err = fmt.Errorf("a generation has more than %d MiB", maxGeneration>>20)
	}
	why := reason(err)
	if r.read == 0 {
		if strings.Contains(why, "unsupported") {
			return format.Errorf(format.ErrUnsupported, 0, "%s", why)
		}
		return format.Errorf(format.ErrCorrupt, s.offset, "%s", why)
	}
	// A generation is read whole before its first event.
	stat := model.StatGoTraceParseErrors
	if s.end == io.EOF && r.generation == 0 {
		stat = model.StatTruncatedInput
	}
	strs := r.in.Store.Strings
	r.in.File.LogAt(stat, s.offset, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("message"), model.StringArg(strs.Intern(why)))
	}))
	return nil
}

// reason is the first line of the library's error, which may go on with all it knows.
func reason(err error) string {
	const most = 200
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

func (r *reader) push(time int64) error {
	r.read++
	r.generation++
	ts, ok := r.in.TraceTime(time, r.source.offset)
	if !ok {
		return nil
	}
	return r.events.Push(ts, r.event.Bytes())
}

// next reads an event and packs it; ready is false if it has no rows.
func (r *reader) next() (time int64, ready bool, err error) {
	e, err := r.lib.ReadEvent()
	if err != nil {
		return 0, false, err
	}
	if e.Kind() == trace.EventSync {
		r.sync(e.Sync())
		return 0, false, nil
	}
	return int64(e.Time()), r.write(e), nil
}

// sync begins a generation.
func (r *reader) sync(s trace.Sync) {
	r.source.limit = r.source.offset + maxGeneration
	r.generation = 0
	r.callsites, r.outer = map[trace.Stack]model.CallsiteID{}, map[trace.Stack]model.StringID{}
	for name := range s.ExperimentalBatches {
		r.in.File.Unread(model.StatUnreadEvent, model.None, "batch of the experiment "+name).AddAt(r.source.offset)
	}
	snapshot := s.ClockSnapshot
	if !r.started {
		r.started = true
		r.in.UseClock(r.clock(snapshot))
	}
	if snapshot == nil {
		return
	}
	readings := []model.Reading{{Clock: model.Clock{ID: model.ClockMonotonic}, Value: int64(snapshot.Mono), Unit: 1},
		{Clock: model.Clock{ID: model.ClockRealtime}, Value: snapshot.Wall.UnixNano(), Unit: 1}}
	if own, _ := r.in.Clocks.Default(); own.ID != model.ClockMonotonic {
		readings = append(readings, model.Reading{Clock: own, Value: int64(snapshot.Trace), Unit: 1})
	}
	r.in.Clocks.AddSnapshot(readings)
}

// clock is the clock of the trace's times: the monotonic one, but a counter of the CPU on systems where that is coarse.
// Before Go 1.22, times count from the start of the trace.
func (r *reader) clock(s *trace.ClockSnapshot) uint32 {
	differs := s != nil && (time.Duration(s.Mono)-time.Duration(s.Trace)).Abs() > time.Second
	if r.version < 22 || differs {
		return model.ClockTraceFile
	}
	return model.ClockMonotonic
}
