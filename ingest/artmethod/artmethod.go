// Package artmethod reads method traces of Android's runtime, as recorded by
// Debug.startMethodTracing, am profile and Android Studio.
//
// There are three layouts. A file has its threads and methods as text, followed by the
// records, each with a thread, a method and a time. A stream has threads and methods
// between the records, where they first appear, and a summary at the end. The packed
// layout, from Android 16, has blocks of one thread's records, delta-encoded. See
// ART's trace.cc and trace_profile.cc.
package artmethod

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jvm"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of method traces of versions 1 to 3, as files and as streams.
var Format = &format.Format{
	Name: "art_method", Title: "ART method trace",
	Sniff: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte("*version\n")) || bytes.HasPrefix(head, magic) && !isPacked(head)
	},
	Read: func(in *format.Input) error {
		r := newReader(in)
		if head, _ := r.Peek(len(magic)); bytes.Equal(head, magic) {
			return r.finish(r.stream())
		}
		return r.finish(r.file())
	},
}

// Packed is the format of version 2 streams.
var Packed = &format.Format{
	Name: "art_method_v2", Title: "ART method trace",
	Sniff: func(head []byte) bool { return bytes.HasPrefix(head, magic) && isPacked(head) },
	Read: func(in *format.Input) error {
		r := newReader(in)
		return r.finish(r.packed())
	},
}

var (
	statParseErrors = model.NewStat(1014, model.StatInfo{
		Name: "art_method_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
		Description: "Methods, threads and records of ART method traces that cannot be read.",
	})
	statBufferFull = model.NewStat(1059, model.StatInfo{
		Name: "art_method_buffer_full", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost, Gap: true,
		Description: "ART method traces that end before the recording did, because the buffer was full.",
	})
)

var magic = []byte("SLOW")

const (
	headerSize  = 32 // bytes, in all layouts of Android's runtimes
	leastHeader = 16 // up to the record size, which version 3 has
	streaming   = 0xf0
	maxLine     = 64 << 10
	nsPerMicro  = 1000
)

// isPacked reports whether a header is of the packed layout, with one clock or two.
func isPacked(head []byte) bool {
	if len(head) < 6 {
		return false
	}
	version := binary.LittleEndian.Uint16(head[4:]) &^ streaming
	return version == 4 || version == 5
}

// The actions of threads.
const (
	enter = iota
	exit
	unwind // by an exception
	noAction
)

// method is a method that was called.
type method struct {
	name, path model.StringID
	line       *int64
	keys       *keys
}

// keys are the names of a method's args.
type keys struct{ pathname, lineNumber model.StringID }

// AddArgs adds where the method is defined.
func (m *method) AddArgs(set *model.ArgSet) {
	if m.path != 0 {
		set.Add(m.keys.pathname, model.StringArg(m.path))
	}
	if m.line != nil {
		set.Add(m.keys.lineNumber, model.IntArg(*m.line))
	}
}

// reader reads a trace and pushes its records. Methods and threads may come after the
// records that refer to them, so they are looked up when the records are parsed.
type reader struct {
	*bufio.Reader
	in     *format.Input
	offset int64
	events *sort.Stream
	event  *token.Writer

	version    uint16
	clock      uint32
	start      int64 // µs; ns in the packed layout
	recordSize int
	records    int64 // of a file, as its text says; 0 if it does not
	dual       bool  // records also have the thread's CPU time
	ended      bool  // the end marker was read

	counted   bool   // packed records have the time of a counter
	frequency uint64 // of the counter, Hz; 0 if it counts ns

	methods map[uint64]*method
	keys    keys
	names   map[int64]model.StringID // of threads; 0 once stored
	threads map[int64]*thread        // those with records

	last  model.UTID    // thread of the last record
	track model.TrackID // its track, or model.None before the first record
}

// thread is where the records of a thread are in time.
type thread struct {
	wall, cpu wrapping

	last entry  // of the packed layout
	read uint32 // records up to it, of its buffer
}

// state returns the state of a thread.
func (r *reader) state(tid int64) *thread {
	t := r.threads[tid]
	if t == nil {
		t = &thread{}
		r.threads[tid] = t
	}
	return t
}

// wrapping is a time in µs of which records have the lower 32 bits, 71 minutes.
type wrapping int64

