package json

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/internal/pipeline"
)

const (
	blockBytes = 256 << 10
	// blockEvents are more events than most blocks have.
	blockEvents = blockBytes / 128
	// maxBorder is the maximum size in bytes of the text that is taken for the border of two events.
	maxBorder = 256
)

// block is a part of the input and the events that were scanned in it.
type block struct {
	base   int64 // bytes of the input before buf[0]
	buf    []byte
	end    int // of the events that could be scanned, in buf
	events []scanned
	texts  [][]byte // of the events, in the order of the input
	copies []byte   // texts with resolved escapes
	space  []byte   // memory for the input
	leads  [fields]memberLead
	others []string // names of members that are not read
}

// memberLead is what came last after a member: the next member, and the text up to its value.
type memberLead struct {
	field int
	other uint64 // the bit of its name, if it is not read
	jsonlex.Lead
}

// scanned is an event whose texts have no ids yet: in place of an id it has the text's number,
// from 1 for the event's first text.
type scanned struct {
	event
	ts              int64
	local, global   id        // of id2
	idScope         uint64    // hash of the scope of the id
	stacks          [2][]byte // ids of frames in stackFrames, at its begin and at its end
	others          uint64    // members that are not read, by the bits of their names
	start, end      int       // of the event in the buffer
	texts, textsEnd int       // its texts in the block
	faults          []fault
	skip            bool // it is empty, or cannot be used
	tolerated       jsonlex.Tolerated
	notUTF8         bool
}

// fault tells why an event, or a part of it, cannot be read, which was found at end.
type fault struct {
	end int
	why string
}

func (b *block) reset(base int64, buf []byte) {
	b.base, b.buf, b.end = base, buf, 0
	b.events, b.texts, b.copies = b.events[:0], b.texts[:0], b.copies[:0]
}

// ahead takes events while workers scan the blocks after them. It ends where there is no event,
// or one that is larger than a block.
//
// A block ends where two events seem to meet, which a helper finds by the text that was between two events before. It did not
// unless the scan of the block ends there, too. Then the blocks after it are not used, and the helper scans from there on, as it
// does where it does not find that text.
func (t *tokenizer) ahead() error {
	blocks := pipeline.Workers() + 2
	var failed error // of reading, valid once the helper has ended
	h := pipeline.Share(blocks, func(h *pipeline.Helper[*block]) {
		for begun := false; ; begun = true {
			b, ok := h.Next()
			if !ok {
				return
			}
			if begun {
				if failed = t.MoreInto(b.space); failed != nil {
					return
				}
			}
			more := t.cut(b) || t.fill(b)
			h.Done(b)
			if !more {
				return
			}
		}
	}, func(b *block) {
		if b.end == 0 {
			b.scanAll()
		}
	})
	defer h.Stop()
	for range blocks {
		// What grows touches several times as much memory.
		h.Give(&block{space: make([]byte, 0, blockBytes), events: make([]scanned, 0, blockEvents), texts: make([][]byte, 0, 4*blockEvents)})
	}
	for {
		b, ok := h.Take()
		if !ok && failed == jsonlex.ErrTruncated {
			return nil // what is left tells whether the input is truncated
		} else if !ok {
			return failed
		}
		for i := range b.events {
			if err := t.take(b, &b.events[i]); err != nil {
				return err
			}
		}
		if b.end < len(b.buf) {
			t.back(h, b, blocks-1)
			return nil
		}
		h.Give(b)
	}
}

// back puts what is after the events of a block back into the buffer, with the n blocks that the helper has, and ends cutting at
// borders.
func (t *tokenizer) back(h *pipeline.Helper[*block], b *block, n int) {
	rest := bytes.Clone(b.buf[b.end:])
	at := b.base + int64(b.end)
	for range n {
		b, ok := h.Take()
		if !ok {
			break
		}
		rest = append(rest, b.buf...)
	}
	t.Buf, t.Pos, t.Base = append(rest, t.Buf[t.Pos:]...), 0, at
	t.border, t.guessed = nil, true
}

// cut gives a block the input up to the last border in the buffer, and moves there. It returns false if there is none.
func (t *tokenizer) cut(b *block) bool {
	if t.border == nil {
		return false
	}
	n := bytes.LastIndex(t.Buf[t.Pos:], t.border)
	if n < 0 {
		return false
	}
	b.reset(t.Offset(), t.Buf[t.Pos:t.Pos+n+1])
	t.Pos += n + 1
	return true
}

