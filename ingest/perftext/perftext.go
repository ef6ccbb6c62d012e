// Package perftext reads the output of perf script and of simpleperf's report_sample: for each sample a header line
// and, if it has a call graph, its stack with one frame per line, innermost first, and an empty line.
//
//	firefox  7564/7569 [003]  2574592.839818:        321 cycles:uppp:
//		    7f2b9c00a1f0 main+0x10 (/usr/bin/firefox)
//		             dd0 _start (/usr/lib64/ld-2.25.so)
//
// Without a call graph, the address of the sample is on the header line. The fields depend on perf's options; only the
// time is required. Other records, which --show-mmap-events and similar options add, have header lines, too.
package perftext

import (
	"bytes"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the output of perf script.
var Format = &format.Format{Name: "perf_text", Title: "perf script", Sniff: sniff, Read: read}

var statParseErrors = model.NewStat(1012, model.StatInfo{
	Name: "perf_text_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
	Description: "Lines of perf script that cannot be read.",
})

// statDecodingErrors counts what perf prints by auxtrace_error's print function (tools/perf/util/auxtrace.c).
var statDecodingErrors = model.NewStat(1062, model.StatInfo{
	Name: "perf_text_decoding_errors", Severity: model.DataLoss, Effect: model.Lost, Gap: true,
	Description: "Errors of perf's decoder of hardware traces: the instructions up to where it could go on are missing.",
})

// decodingError begins the line of such an error.
var decodingError = []byte("instruction trace error type ")

// fileHeader begins the comments of perf script --header.
var fileHeader = []byte("# ========\n# captured on ")

// sniff accepts text whose first line that is not a comment starts a sample or another record, even one without a time:
// Read says which option adds it.
func sniff(head []byte) bool {
	whole := head
	for len(head) > 0 {
		line, rest, complete := bytes.Cut(head, []byte("\n"))
		line = bytes.TrimRight(line, "\r ")
		if !isComment(line) && !bytes.HasPrefix(line, recordPrefix) && !bytes.HasPrefix(bytes.TrimSpace(line), decodingError) {
			next, _, _ := bytes.Cut(rest, []byte("\n"))
			return complete && startsText(line, bytes.TrimRight(next, "\r "))
		}
		head = rest
	}
	return len(whole) >= format.HeadBytes && bytes.HasPrefix(bytes.TrimLeft(whole, "\r\n "), fileHeader)
}

// isComment reports whether a line belongs to the header that perf script --header prints.
func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// startsText reports whether a line and the one after it begin the output of perf script.
func startsText(line, next []byte) bool {
	h, ok := parseHeader(line, false)
	if !ok {
		h.rest = line
		for len(h.rest) > 0 { // to the event, after the name, the ids and the CPU
			word, rest := nextWord(h.rest)
			h.rest = rest
			if isEvent(word) {
				break
			}
		}
		location, _, ok := inlineFrame(h.rest)
		return ok && location.dso != nil || len(h.rest) == 0 && isEvent(lastWord(line)) && isStackedFrame(next) && bytes.HasSuffix(next, []byte(")"))
	}
	if _, _, ok := h.record(); ok || isStackedFrame(next) {
		return ok || len(h.comm) <= maxComm || h.hasID
	}
	period, event, rest := h.event()
	if h.hasID {
		return event != nil || isFrame(rest)
	}
	return len(h.comm) <= maxComm && (event != nil && period != model.None || isFrame(rest))
}

func lastWord(line []byte) []byte {
	_, word := cutLast(line)
	return word
}

func isFrame(text []byte) bool {
	_, _, ok := inlineFrame(text)
	return ok
}

// isStackedFrame reports whether a line is a frame of a stack.
func isStackedFrame(line []byte) bool {
	l, ok := parseFrame(line)
	return ok && (isSpace(line[0]) || l.tabbed)
}

// layout is what the first of several lines with the same fields shows about all of them.
type layout byte

const (
	unseen layout = iota
	with
	without
)

func layoutOf(has bool) layout {
	if has {
		return with
	}
	return without
}

// sample is a sample whose stack is being read.
type sample struct {
	header
	ts     int64 // ns of the trace clock
	offset int64
	comm   model.StringID // 0 if the line has none
	event  model.StringID // 0 if the line has none
	period int64          // of the event, None if the line has none
	text   []byte         // after the event
	frames []frame        // innermost first
}

// frame is a frame whose file may be on the line of a later one.
type frame struct {
	address    uint64
	function   model.StringID // 0 if the line has none
	mapping    profile.MappingID
	inlined    bool // in the file of the next frame, if that has the same address; perf does not print it
	sourceFile model.StringID
	sourceLine int64
}

// reader reads samples and pushes them with their callsites, which are stored at once.
type reader struct {
	in       *format.Input
	events   *sort.Stream
	parser   *parser
	token    *token.Writer
	fields   *token.Writer // of the sample's tracepoint
	mappings map[string]profile.MappingID

	sample        sample
	state         state
	ids           layout // of header lines
	files, tabs   layout // of frames
	frameIDs      []profile.FrameID
	traced        bool  // there was a tracepoint
	times, drops  int64 // header lines, and those whose time is less than that of the line before
	firstTime     int64 // of header lines, ns
	lastTime      int64
	firstDrop     int64 // its offset
	firstUnparsed int64 // offset of the first line that is no header, before any
}

// state says what the next line belongs to.
type state byte

const (
	between state = iota
	inSample
	inOther   // a record without frames
	inUnknown // a malformed sample
)

func read(in *format.Input) error {
	in.UseClock(model.ClockMonotonic)
	r := &reader{
		in: in, parser: &parser{Context: in.Context}, token: token.NewWriter(in.Store), fields: token.NewWriter(in.Store),
		mappings: map[string]profile.MappingID{}, firstUnparsed: -1,
	}
	r.events = in.Sorter.NewStream(r.parser)
	all := lines.NewReader(in)
	for all.Next() {
		if err := r.line(all.Offset(), bytes.TrimRight(all.Bytes(), "\r ")); err != nil {
			return err
		}
	}
	if all.Err() != nil {
		return all.Err()
	}
	// In a sample, white space is the beginning of a frame.
	if rest := all.Rest(); len(bytes.TrimSpace(rest)) > 0 || len(rest) > 0 && r.state == inSample {
		if err := r.lastLine(all.Offset(), rest); err != nil {
			return err
		}
	}
	if err := r.push(); err != nil {
		return err
	}
	return r.checkTimes()
}

// lastLine reads a last line without a line end. It is complete if it ends with a frame's file, or if no frame has one.
func (r *reader) lastLine(offset int64, line []byte) error {
	line = bytes.TrimRight(line, "\r ")
	_, isHeader := parseHeader(line, r.ids == without)
	isFrame := isStackedFrame(line)
	if (isHeader || isFrame) && bytes.HasSuffix(line, []byte(")")) || isHeader && r.files != with || isFrame && r.files == without {
		return r.line(offset, line)
	}
	r.in.File.LogAt(model.StatTruncatedInput, offset, nil)
	return nil
}

// checkTimes returns an error if the text has no times, or only the differences between them: the first is 0, and later
// ones go up and down. All other output of perf script is in the order of time, but for damage.
func (r *reader) checkTimes() error {
	const damage = 10 // drops are fewer than one in this many lines
	switch {
	case r.times == 0:
		return format.Errorf(format.ErrUnsupported, max(r.firstUnparsed, 0), "output of perf script without times (-F +time adds them)")
	case r.firstTime == 0 && r.drops*damage > r.times:
		return format.Errorf(format.ErrUnsupported, r.firstDrop,
			"output of perf script --deltatime, whose times are differences (without the option they are times)")
	}
	return nil
}

func (r *reader) line(offset int64, line []byte) error {
	stacked := r.state == inSample && len(line) > 0 && line[0] == '\t'
	if stacked && r.frame(line) {
		return nil
	}
	h, ok := parseHeader(line, r.ids == without)
	if ok && (r.ids == unseen || h.hasID == (r.ids == with)) {
		return r.begin(offset, &h)
	}
	switch {
	case len(line) == 0 || len(bytes.TrimSpace(line)) == 0:
		err := r.push()
		r.state = between
		return err
	case bytes.HasPrefix(bytes.TrimSpace(line), decodingError):
		r.in.File.LogAt(statDecodingErrors, offset, nil)
		err := r.push()
		r.state = between
		return err
	case r.state != inSample && isComment(line), r.state == inUnknown:
	case r.state == inOther && isSpace(line[0]): // the rest of the record
	case bytes.HasPrefix(line, recordPrefix): // without a thread and a time
		return r.other(offset, &header{cpu: model.None, rest: line})
	case r.state == inSample && !stacked && r.frame(line):
	case r.state == inSample && r.sourceLine(line):
	case r.state == inSample && otherField(line) != "":
		r.unread(otherField(line), offset)
	default:
		return r.bad(offset, line)
	}
	return nil
}

// bad counts a line that cannot be read. Unless it stands within a stack, it may be the header of the next lines.
func (r *reader) bad(offset int64, line []byte) error {
	if r.times == 0 && r.firstUnparsed < 0 {
		r.firstUnparsed = offset
	}
	r.in.File.LogAt(statParseErrors, offset, nil)
	if r.state == inSample && isSpace(line[0]) {
		return nil
	}
	err := r.push()
	r.state = inUnknown
	return err
}

// metricPrefix begins a metric that -F +metric prints on a line of its own, under the head of the group's last sample.
var metricPrefix = []byte(" \tmetric: ")

func (r *reader) unread(noun string, offset int64) {
	r.in.File.Unread(model.StatUnreadFact, model.None, noun).AddAt(offset)
}

// begin reads a header line.
func (r *reader) begin(offset int64, h *header) error {
	if err := r.push(); err != nil {
		return err
	}
	if r.times == 0 {
		r.firstTime, r.ids = h.ns, layoutOf(h.hasID)
	}
	if h.ns < r.lastTime {
		if r.drops == 0 {
			r.firstDrop = offset
		}
		r.drops++
	}
	r.lastTime = h.ns
	r.times++
	if _, _, ok := h.record(); ok {
		return r.other(offset, h)
	}
	if pid, ok := bytes.CutPrefix(h.comm, []byte("VM:")); ok && len(pid) > 0 && (isSpace(pid[0]) || isDigit(pid[0])) { // -F +machine_pid
		r.in.File.Unread(model.StatUnreadEvent, model.None, "sample of a virtual machine").AddAt(offset)
		r.state = inOther
		return nil
	}
	if bytes.HasPrefix(h.rest, metricPrefix) {
		r.in.File.Unread(model.StatUnreadEvent, model.None, "metric").AddAt(offset)
		r.state = inOther
		return nil
	}
	ts, ok := r.in.TraceTime(h.ns, offset)
	if !ok {
		r.state = inUnknown
		return nil
	}
	period, event, text := h.event()
	strings := r.in.Store.Strings
	s := &r.sample
	*s = sample{header: *h, ts: ts, offset: offset, period: period, text: append(s.text[:0], text...), frames: s.frames[:0]}
	if len(h.comm) > 0 {
		s.comm = strings.InternBytes(h.comm)
	}
	if event != nil {
		s.event = strings.InternBytes(event)
	}
	s.header.comm, s.header.rest = nil, nil // only valid during this call
	if h.wall {
		r.unread("wall-clock time", offset)
	}
	if !h.hasID && s.comm != 0 {
		r.unread("name of a thread without its tid", offset)
	}
	r.state = inSample
	return nil
}

// otherField returns what a line in a sample has that is no frame, or "" if it is unknown.
func otherField(line []byte) string {
	text := bytes.TrimSpace(line)
	contains := func(part string) bool { return bytes.Contains(line, []byte(part)) }
	address, rest := nextWord(text)
	_, isAddress := hexadecimal(address)
	switch {
	case bytes.HasPrefix(line, []byte("\ttracing data:")), bytes.HasPrefix(line, []byte("\t\t")): // of simpleperf
		return "field of a tracepoint"
	case contains(" ABI:"):
		return "register set"
	case contains(" insn: "), contains(" ilen: "):
		return "instruction"
	case contains("/-/"): // branch flags, of which at least one is not set
		return "branch stack"
	case contains("BPF output:"), contains("BPF string:"), isEvent(address) && len(address) == 5 && isHexadecimal(address[:4]):
		return "BPF output"
	case contains(" IPC: "):
		return "instructions per cycle"
	case text[0] == '|' && len(text) > 1 && isDigit(text[1]):
		return "line of source code"
	case isAddress && len(rest) > 0 && rest[0] == '\t', line[0] == '\t' && text[len(text)-1] == ':',
		bytes.HasPrefix(line, []byte("\t... not reaching")), bytes.HasPrefix(line, []byte("\tmismatch of LBR")):
		return "instruction of a branch stack"
	case isAddress && isPageSize(bytes.TrimSpace(rest)), isPageSize(text):
		return "address or page size"
	}
	return ""
}

func isHexadecimal(word []byte) bool {
	_, ok := hexadecimal(word)
	return ok
}

// isPageSize reports whether a text is empty or sizes of pages, such as 4K.
func isPageSize(text []byte) bool {
	for _, word := range bytes.Fields(text) {
		size := bytes.TrimRight(word, "KMG")
		if _, ok := number(size); !ok && string(word) != "N/A" {
			return false
		}
	}
	return true
}

// frame reads a frame of the sample on a line of its own.
func (r *reader) frame(line []byte) bool {
	l, ok := parseFrame(line)
	if !ok || !isSpace(line[0]) && !l.tabbed {
		return false
	}
	hasFile, hasTab := l.dso != nil || l.inlined, line[0] == '\t'
	if r.files == with && !hasFile || r.tabs == with && !hasTab {
		return false
	}
	if r.tabs == unseen {
		r.files, r.tabs = layoutOf(hasFile), layoutOf(hasTab)
	}
	r.addFrame(&l)
	return true
}

func (r *reader) addFrame(l *location) {
	f := frame{address: l.address, inlined: l.inlined}
	if len(l.function) > 0 {
		f.function = r.in.Store.Strings.InternBytes(l.function)
	}
	if !l.inlined {
		f.mapping = r.mapping(l.dso)
	}
	r.sample.frames = append(r.sample.frames, f)
}

// mapping returns the mapping of a file, of which only the name is known.
func (r *reader) mapping(dso []byte) profile.MappingID {
	mapping, known := r.mappings[string(dso)]
	if !known {
		mapping = r.in.Store.Stacks.DummyMapping(string(dso))
		r.mappings[string(dso)] = mapping
	}
	return mapping
}

// sourceLine reads the place in the source that -F +srcline prints after a frame. It is an address if it is not known.
func (r *reader) sourceLine(line []byte) bool {
	place, ok := bytes.CutPrefix(line, []byte("  "))
	for _, mark := range fieldsAfterFrame {
		if at := bytes.Index(place, mark); at >= 0 {
			place = place[:at]
		}
	}
	if !ok || len(place) == 0 || isSpace(place[0]) {
		return false
	}
	s := &r.sample
	if len(s.frames) == 0 && !r.takeInline() {
		return false
	}
	last := &s.frames[len(s.frames)-1]
	colon := bytes.LastIndexByte(place, ':')
	if colon < 0 {
		return place[len(place)-1] == ']' || bytes.IndexByte(place, '+') > 0
	}
	file, text := place[:colon], place[colon+1:]
	text, _, _ = bytes.Cut(text, []byte(" (discriminator"))
	n, ok := number(text)
	if !ok {
		return string(text) == "?"
	}
	if n > 0 {
		last.sourceFile, last.sourceLine = r.in.Store.Strings.InternBytes(file), n
	}
	return true
}

// takeInline makes the frame on the header line the sample's only one.
func (r *reader) takeInline() bool {
	s := &r.sample
	l, other, ok := inlineFrame(s.text)
	if ok {
		r.addFrame(&l)
		s.text = other
		if r.files == unseen {
			r.files = layoutOf(l.dso != nil)
		}
	}
	return ok
}
