// Package strace reads the output of strace: system calls with their times, and the thread where there are several,
//
//	1234 1700000000.123456 read(3, "root"..., 1024) = 312 <0.000011>
//
// and calls that others interrupt, on two lines:
//
//	1234 1700000000.123456 read(3,  <unfinished ...>
//	1234 1700000000.123500 <... read resumed>"root"..., 1024) = 312 <0.000044>
//
// What stands before the call depends on the options of strace, see leader. Lines about signals and exits are counted,
// but make no rows.
package strace

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/lines"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// Format is strace's output.
var Format = &format.Format{Name: "strace", Sniff: sniff, Read: read}

const (
	// sniffLines is how many lines may come before the first call.
	sniffLines = 16
	// sniffCalls is how many calls without times make up strace's output. Other tools write such texts, too.
	sniffCalls = 2
)

// sniff accepts a line with a time and a call, also after messages of strace. It accepts calls without times, and a
// summary, so that the error can say which options are missing.
func sniff(head []byte) bool {
	untimed := 0
	var front []byte
	for range sniffLines {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		head = rest
		line = append(front, bytes.TrimRight(line, "\r")...)
		if front, _ = parseNews(line); len(front) == 0 && !isMessage(line) {
			l, body := parseLeader(line)
			c, ok := parseCall(body)
			switch {
			case isSummary(line):
				return true
			case !ok && !isNote(body):
				return false
			case l.clock.kind != noTime || l.since.kind != noTime:
				return true
			case !ok:
				return false
			}
			if untimed++; untimed == sniffCalls || string(c.name) == "execve" {
				return true
			}
		}
		if !whole {
			break
		}
		front = front[:len(front):len(front)]
	}
	return false
}

// isMessage reports whether a line is one of strace about itself, or empty.
func isMessage(line []byte) bool {
	before, _ := parseNews(line)
	return len(line) == 0 || before != nil && len(before) == 0 || bytes.HasPrefix(line, []byte("strace: ")) || bytes.HasPrefix(line, []byte("[ Process PID="))
}

// isNote reports whether the part of a line after its leader is about a signal or the end of a thread.
func isNote(body []byte) bool {
	return bytes.HasPrefix(body, []byte("--- SIG")) || bytes.HasPrefix(body, []byte("--- stopped by SIG")) ||
		bytes.HasPrefix(body, []byte("+++ ")) && bytes.HasSuffix(body, []byte(" +++"))
}

// isSummary reports whether a line has the names of the columns of strace -c.
func isSummary(line []byte) bool {
	words := bytes.Fields(line)
	for _, word := range words {
		switch string(word) {
		case "%", "time", "seconds", "shortest", "longest", "usecs/call", "calls", "errors", "syscall":
		default:
			return false
		}
	}
	return len(words) > 1
}

// missing is what an error says about a recording without times.
const missing = "%s: record with strace -f -ttt -T"

// begun is a call that has not returned.
type begun struct {
	tid        int64
	ts         int64
	name, args []byte
}

// reader reads the lines.
type reader struct {
	in        *format.Input
	calls     *sort.Stream
	event     *token.Writer
	threads   threads
	times     times
	waiting   map[int64]*begun // by thread
	unused    []*begun
	front     []byte // of a line that a message interrupts
	news      news   // the message
	held      bool   // event waits for its stack
	heldTS    int64
	inSummary bool
	any       bool // a line was read
}

func read(in *format.Input) error {
	p := newParser(in.Context)
	r := &reader{in: in, calls: in.Sorter.NewStream(p), event: token.NewWriter(in.Store),
		threads: newThreads(), times: times{in: in}, waiting: map[int64]*begun{}}
	if err := lines.Each(in, r.line); err != nil {
		return err
	}
	if !r.times.started() && r.any {
		return format.Errorf(format.ErrUnsupported, -1, missing, "there are no times")
	}
	for _, b := range slices.SortedFunc(maps.Values(r.waiting), func(a, b *begun) int {
		return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.tid, b.tid))
	}) {
		if err := r.hold(b.ts, unknown, b.tid, b.part(), nil); err != nil {
			return err
		}
	}
	// The parser gets no event before all of this file are read.
	p.resolution = r.times.resolution()
	if p.first = r.threads.first; p.first == 0 {
		p.first = nameTID(in.Name)
	}
	return r.flush()
}