// fill scans the events in the buffer up to something else or an incomplete event, and leaves the
// position there. It reports whether the buffer ended after at least one event.
func (t *tokenizer) fill(b *block) bool {
	b.reset(t.Offset(), t.Buf[t.Pos:])
	err := b.scanAll()
	t.Pos += b.end
	if n := len(b.events); n > 1 && !t.guessed {
		t.border = borderOf(b.buf, b.events[n-2].end, b.events[n-1].start)
	}
	b.buf = b.buf[:b.end]
	return err == jsonlex.ErrMore && len(b.events) > 0
}

// borderOf returns a copy of the text from the bracket that ends an event to the key of the next one's first member, or nil.
func borderOf(buf []byte, end, start int) []byte {
	text := buf[end-1 : min(start+maxBorder, len(buf))]
	if colon := bytes.IndexByte(text, ':'); colon >= 0 {
		return bytes.Clone(text[:colon])
	}
	return nil
}

// scanAll scans the block's events up to something else or an incomplete event.
func (b *block) scanAll() error {
	l := jsonlex.Lexer{Buf: b.buf}
	for {
		c, err := l.Space()
		if err == nil && c == ',' {
			l.Pos++
			c, err = l.Space()
		}
		if err == nil && c != '{' {
			err = jsonlex.ErrSyntax
		}
		if err == nil {
			err = b.scan(&l)
		}
		if err != nil {
			return err
		}
		b.end = l.Pos
	}
}

// scan adds the event at the position.
func (b *block) scan(l *jsonlex.Lexer) error {
	texts := len(b.texts)
	b.events = append(b.events, scanned{start: l.Pos, texts: texts})
	last := len(b.events) - 1
	err := b.members(&b.events[last], l)
	if err != nil {
		b.events, b.texts = b.events[:last], b.texts[:texts]
	}
	return err
}

// members reads the members of the event at the position.
func (b *block) members(e *scanned, l *jsonlex.Lexer) error {
	var (
		hasTS, bad, any bool
		why             string
	)
	l.Pos++
	l.Tolerated, l.NonASCII = 0, false
	for field := fieldNone; ; {
		lead := &b.leads[field]
		if l.Past(&lead.Lead) {
			field = lead.field
		} else {
			from := l.Pos
			if any {
				if _, err := l.Next('}'); err != nil {
					return err
				}
			}
			c, err := l.Space()
			if err != nil {
				return err
			}
			if c == '}' {
				break
			}
			key, err := l.Key()
			if err != nil {
				return err
			}
			field = fieldOf(key)
			lead.field, lead.other = field, 0
			if field == fieldOther {
				lead.other = b.other(string(key))
			}
			lead.Set(l, from)
		}
		v, err := l.Value()
		if err != nil {
			return err
		}
		any = true
		switch field {
		case fieldOther:
			e.others |= lead.other
		case fieldStack, fieldEndStack:
			i := field - fieldStack
			if v.Resolved || v.Kind != jsonlex.Text && v.Kind != jsonlex.Integer {
				e.others |= b.other(stackMembers[i])
			} else {
				e.stacks[i] = v.Raw
			}
		case fieldPhase:
			e.phase = 0
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.phase = v.Raw[0]
			}
		case fieldTS:
			if n, reason := nanoseconds(v); reason == "" {
				e.ts, hasTS = n, true
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
			if id, ok := b.number(v, e); ok {
				e.pid = id
			}
		case fieldTID:
			if id, ok := b.number(v, e); ok {
				e.tid = id
			}
		case fieldID:
			if id, ok := b.id(v, e); ok {
				e.id, e.idKind = id.v, id.kind
			}
		case fieldBindID:
			if id, ok := b.id(v, e); ok {
				e.bindID, e.bind = id.v, id.kind
			}
		case fieldCategory:
			e.category = 0
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.category = int32(b.text(v, e))
			}
		case fieldName:
			e.name = 0
			if v.Kind == jsonlex.Text && len(v.Raw) > 0 {
				e.name = int32(b.text(v, e))
			}
		case fieldFlowIn:
			e.flowIn = v.Kind == jsonlex.Boolean && v.Int != 0
		case fieldFlowOut:
			e.flowOut = v.Kind == jsonlex.Boolean && v.Int != 0
		case fieldScope:
			e.scope = scopeOf(v, e.scope)
		case fieldBindPoint:
			e.bindEnclosing = v.Kind == jsonlex.Text && string(v.Raw) == "e"
		case fieldIDScope:
			if v.Kind == jsonlex.Text {
				e.idScope = xxh3.Hash(v.Raw)
			}
		case fieldArgs:
			switch {
			case v.Kind == jsonlex.Object:
				e.args = v.Raw
			case v.Kind == jsonlex.Text && len(v.Raw) > 0, v.Kind == jsonlex.Array && len(v.Raw) > len("[]"):
				e.others |= b.other("non-object args")
			}
		case fieldID2:
			if v.Kind != jsonlex.Object {
				break
			}
			inner := jsonlex.Lexer{Buf: v.Raw}
			if err := inner.Members(func(key []byte, v jsonlex.Value) {
				switch string(key) {
				case "local":
					e.local, _ = b.id(v, e)
				case "global":
					e.global, _ = b.id(v, e)
				}
			}); err != nil {
				e.faults = append(e.faults, fault{l.Pos, "id2: " + inner.Why})
			}
		}
	}
	l.Pos++
	e.end, e.textsEnd, e.tolerated = l.Pos, len(b.texts), l.Tolerated
	if l.NonASCII {
		e.notUTF8 = !utf8.Valid(e.args) || slices.ContainsFunc(b.texts[e.texts:], func(text []byte) bool { return !utf8.Valid(text) })
	}
	e.skip = !any || bad || e.phase == 0 || !hasTS && e.phase != 'M'
	if e.skip && any { // many traces end with an empty object
		e.faults = append(e.faults, fault{l.Pos, why})
	}
	return nil
}