// at returns the time of a record. A thread's records are in order, or nearly, as its buffers may be written in another.
func (w *wrapping) at(low uint32) int64 {
	const disorder = 1 << 30
	least := max(*w-disorder, 0)
	*w = least + wrapping(low-uint32(least))
	return int64(*w)
}

func newReader(in *format.Input) *reader {
	r := &reader{Reader: bufio.NewReaderSize(in, 2*maxLine), in: in, clock: model.ClockMonotonic, event: token.NewWriter(in.Store),
		methods: map[uint64]*method{}, names: map[int64]model.StringID{}, threads: map[int64]*thread{}, track: model.None,
		keys: keys{in.Store.Strings.Intern("pathname"), in.Store.Strings.Intern("line_number")}}
	r.events = in.Sorter.NewStream(r)
	return r
}

// finish handles the end of the input. It logs truncation.
func (r *reader) finish(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		if !r.ended {
			r.in.File.LogAt(model.StatTruncatedInput, r.offset, nil)
		}
		return nil
	}
	return err
}

// take reads n bytes, which are valid until the next read.
func (r *reader) take(n int) ([]byte, error) {
	b, err := r.Peek(n)
	if err != nil {
		if err == io.EOF && len(b) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	r.offset += int64(n)
	_, err = r.Discard(n)
	return b, err
}

// line reads a line of text, without its newline.
func (r *reader) line() (string, error) {
	line, err := r.ReadSlice('\n')
	r.offset += int64(len(line))
	if err == bufio.ErrBufferFull {
		return "", r.corrupt("a line of more than %d bytes", maxLine)
	}
	return strings.TrimSuffix(string(line), "\n"), err
}

func (r *reader) corrupt(message string, args ...any) error {
	return format.Errorf(format.ErrCorrupt, r.offset, message, args...)
}

// damaged counts a damaged part.
func (r *reader) damaged() { r.in.File.LogAt(statParseErrors, r.offset, nil) }

// file reads the file layout, which begins with text.
func (r *reader) file() error {
	if err := r.sections(""); err == io.EOF {
		return r.corrupt("truncated before its records")
	} else if err != nil {
		return err
	}
	dual := r.dual
	if err := r.header(); err != nil {
		return err
	}
	r.dual = dual
	for read := int64(0); ; read++ {
		if _, err := r.Peek(1); err == io.EOF {
			r.ended = read >= r.records
			return err
		}
		record, err := r.take(r.recordSize)
		if err != nil {
			return err
		}
		tid, rest := int64(record[0]), record[1:]
		if r.version > 1 {
			tid, rest = int64(binary.LittleEndian.Uint16(record)), record[2:]
		}
		if err := r.record(tid, rest); err != nil {
			return err
		}
	}
}

// sections reads the text before the records or after them: options, threads and methods.
func (r *reader) sections(section string) error {
	for {
		line, err := r.line()
		switch {
		case line == "*end":
			return nil
		case err != nil:
			return err
		case strings.HasPrefix(line, "*"):
			section = line
			if section == "*version" {
				if _, err := r.line(); err != nil { // the header of the records has the version, too
					return err
				}
			}
			continue
		}
		switch section {
		case "*version":
			if err := r.option(line); err != nil {
				return err
			}
		case "*threads":
			tid, name, _ := strings.Cut(line, "\t")
			if id, err := strconv.ParseUint(tid, 10, 32); err == nil {
				r.thread(int64(id), []byte(name))
			} else {
				r.damaged()
			}
		case "*methods":
			r.methodLine(line)
		default:
			return r.corrupt("unknown section %.40q", section)
		}
	}
}

// option reads a line with a property of the recording.
func (r *reader) option(line string) error {
	key, value, _ := strings.Cut(line, "=")
	switch {
	case key == "vm" && value == "dalvik": // its start is a time of gettimeofday
		r.clock = model.ClockRealtime
	case key == "clock" && value != "dual" && value != "wall" && value != "global": // global is wall in the first versions
		return format.Errorf(format.ErrUnsupported, r.offset, "unknown clock %.40q; supported clocks are wall and dual", value)
	case key == "clock":
		r.dual = value == "dual"
	case key == "data-file-overflow" && value == "true":
		r.in.File.LogAt(statBufferFull, r.offset, nil)
	}
	fact := model.StringArg(r.in.Store.Strings.Intern(value))
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		fact = model.IntArg(n)
		if key == "num-method-calls" {
			r.records = n
		}
	}
	r.in.File.SetMetadata(key, fact)
	return nil
}

