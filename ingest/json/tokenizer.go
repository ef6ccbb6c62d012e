package json

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

const (
	// maxLogged is how many bytes of a bad event the import log keeps.
	maxLogged = 4 << 10
	// readAlone is how many bytes are read before blocks are scanned ahead, which takes more memory.
	readAlone = 1 << 20
	// Members of the outer object become facts up to this number, and this size in bytes.
	maxFacts, maxFact = 100, 1 << 20
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
	begins begins

	one       block            // the event that is read alone
	ids       []model.StringID // of the texts of the current event
	aheadFrom int64            // offset from which on blocks are scanned ahead
	border    []byte           // text between two events, nil if it is not known
	guessed   bool             // a border was none

	others map[string]*model.Unread // members of events that are not read

	found   bool     // an event, or another trace's text, was found
	large   bool     // an event was too large to be read
	members []string // names in the outer object, up to maxMembers
	facts   int      // members that became metadata

	stackFrames, samples []byte          // values of these keys, read at the end
	profile              v8profile.Chunk // of a .cpuprofile file
	wholeProfiles        uint64          // how many events had one
	owners               owners
}

func (t *tokenizer) run() error {
	err := t.top()
	switch err {
	case nil:
	case jsonlex.ErrTruncated:
		t.in.File.LogAt(model.StatTruncatedInput, t.Base+int64(len(t.Buf)), nil)
	case jsonlex.ErrSyntax:
		return format.Errorf(format.ErrCorrupt, t.Offset(), "%s, got %s", t.Why, t.Glimpse())
	default:
		return err
	}
	if !t.hasEvents() {
		return &format.Error{Offset: -1, Err: fmt.Errorf("%w: %s", format.ErrNoEvents, t.likeness(err == jsonlex.ErrTruncated))}
	}
	return nil
}

// hasEvents reports whether there were events, or samples with their stacks.
func (t *tokenizer) hasEvents() bool {
	return t.found || t.samples != nil && (t.stackFrames != nil || len(t.profile.Nodes) > 0)
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
		if err = t.array(); err == jsonlex.ErrTruncated && t.Pos == len(t.Buf) && t.found {
			return nil // the format lets writers leave out the bracket at the end
		}
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
		if err := t.whole(t.event); err != nil {
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
			t.unread(name, t.Offset())
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
	case "nodes", "timeDeltas", "startTime":
		return t.profilePart(name)
	default:
		return t.fact(name)
	}
	return t.Skip()
}

// jobFacts are what PyTorch says of the process's place in its job.
var jobFacts = map[string]string{"json.distributedInfo.rank": model.Rank, "json.distributedInfo.world_size": model.WorldSize}

// fact stores a member of the outer object as metadata, or each member of an object. What is nested
// deeper stays JSON.
func (t *tokenizer) fact(name string) error {
	at := t.Offset()
	var v jsonlex.Value
	err := t.Whole(func() (err error) {
		start := t.Pos
		t.Tolerated = 0
		if v, err = t.Value(); err == jsonlex.ErrSyntax {
			t.Pos = start
		}
		return err
	})
	if err == jsonlex.ErrSyntax || err == jsonlex.ErrTooLarge {
		t.unread(name, at)
		return t.Skip()
	} else if err != nil {
		return err
	}
	switch name { // members of a .cpuprofile file, if it is one
	case "endTime", "head", "timestamps":
		if t.profile.DecodeMember(name, v.Raw) && name != "endTime" && t.profile.Old() && len(t.profile.Nodes) > 1 {
			return nil
		}
	}
	if t.facts == maxFacts || len(v.Raw) > maxFact {
		t.unread(name, at)
		return nil
	}
	t.facts++
	set := func(name string, v jsonlex.Value) {
		if fact, ok := v.Fact(t.in.Store.Strings); ok {
			t.in.Context.SetMetadata(name, fact)
		}
	}
	if name == "deviceProperties" && v.Kind == jsonlex.Array {
		t.gpus(v.Raw)
	}
	fact := "json." + name
	if v.Kind != jsonlex.Object {
		set(fact, v)
		t.tolerate(t.Tolerated, at)
		return nil
	}
	inner := jsonlex.Lexer{Buf: v.Raw}
	defer func() { t.tolerate(inner.Tolerated, at) }()
	if inner.Members(func(key []byte, v jsonlex.Value) {
		set(fact+"."+string(key), v)
		if name == "viztracer_metadata" && string(key) == "overflow" && v.Kind == jsonlex.Boolean && v.Int != 0 {
			t.in.File.LogAt(statVizTracerOverflow, at, nil)
		}
		if column := jobFacts[fact+"."+string(key)]; column != "" && v.Kind == jsonlex.Integer {
			t.in.Context.SetMetadata(column, model.IntArg(v.Int))
		}
	}) != nil {
		t.unread(name, at)
	}
	return nil
}

