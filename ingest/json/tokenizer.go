package json

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/v8profile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	readBytes = 1 << 20
	// maxValue is how many bytes an event or another value that must be in memory
	// as a whole may have. Larger ones are skipped and counted.
	maxValue = 32 << 20
	// maxLogged is how much of a bad event the import log keeps.
	maxLogged = 4 << 10
)

// tokenizer finds the events in the input and pushes them to the sorter.
type tokenizer struct {
	lexer
	in     *format.Input
	parser *parser
	places *places
	v8     *v8profile.Profiles
	events *sort.Stream
	base   int64 // bytes of the input before buf[0]
	eof    bool
	ties   bool // the stream orders events of one time

	found   bool     // an event, or what stands for one
	members []string // names in the outer object, up to maxMembers

	stackFrames, samples []byte          // values of these keys, for the end
	profile              v8profile.Chunk // of a .cpuprofile file
}

// errTruncated ends the reading of an input whose end is missing.
var errTruncated = errors.New("truncated")

func (t *tokenizer) run() error {
	err := t.top()
	switch {
	case err == errSyntax:
		return format.Errorf(format.ErrCorrupt, t.base+int64(t.pos), "%s, got %s", t.why, t.glimpse())
	case err != nil && err != errTruncated:
		return err
	case !t.hasEvents():
		return &format.Error{Offset: -1, Err: fmt.Errorf("%w: %s", format.ErrNoEvents, t.likeness(err == errTruncated))}
	case err == errTruncated:
		t.in.File.LogAt(model.StatTruncatedInput, t.base+int64(len(t.buf)), nil)
	}
	return nil
}

// hasEvents reports whether there was an event, or samples and their stacks.
func (t *tokenizer) hasEvents() bool {
	return t.found || t.samples != nil && (t.stackFrames != nil || len(t.profile.Profile.Nodes) > 0)
}

func (t *tokenizer) glimpse() string {
	if t.pos >= len(t.buf) {
		return "the end of the input"
	}
	return string(append([]byte{'"'}, append(bytes.ToValidUTF8(t.buf[t.pos:min(len(t.buf), t.pos+12)], []byte("?")), '"')...))
}

// more reads on, keeping what is in the buffer from the position on, which
// becomes the buffer's beginning. It returns errTruncated at the end of the
// input.
func (t *tokenizer) more() error {
	if t.eof {
		return errTruncated
	}
	kept := copy(t.buf, t.buf[t.pos:])
	t.base += int64(t.pos)
	t.buf, t.pos = t.buf[:kept], 0
	if kept == cap(t.buf) {
		t.buf = append(make([]byte, 0, min(max(2*kept, readBytes), maxValue)), t.buf...)
	}
	n, err := io.ReadFull(t.in, t.buf[kept:cap(t.buf)])
	t.buf = t.buf[:kept+n]
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		t.eof = true
		if n == 0 {
			return errTruncated
		}
	case err != nil:
		return err
	}
	return nil
}

// peek returns the next byte that is not whitespace, and moves to it.
func (t *tokenizer) peek() (byte, error) {
	for {
		c, err := t.space()
		if err == nil {
			return c, nil
		}
		if err := t.more(); err != nil {
			return 0, err
		}
	}
}

// whole calls parse with the position at the start of a value, again with more
// of the input while the value goes on beyond the buffer. A value of more than
// maxValue bytes is skipped and counted.
func (t *tokenizer) whole(parse func() error) error {
	for {
		start := t.pos
		err := parse()
		if err != errMore {
			return err
		}
		t.pos = start
		if start == 0 && len(t.buf) == maxValue {
			t.in.File.LogAt(model.StatJSONTokenizerFailure, t.base+int64(start), t.reason("larger than 32 MiB", nil))
			return t.skip()
		}
		if err := t.more(); err != nil {
			return err
		}
	}
}

// top reads the array of events, or the object that has it, or events line by line.
func (t *tokenizer) top() error {
	c, err := t.peek()
	if err != nil {
		return err
	}
	if c == '[' {
		t.pos++
		err = t.array()
	} else if !t.atEvent() {
		t.pos++
		err = t.object()
	}
	if err != nil {
		return err
	}
	return t.lines()
}

