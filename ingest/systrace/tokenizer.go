package systrace

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/sort"
)

// A token is an event on its way through the sorter: the numbers of its line, the
// kind of event, and its args.
const (
	tokenPID  = 0 // the offsets of its parts
	tokenTGID = 4
	tokenTask = 8
	tokenCPU  = 12
	tokenKind = 14
	tokenArgs = 15
)

// noTGID stands for a process that is not known.
const noTGID = 1<<32 - 1

// tokenizer makes tokens of lines.
type tokenizer struct {
	*format.Input
	parser  *parser
	stream  *sort.Stream
	current line
}

func newTokenizer(in *format.Input) *tokenizer {
	t := &tokenizer{Input: in, parser: newParser(in.Context)}
	t.stream = in.Sorter.NewStream(t.parser)
	return t
}

// push sends the event of a line to the sorter. It returns false if the line has
// none. offset is the line's place in the input.
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
	if kind == kindUnknown {
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
