package systrace

import (
	"bytes"
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// A token is an event on its way through the sorter: the numbers of its line, its
// kind and its args.
const (
	tokenPID  = 0 // the offsets of its parts
	tokenTGID = 4
	tokenTask = 8
	tokenCPU  = 12
	tokenKind = 14
	tokenArgs = 15
)

// noTGID stands for an unknown process.
const noTGID = 1<<32 - 1

// tokenizer turns lines into tokens.
type tokenizer struct {
	*format.Input
	parser  *parser
	stream  *sort.Stream
	current line
	unread  map[string]*model.Unread // unsupported events, by name
}

// notRead counts an event of an unsupported kind.
func (t *tokenizer) notRead(name []byte, offset int64) {
	u := t.unread[string(name)]
	if u == nil {
		u = t.File.Unread(model.StatUnreadEvent, model.None, string(name)+" event")
		if len(t.unread) < maxNames {
			t.unread[string(name)] = u
		}
	}
	u.AddAt(offset)
}

// markOffset begins the name of marks if the kernel's option sym-offset is set.
var markOffset = []byte("tracing_mark_write+")

// maxNames is how many names of unsupported events are kept.
const maxNames = 1000

func newTokenizer(in *format.Input) *tokenizer {
	t := &tokenizer{Input: in, parser: newParser(in.Context), unread: map[string]*model.Unread{}}
	t.stream = in.Sorter.NewStream(t.parser)
	return t
}

// push sends the event of a line to the sorter. It returns false if the line is
// not an event. offset is the line's offset in the input.
func (t *tokenizer) push(text []byte, offset int64) (bool, error) {
	l := &t.current
	if !l.parse(text) {
		return false, nil
	}
	ts, ok := t.TraceTime(l.ts, offset)
	if !ok {
		return true, nil
	}
	kind := t.parser.kinds[string(l.event)]
	if kind == kindUnknown && bytes.HasPrefix(l.event, markOffset) {
		kind = t.parser.kinds["tracing_mark_write"]
	}
	if kind == kindUnknown {
		t.notRead(l.event, offset)
		l.args = nil
	}
	token, err := t.stream.Reserve(ts, tokenArgs+len(l.args))
	if err != nil {
		return true, err
	}
	tgid := uint32(noTGID)
	if l.inTGID {
		tgid = l.tgid
	}
	binary.LittleEndian.PutUint32(token[tokenPID:], l.pid)
	binary.LittleEndian.PutUint32(token[tokenTGID:], tgid)
	binary.LittleEndian.PutUint32(token[tokenTask:], uint32(t.Store.Strings.InternBytes(l.task)))
	binary.LittleEndian.PutUint16(token[tokenCPU:], l.cpu)
	token[tokenKind] = byte(kind)
	copy(token[tokenArgs:], l.args)
	return true, nil
}