// atEvent reports whether the object at the position is an event: whether it has a
// phase before it has an array of events.
func (t *tokenizer) atEvent() bool {
	for {
		l := lexer{buf: t.buf, pos: t.pos + 1}
		phase, err := l.findPhase()
		if err != errMore || t.pos == 0 || t.more() != nil {
			return err == nil && phase
		}
	}
}

// findPhase reads members of an object up to its phase, or to the events in it.
func (l *lexer) findPhase() (bool, error) {
	for {
		if c, err := l.space(); err != nil || c == '}' {
			return false, err
		}
		key, err := l.key()
		if err != nil || string(key) == "traceEvents" {
			return false, err
		}
		isPhase := string(key) == "ph"
		v, err := l.value()
		if err != nil || isPhase {
			return v.kind == text, err
		}
		if _, err := l.next('}'); err != nil {
			return false, err
		}
	}
}

// lines reads what follows the outer array or object, or begins the input instead:
// events, as writers append them line by line. Anything else is left out and counted.
func (t *tokenizer) lines() error {
	var e event
	one := func() error { return t.event(&e) }
	for started := false; ; started = true {
		c, err := t.peek()
		if err == errTruncated && len(t.buf) == t.pos {
			return nil // the end
		} else if err != nil {
			return err
		}
		if started && c == ',' {
			t.pos++
			if c, err = t.peek(); err != nil {
				return err
			}
		}
		if c != '{' || !started && !t.atEvent() {
			return t.trailing()
		}
		if err := t.whole(one); err != nil {
			return err
		}
	}
}

// trailing skips the rest of the input, which is not part of the trace. Trace
// Processor ignores it, or refuses the trace, depending on how the input is cut
// into chunks.
func (t *tokenizer) trailing() error {
	start, zeros := t.base+int64(t.pos), true
	for {
		zeros = zeros && len(bytes.Trim(t.buf[t.pos:], "\x00 \t\r\n")) == 0
		t.pos = len(t.buf)
		if err := t.more(); err == errTruncated {
			break
		} else if err != nil {
			return err
		}
	}
	stat := model.StatJSONTrailingData
	if zeros { // padding
		stat = model.StatTrailingGarbage
	}
	t.in.File.LogAt(stat, start, model.ArgFunc(func(set *model.ArgSet) {
		set.Add(t.in.Store.Strings.Intern("bytes"), model.IntArg(t.base+int64(t.pos)-start))
	}))
	return nil
}

// object reads the members of the outer object.
func (t *tokenizer) object() error {
	for {
		c, err := t.peek()
		if err != nil {
			return err
		}
		switch c {
		case ',':
			t.pos++
		case '}':
			t.pos++
			return nil
		default:
			if err := t.member(); err != nil {
				return err
			}
		}
	}
}

// member reads a member of the outer object.
func (t *tokenizer) member() error {
	var name string
	if err := t.whole(func() error {
		key, err := t.key()
		name = string(key)
		return err
	}); err != nil {
		return err
	}
	if len(t.members) < maxMembers {
		t.members = append(t.members, name[:min(len(name), maxMemberName)])
	}
	switch c := t.buf[t.pos]; name {
	case "traceEvents":
		if c != '[' {
			return t.fail("traceEvents is not an array")
		}
		t.pos++
		return t.array()
	case "systemTraceEvents":
		if c != '"' {
			return t.skip()
		}
		t.pos++
		t.found = true
		return t.systemTrace()
	case "displayTimeUnit":
		t.in.File.Count(model.StatJSONDisplayTimeUnit)
	case "metadata":
		return t.metadata("json_metadata.")
	case "otherData":
		return t.metadata("json_other_data.")
	case "stackFrames":
		return t.keep(&t.stackFrames)
	case "samples":
		return t.keep(&t.samples)
	case "nodes":
		return t.profilePart(&t.profile.Profile.Nodes)
	case "timeDeltas":
		return t.profilePart(&t.profile.Deltas)
	case "startTime":
		return t.profilePart(&t.profile.Start)
	}
	return t.skip()
}

// keep stores the text of the value at the position.
func (t *tokenizer) keep(to *[]byte) error {
	return t.whole(func() error {
		start := t.pos
		if _, err := t.value(); err != nil {
			return err
		}
		*to = bytes.Clone(t.buf[start:t.pos])
		return nil
	})
}

