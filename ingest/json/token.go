package json

import (
	"encoding/binary"
	"math"
)

// Scopes of instants.
const (
	scopeNone = iota
	scopeProcess
	scopeThread
	scopeGlobal
	scopeUnknown
)

// Kinds of ids.
const (
	idNone = iota
	idText // a StringID
	idNumber
)

// Which id identifies an async event.
const (
	cookieNone = iota
	cookieID
	cookieLocal  // unique within the process
	cookieGlobal // unique within the trace
)

// event is a trace event, passed from the tokenizer to the parser. Times are in
// ns; texts are ids in the string pool.
type event struct {
	phase         byte
	scope         byte
	idKind, bind  byte // kinds of id and bindID
	cookieKind    byte
	bindEnclosing bool
	flowIn        bool
	flowOut       bool
	hasDur        bool
	hasTTS        bool
	hasTDur       bool
	late          bool // keeps its place among events of its time

	pid, tid       id
	name, category int32
	dur, tts, tdur int64
	id, bindID     uint64
	cookie         uint64
	stacks         uint64 // texts, the ids of two frames, or 0
	args           []byte // the object's text, empty for none
}

// id is a pid, tid or other id as the trace gives it.
type id struct {
	kind byte
	v    uint64
}

// The flags of a token, after its phase. The kinds of the pid and tid are the first four bits.
const (
	flagWide = 1 << (iota + 4) // the pid or tid has more than 32 bits
	flagEnclosing
	flagFlowIn
	flagFlowOut
	flagDur
	flagTTS
	flagTDur
	flagID
	flagBind
	flagCookie
	flagLate
	flagStacks
)

const tokenHead = 1 + 2 + 1 + 4*4

// size returns the size of the event's token in bytes.
func (e *event) size() int {
	n := tokenHead + len(e.args)
	for _, present := range [...]bool{e.wide(), e.hasDur, e.hasTTS, e.hasTDur, e.idKind != idNone, e.bind != idNone, e.cookieKind != cookieNone, e.stacks != 0} {
		if present {
			n += 8
		}
	}
	return n
}

// wide reports whether the pid or tid has more than 32 bits.
func (e *event) wide() bool { return (e.pid.v|e.tid.v)>>32 != 0 }

// encode writes the event into b, which has the event's size: the phase, flags,
// kinds and the four numbers that every event has, then the optional numbers
// that are present, then the args.
func (e *event) encode(b []byte) {
	flags := uint16(e.pid.kind | e.tid.kind<<2)
	p := tokenHead
	put := func(flag uint16, present bool, v uint64) {
		if present {
			flags |= flag
			binary.LittleEndian.PutUint64(b[p:], v)
			p += 8
		}
	}
	put(flagDur, e.hasDur, uint64(e.dur)) // first, for tie
	put(flagWide, e.wide(), e.pid.v>>32|e.tid.v>>32<<32)
	put(flagTTS, e.hasTTS, uint64(e.tts))
	put(flagTDur, e.hasTDur, uint64(e.tdur))
	put(flagID, e.idKind != idNone, e.id)
	put(flagBind, e.bind != idNone, e.bindID)
	put(flagCookie, e.cookieKind != cookieNone, e.cookie)
	put(flagStacks, e.stacks != 0, e.stacks)
	for _, f := range [...]struct {
		flag uint16
		set  bool
	}{
		{flagEnclosing, e.bindEnclosing}, {flagFlowIn, e.flowIn}, {flagFlowOut, e.flowOut}, {flagLate, e.late},
	} {
		if f.set {
			flags |= f.flag
		}
	}
	b[0] = e.phase
	binary.LittleEndian.PutUint16(b[1:], flags)
	b[3] = e.scope | e.idKind<<3 | e.bind<<5 | (e.cookieKind&1)<<7
	binary.LittleEndian.PutUint32(b[4:], uint32(e.pid.v))
	binary.LittleEndian.PutUint32(b[8:], uint32(e.tid.v))
	binary.LittleEndian.PutUint32(b[12:], uint32(e.name)|uint32(e.cookieKind>>1)<<31)
	binary.LittleEndian.PutUint32(b[16:], uint32(e.category))
	copy(b[p:], e.args)
}

