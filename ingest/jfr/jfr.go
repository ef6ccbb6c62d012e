// Package jfr reads recordings of Java's Flight Recorder (JFR), which JVMs, async-profiler and agents of
// observability vendors write.
//
// A recording consists of chunks, each complete in itself: its metadata declares the types of its events, and its
// constants are what events refer to, such as threads and stack traces. Both may be at the end of the chunk, so
// a chunk is read twice. Events of any type are slices, instants if they have no duration, with their fields as
// args, on the track of their thread or, without a thread, of their type. Samples of profilers are samples.
package jfr

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/spool"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/profile"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is the format of JFR since JDK 9.
var Format = &format.Format{Name: "jfr", Title: "Java Flight Recorder (JFR)", Sniff: sniff, Read: read}

var (
	statParseErrors = model.NewStat(1034, model.StatInfo{
		Name: "jfr_parse_errors", Severity: model.DataLoss, Effect: model.Lost,
		Description: "Chunks, constants and events of JFR recordings that cannot be read.",
	})
	statConstantMissing = model.NewStat(1035, model.StatInfo{
		Name: "jfr_constant_missing", Severity: model.Notice, Effect: model.Noticed,
		Description: "Events of JFR recordings that refer to constants which are not there.",
	})
	statSamplesLost = model.NewStat(1054, model.StatInfo{
		Name: "jfr_samples_lost", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost,
		Description: "Samples of CPU time that the JVM took but could not keep (jdk.CPUTimeSamplesLost).",
	})
	statBytesLost = model.NewStat(1055, model.StatInfo{
		Name: "jfr_bytes_lost", Severity: model.DataLoss, Source: model.FromTrace, Effect: model.Lost, Gap: true,
		Description: "Bytes of events that JFR could not copy out of a thread's buffer (jdk.DataLoss).",
	})
)

const (
	magic      = "FLR\x00"
	headerSize = 68
	maxEvent   = 256 << 20 // bytes
	maxChain   = 1 << 16   // events with constants behind damage
	blockSize  = 256 << 10 // of the reads, bytes
)

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// The types of what is not an event.
const (
	typeMetadata  = 0
	typeConstants = 1
)

// header is the start of a chunk. Offsets are from there.
type header struct {
	size, constants, metadata int64
	start                     int64 // ns since the epoch
	ticks, rate               int64 // at the start, and per second
}

// reader passes the events of all chunks to the sorter.
type reader struct {
	in     *format.Input
	file   *spool.File
	parser *parser
	stream *sort.Stream
	event  *token.Writer
	args   *token.Writer // of the event
	people people
	buffer []byte // the event, if it is small
	total  int64  // events
	shared int    // args in constants that events may still have
	// truncated is the path of an arg that no field has.
	truncated path
	// Why the last chunk that is not read is not, "" if there is none.
	unsupported string
}

func read(in *format.Input) error {
	file, err := spool.Open(in)
	if err != nil {
		return err
	}
	defer file.Close()
	in.UseClock(model.ClockRealtime)
	r := &reader{in: in, file: file, parser: newParser(in.Context), event: token.NewWriter(in.Store), args: token.NewWriter(in.Store), shared: allShared,
		truncated: path{flat: truncated, key: truncated}}
	r.people.context = in.Context
	r.parser.people = &r.people
	r.stream = in.Sorter.NewStream(r.parser)
	r.stream.SetTie(outermost)
	in.AtEnd(r.parser.finish)
	for at := int64(0); at >= 0 && at < file.Size; {
		if at, err = r.chunk(at); err != nil {
			return err
		}
	}
	if file.Err() != nil {
		return file.Err()
	}
	if r.total == 0 && r.unsupported != "" {
		return format.Errorf(format.ErrUnsupported, -1, "%s", r.unsupported)
	}
	if r.total == 0 {
		return format.Errorf(format.ErrNoEvents, -1, "a recording without readable events")
	}
	return nil
}

