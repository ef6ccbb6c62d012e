// Package systrace reads ftrace's text format, as written by
// /sys/kernel/tracing/trace, trace-cmd report, atrace and Android's systrace. It
// also reads the HTML pages that systrace generates, including their process
// lists.
//
// A line of a trace looks like
//
//	kworker/u16:1-77    (   77) [004] d..2   316.196720: sched_switch: prev_comm=...
//
// with the thread's name and tid, its process, the CPU, flags of the interrupt
// context, the time in seconds, the tracepoint and its fields. The process and the
// flags are optional. The kernel's Documentation/trace/ftrace.rst describes the
// format.
package systrace

import (
	"bufio"
	"bytes"
	"math"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ftrace"
	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/model"
)

// Format is ftrace's text format and systrace's HTML.
var Format = &format.Format{Name: "systrace", Sniff: sniff, Read: read}

// sniffBytes is how many bytes of the input Trace Processor looks at.
const sniffBytes = 128

// marker is what atrace writes between its own messages and the trace.
const marker = "TRACE:\n"

func sniff(all []byte) bool {
	head := all[:min(len(all), sniffBytes)]
	lower := bytes.ToLower(head)
	return bytes.Contains(head, []byte("# tracer")) || bytes.Contains(head, []byte(marker)) ||
		bytes.HasPrefix(lower, []byte("<!doctype html>")) || bytes.HasPrefix(lower, []byte("<html>")) ||
		bytes.HasPrefix(head, []byte("cpus=")) || bytes.HasPrefix(head, []byte("version = ")) ||
		bytes.HasPrefix(head, []byte(" ")) && startsWithEvent(all)
}

// startsWithEvent reports whether the first non-blank line is an event.
func startsWithEvent(head []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return new(line).parse(first)
}

// A section is what a part of the input holds.
type section uint8

const (
	inPage    section = iota // HTML around the data
	inData                   // a data script of unknown kind
	inTrace                  // events
	inProcess                // a list of processes
	inThreads                // a list of threads
	inPS                     // what Android's old ps -t says of processes and threads alike
	inOther                  // unsupported data
)

type reader struct {
	*tokenizer
	page    bool
	escaped bool // the trace is a string of JavaScript, whose lines end with \n\
	section section
	offset  int64  // of the line, bytes from the start of the input
	events  int    // number of events and list entries read
	failed  int64  // offset of the first line that is not an event, or None
	why     string // it is not, if that is known
	tracer  string
	skipped int64 // bytes before the first line that is read
	one     block // of a line that is decoded again
}

func read(in *format.Input) error {
	if !in.Part {
		in.UseClock(model.ClockMonotonic)
	}
	r := &reader{tokenizer: newTokenizer(in), section: inTrace, failed: model.None}
	text := bufio.NewReaderSize(in, sniffBytes)
	head, _ := text.Peek(sniffBytes) // the reader returns an error again later
	if len(head) > 0 {
		in.Machine.UseIdleProcess()
	}
	if i := bytes.Index(head, []byte(marker)); i >= 0 {
		n, err := text.Discard(i + len(marker))
		if err != nil {
			return err
		}
		r.skipped = int64(n)
		head = head[n:]
	}
	if bytes.HasPrefix(head, []byte("<")) {
		r.page, r.section = true, inPage
	}
	l := lines.NewAhead(text, in.Part, r.parser.decode)
	if err := l.Each(r.block); err != nil {
		return err
	}
	if len(bytes.TrimSpace(l.Rest())) > 0 && r.section != inPage {
		if err := r.lastLine(l.Offset(), l.Rest()); err != nil {
			return err
		}
	}
	switch {
	case in.Part || r.events > 0:
		return nil
	case r.why != "":
		return format.Errorf(format.ErrUnsupported, r.failed, "%s", r.why)
	case r.failed != model.None && r.tracer != "" && r.tracer != "nop" && r.tracer != "function":
		return format.Errorf(format.ErrUnsupported, r.failed, "lines of the tracer %.32q", r.tracer)
	case r.failed != model.None:
		return format.Errorf(format.ErrCorrupt, r.failed, "no line is an ftrace event")
	case r.page:
		return format.Errorf(format.ErrUnsupported, -1, "an HTML page without a systrace trace")
	}
	return nil
}

