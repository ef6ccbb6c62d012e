package json

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/v8profile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	// maxLogged is how many bytes of a bad event the import log keeps.
	maxLogged = 4 << 10
)

// tokenizer finds the events in the input and pushes them to the sorter.
type tokenizer struct {
	jsonlex.Reader
	in     *format.Input
	parser *parser
	places *places
	v8     *v8profile.Profiles
	events *sort.Stream
	ties   bool // the stream orders events with equal timestamps

	found   bool     // an event, or another trace's text, was found
	members []string // names in the outer object, up to maxMembers

	stackFrames, samples []byte          // values of these keys, read at the end
	profile              v8profile.Chunk // of a .cpuprofile file
}

func (t *tokenizer) run() error {
	err := t.top()
	switch {
	case err == jsonlex.ErrSyntax:
		return format.Errorf(format.ErrCorrupt, t.Offset(), "%s, got %s", t.Why, t.Glimpse())
	case err != nil && err != jsonlex.ErrTruncated:
		return err
	case !t.hasEvents():
		return &format.Error{Offset: -1, Err: fmt.Errorf("%w: %s", format.ErrNoEvents, t.likeness(err == jsonlex.ErrTruncated))}
	case err == jsonlex.ErrTruncated:
		t.in.File.LogAt(model.StatTruncatedInput, t.Base+int64(len(t.Buf)), nil)
	}
	return nil
}

// hasEvents reports whether there were events, or samples with their stacks.
func (t *tokenizer) hasEvents() bool {
	return t.found || t.samples != nil && (t.stackFrames != nil || len(t.profile.Profile.Nodes) > 0)
}

// whole calls parse with the whole value at the position in the buffer. A value that is
// too large is skipped and counted.
func (t *tokenizer) whole(parse func() error) error {
	err := t.Whole(parse)
	if err == jsonlex.ErrTooLarge {
		t.in.File.LogAt(model.StatJSONTokenizerFailure, t.Offset(), t.reason(err.Error(), nil))
		return t.Skip()
	}
	return err
}

// top reads the array of events, the object that contains it, or events line by line.
func (t *tokenizer) top() error {
	c, err := t.Peek()
	if err != nil {
		return err
	}
	if c == '[' {
		t.Pos++
		err = t.array()
	} else if !t.atEvent() {
		t.Pos++
		err = t.object()
	}
	if err != nil {
		return err
	}
	return t.lines()
}

// atEvent reports whether the object at the position is an event, which means that it
// has a phase before any array of events.
func (t *tokenizer) atEvent() bool {
	for {
		l := jsonlex.Lexer{Buf: t.Buf, Pos: t.Pos + 1}
		phase, err := findPhase(&l)
		if err != jsonlex.ErrMore || t.Pos == 0 || t.More() != nil {
			return err == nil && phase
		}
	}
}

// findPhase reads members of an object up to its phase or its events.
func findPhase(l *jsonlex.Lexer) (bool, error) {
	for {
		if c, err := l.Space(); err != nil || c == '}' {
			return false, err
		}
		key, err := l.Key()
		if err != nil || string(key) == "traceEvents" {
			return false, err
		}
		isPhase := string(key) == "ph"
		v, err := l.Value()
		if err != nil || isPhase {
			return v.Kind == jsonlex.Text, err
		}
		if _, err := l.Next('}'); err != nil {
			return false, err
		}
	}
}