// outermost orders slices that begin at the same time: the longest comes first.
func outermost(event []byte) int64 {
	t := token.Reader(event)
	t.Uint()
	return -t.Int()
}

// bad logs damage.
func (r *reader) bad(offset int64, why string) {
	strings := r.in.Store.Strings
	r.in.File.LogAt(statParseErrors, offset, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(strings.Intern("error"), model.StringArg(strings.Intern(why)))
	}))
}

// chunk reads the chunk at an offset, and returns the offset of the next one, or -1.
func (r *reader) chunk(at int64) (next int64, err error) {
	var b [headerSize]byte
	if n, _ := r.file.ReadAt(b[:], at); n < len(b) {
		if at == 0 {
			return 0, format.Errorf(format.ErrCorrupt, 0, "a header of %d bytes", n)
		}
		r.in.File.LogAt(model.StatTruncatedInput, at, nil)
		return -1, nil
	}
	if !sniff(b[:]) {
		r.bad(at, "there is no chunk here")
		return r.search(at), nil
	}
	number := func(offset int) int64 { return int64(binary.BigEndian.Uint64(b[offset:])) }
	major := binary.BigEndian.Uint16(b[4:])
	h := header{size: number(8), constants: number(16), metadata: number(24), start: number(32), ticks: number(48), rate: number(56)}
	compressed := b[headerSize-1]&1 != 0
	unsupported := ""
	switch {
	case major != 1 && major != 2:
		unsupported = "a version of the format that is not read, such as that of Oracle's JDK 7 and 8"
	case !compressed:
		unsupported = "numbers of fixed size"
	case h.rate <= 0:
		unsupported = "a clock without a rate"
	}
	end := at + h.size
	next = end
	if h.size < headerSize || h.size > r.file.Size-at {
		// A recorder that was killed leaves a chunk without a size.
		next = r.search(at + headerSize)
		if end = next; next < 0 {
			end = r.file.Size
		}
		r.in.File.LogAt(model.StatTruncatedInput, end, nil)
	}
	if unsupported != "" {
		r.unsupported = "a chunk with " + unsupported
		r.bad(at, r.unsupported)
		return next, nil
	}
	c := &chunk{reader: r, header: h, at: at, end: end}
	return next, c.events()
}

// search returns the offset of the next chunk after at, or -1.
func (r *reader) search(at int64) int64 {
	block := make([]byte, blockSize)
	for at < r.file.Size {
		n, _ := r.file.ReadAt(block, at)
		if i := bytes.Index(block[:n], []byte(magic+"\x00")); i >= 0 {
			return at + int64(i)
		}
		if n < len(block) {
			break
		}
		at += int64(n - len(magic))
	}
	return -1
}

// chunk is a chunk that is being read.
type chunk struct {
	*reader
	header
	at, end int64
	types   map[uint64]*class
	first   map[uint64]int64           // offset of the first event of each type
	tree    int64                      // offset of the metadata, 0 for none
	checks  []int64                    // offsets of the events with constants
	frames  map[string]profile.FrameID // by their bytes
	paths   map[step]*path             // of what is in fields of events
	missing bool                       // the event refers to a constant that is not there
	text    []byte                     // a name being built
	before  traceBefore
	inner   []frameAt // of the stack trace at hand
}