// maxOthers is how many names of members that are not read are told apart.
const maxOthers = 64

// other returns the bit of a member that is not read, 0 for one that is only for display.
func (b *block) other(name string) uint64 {
	if name == "cname" {
		return 0
	}
	i := slices.Index(b.others, name)
	if i < 0 && len(b.others) == maxOthers {
		i = maxOthers - 1
	} else if i < 0 {
		i, b.others = len(b.others), append(b.others, name)
	}
	return 1 << i
}

// text adds a text and returns its number.
func (b *block) text(v jsonlex.Value, e *scanned) uint64 {
	raw := v.Raw
	if v.Resolved {
		from := len(b.copies)
		b.copies = append(b.copies, raw...)
		raw = b.copies[from:]
	}
	b.texts = append(b.texts, raw)
	return uint64(len(b.texts) - e.texts)
}

func (b *block) id(v jsonlex.Value, e *scanned) (id, bool) {
	switch v.Kind {
	case jsonlex.Text:
		return id{idText, b.text(v, e)}, true
	case jsonlex.Integer:
		return id{idNumber, uint64(v.Int)}, true
	case jsonlex.Double:
		n, err := strconv.ParseUint(string(v.Raw), 10, 64)
		return id{idNumber, n}, err == nil
	}
	return id{}, false
}

// number returns a pid or tid. What is no integer is text.
func (b *block) number(v jsonlex.Value, e *scanned) (id, bool) {
	if v.Kind == jsonlex.Integer {
		return id{idNumber, uint64(v.Int)}, true
	}
	n, ok := v.Whole()
	switch {
	case v.Kind == jsonlex.Text: // which has a place, even if it is a number
		if text := b.text(v, e); !ok {
			return id{idText, text}, true
		}
	case v.Kind == jsonlex.Double && !ok:
		return id{idText, b.text(v, e)}, true
	}
	return id{idNumber, uint64(n)}, ok
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

// stackMembers are the members with the ids of frames.
var stackMembers = [...]string{"sf", "esf"}

// The members of an event.
const (
	fieldNone = iota
	fieldOther
	fieldPhase
	fieldTS
	fieldDur
	fieldTTS
	fieldTDur
	fieldPID
	fieldTID
	fieldID
	fieldID2
	fieldIDScope
	fieldBindID
	fieldBindPoint
	fieldCategory
	fieldName
	fieldFlowIn
	fieldFlowOut
	fieldScope
	fieldStack
	fieldEndStack
	fieldArgs
	fields // how many there are
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
	case "scope":
		return fieldIDScope
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
	case stackMembers[0]:
		return fieldStack
	case stackMembers[1]:
		return fieldEndStack
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
		if d := v.Decimals; d > 0 && d < 4 {
			return v.Digits * [...]int64{1000, 100, 10, 1}[d], ""
		}
		if !math.IsNaN(v.Float) && !math.IsInf(v.Float, 0) {
			return decimal(raw)
		}
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