// skip moves behind the value at the position without keeping it in memory.
func (t *tokenizer) skip() error {
	for depth, inString := 0, false; ; {
		for ; t.pos < len(t.buf); t.pos++ {
			c := t.buf[t.pos]
			switch {
			case inString && c == '\\':
				t.pos++ // the next byte is part of the string, wherever it is
				continue
			case c == '"':
				inString = !inString
			case inString:
				continue
			case c == '{' || c == '[':
				depth++
			case depth == 0 && (c == ',' || c == '}' || c == ']'):
				return nil // the end of a number or a word
			case c == '}' || c == ']':
				depth--
			default:
				continue
			}
			if depth == 0 && !inString {
				t.pos++
				return nil
			}
		}
		// An escape may have moved the position one byte past the buffer.
		past := t.pos - len(t.buf)
		t.pos = len(t.buf)
		if err := t.more(); err != nil {
			return err
		}
		t.pos = past
	}
}

// metadata stores the members of the object at the position as metadata.
func (t *tokenizer) metadata(prefix string) error {
	return t.whole(func() error {
		v, err := t.value()
		if err != nil || v.kind != object {
			return err
		}
		inner := lexer{buf: v.raw}
		// Trace Processor keeps the members before one that it cannot read.
		_ = inner.members(func(key []byte, v value) {
			name := prefix + string(key)
			switch {
			case v.kind == null:
			case v.kind == boolean || v.kind == integer:
				t.in.File.Context(0).SetMetadata(name, model.IntArg(v.i))
			case v.kind == double && v.f == math.Trunc(v.f) && math.Abs(v.f) < 9.2e18:
				t.in.File.Context(0).SetMetadata(name, model.IntArg(int64(v.f)))
			case v.kind == double: // with as many digits as Trace Processor keeps
				text := strconv.AppendFloat(nil, v.f, 'g', 6, 64)
				t.in.File.Context(0).SetMetadata(name, model.StringArg(t.places.intern(text)))
			default:
				t.in.File.Context(0).SetMetadata(name, model.StringArg(t.places.intern(v.raw)))
			}
			if v.kind != null {
				t.places.intern([]byte(name))
			}
		})
		return nil
	})
}

// members calls f with each member of the object in the buffer.
func (l *lexer) members(f func(key []byte, v value)) error {
	if l.buf[l.pos] != '{' {
		return l.fail("expected an object")
	}
	l.pos++
	c, err := l.space()
	for err == nil && c != '}' {
		var key []byte
		if key, err = l.key(); err != nil {
			break
		}
		var v value
		if v, err = l.value(); err != nil {
			break
		}
		f(key, v)
		if _, err = l.next('}'); err == nil {
			c, err = l.space()
		}
	}
	return err
}

// elements calls f with each element of the array in the buffer.
func (l *lexer) elements(f func(v value)) error {
	if l.buf[l.pos] != '[' {
		return l.fail("expected an array")
	}
	l.pos++
	c, err := l.space()
	for err == nil && c != ']' {
		var v value
		if v, err = l.value(); err != nil {
			break
		}
		f(v)
		if _, err = l.next(']'); err == nil {
			c, err = l.space()
		}
	}
	return err
}

// array reads events up to the bracket that closes their array.
func (t *tokenizer) array() error {
	var e event
	one := func() error { return t.event(&e) }
	for {
		c, err := t.peek()
		if err != nil {
			return err
		}
		if c == ',' {
			t.pos++
			if c, err = t.peek(); err != nil {
				return err
			}
		}
		if c == ']' {
			t.pos++
			return nil
		}
		if c != '{' {
			return t.fail("expected an event")
		}
		if err := t.whole(one); err != nil {
			return err
		}
	}
}