// events reads the chunk.
func (c *chunk) events() error {
	c.types, c.first = map[uint64]*class{}, map[uint64]int64{}
	c.frames, c.paths = map[string]profile.FrameID{}, map[step]*path{}
	total := int64(0)
	stopped := c.scan(c.at+headerSize, c.end, true, func(at, _ int64, typ uint64) bool {
		switch typ {
		case typeMetadata:
			c.tree = at
		case typeConstants:
			c.checks = append(c.checks, at)
		default:
			if _, ok := c.first[typ]; !ok {
				c.first[typ] = at
			}
			total++
		}
		return true
	})
	if stopped < c.end { // the header leads to what is behind the damage
		if at := c.at + c.metadata; c.metadata > headerSize && at > c.tree && at < c.end {
			c.tree = at
		}
		c.chain()
	}
	if !c.declare() {
		for range total {
			c.in.File.Unread(model.StatUnreadEvent, model.None, "event of a chunk without metadata").AddAt(c.at)
		}
		c.bad(c.at, "a chunk without metadata")
		return nil
	}
	for _, at := range c.checks {
		c.pools(at)
	}
	c.process()
	var err error
	resume := append(slices.Clone(c.checks), c.tree)
	slices.Sort(resume)
	for from := c.at + headerSize; from < c.end && err == nil; {
		stopped := c.scan(from, c.end, false, func(at, size int64, typ uint64) bool {
			if typ == typeMetadata || typ == typeConstants {
				return true
			}
			err = c.eventAt(at, size, typ)
			return err == nil
		})
		if stopped >= c.end || err != nil {
			break
		}
		c.bad(stopped, "an event of no possible size")
		i, _ := slices.BinarySearch(resume, stopped+1)
		if i == len(resume) {
			break
		}
		from = resume[i]
	}
	return err
}

// chain adds the events with constants that the header leads to. Each has the distance to the one before.
func (c *chunk) chain() {
	scanned := len(c.checks)
	at := c.at + c.constants
	for range maxChain {
		if at <= c.at || at >= c.end || slices.Contains(c.checks[:scanned], at) {
			break
		}
		var head [5 * maxVarint]byte
		n, _ := c.file.ReadAt(head[:min(int64(len(head)), c.end-at)], at)
		r := c.body(head[:n])
		typ := r.typ
		r.number() // time
		r.number() // duration
		delta := int64(r.number())
		if r.bad || typ != typeConstants {
			break
		}
		c.checks = append(c.checks, at)
		if delta >= 0 {
			break
		}
		at += delta
	}
	slices.Sort(c.checks)
}

// scan calls f with the offset, size and type of each event between two offsets, until it returns false. It returns
// the offset where the last event ends.
func (c *chunk) scan(from, to int64, headers bool, f func(at, size int64, typ uint64) bool) int64 {
	b := bufio.NewReaderSize(io.NewSectionReader(c.file, from, to-from), blockSize)
	for from < to {
		head, _ := b.Peek(2 * maxVarint)
		r := cursor{b: head}
		size := int64(r.number())
		typ := r.number()
		if r.bad || size < int64(r.at) || size > to-from {
			return from
		}
		if !headers {
			c.reader.buffer = c.reader.buffer[:0]
			if size <= blockSize {
				c.reader.buffer, _ = b.Peek(int(size))
			}
		}
		if !f(from, size, typ) {
			return from
		}
		if n, _ := b.Discard(int(size)); int64(n) < size {
			return to // the disk failed
		}
		from += size
	}
	return from
}

// load returns the event at an offset, nil if it cannot be one.
func (c *chunk) load(at int64) []byte {
	if at >= c.end {
		return nil
	}
	var head [maxVarint]byte
	n, _ := c.file.ReadAt(head[:min(int64(len(head)), c.end-at)], at)
	r := cursor{b: head[:n]}
	size := int64(r.number())
	if r.bad || size < int64(r.at) || size > c.end-at || size > maxEvent {
		return nil
	}
	b := make([]byte, size)
	if n, _ := c.file.ReadAt(b, at); int64(n) < size {
		return nil
	}
	return b
}

// time converts a time in ticks to ns since the epoch, as the JDK does.
func (c *chunk) time(ticks uint64) int64 {
	return c.start + c.span(int64(ticks)-c.ticks)
}

// timestamp converts a time in a unit to ns since the epoch.
func (c *chunk) timestamp(unit int64, n uint64) int64 {
	if unit == inTicks {
		return c.time(n)
	}
	return scale(int64(n), unit)
}

// timespan converts a span in a unit to ns.
func (c *chunk) timespan(unit int64, n uint64) int64 {
	if unit == inTicks {
		return c.span(int64(n))
	}
	return scale(int64(n), unit)
}

