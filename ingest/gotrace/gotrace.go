// Package gotrace reads execution traces of Go programs, as written by runtime/trace and its flight recorder.
//
// The program becomes a process. Its goroutines become threads, with the goroutine ids as tids. Its Ps, which run
// goroutines, become CPUs.
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
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of Go execution traces since Go 1.11.
var Format = &format.Format{
	Name: "go_trace", Sniff: sniff, Read: read,
	Unsupported: []format.Signature{{Name: "an execution trace of Go", Bytes: "go 1."}},
}

var statParseErrors = model.NewStat(1021, model.StatInfo{
	Name: "go_trace_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Go execution traces whose reading stopped at an error.",
})

// sniff accepts the header, such as "go 1.26 trace" followed by three zero bytes.
func sniff(head []byte) bool {
	rest, ok := bytes.CutPrefix(head, []byte("go 1."))
	version, rest, found := bytes.Cut(rest, []byte(" "))
	return ok && found && len(version) <= 3 && bytes.HasPrefix(rest, []byte("trace\x00\x00\x00"))
}

const (
	// maxGeneration is the maximum size of a generation in bytes, because the library holds a whole generation in
	// memory. Programs start one about every second.
	maxGeneration = 256 << 20
	// maxWhole is the maximum size of traces before Go 1.22, because the library holds all their events in memory.
	maxWhole = 64 << 20
)

var errTooLarge = errors.New("too large")

// source counts the bytes that the library reads, and stops at a limit.
type source struct {
	io.Reader
	offset, limit int64
	end           error // error that ended the reading
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

// reader splits the trace into events. The library returns them in timestamp order.
type reader struct {
	in      *format.Input
	source  source
	lib     *trace.Reader
	events  *sort.Stream
	event   *token.Writer
	version int  // minor version of Go
	started bool // the clock has been set
	// Number of events in total and in this generation.
	read, generation int
	// Caches for the stacks of this generation.
	callsites map[trace.Stack]profile.CallsiteID
	outer     map[trace.Stack]model.StringID
	mapping   profile.MappingID // of all frames, None before the first
}

func read(in *format.Input) error {
	input := bufio.NewReader(in)
	r := &reader{in: in, source: source{Reader: input, limit: maxWhole}, event: token.NewWriter(in.Store), mapping: model.None}
	head, _ := input.Peek(len("go 1.26"))
	_, _ = fmt.Sscanf(string(head), "go 1.%d", &r.version) // the library reports a malformed version
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

// finish handles the error that ended the trace.
func (r *reader) finish(err error) error {
	s := &r.source
	switch {
	case err == io.EOF && r.read == 0:
		return format.Errorf(format.ErrNoEvents, -1, "a Go execution trace without events")
	case err == io.EOF:
		return nil
	case s.end != nil && s.end != io.EOF && s.end != errTooLarge:
		return s.end // a read error, not damage
	case s.end == errTooLarge && r.lib == nil:
		return format.Errorf(format.ErrUnsupported, s.offset, "a Go execution trace from before Go 1.22 of more than %d MiB", maxWhole>>20)
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
	// The library reads a whole generation before it returns the first event.
	stat := statParseErrors
	if s.end == io.EOF && (r.generation == 0 || errors.Is(err, io.ErrUnexpectedEOF)) {
		stat = model.StatTruncatedInput
	}
	strs := r.in.Store.Strings
	r.in.File.LogAt(stat, s.offset, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strs.Intern("message"), model.StringArg(strs.Intern(why)))
	}))
	return nil
}

// reason returns the first line of the library's error, whose other lines may be very long.
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

// next reads and encodes an event; ready is false if it has no rows.
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

// sync handles the start of a generation.
func (r *reader) sync(s trace.Sync) {
	r.source.limit = r.source.offset + maxGeneration
	r.generation = 0
	r.callsites, r.outer = map[trace.Stack]profile.CallsiteID{}, map[trace.Stack]model.StringID{}
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

// clock returns the clock of the timestamps: the monotonic clock, or a CPU counter on systems where that clock is
// coarse. Before Go 1.22, timestamps are relative to the start of the trace.
func (r *reader) clock(s *trace.ClockSnapshot) uint32 {
	differs := s != nil && (time.Duration(s.Mono)-time.Duration(s.Trace)).Abs() > time.Second
	if r.version < 22 || differs {
		return model.ClockTraceFile
	}
	return model.ClockMonotonic
}
