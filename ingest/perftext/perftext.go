// Package perftext reads the output of perf script and of simpleperf's report_sample:
// for each sample a header line, its stack with one frame per line, innermost first,
// and an empty line.
//
//	firefox  7564/7569 [003]  2574592.839818:        321 cycles:uppp:
//		    7f2b9c00a1f0 main+0x10 (/usr/bin/firefox)
//		             dd0 _start (/usr/lib64/ld-2.25.so)
//
// The fields depend on perf's options; the tid and the time are required.
package perftext

import (
	"bytes"
	"regexp"
	"strconv"
	"time"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the output of perf script.
var Format = &format.Format{Name: "perf_text", Title: "perf script", Sniff: sniff, Read: read}

// sniff accepts text whose first line that is not a comment starts a sample.
func sniff(head []byte) bool {
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !isComment(line) {
			_, ok := parseSample(line)
			return ok && whole
		}
		head = rest
	}
	return false
}

// isComment reports whether a line belongs to the header that perf script --header
// prints.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// sample is the first line of a sample.
type sample struct {
	ts       int64 // ns
	tid, pid int64 // pid is None if the line has none
	comm     []byte
	event    []byte // nil if the line has none
	period   int64  // of the event, None if the line has none
}

// timestamp matches the time of a sample, in seconds, followed by a colon.
var timestamp = regexp.MustCompile(` (\d+)\.(\d{6}|\d{9}):`)

// parseSample reads the first line of a sample. Thread names may also look like a
// time: the first time with a tid before it counts.
func parseSample(line []byte) (s sample, ok bool) {
	for from := 0; ; {
		at := timestamp.FindSubmatchIndex(line[from:])
		if at == nil {
			return s, false
		}
		seconds, err := strconv.ParseUint(string(line[from+at[2]:from+at[3]]), 10, 33)
		if err == nil && s.readThread(bytes.Fields(line[:from+at[2]])) {
			fraction := string(line[from+at[4] : from+at[5]])
			ns, _ := strconv.ParseUint((fraction + "000")[:9], 10, 32)
			s.ts = int64(seconds*uint64(time.Second) + ns)
			s.readEvent(bytes.Fields(line[from+at[1]:]))
			return s, true
		}
		from += at[1]
	}
}

// readThread reads the fields before the time: name, ids and CPU.
func (s *sample) readThread(fields [][]byte) bool {
	if n := len(fields); n > 1 && bytes.HasPrefix(fields[n-1], []byte("[")) && bytes.HasSuffix(fields[n-1], []byte("]")) {
		if _, ok := number(fields[n-1][1 : len(fields[n-1])-1]); !ok {
			return false
		}
		fields = fields[:n-1]
	}
	if len(fields) == 0 {
		return false
	}
	ids := fields[len(fields)-1]
	s.comm = bytes.Join(fields[:len(fields)-1], []byte(" "))
	pid, tid, both := bytes.Cut(ids, []byte("/"))
	if !both {
		pid, tid = nil, ids
	}
	s.pid = model.None
	ok := true
	if both {
		s.pid, ok = number(pid)
	}
	var isNumber bool
	s.tid, isNumber = number(tid)
	return ok && isNumber
}

// readEvent reads the fields after the time: the period, and the event followed by a colon.
func (s *sample) readEvent(fields [][]byte) {
	s.period = model.None
	if len(fields) > 1 {
		if n, err := strconv.ParseInt(string(fields[0]), 10, 64); err == nil && n >= 0 {
			s.period, fields = n, fields[1:]
		}
	}
	if len(fields) > 0 {
		if event, ok := bytes.CutSuffix(fields[0], []byte(":")); ok && len(event) > 0 {
			s.event = event
		}
	}
}

func number(text []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(text), 10, 32)
	return int64(n), err == nil
}

// reader reads samples and pushes them with their callsites, which are stored at
// once.
type reader struct {
	in       *format.Input
	samples  *sort.Stream
	event    *token.Writer
	mappings map[string]profile.MappingID
	noFile   model.StringID

	sample sample
	ts     int64 // of the sample, ns of the trace clock
	offset int64
	frames []profile.FrameID // innermost first
	state  state
}

// state says what the next line belongs to.
type state byte

const (
	between state = iota
	inSample
	inUnknown // a malformed sample
)