func scale(n, unit int64) int64 { return min(max(n, math.MinInt64/unit), math.MaxInt64/unit) * unit }

// span converts ticks to ns, and cuts what is less.
func (c *chunk) span(ticks int64) int64 {
	hi, lo := bits.Mul64(uint64(max(ticks, -ticks)), 1e9)
	if hi >= uint64(c.rate) {
		return math.MaxInt64 // no span between events
	}
	ns, _ := bits.Div64(hi, lo, uint64(c.rate))
	if ns = min(ns, math.MaxInt64); ticks < 0 {
		return -int64(ns)
	}
	return int64(ns)
}

// process reads the process from the first event that describes it.
func (c *chunk) process() {
	for id, t := range c.types {
		at, ok := c.first[id]
		if t.name != "jdk.JVMInformation" || !ok {
			continue
		}
		r := c.body(c.load(at))
		var pid int64
		var command []byte
		for _, f := range t.fields {
			switch v := c.read(&r, f); f.name {
			case "pid":
				pid = int64(v.n)
			case "javaArguments":
				command = v.text
			}
		}
		if !r.bad {
			c.people.describe(pid, command)
		}
	}
}

// body returns a cursor at the fields of an event.
func (c *chunk) body(event []byte) cursor {
	r := cursor{b: event}
	r.number() // size
	r.typ = r.number()
	return r
}

// eventAt passes the event at an offset to the sorter.
func (c *chunk) eventAt(at, size int64, typ uint64) error {
	t := c.types[typ]
	if t == nil {
		c.in.File.Unread(model.StatUnreadEvent, model.None, "event of an undeclared type").AddAt(at)
		return nil
	}
	event := c.reader.buffer
	if int64(len(event)) < size {
		if event = c.load(at); event == nil {
			c.bad(at, "an event of more than 256 MiB")
			return nil
		}
	}
	r := c.body(event)
	if t.kind == nil {
		t.kind = c.parser.kind(t)
	}
	k := t.kind
	start, timed, dur := int64(0), false, int64(model.None)
	utid, stack := model.UTID(model.None), stack{callsite: model.None}
	c.missing = false
	c.reader.args.Reset()
	c.reader.shared += eventShared
	args := args{chunk: c, w: c.reader.args, left: maxArgs, shared: min(maxShared, c.reader.shared)}
	allowed := args.shared
	for _, f := range t.fields {
		v := c.read(&r, f)
		switch {
		case r.bad:
		case f.name == "startTime" && v.kind == integer:
			start, timed = c.timestamp(cmp.Or(f.timestamp, inTicks), v.n), true
		case f.name == "duration" && v.kind == integer:
			if v.n != none {
				dur = c.timespan(cmp.Or(f.timespan, inTicks), v.n)
			}
		case (f.name == "eventThread" || f.name == "sampledThread" && k.sample) && f.class.name == threadClass:
			utid = c.thread(v)
		case f.name == "stackTrace" && f.class.name == stackClass:
			stack = c.stack(v)
		default:
			args.add(f, v, step{field: f}, 0)
		}
	}
	c.reader.shared -= allowed - args.shared
	if r.bad || !timed || dur < model.None {
		c.bad(at, cmp.Or(t.name, "an event")+" that cannot be read")
		return nil
	}
	if stack.truncated {
		args.head(&c.reader.truncated, argBool).Uint(1)
	}
	if c.missing {
		c.in.File.LogAt(statConstantMissing, at, nil)
	}
	ts, ok := c.in.TraceTime(start, at)
	if !ok {
		return nil
	}
	if ts > math.MaxInt64-max(dur, 0) {
		c.bad(at, t.name+" at a time that cannot be used")
		return nil
	}
	c.event.Reset()
	c.event.Uint(uint64(k.number))
	c.event.Int(dur)
	c.event.Int(int64(utid))
	c.event.Int(int64(stack.callsite))
	c.event.Rest(c.reader.args.Bytes())
	c.total++
	return c.stream.Push(ts, c.event.Bytes())
}