// event reads the event at the position and pushes it to the sorter.
func (t *tokenizer) event(e *event) error {
	start := t.pos
	*e = event{}
	var (
		ts              int64
		hasTS, bad, any bool
		why             string
		local, global   id
	)
	t.pos++
	c, err := t.space()
	if err != nil {
		return err
	}
	for c != '}' {
		key, err := t.key()
		if err != nil {
			return err
		}
		field := fieldOf(key)
		v, err := t.value()
		if err != nil {
			return err
		}
		any = true
		switch field {
		case fieldPhase:
			e.phase = 0
			if v.kind == text && len(v.raw) > 0 {
				e.phase = v.raw[0]
			}
		case fieldTS:
			if n, reason := nanoseconds(v); reason == "" {
				ts, hasTS = n, true
			} else {
				why = reason
			}
		case fieldDur, fieldTTS, fieldTDur:
			n, reason := nanoseconds(v)
			if reason != "" {
				bad, why = true, reason
				break
			}
			switch field {
			case fieldDur:
				e.dur, e.hasDur = n, true
			case fieldTTS:
				e.tts, e.hasTTS = n, true
			default:
				e.tdur, e.hasTDur = n, true
			}
		case fieldPID:
			if n, isText, ok := t.number32(v); ok {
				e.pid, e.textPID, e.hasPID = n, isText, true
			}
		case fieldTID:
			if n, isText, ok := t.number32(v); ok {
				e.tid, e.textTID, e.hasTID = n, isText, true
			}
		case fieldID:
			if id, ok := t.id(v); ok {
				e.id, e.idKind = id.v, id.kind
			}
		case fieldBindID:
			if id, ok := t.id(v); ok {
				e.bindID, e.bind = id.v, id.kind
			}
		case fieldCategory:
			e.category = 0
			if v.kind == text && len(v.raw) > 0 {
				e.category = int32(t.places.intern(v.raw))
			}
		case fieldName:
			e.name = 0
			if v.kind == text && len(v.raw) > 0 {
				e.name = int32(t.places.intern(v.raw))
			}
		case fieldFlowIn:
			e.flowIn = v.kind == boolean && v.i != 0
		case fieldFlowOut:
			e.flowOut = v.kind == boolean && v.i != 0
		case fieldScope:
			e.scope = scopeOf(v, e.scope)
		case fieldBindPoint:
			e.bindEnclosing = v.kind == text && string(v.raw) == "e"
		case fieldArgs:
			if v.kind == object {
				e.args = v.raw
			}
		case fieldID2:
			if v.kind != object {
				break
			}
			inner := lexer{buf: v.raw}
			if err := inner.members(func(key []byte, v value) {
				switch string(key) {
				case "local":
					local, _ = t.id(v)
				case "global":
					global, _ = t.id(v)
				}
			}); err != nil {
				t.bad(start, "id2: "+inner.why)
			}
		}
		if _, err := t.next('}'); err != nil {
			return err
		}
		if c, err = t.space(); err != nil {
			return err
		}
	}
	t.pos++
	t.found = t.found || e.phase != 0
	switch {
	case !any: // an empty object ends many traces
		return nil
	case bad || e.phase == 0 || !hasTS && e.phase != 'M':
		t.bad(start, why)
		return nil
	}
	if e.tid == 0 && e.pid != 0 && !e.textTID {
		e.tid = e.pid
	}
	e.cookieOf(local, global)
	if e.phase == 'P' {
		return t.profileEvent(e)
	}
	return t.push(ts, e)
}

func (t *tokenizer) push(ts int64, e *event) error {
	if ts < 0 {
		t.in.File.Count(model.StatTraceSorterNegativeTimestampDropped)
		return nil
	}
	if e.phase == 'X' && !t.ties {
		t.ties = true
		t.events.SetTie(tie)
	}
	b, err := t.events.Reserve(ts, e.size())
	if err != nil {
		return err
	}
	e.encode(b)
	return nil
}

// bad logs an event, which starts at the position start of the buffer, that
// cannot be read.
func (t *tokenizer) bad(start int, why string) {
	t.in.File.LogAt(model.StatJSONTokenizerFailure, t.base+int64(t.pos), t.reason(why, t.buf[start:t.pos]))
}

func (t *tokenizer) reason(why string, raw []byte) model.ArgSource {
	strings := t.in.Store.Strings
	return model.ArgFunc(func(set *model.ArgSet) {
		if raw != nil {
			set.Add(strings.Intern("raw_event"), model.StringArg(strings.InternBytes(raw[:min(len(raw), maxLogged)])))
		}
		if why != "" {
			set.Add(strings.Intern("error"), model.StringArg(strings.Intern(why)))
		}
	})
}

// id is an id as the trace gives it: text or a number.
type id struct {
	kind byte
	v    uint64
}

func (t *tokenizer) id(v value) (id, bool) {
	switch v.kind {
	case text:
		return id{idText, uint64(t.places.intern(v.raw))}, true
	case integer:
		return id{idNumber, uint64(v.i)}, true
	}
	return id{}, false
}