// nameTID returns the thread in the name of a file that strace -ff writes, or 0.
func nameTID(name string) int64 {
	extension := path.Ext(name)
	if slices.Contains([]string{".gz", ".zst", ".xz", ".bz2"}, extension) {
		extension = path.Ext(strings.TrimSuffix(name, extension))
	}
	tid, ok := number([]byte(strings.TrimPrefix(extension, ".")))
	if !ok || len(extension) > maxTIDDigits {
		return 0
	}
	return tid
}

// line reads a line of the file, which may be the second part of a line.
func (r *reader) line(offset int64, line []byte) error {
	r.any = true
	if len(r.front) == 0 {
		return r.whole(offset, line)
	}
	front, news := r.front, r.news
	r.front = nil
	err := r.whole(offset, append(front, line...))
	r.threads.note(news)
	return err
}

// whole reads a line.
func (r *reader) whole(offset int64, line []byte) error {
	line = bytes.TrimRight(line, "\r")
	if text, ok := bytes.CutPrefix(line, framePrefix); ok {
		r.frame(offset, text)
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	if done, err := r.other(offset, line); done || err != nil {
		return err
	}
	l, body := parseLeader(line)
	at, fault := r.times.at(&l)
	if fault != 0 {
		if !r.times.started() {
			if _, ok := parseCall(body); ok {
				return format.Errorf(format.ErrUnsupported, offset, missing, "there are no times")
			}
		}
		r.in.File.LogAt(fault, offset, nil)
		return nil
	}
	if l.prefix == noPrefix && r.times.kind == sinceLine && nameTID(r.in.Name) != 0 {
		return format.Errorf(format.ErrUnsupported, offset, missing, "times of -r count from lines in other files of -ff")
	}
	tid, ok := r.threads.of(&l, body, r.waiting[0])
	if !ok {
		r.in.File.LogAt(model.StatStraceMissingPID, offset, nil)
		return nil
	}
	if b := r.waiting[0]; b != nil && r.threads.first != 0 {
		r.rename(b)
	}
	ts, ok := r.in.TraceTime(at, offset)
	if !ok {
		return nil
	}
	return r.body(offset, ts, tid, &l, body)
}

// other reads a line that does not begin with a thread and a time.
func (r *reader) other(offset int64, line []byte) (done bool, err error) {
	switch {
	case len(trim(line)) == 0:
	case r.inSummary:
		r.inSummary = !bytes.HasSuffix(line, []byte(" total"))
	case isSummary(line):
		if !r.times.started() {
			return true, format.Errorf(format.ErrUnsupported, offset, missing, "a summary of strace -c has no times")
		}
		r.inSummary = true
		r.in.File.Unread(model.StatUnreadFact, model.None, "summary of strace -c").AddAt(offset)
	case bytes.HasPrefix(line, []byte(" | ")), bytes.HasPrefix(line, []byte(" * ")):
		r.in.File.Unread(model.StatUnreadEvent, model.None, "line of a hex dump").AddAt(offset)
	default:
		if before, news := parseNews(line); len(before) > 0 {
			r.front, r.news = bytes.Clone(before), news
			return true, nil
		} else if before != nil {
			r.threads.note(news)
			return true, nil
		}
		if !isMessage(line) {
			return false, nil
		}
		r.in.File.Unread(model.StatUnreadFact, model.None, "message of strace").AddAt(offset)
	}
	return true, nil
}

// rename gives the first thread's call that has not returned the thread's id, now that it is known.
func (r *reader) rename(b *begun) {
	delete(r.waiting, 0)
	b.tid = r.threads.first
	r.waiting[b.tid] = b
}

// body reads the part of a line after its leader.
func (r *reader) body(offset, ts, tid int64, l *leader, body []byte) error {
	switch {
	case bytes.HasPrefix(body, []byte("--- ")):
		r.in.File.Unread(model.StatUnreadEvent, model.None, "signal line").AddAt(offset)
		return nil
	case bytes.HasPrefix(body, []byte("+++ ")):
		r.in.File.Unread(model.StatUnreadEvent, model.None, "exit line").AddAt(offset)
		return r.exit(ts, tid, body)
	}
	c, ok := parseCall(body)
	if !ok {
		r.in.File.LogAt(model.StatStraceParseFailure, offset, nil)
		return nil
	}
	return r.call(ts, tid, l.comm, &c)
}

// exit ends the call of a thread that ended. Where a thread loaded a program, which ends all others of its process, it
// gets the id of the first of them, and so its call is continued by that one.
func (r *reader) exit(ts, tid int64, body []byte) error {
	ended := r.threads.exit(tid, body)
	err := r.stop(ts, tid)
	if b := r.waiting[ended]; b != nil && ended != tid {
		delete(r.waiting, ended)
		r.waiting[tid] = b
	}
	return err
}

// stop ends the call of a thread that has not returned, if any: it never will.
func (r *reader) stop(ts, tid int64) error {
	b := r.waiting[tid]
	if b == nil {
		return nil
	}
	delete(r.waiting, tid)
	r.unused = append(r.unused, b)
	if err := r.hold(b.ts, max(ts-b.ts, 0), b.tid, b.part(), nil); err != nil {
		return err
	}
	return r.flush()
}

// call reads a call, or a part of one.
func (r *reader) call(ts, tid int64, comm []byte, c *call) error {
	b := r.waiting[tid]
	if b != nil && !(c.resumed && bytes.Equal(b.name, c.name)) {
		if err := r.stop(ts, tid); err != nil {
			return err
		}
		b = nil
	}
	start, dur, thread := ts, c.dur, tid
	switch {
	case b != nil:
		if dur == unknown || c.goesOn {
			dur = ts - b.ts
		}
		start, thread = b.ts, b.tid
		c.args = b.join(c.args)
		delete(r.waiting, tid)
		r.unused = append(r.unused, b)
	case c.resumed && dur != unknown:
		start = ts - dur // the line with its begin is missing
	case c.resumed && !c.goesOn:
		r.in.File.Count(model.StatSliceEndWithoutBegin)
		return nil
	case dur == unknown:
		dur = 0
	}
	if b != nil || !c.goesOn {
		r.learn(tid, c)
		if err := r.hold(start, max(dur, 0), thread, c, comm); err != nil {
			return err
		}
	}
	if c.goesOn {
		r.begin(ts, tid, c)
	}
	return nil
}

// begin keeps a call that has not returned.
func (r *reader) begin(ts, tid int64, c *call) {
	b := &begun{}
	if n := len(r.unused); n > 0 {
		b, r.unused = r.unused[n-1], r.unused[:n-1]
	}
	b.tid, b.ts = tid, ts
	b.name, b.args = append(b.name[:0], c.name...), append(b.args[:0], c.args...)
	r.waiting[tid] = b
}

// part returns the part of a call that there is.
func (b *begun) part() *call { return &call{name: b.name, args: bytes.TrimRight(b.args, ", ")} }

// join returns the args of both parts of a call.
func (b *begun) join(rest []byte) []byte {
	if n := len(b.args); n > 0 && b.args[n-1] == ' ' {
		rest = bytes.TrimLeft(rest, " ")
	}
	return append(b.args, rest...)
}

// learn finds threads in the result of a call.
func (r *reader) learn(tid int64, c *call) {
	switch string(c.name) {
	case "set_tid_address", "gettid":
		if id := c.threadID(); id != 0 && tid == 0 {
			r.threads.setFirst(id)
		}
	case "clone", "clone3", "fork", "vfork":
		if id := c.threadID(); id != 0 && r.threads.prefix != plain {
			r.threads.announce(id)
		}
	}
}

// frame adds a frame to the call before.
func (r *reader) frame(offset int64, text []byte) {
	f, ok := parseFrame(text)
	switch {
	case !r.times.started():
		r.in.File.LogAt(model.StatStraceParseFailure, offset, nil)
	case !ok:
		r.in.File.Unread(model.StatUnreadFact, model.None, "message of strace about a stack").AddAt(offset)
	case r.held:
		f.write(r.event)
	}
}

// hold writes a call. It is pushed once its stack is read.
func (r *reader) hold(ts, dur, tid int64, c *call, comm []byte) error {
	if err := r.flush(); err != nil {
		return err
	}
	r.held, r.heldTS = true, ts
	w := r.event
	w.Reset()
	w.Int(tid)
	w.Int(dur)
	for _, text := range [][]byte{c.name, trim(c.args), c.returned, comm} {
		if len(text) == 0 {
			text = nil
		}
		w.Text(text)
	}
	return nil
}

// flush pushes the call that waits for its stack.
func (r *reader) flush() error {
	if !r.held {
		return nil
	}
	r.held = false
	return r.calls.Push(r.heldTS, r.event.Bytes())
}