var (
	dataStart    = []byte(`<script class="trace-data" type="application/text">`)
	stringStart  = []byte(`var linuxPerfData = "\`) // of old pages
	stringEnd    = []byte(`";`)
	lineEnd      = []byte(`\n\`)
	dataEnd      = []byte(`</script>`)
	columnNames  = []byte("TASK-PID")
	processDump  = []byte("PROCESS DUMP")
	cgroupDump   = []byte("CGROUP DUMP")
	headerStarts = [][]byte{[]byte("cpus="), []byte("version = ")} // trace-cmd writes these
)

// block reads the lines of a block. Of those with the line end that systrace wrote into the lines of a string in a page, that is left
// out. It escaped nothing else.
func (r *reader) block(b *block) error {
	for i := range b.lines {
		b, l := b, &b.lines[i]
		if l.escaped && r.section == inTrace && (r.escaped || r.events == 0) {
			r.escaped = true
		} else if l.escaped {
			b, l = &r.one, r.one.unescaped(r.parser, b, l)
		}
		r.offset = r.skipped + b.offset + int64(l.from)
		if err := r.line(b, l); err != nil {
			return err
		}
	}
	return nil
}

// lastLine reads a last line without a line end, unless it is visibly cut off: it is no event, or the page around it has no end.
func (r *reader) lastLine(offset int64, text []byte) error {
	var b block
	r.parser.decode(&b, offset, append(text, '\n'))
	l := &b.lines[0]
	isEvent := l.ok && b.tokens.Bytes()[l.token+tokenKind] != kindMalformed && !bytes.HasSuffix(bytes.TrimSpace(text), []byte(":"))
	if r.page || !isEvent && text[0] != '#' {
		r.File.LogAt(model.StatTruncatedInput, r.skipped+offset, nil)
		return nil
	}
	r.File.LogAt(model.StatUnendedLine, r.skipped+offset, nil)
	return r.block(&b)
}

func (r *reader) line(b *block, l *decoded) error {
	text := b.text[l.from:l.to]
	if r.page && r.section != inPage && (bytes.Contains(text, dataEnd) || r.escaped && bytes.HasSuffix(text, stringEnd)) {
		switch r.section {
		case inData:
			r.File.Unread(model.StatUnreadFact, model.None, "unknown section").AddAt(r.offset)
		case inOther:
			r.File.Unread(model.StatUnreadFact, model.None, "cgroup dump section").AddAt(r.offset)
		}
		r.section = inPage
		return nil
	}
	switch r.section {
	case inPage:
		switch {
		case bytes.Contains(text, dataStart):
			r.section, r.escaped = inData, false
		case bytes.HasSuffix(text, stringStart):
			r.section = inTrace
		}
	case inData:
		switch {
		case bytes.HasPrefix(text, []byte("#")) && bytes.Contains(text, columnNames):
			r.section = inTrace
		case bytes.HasPrefix(text, processDump):
			r.section = inProcess
		case bytes.HasPrefix(text, cgroupDump):
			r.section = inOther
		}
	case inTrace, inPS:
		return r.event(b, l)
	case inProcess, inThreads:
		r.listed(text)
	}
	return nil
}

// event reads a line of a trace.
func (r *reader) event(b *block, l *decoded) error {
	if l.ok {
		r.events++
		r.section = inTrace
		return r.push(b, l, r.offset)
	}
	if r.section == inPS {
		return nil
	}
	text := b.text[l.from:l.to]
	if tracer, ok := bytes.CutPrefix(text, []byte("# tracer: ")); ok {
		r.tracer = string(bytes.TrimSpace(tracer))
	}
	if len(skipSpace(text)) > 0 && text[0] != '#' && !r.notice(text) {
		r.File.LogAt(model.StatSystraceParseFailure, r.offset, nil)
		if r.failed == model.None {
			r.failed, r.why = r.offset, hintOf(text)
		}
	}
	return nil
}

// notice reads the lines that tracers write between the events. It returns false
// if the text is not such a line.
func (r *reader) notice(text []byte) bool {
	for _, start := range headerStarts {
		if bytes.HasPrefix(text, start) {
			return true
		}
	}
	if cpu, ok := bytes.CutPrefix(text, []byte("CPU ")); ok {
		return bytes.HasSuffix(cpu, []byte(" is empty"))
	}
	if bytes.HasPrefix(text, []byte("USER ")) && isHeader(bytes.Fields(text), "PID", "PPID", "VSIZE") {
		r.section = inPS
		r.File.Unread(model.StatUnreadFact, model.None, "list of ps -t").AddAt(r.offset)
		return true
	}
	if bytes.HasPrefix(skipSpace(text), []byte("=> ")) {
		return true // a frame of a stack, which is counted as a whole
	}
	return r.lost(text)
}

// lost reads CPU:3 [LOST 12 EVENTS], or CPU:3 [12 EVENTS DROPPED] from trace-cmd. Both leave the number out if it is not known.
func (r *reader) lost(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("CPU:"))
	if !ok {
		return false
	}
	cpu, rest, ok := ftracetext.Number(rest)
	rest, opens := bytes.CutPrefix(rest, []byte(" ["))
	if !ok || !opens || cpu >= model.MaxCPUs {
		return false
	}
	r.File.SetStat(model.StatFtraceCPUHasDataLoss, int64(cpu), 1)
	if n, _, ok := ftracetext.Number(bytes.TrimPrefix(rest, []byte("LOST "))); ok && n <= math.MaxInt64 {
		r.File.Add(ftrace.StatEventsLost, int64(cpu), int64(n))
	}
	r.events++
	return true
}

// hintOf says what to record instead, if a line has a time that is not on a clock.
func hintOf(text []byte) string {
	_, text, found := bytes.Cut(text, []byte("-"))
	time, _, colon := bytes.Cut(text, []byte(": "))
	time = bytes.TrimRight(time, " $@*#!+")
	at := bytes.LastIndexByte(time, ' ')
	_, unit, ok := ftracetext.Number(time[at+1:])
	switch {
	case !found || !colon || !ok || at < 0:
		return ""
	case len(unit) == 0:
		return "times that count events or cycles, as of trace_clock counter or x86-tsc; record with trace_clock mono or boot"
	case string(unit) == "us":
		return "times from the start of the buffer, as of the option latency-format; record without it"
	}
	return ""
}