// The versions of records.
const (
	versionShortTID  = 1 // one-byte thread ids
	versionLongTID   = 2 // two-byte thread ids
	versionDualClock = 3 // also the thread's CPU time
)

// header reads the header of the records: magic, version, offset of the records, start
// time, record size.
func (r *reader) header() error {
	h, _ := r.Peek(headerSize)
	if len(h) < leastHeader || !bytes.HasPrefix(h, magic) {
		return r.corrupt("missing header before the records")
	}
	r.version = binary.LittleEndian.Uint16(h[4:]) &^ streaming
	size := int(binary.LittleEndian.Uint16(h[6:]))
	if size < leastHeader {
		size = headerSize
	}
	start := binary.LittleEndian.Uint64(h[8:])
	if start > math.MaxInt64/nsPerMicro-math.MaxUint32 {
		return r.corrupt("start time of %d µs is out of range", start)
	}
	r.in.UseClock(r.clock)
	r.start = int64(start)
	r.dual = r.version == versionDualClock
	switch r.version {
	case versionShortTID:
		r.recordSize = 9
	case versionLongTID:
		r.recordSize = 10
	case versionDualClock:
		const least = 14
		if len(h) > leastHeader+1 {
			r.recordSize = int(binary.LittleEndian.Uint16(h[leastHeader:]))
		}
		if r.recordSize < least {
			return r.corrupt("record size of %d bytes, want at least %d", r.recordSize, least)
		}
	default:
		return format.Errorf(format.ErrUnsupported, r.offset, "version %d; supported versions are 1 to 5", r.version)
	}
	if _, err := r.take(size); err != nil {
		return r.corrupt("missing header before the records")
	}
	return nil
}

// record reads the rest of a record after its thread.
func (r *reader) record(tid int64, data []byte) error {
	id := binary.LittleEndian.Uint32(data)
	t, at, cpu := r.state(tid), data[4:], int64(noTime)
	if r.dual && len(at) >= 8 {
		cpu, at = t.cpu.at(binary.LittleEndian.Uint32(at))*nsPerMicro, at[4:]
	}
	wall := t.wall.at(binary.LittleEndian.Uint32(at))
	if wall > math.MaxInt64/nsPerMicro-r.start {
		r.damaged()
		return nil
	}
	return r.push(tid, uint64(id&3), uint64(id&^3), (r.start+wall)*nsPerMicro, cpu)
}

// noTime is the CPU time of a thread that is not known.
const noTime = -1

// push pushes a thread's action at a time, and at the thread's CPU time since it was first traced, in ns.
func (r *reader) push(tid int64, action, id uint64, time, cpu int64) error {
	if action == noAction {
		r.damaged()
		return nil
	}
	ts, ok := r.in.TraceTime(time, r.offset)
	if !ok {
		return nil
	}
	r.event.Reset()
	r.event.Uint(uint64(tid))
	r.event.Uint(action)
	r.event.Uint(id)
	r.event.Int(cpu)
	return r.events.Push(ts, r.event.Bytes())
}

// The other parts of a stream, which follow a thread id of 0.
const (
	streamMethod  = 1
	streamThread  = 2
	streamSummary = 3
)

// stream reads the stream layout, in which threads and methods come between records.
func (r *reader) stream() error {
	if err := r.header(); err != nil {
		return err
	}
	for {
		b, err := r.take(2)
		if err != nil {
			return err
		}
		if tid := binary.LittleEndian.Uint16(b); tid != 0 {
			// Version 1 streams also have 16-bit thread ids.
			record, err := r.take(max(r.recordSize, 10) - 2)
			if err != nil {
				return err
			}
			if err := r.record(int64(tid), record); err != nil {
				return err
			}
			continue
		}
		if b, err = r.take(1); err != nil {
			return err
		}
		switch b[0] {
		case streamMethod:
			text, err := r.text16()
			if err != nil {
				return err
			}
			r.methodLine(string(text))
		case streamThread:
			if b, err = r.take(2); err != nil {
				return err
			}
			tid := int64(binary.LittleEndian.Uint16(b))
			name, err := r.text16()
			if err != nil {
				return err
			}
			r.thread(tid, name)
		case streamSummary:
			return r.summary()
		default:
			return r.corrupt("unknown part of kind %d", b[0])
		}
	}
}