// lines reads events after or instead of the outer array or object, because some
// writers append events line by line. Anything else is left out and counted.
func (t *tokenizer) lines() error {
	var e event
	one := func() error { return t.event(&e) }
	for started := false; ; started = true {
		c, err := t.Peek()
		if err == jsonlex.ErrTruncated && len(t.Buf) == t.Pos {
			return nil // the end
		} else if err != nil {
			return err
		}
		if started && c == ',' {
			t.Pos++
			if c, err = t.Peek(); err != nil {
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

// trailing skips the rest of the input, which is not part of the trace. Trace Processor
// ignores it or refuses the trace, depending on how the input is cut into chunks.
func (t *tokenizer) trailing() error {
	start, zeros := t.Offset(), true
	for {
		zeros = zeros && len(bytes.Trim(t.Buf[t.Pos:], "\x00 \t\r\n")) == 0
		t.Pos = len(t.Buf)
		if err := t.More(); err == jsonlex.ErrTruncated {
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
		set.Add(t.in.Store.Strings.Intern("bytes"), model.IntArg(t.Offset()-start))
	}))
	return nil
}

// object reads the members of the outer object.
func (t *tokenizer) object() error {
	for {
		c, err := t.Peek()
		if err != nil {
			return err
		}
		switch c {
		case ',':
			t.Pos++
		case '}':
			t.Pos++
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
		key, err := t.Key()
		name = string(key)
		return err
	}); err != nil {
		return err
	}
	if len(t.members) < maxMembers {
		t.members = append(t.members, name[:min(len(name), maxMemberName)])
	}
	switch c := t.Buf[t.Pos]; name {
	case "traceEvents":
		if c != '[' {
			return t.Fail("traceEvents is not an array")
		}
		t.Pos++
		return t.array()
	case "systemTraceEvents":
		if c != '"' {
			return t.Skip()
		}
		t.Pos++
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
	default:
		t.in.File.Unread(model.StatUnreadFact, model.None, name+" member").AddAt(t.Offset())
	}
	return t.Skip()
}

// keep stores the text of the value at the position.
func (t *tokenizer) keep(to *[]byte) error {
	return t.whole(func() error {
		start := t.Pos
		if _, err := t.Value(); err != nil {
			return err
		}
		*to = bytes.Clone(t.Buf[start:t.Pos])
		return nil
	})
}

// metadata stores the members of the object at the position as metadata.
func (t *tokenizer) metadata(prefix string) error {
	return t.whole(func() error {
		v, err := t.Value()
		if err != nil || v.Kind != jsonlex.Object {
			return err
		}
		inner := jsonlex.Lexer{Buf: v.Raw}
		// Trace Processor keeps the members before one that it cannot read.
		_ = inner.Members(func(key []byte, v jsonlex.Value) {
			name := prefix + string(key)
			switch {
			case v.Kind == jsonlex.Null:
			case v.Kind == jsonlex.Boolean || v.Kind == jsonlex.Integer:
				t.in.File.Context(0).SetMetadata(name, model.IntArg(v.Int))
			case v.Kind == jsonlex.Double && v.Float == math.Trunc(v.Float) && math.Abs(v.Float) < 9.2e18:
				t.in.File.Context(0).SetMetadata(name, model.IntArg(int64(v.Float)))
			case v.Kind == jsonlex.Double: // with as many digits as Trace Processor keeps
				text := strconv.AppendFloat(nil, v.Float, 'g', 6, 64)
				t.in.File.Context(0).SetMetadata(name, model.StringArg(t.places.intern(text)))
			default:
				t.in.File.Context(0).SetMetadata(name, model.StringArg(t.places.intern(v.Raw)))
			}
			if v.Kind != jsonlex.Null {
				t.places.intern([]byte(name))
			}
		})
		return nil
	})
}

// array reads events up to the bracket that closes their array.
func (t *tokenizer) array() error {
	var e event
	one := func() error { return t.event(&e) }
	for {
		c, err := t.Peek()
		if err != nil {
			return err
		}
		if c == ',' {
			t.Pos++
			if c, err = t.Peek(); err != nil {
				return err
			}
		}
		if c == ']' {
			t.Pos++
			return nil
		}
		if c != '{' {
			return t.Fail("expected an event")
		}
		if err := t.whole(one); err != nil {
			return err
		}
	}
}

// event reads the event at the position and pushes it to the sorter.
func (t *tokenizer) event(e *event) error {
	start := t.Pos
	*e = event{}
	var (
		ts              int64
		hasTS, bad, any bool
		why             string
		local, global   id
	)
	t.Pos++
	c, err := t.Space()
	if err != nil {
		return err
	}
	for c != '}' {
		key, err := t.Key()
		if err != nil {
			return err
		}
		field := fieldOf(key)
		v, err := t.Value()
		if err != nil {
			return err
		}
		any = true
		switch field {
		case fieldPhase:
			e.phase = 0
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.phase = v.Raw[0]
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
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.category = int32(t.places.intern(v.Raw))
			}
		case fieldName:
			e.name = 0
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.name = int32(t.places.intern(v.Raw))
			}
		case fieldFlowIn:
			e.flowIn = v.Kind == jsonlex.Boolean && v.Int != 0
		case fieldFlowOut:
			e.flowOut = v.Kind == jsonlex.Boolean && v.Int != 0
		case fieldScope:
			e.scope = scopeOf(v, e.scope)
		case fieldBindPoint:
			e.bindEnclosing = v.Kind == jsonlex.Text && string(v.Raw) == "e"
		case fieldArgs:
			if v.Kind == jsonlex.Object {
				e.args = v.Raw
			}
		case fieldID2:
			if v.Kind != jsonlex.Object {
				break
			}
			inner := jsonlex.Lexer{Buf: v.Raw}
			if err := inner.Members(func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "local":
					local, _ = t.id(v)
				case "global":
					global, _ = t.id(v)
				}
			}); err != nil {
				t.bad(start, "id2: "+inner.Why)
			}
		}
		if _, err := t.Next('}'); err != nil {
			return err
		}
		if c, err = t.Space(); err != nil {
			return err
		}
	}
	t.Pos++
	t.found = t.found || e.phase != 0
	switch {
	case !any: // many traces end with an empty object
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
	ts, ok := t.in.TraceTime(ts, t.Base+int64(t.Pos))
	if !ok {
		return nil
	}
	if ts < 0 && e.phase == 'M' { // metadata needs no timestamp
		ts = 0
	}
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

// bad logs an event that cannot be read. The event begins at position start of the
// buffer.
func (t *tokenizer) bad(start int, why string) {
	t.in.File.LogAt(model.StatJSONTokenizerFailure, t.Offset(), t.reason(why, t.Buf[start:t.Pos]))
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

func (t *tokenizer) id(v jsonlex.Value) (id, bool) {
	switch v.Kind {
	case jsonlex.Text:
		return id{idText, uint64(t.places.intern(v.Raw))}, true
	case jsonlex.Integer:
		return id{idNumber, uint64(v.Int)}, true
	}
	return id{}, false
}

// number32 returns a pid or tid. Text is a name that gets a number.
func (t *tokenizer) number32(v jsonlex.Value) (n uint32, isText, ok bool) {
	i := v.Int
	switch v.Kind {
	case jsonlex.Text:
		return t.places.number(v.Raw), true, true
	case jsonlex.Double:
		i = int64(v.Float)
	case jsonlex.Integer:
	default:
		return 0, false, false
	}
	if i < 0 || i > math.MaxUint32 {
		i = 0
	}
	return uint32(i), false, true
}

// cookieOf sets the cookie that identifies an async event, from its id or id2.
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

func scopeOf(v jsonlex.Value, was byte) byte {
	if v.Kind != jsonlex.Text {
		return scopeNone
	}
	switch string(v.Raw) {
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

// nanoseconds converts a time in µs to ns, or says why it is not a time.
func nanoseconds(v jsonlex.Value) (ns int64, why string) {
	raw := v.Raw
	switch v.Kind {
	case jsonlex.Integer:
		if v.Int > math.MaxInt64/1000 || v.Int < math.MinInt64/1000 {
			return 0, "the time is out of range"
		}
		return v.Int * 1000, ""
	case jsonlex.Text:
		inner := jsonlex.Lexer{Buf: append(append(make([]byte, 0, len(raw)+1), raw...), '"')}
		n, err := inner.Number()
		if err != nil || inner.Pos != len(raw) || n.Raw == nil {
			return 0, "the time is not a number"
		}
		return nanoseconds(n)
	case jsonlex.Double:
		return decimal(raw)
	}
	return 0, "the time is not a number"
}

// decimal converts a decimal number of µs to ns, rounding half away from zero. It keeps
// the digits that a double would lose.
func decimal(raw []byte) (int64, string) {
	negative := raw[0] == '-'
	if negative {
		raw = raw[1:]
	}
	mantissa, exponent := raw, 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		n, ok := jsonlex.ParseInt(bytes.TrimPrefix(raw[i+1:], []byte("+")))
		if !ok || n > 40 || n < -400 {
			return 0, "the time is out of range"
		}
		exponent = int(n)
	}
	point := bytes.IndexByte(mantissa, '.')
	if point < 0 {
		point = len(mantissa)
	}
	// want is how many digits the result has before the decimal point.
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