func read(in *format.Input) error {
	in.UseClock(model.ClockMonotonic)
	r := &reader{
		in: in, event: token.NewWriter(in.Store), mappings: map[string]profile.MappingID{},
		samples: in.Sorter.NewStream(&parser{in.Context}),
	}
	if err := lines.Each(in, r.line); err != nil {
		return err
	}
	if r.state == inSample {
		return r.push()
	}
	return nil
}

func (r *reader) line(offset int64, line []byte) error {
	empty := len(bytes.TrimSpace(line)) == 0
	switch {
	case r.state == between && isComment(line):
	case r.state == between:
		r.begin(offset, line)
	case empty && r.state == inSample:
		return r.push()
	case empty:
		r.state = between
	case r.state == inSample && !r.frame(bytes.TrimSpace(line)):
		r.in.File.LogAt(model.StatPerfTextParseErrors, offset, nil)
	}
	return nil
}

func (r *reader) begin(offset int64, line []byte) {
	s, ok := parseSample(line)
	if !ok {
		r.in.File.LogAt(model.StatPerfTextParseErrors, offset, nil)
		r.state = inUnknown
		return
	}
	if r.ts, ok = r.in.TraceTime(s.ts, offset); !ok {
		r.state = inUnknown
		return
	}
	s.comm, s.event = bytes.Clone(s.comm), bytes.Clone(s.event)
	r.sample, r.offset, r.frames, r.state = s, offset, r.frames[:0], inSample
}

// deleted is perf's mark for a frame whose file has been deleted.
var deleted = []byte(" (deleted))")

// frame adds a frame of the sample: an address, a function, and the file in
// parentheses.
func (r *reader) frame(line []byte) bool {
	_, rest, ok := bytes.Cut(line, []byte(" "))
	at := bytes.LastIndexByte(bytes.TrimSuffix(rest, deleted), '(')
	if !ok || at < 0 || rest[len(rest)-1] != ')' {
		return false
	}
	function := bytes.TrimSpace(rest[:at])
	if plus := bytes.LastIndexByte(function, '+'); plus >= 0 {
		function = function[:plus]
	}
	stacks, strings := r.in.Store.Stacks, r.in.Store.Strings
	file := string(rest[at+1 : len(rest)-1])
	mapping, known := r.mappings[file]
	if !known {
		mapping = stacks.DummyMapping(file)
		r.mappings[file] = mapping
	}
	r.frames = append(r.frames, stacks.FunctionFrame(mapping, strings.InternBytes(function), r.noFile, 0))
	return true
}

// push pushes the sample once its stack is complete.
func (r *reader) push() error {
	r.state = between
	if len(r.frames) == 0 {
		r.in.File.LogAt(model.StatPerfTextImporterSampleNoFrames, r.offset, nil)
		return nil
	}
	stacks := r.in.Store.Stacks
	callsite := profile.CallsiteID(model.None)
	for i := len(r.frames) - 1; i >= 0; i-- {
		outermost := callsite == model.None
		callsite = stacks.Callsite(callsite, r.frames[i])
		if outermost {
			stacks.SetDepth(callsite, 1) // v58 counts from 1 here
		}
	}
	r.event.Reset()
	r.event.Uint(uint64(callsite))
	r.event.Int(r.sample.pid)
	r.event.Uint(uint64(r.sample.tid))
	r.event.Text(r.sample.comm)
	r.event.Text(r.sample.event)
	r.event.Int(r.sample.period)
	return r.samples.Push(r.ts, r.event.Bytes())
}

// parser turns samples into rows.
type parser struct{ *model.Context }

// Event stores a sample.
func (p *parser) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	v := profile.NewSample(ts, "perf_text")
	v.Callsite = profile.CallsiteID(event.Uint())
	pid, tid, comm := event.Int(), int64(event.Uint()), event.Text()
	name, period := event.Text(), event.Int()
	if pid == model.None {
		v.UTID = p.Machine.Thread(tid)
	} else {
		v.UTID = p.Machine.ThreadOf(tid, pid)
		v.UPID = p.Machine.Process(pid)
	}
	if comm != p.Store.Strings.Intern("") {
		p.Machine.SetThreadAndProcessName(v.UTID, comm, model.ThreadNameOther)
	}
	sample := p.Store.Stacks.AddSample(v)
	if name != 0 {
		p.Store.Stacks.AddSampleEvent(sample, name, period)
	}
	return nil
}
