package systrace

import (
	"encoding/binary"

	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/ftracetext"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/sort"
)

// A token is an event on its way through the sorter: the numbers of its line, its
// kind and its fields.
const (
	tokenPID    = 0 // the offsets of its parts
	tokenTGID   = 4
	tokenTask   = 8
	tokenCPU    = 12
	tokenKind   = 14
	tokenFields = 15
)

// kindMalformed is the kind of a supported event with a field that is missing or malformed.
const kindMalformed = 255

// noTGID stands for an unknown process.
const noTGID = 1<<32 - 1

// tokenizer turns lines into tokens.
type tokenizer struct {
	*format.Input
	parser *parser
	stream *sort.Stream
	unread map[string]*model.Unread // unsupported events, by name
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

// maxNames is how many names of unsupported events are kept.
const maxNames = 1000

func newTokenizer(in *format.Input) *tokenizer {
	t := &tokenizer{Input: in, parser: newParser(in.Context), unread: map[string]*model.Unread{}}
	t.stream = in.Sorter.NewStream(t.parser)
	return t
}

// push sends the event of a line to the sorter. offset is the line's offset in the input.
func (t *tokenizer) push(b *block, l *decoded, offset int64) error {
	ts, ok := t.TraceTime(l.ts, offset)
	if !ok {
		return nil
	}
	token := b.tokens.Bytes()[l.token:l.tokenEnd]
	if token[tokenKind] == byte(ftracetext.Unknown) {
		t.notRead(token[tokenFields:], offset)
		token = token[:tokenFields]
	}
	task := &b.taskIDs[l.task]
	if *task == 0 {
		*task = t.Store.Strings.InternBytes(b.tasks[l.task])
	}
	binary.LittleEndian.PutUint32(token[tokenTask:], uint32(*task))
	return t.stream.Push(ts, token)
}