// summary reads the end of a stream: the options, then the threads and methods again.
func (r *reader) summary() error {
	if _, err := r.take(4); err != nil { // its size
		return err
	}
	err := r.sections("")
	r.ended = err == nil
	return err
}

// text16 reads a text preceded by its 16-bit length.
func (r *reader) text16() ([]byte, error) {
	b, err := r.take(2)
	if err != nil {
		return nil, err
	}
	return r.take(int(binary.LittleEndian.Uint16(b)))
}

// thread names a thread. The first name wins.
func (r *reader) thread(tid int64, name []byte) {
	if _, known := r.names[tid]; !known {
		r.names[tid] = r.in.Store.Strings.InternBytes(jvm.Text(name))
	}
}

// fields splits a line at tabs and drops empty parts.
func fields(line string) []string {
	return strings.FieldsFunc(line, func(c rune) bool { return c == '\t' })
}

// methodLine reads a method: id, class, name, signature, file and line.
func (r *reader) methodLine(line string) {
	parts := fields(strings.TrimSpace(string(jvm.Text([]byte(line)))))
	if len(parts) < 2 || len(parts) == 3 {
		r.damaged()
		return
	}
	id, err := strconv.ParseUint(strings.TrimPrefix(parts[0], "0x"), 16, 32)
	if err != nil {
		r.damaged()
		return
	}
	r.methods[id] = r.method(parts[1:])
}

// method builds a method from class, name, signature, file and line. The parts after
// the class, or name and signature, may be missing.
func (r *reader) method(parts []string) *method {
	var class, name, signature string
	m := &method{keys: &r.keys}
	texts := r.in.Store.Strings
	if len(parts) > 0 {
		class = parts[0]
	}
	line := ""
	switch {
	case len(parts) == 5:
		name, signature = parts[1], parts[2]
		path := parts[3]
		if i := strings.LastIndexByte(class, '/'); i >= 0 && strings.HasSuffix(path, ".java") {
			path = class[:i+1] + path
		}
		m.path, line = texts.Intern(path), parts[4]
	case len(parts) > 2 && strings.HasPrefix(parts[2], "("):
		name, signature = parts[1], parts[2]
		if len(parts) > 3 {
			m.path = texts.Intern(parts[3])
		}
	case len(parts) > 2:
		m.path, line = texts.Intern(parts[1]), parts[2]
	}
	if n, err := strconv.ParseUint(line, 10, 32); err == nil {
		m.line = new(int64(n))
	}
	m.name = texts.Intern(class + "." + name + ": " + signature)
	return m
}

var tracks = &model.Blueprint{Classification: "art_method_tracing", Dims: []string{"utid"},
	Describe: func(*model.Store, []model.Dim) string { return "Calls of methods in Android's runtime." }}

// Event begins or ends a call.
func (r *reader) Event(ts int64, payload []byte) error {
	event := token.Reader(payload)
	tid, action, id := int64(event.Uint()), event.Uint(), event.Uint()
	cpu := event.Int()
	clock := model.ThreadClock{Time: cpu, HasTime: cpu != noTime}
	utid := r.in.Machine.Thread(tid)
	if name, ok := r.names[tid]; ok {
		if name != 0 {
			r.in.Machine.SetThreadAndProcessName(utid, name, model.ThreadNameOther)
			r.names[tid] = 0
		}
	}
	if utid != r.last || r.track == model.None {
		r.last, r.track = utid, r.in.Tracks.Intern(tracks, nil, model.IntDim(utid))
	}
	if action != enter {
		r.in.Slices.EndAt(ts, r.track, 0, 0, nil, clock)
		return nil
	}
	m := r.methods[id]
	if m == nil {
		m = &method{}
	}
	r.in.Slices.BeginAt(ts, r.track, 0, m.name, m, clock)
	return nil
}