// decode reads what encode wrote. The event's args point into b.
func (e *event) decode(b []byte) {
	flags := binary.LittleEndian.Uint16(b[1:])
	name := binary.LittleEndian.Uint32(b[12:])
	*e = event{
		phase: b[0], scope: b[3] & 7, idKind: b[3] >> 3 & 3, bind: b[3] >> 5 & 3,
		cookieKind:    b[3]>>7 | byte(name>>31)<<1,
		bindEnclosing: flags&flagEnclosing != 0,
		flowIn:        flags&flagFlowIn != 0,
		flowOut:       flags&flagFlowOut != 0,
		hasDur:        flags&flagDur != 0,
		hasTTS:        flags&flagTTS != 0,
		hasTDur:       flags&flagTDur != 0,
		pid:           id{byte(flags & 3), uint64(binary.LittleEndian.Uint32(b[4:]))},
		tid:           id{byte(flags >> 2 & 3), uint64(binary.LittleEndian.Uint32(b[8:]))},
		name:          int32(name & math.MaxInt32),
		category:      int32(binary.LittleEndian.Uint32(b[16:])),
	}
	p := tokenHead
	take := func(flag uint16) uint64 {
		if flags&flag == 0 {
			return 0
		}
		p += 8
		return binary.LittleEndian.Uint64(b[p-8:])
	}
	e.dur = int64(take(flagDur))
	upper := take(flagWide)
	e.pid.v |= upper << 32
	e.tid.v |= upper >> 32 << 32
	e.tts = int64(take(flagTTS))
	e.tdur = int64(take(flagTDur))
	e.id = take(flagID)
	e.bindID = take(flagBind)
	e.cookie = take(flagCookie)
	e.stacks = take(flagStacks)
	e.args = b[p:]
}

// tie orders events with equal timestamps: ends of slices that began before, ends of flows at the next slice, complete events
// from long to short, then the rest in the order of the file, complete events inside of a B among them, and at last the flow
// events that belong to one of these slices.
func tie(token []byte) int64 {
	flags := binary.LittleEndian.Uint16(token[1:])
	switch token[0] {
	case 'E':
		if flags&flagLate == 0 {
			return math.MinInt64
		}
	case 'f':
		if flags&flagEnclosing != 0 {
			return math.MaxInt64
		} else if flags&flagLate == 0 {
			return math.MinInt64 + 1
		}
	case 's', 't':
		return math.MaxInt64
	case 'X':
		if flags&flagDur == 0 {
			return 0
		} else if flags&flagLate != 0 {
			break
		}
		return math.MaxInt64 - 1 - max(0, int64(binary.LittleEndian.Uint64(token[tokenHead:])))
	}
	return math.MaxInt64 - 1
}

// begins remembers what began last, to tell which events of the same time keep their place.
type begins struct {
	threads map[thread]*threadBegins // for events other than complete ones
	last    *threadBegins            // the one looked up last
	of      thread
	latest  int64  // time of any B
	x       thread // of the last complete event
	xTS     int64
	xDur    int64
	// What was seen so far.
	complete, flows bool
}

type thread struct{ pid, tid id }

// threadBegins are the events of the latest time at which something began on a thread.
type threadBegins struct {
	ts   int64
	open int // slices of its B events without an E
}

func (b *begins) on(t thread) *threadBegins {
	if b.last == nil || t != b.of {
		b.of, b.last = t, b.threads[t]
		if b.last == nil {
			b.last = &threadBegins{ts: math.MinInt64}
			b.threads[t] = b.last
		}
	}
	return b.last
}

// place sets whether an event keeps its place among those of its time. An E does that ends a B of its time, which makes a slice of
// length 0, and a complete event between a B of its time and the E, which is inside of that slice. In files without complete
// events all do, because there nothing comes too late. An f that ends at the next slice does if a slice has just begun. A flow
// event after a complete event of its time gets its duration, to tell that slice from others.
func (b *begins) place(ts int64, e *event) {
	t := thread{e.pid, e.tid}
	switch e.phase {
	case 'X':
		b.complete, b.x, b.xTS, b.xDur = true, t, ts, e.dur
		if !e.hasDur {
			b.xDur = -1
		}
		if ts <= b.latest { // or no B can have its time
			on := b.on(t)
			e.late = ts == on.ts && on.open > 0
		}
	case 'B', 'i', 'I', 'R':
		if e.phase != 'B' && b.complete {
			return
		}
		on := b.on(t)
		if ts != on.ts {
			on.ts, on.open = ts, 0
		}
		if e.phase == 'B' {
			on.open++
			b.latest = max(b.latest, ts)
		}
	case 'E':
		on := b.on(t)
		e.late = ts == on.ts && (on.open > 0 || !b.complete)
		on.open = max(0, on.open-1)
	case 's', 't', 'f':
		b.flows = true
		after := t == b.x && ts == b.xTS
		e.late = e.phase == 'f' && (after || ts == b.on(t).ts)
		e.hasDur, e.dur = after, b.xDur
	}
}
