package systrace

import (
	"bytes"
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/ingest/internal/token"
	"github.com/tpconvert/tpconvert/model"
)

// block is what is decoded of a block of lines. Another core wrote it, so what is read of each event is small and in a row.
type block struct {
	text    []byte
	offset  int64 // bytes of the input before text
	lines   []decoded
	tokens  token.Writer
	tasks   [][]byte          // different names of threads
	byTask  map[string]uint32 // their indices
	taskIDs []model.StringID  // 0 until they are interned
	line    line
}

// decoded is a line. If it is an event, it has a token without the thread's name; the name of an event of unknown kind follows.
type decoded struct {
	ts              int64  // ns
	from, to        uint32 // range in the text
	token, tokenEnd uint32 // range in the tokens
	task            uint32 // index of the thread's name
	ok              bool   // it is an event
	escaped         bool   // lineEnd was cut off
}

// decode reads whole lines. It may run on any goroutine.
func (p *parser) decode(b *block, offset int64, text []byte) {
	b.clear(offset, text)
	for from := 0; from < len(text); {
		n := bytes.IndexByte(text[from:], '\n')
		line := bytes.TrimSuffix(text[from:from+n], []byte("\r"))
		rest, escaped := bytes.CutSuffix(line, lineEnd)
		if len(line) > 0 {
			b.add(p, decoded{from: uint32(from), to: uint32(from + len(rest)), escaped: escaped})
		}
		from += n + 1
	}
}

// unescaped decodes a line of another block again, as it was before lineEnd was cut off.
func (b *block) unescaped(p *parser, from *block, l *decoded) *decoded {
	b.clear(from.offset, from.text)
	b.add(p, decoded{from: l.from, to: l.to + uint32(len(lineEnd))})
	return &b.lines[0]
}

func (b *block) clear(offset int64, text []byte) {
	b.offset, b.text = offset, text
	b.lines, b.tasks, b.taskIDs = b.lines[:0], b.tasks[:0], b.taskIDs[:0]
	b.tokens.Reset()
	if b.byTask == nil {
		b.byTask = map[string]uint32{}
	}
	clear(b.byTask)
}

// markOffset begins the name of marks if the kernel's option sym-offset is set.
var markOffset = []byte("tracing_mark_write+")

// add adds a line.
func (b *block) add(p *parser, d decoded) {
	l := &b.line
	d.token = uint32(len(b.tokens.Bytes()))
	text := b.text[d.from:d.to]
	if d.ok = !bytes.HasPrefix(text, []byte("#")) && l.parse(text); d.ok {
		d.ts, d.task = l.ts, b.task(l.task)
		kind := p.kinds[string(l.event)]
		if kind == ftracetext.Unknown && bytes.HasPrefix(l.event, markOffset) {
			kind = p.kinds["tracing_mark_write"]
		}
		tgid := uint32(noTGID)
		if l.inTGID {
			tgid = l.tgid
		}
		var head [tokenFields]byte
		binary.LittleEndian.PutUint32(head[tokenPID:], l.pid)
		binary.LittleEndian.PutUint32(head[tokenTGID:], tgid)
		binary.LittleEndian.PutUint16(head[tokenCPU:], l.cpu)
		head[tokenKind] = byte(kind)
		b.tokens.Rest(head[:])
		if kind == ftracetext.Unknown {
			b.tokens.Rest(l.event)
		} else if !p.events[kind].Decode(&b.tokens, l.args) {
			b.tokens.Bytes()[d.token+tokenKind] = kindMalformed
		}
	}
	d.tokenEnd = uint32(len(b.tokens.Bytes()))
	b.lines = append(b.lines, d)
}

// task returns the index of a thread's name.
func (b *block) task(name []byte) uint32 {
	i, ok := b.byTask[string(name)]
	if !ok {
		i = uint32(len(b.tasks))
		b.byTask[string(name)] = i
		b.tasks, b.taskIDs = append(b.tasks, name), append(b.taskIDs, 0)
	}
	return i
}