// number32 returns a pid or tid. A text is a name that stands for a number.
func (t *tokenizer) number32(v value) (n uint32, isText, ok bool) {
	i := v.i
	switch v.kind {
	case text:
		return t.places.number(v.raw), true, true
	case double:
		i = int64(v.f)
	case integer:
	default:
		return 0, false, false
	}
	if i < 0 || i > math.MaxUint32 {
		i = 0
	}
	return uint32(i), false, true
}

// cookieOf sets what tells an async event apart: its id, or id2.
func (e *event) cookieOf(local, global id) {
	switch {
	case e.idKind != idNone:
		e.cookieKind, e.cookie = cookieID, cookie(e.category, e.id)
	case global.kind != idNone:
		e.cookieKind, e.cookie = cookieGlobal, cookie(e.category, global.v)
	case local.kind != idNone:
		e.cookieKind, e.cookie = cookieLocal, cookie(e.category, local.v)
	}
}

func cookie(category int32, id uint64) uint64 {
	h := (uint64(category) + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>31 ^ id) * 0x94d049bb133111eb
	return h ^ h>>29
}

func scopeOf(v value, was byte) byte {
	if v.kind != text {
		return scopeNone
	}
	switch string(v.raw) {
	case "p":
		return scopeProcess
	case "t":
		return scopeThread
	case "g":
		return scopeGlobal
	}
	return was
}

// The members of an event.
const (
	fieldOther = iota
	fieldPhase
	fieldTS
	fieldDur
	fieldTTS
	fieldTDur
	fieldPID
	fieldTID
	fieldID
	fieldID2
	fieldBindID
	fieldBindPoint
	fieldCategory
	fieldName
	fieldFlowIn
	fieldFlowOut
	fieldScope
	fieldArgs
)

func fieldOf(key []byte) int {
	switch string(key) {
	case "ph":
		return fieldPhase
	case "ts":
		return fieldTS
	case "dur":
		return fieldDur
	case "tts":
		return fieldTTS
	case "tdur":
		return fieldTDur
	case "pid":
		return fieldPID
	case "tid":
		return fieldTID
	case "id":
		return fieldID
	case "id2":
		return fieldID2
	case "bind_id":
		return fieldBindID
	case "bp":
		return fieldBindPoint
	case "cat":
		return fieldCategory
	case "name":
		return fieldName
	case "flow_in":
		return fieldFlowIn
	case "flow_out":
		return fieldFlowOut
	case "s":
		return fieldScope
	case "args":
		return fieldArgs
	}
	return fieldOther
}

// nanoseconds converts a time in microseconds, or says why it is none.
func nanoseconds(v value) (ns int64, why string) {
	raw := v.raw
	switch v.kind {
	case integer:
		if v.i > math.MaxInt64/1000 || v.i < math.MinInt64/1000 {
			return 0, "the time is out of range"
		}
		return v.i * 1000, ""
	case text:
		inner := lexer{buf: append(append(make([]byte, 0, len(raw)+1), raw...), '"')}
		n, err := inner.number()
		if err != nil || inner.pos != len(raw) || n.raw == nil {
			return 0, "the time is no number"
		}
		return nanoseconds(n)
	case double:
		return decimal(raw)
	}
	return 0, "the time is no number"
}

// decimal converts a decimal number of microseconds to nanoseconds, rounded half
// away from zero, without the digits that a double loses.
func decimal(raw []byte) (int64, string) {
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	mantissa, exponent := raw, 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		n, ok := parseInt(bytes.TrimPrefix(raw[i+1:], []byte("+")))
		if !ok || n > 40 || n < -400 {
			return 0, "the time is out of range"
		}
		exponent = int(n)
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	// want is how many digits stand before the decimal point of the result.
	want, seen := point+exponent+3, 0
	var n uint64
	up := false
	for i, c := range mantissa {
		if i == point {
			continue
		}
		switch {
		case seen < want:
			if n > (math.MaxInt64-9)/10 {
				return 0, "the time is out of range"
			}
			n = n*10 + uint64(c-'0')
		case seen == want:
			up = c >= '5'
		}
		seen++
	}
	for ; seen < want; seen++ {
		if n > math.MaxInt64/10 {
			return 0, "the time is out of range"
		}
		n *= 10
	}
	if up {
		n++
	}
	if negative {
		return -int64(n), ""
	}
	return int64(n), ""
}
