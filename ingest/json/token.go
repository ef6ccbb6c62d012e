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

	pid, tid       id
	name, category int32
	dur, tts, tdur int64
	id, bindID     uint64
	cookie         uint64
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
)

const tokenHead = 1 + 2 + 1 + 4*4

// size returns the size of the event's token in bytes.
func (e *event) size() int {
	n := tokenHead + len(e.args)
	for _, present := range [...]bool{e.wide(), e.hasDur, e.hasTTS, e.hasTDur, e.idKind != idNone, e.bind != idNone, e.cookieKind != cookieNone} {
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
	for _, f := range [...]struct {
		flag uint16
		set  bool
	}{
		{flagEnclosing, e.bindEnclosing}, {flagFlowIn, e.flowIn}, {flagFlowOut, e.flowOut},
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
	e.args = b[p:]
}

// tie orders events with equal timestamps as Trace Processor does for traces
// with complete events: ends first, then complete events from long to short,
// then the rest.
func tie(token []byte) int64 {
	switch token[0] {
	case 'E':
		return math.MinInt64
	case 'X':
		if binary.LittleEndian.Uint16(token[1:])&flagDur == 0 {
			return 0
		}
		return math.MaxInt64 - int64(binary.LittleEndian.Uint64(token[tokenHead:]))
	}
	return math.MaxInt64
}