// gpus reads what PyTorch says of the GPUs: objects with an id, a name and numbers.
func (t *tokenizer) gpus(list []byte) {
	strings, gpus := t.in.Store.Strings, &t.in.Store.Tables.GPU
	l := jsonlex.Lexer{Buf: list}
	_ = l.Elements(func(v jsonlex.Value) {
		id, name := model.NullArg(), model.NullArg()
		var set model.ArgSet
		inner := jsonlex.Lexer{Buf: v.Raw}
		if v.Kind != jsonlex.Object || inner.Members(func(key []byte, v jsonlex.Value) {
			fact, ok := v.Fact(strings)
			switch {
			case !ok:
			case string(key) == "id":
				id = fact
			case string(key) == "name":
				name = fact
			default:
				set.Add(strings.InternBytes(key), fact)
			}
		}) != nil || id.Kind != model.ArgInt {
			return
		}
		row := int64(t.in.Machine.GPU(id.Int()))
		if name.Kind == model.ArgString {
			gpus.Name.Set(row, name.String())
		}
		t.in.Store.SetArgs(&gpus.ArgSetID, row, &set)
	})
}

// unread counts a member of the outer object that was not read, or not completely.
func (t *tokenizer) unread(name string, at int64) {
	t.in.File.Unread(model.StatUnreadFact, model.None, name+" member").AddAt(at)
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
	at := t.Offset()
	return t.whole(func() error {
		v, err := t.Value()
		if err != nil || v.Kind != jsonlex.Object {
			return err
		}
		inner := jsonlex.Lexer{Buf: v.Raw}
		defer func() { t.tolerate(inner.Tolerated, at) }()
		// Trace Processor keeps the members before one that it cannot read.
		_ = inner.Members(func(key []byte, v jsonlex.Value) {
			name := prefix + string(key)
			if v.Kind == jsonlex.Object && name == "json_metadata.trace_processor_stats" {
				t.statistics(v.Raw)
			}
			switch {
			case v.Kind == jsonlex.Null:
			case v.Kind == jsonlex.Boolean || v.Kind == jsonlex.Integer:
				t.in.Context.SetMetadata(name, model.IntArg(v.Int))
			case v.Kind == jsonlex.Double && v.Float == math.Trunc(v.Float) && math.Abs(v.Float) < 9.2e18:
				t.in.Context.SetMetadata(name, model.IntArg(int64(v.Float)))
			case v.Kind == jsonlex.Double && !v.Large: // with as many digits as Trace Processor keeps
				text := strconv.AppendFloat(nil, v.Float, 'g', 6, 64)
				t.in.Context.SetMetadata(name, model.StringArg(t.places.intern(text)))
			default:
				t.in.Context.SetMetadata(name, model.StringArg(t.places.intern(v.Raw)))
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
	for {
		if t.Base >= t.aheadFrom {
			if err := t.ahead(); err != nil {
				return err
			}
			t.aheadFrom = t.Base + readAlone
		}
		c, err := t.Peek()
		if err != nil {
			return err
		}
		if c == ',' {
			t.Pos++
			if c, err = t.Peek(); err != nil {
				return err
			}
			if c == ']' {
				t.tolerate(jsonlex.TrailingCommas, t.Offset())
			}
		}
		if c == ']' {
			t.Pos++
			return nil
		}
		if c != '{' {
			return t.Fail("expected an event")
		}
		if err := t.element(); err != nil {
			return err
		}
	}
}

// element reads the event at the position. One that is damaged is repaired, or else left out, up to the begin of the
// next one.
func (t *tokenizer) element() error {
	at, early := t.Offset(), false
	err := t.Whole(func() error {
		start := t.Pos
		err := t.event()
		if err == jsonlex.ErrMore && !early && len(t.Buf)-start >= maxIntact {
			// A quote that is missing makes all that follows part of the event.
			early = true
			t.Pos = start
			if end := t.eventEnd(err); end >= 0 && t.repair(end, false) {
				return nil
			}
		}
		return err
	})
	if err != jsonlex.ErrSyntax && err != jsonlex.ErrTruncated && err != jsonlex.ErrTooLarge {
		return err
	}
	why, pos := t.Why, t.Offset()
	t.Pos = int(at - t.Base)
	for t.eventEnd(err) < 0 && len(t.Buf)-t.Pos < maxIntact && t.More() == nil {
	}
	end := t.eventEnd(err)
	switch {
	case end >= 0 && t.repair(end, true):
		return nil
	case err == jsonlex.ErrTooLarge:
		t.large = true
		t.in.File.LogAt(model.StatJSONTokenizerFailure, at, t.reason(err.Error(), nil))
		return t.Skip()
	case end < 0 || !t.found:
		t.Why, t.Pos = why, int(pos-t.Base)
		return err
	}
	t.in.File.LogAt(model.StatJSONTokenizerFailure, at, t.reason(why, t.Buf[t.Pos:end]))
	t.Pos = end
	return nil
}

// maxIntact is the size in bytes of an event from which on it is tested for the begin of another one in it.
const maxIntact = 256 << 10

// eventStart finds the end of an event and the begin of the next.
var eventStart = regexp.MustCompile(`\}\s*,\s*\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id)"\s*:`)

// eventEnd returns the end of a damaged event at the position: where another one begins after it or, once all is read, the last bracket.
// It returns -1 if there is none, as in a trace that is cut off in the event.
func (t *tokenizer) eventEnd(why error) int {
	if at := eventStart.FindIndex(t.Buf[t.Pos:]); at != nil {
		return t.Pos + at[0] + 1
	}
	if why == jsonlex.ErrSyntax && t.EOF {
		if last := bytes.LastIndexByte(t.Buf[t.Pos:], ']'); last >= 0 {
			return t.Pos + last
		}
	}
	return -1
}

// repair reads the event from the position to end as it seems to be meant, and reports whether it could. If the event
// is known to be damaged, brackets may be missing at its end.
func (t *tokenizer) repair(end int, damaged bool) bool {
	raw := t.Buf[t.Pos:end]
	fixed := append(jsonlex.Repair(nil, raw, damaged), ' ')
	t.one.reset(t.Offset(), fixed)
	l := jsonlex.Lexer{Buf: fixed}
	if t.one.scan(&l) != nil || len(bytes.TrimSpace(fixed[l.Pos:])) > 0 || t.one.events[0].skip {
		return false
	}
	t.in.File.LogAt(statRepaired, t.Offset(), t.reason(t.Why, raw))
	t.Pos = end
	return t.take(&t.one, &t.one.events[0]) == nil
}

// event reads the event at the position.
func (t *tokenizer) event() error {
	t.one.reset(t.Base, t.Buf)
	if err := t.one.scan(&t.Lexer); err != nil {
		return err
	}
	return t.take(&t.one, &t.one.events[0])
}

// take pushes a scanned event to the sorter, unless it has faults.
func (t *tokenizer) take(b *block, s *scanned) error {
	t.ids = t.ids[:0]
	for _, text := range b.texts[s.texts:s.textsEnd] {
		t.ids = append(t.ids, t.places.intern(text))
	}
	t.found = t.found || s.phase != 0
	for _, f := range s.faults {
		t.in.File.LogAt(model.StatJSONTokenizerFailure, b.base+int64(f.end), t.reason(f.why, b.buf[s.start:f.end]))
	}
	if s.skip {
		return nil
	}
	for left := s.others; left != 0; left &= left - 1 {
		t.other(b.others[bits.TrailingZeros64(left)]).AddAt(b.base + int64(s.start))
	}
	for i, id := range s.stacks {
		switch {
		case id == nil:
		case strings.IndexByte(withStack, s.phase) < 0:
			t.other(stackMembers[i]).AddAt(b.base + int64(s.start))
		default:
			s.event.stacks |= uint64(t.in.Store.Strings.InternBytes(id)) << (32 * i)
		}
	}
	t.tolerate(s.tolerated, b.base+int64(s.start))
	if s.notUTF8 {
		t.in.File.PlaceAt(model.StatInvalidUTF8, b.base+int64(s.start))
	}
	e := &s.event
	e.name, e.category = int32(t.text(uint64(e.name))), int32(t.text(uint64(e.category)))
	for _, i := range [...]struct {
		kind byte
		v    *uint64
	}{{e.idKind, &e.id}, {e.bind, &e.bindID}, {s.local.kind, &s.local.v}, {s.global.kind, &s.global.v}, {e.pid.kind, &e.pid.v}, {e.tid.kind, &e.tid.v}} {
		if i.kind == idText {
			*i.v = uint64(t.text(*i.v))
		}
	}
	e.cookieOf(s.local, s.global, s.idScope)
	if e.idKind == idNone && (e.phase == 's' || e.phase == 't' || e.phase == 'f' || e.phase == 'C') {
		switch e.cookieKind {
		case cookieGlobal:
			e.id, e.idKind = s.global.v, s.global.kind
		case cookieLocal:
			e.id, e.idKind = s.local.v, s.local.kind
		}
	}
	if e.phase == 'f' && !e.bindEnclosing {
		// Chrome wrote these before there was bp.
		category := t.in.Store.Strings.Get(model.StringID(e.category))
		e.bindEnclosing = strings.Contains(category, "input") || strings.Contains(category, "ipc.flow")
	}
	if e.phase == 'P' && e.idKind != idNone { // others are old samples
		return t.profileEvent(e)
	}
	if e.phase == 'I' && len(e.args) > 0 && t.in.Store.Strings.Get(model.StringID(e.name)) == "CpuProfile" {
		if err := t.wholeProfile(e); err != nil {
			return err
		}
	}
	return t.push(s.ts, e, b.base+int64(s.end))
}

// withStack are the phases of events that become slices, which may have a call stack.
const withStack = "XBEbeniIR"

// other returns the count of a member of events that is not read.
func (t *tokenizer) other(name string) *model.Unread {
	u := t.others[name]
	if u == nil {
		if t.others == nil {
			t.others = map[string]*model.Unread{}
		}
		u = t.in.File.Unread(model.StatUnreadFact, model.None, name+" event member")
		t.others[name] = u
	}
	return u
}

// text returns the id of a text of the event, by its number from 1, or 0.
func (t *tokenizer) text(number uint64) model.StringID {
	if number == 0 {
		return 0
	}
	return t.ids[number-1]
}

// push pushes an event that ends at an offset of the input.
func (t *tokenizer) push(ts int64, e *event, end int64) error {
	ts, ok := t.in.TraceTime(ts, end)
	if !ok {
		return nil
	}
	if ts < 0 && e.phase == 'M' { // metadata needs no timestamp
		ts = 0
	}
	t.begins.place(ts, e)
	if !t.ties && (t.begins.complete || t.begins.flows) {
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

// tolerated are the counts of what is read although it is not JSON.
var tolerated = [...]struct {
	what jsonlex.Tolerated
	stat model.Stat
}{{jsonlex.Backslashes, statUnescapedBackslash}, {jsonlex.NotFinite, statNotFiniteNumber}, {jsonlex.Controls, statControlCharacter},
	{jsonlex.LargeIntegers, statLargeInteger}, {jsonlex.TrailingCommas, statTrailingComma}}

// tolerate counts what was read at an offset although it is not JSON.
func (t *tokenizer) tolerate(what jsonlex.Tolerated, offset int64) {
	for _, c := range tolerated {
		if what&c.what != 0 {
			t.in.File.LogAt(c.stat, offset, nil)
		}
	}
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

// cookieOf sets the cookie that identifies an async event, from its category, its id or id2, and the scope of that.
func (e *event) cookieOf(local, global id, scope uint64) {
	space := uint64(e.category) ^ scope
	switch {
	case e.idKind != idNone:
		e.cookieKind, e.cookie = cookieID, cookie(space, e.id)
	case global.kind != idNone:
		e.cookieKind, e.cookie = cookieGlobal, cookie(space, global.v)
	case local.kind != idNone:
		e.cookieKind, e.cookie = cookieLocal, cookie(space, local.v)
	}
}

func cookie(space, id uint64) uint64 {
	h := (space + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>31 ^ id) * 0x94d049bb133111eb
	return h ^ h>>29
}
