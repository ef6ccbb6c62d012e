package json

import (
	"cmp"

	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/model"
)

// profileEvent reads an event of phase P with an id, which is a chunk of a profile.
func (t *tokenizer) profileEvent(e *event) error {
	key := v8profile.Key{ID: e.id, Process: t.owners.number(e.pid)}
	ok := true
	if e.idKind == idText {
		key.ID, ok = hexNumber(t.in.Store.Strings.Get(model.StringID(e.id)))
	}
	var chunk v8profile.Chunk
	if !ok || len(e.args) > 0 && !chunk.DecodeArgs(e.args) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
		return nil
	}
	if chunk.Starts {
		return t.v8.Start(key, chunk.Start, chunk.Start)
	}
	return t.v8.Add(key, t.owners.number(e.tid), &chunk)
}

// wholeProfile reads a profile in an instant event, as Chrome's DevTools wrote it before version 58.
func (t *tokenizer) wholeProfile(e *event) error {
	var profile v8profile.Chunk
	if !profile.DecodeWhole(e.args) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
		return nil
	}
	t.wholeProfiles++
	key := v8profile.Key{ID: ^t.wholeProfiles, Process: t.owners.number(e.pid)}
	return cmp.Or(t.v8.Start(key, profile.Start, profile.Start), t.v8.Add(key, t.owners.number(e.tid), &profile))
}

// owners number the pids and tids that have profiles.
type owners struct {
	list    []id
	numbers map[id]int64
}

func (o *owners) number(i id) int64 {
	n, ok := o.numbers[i]
	if !ok {
		if o.numbers == nil {
			o.numbers = map[id]int64{}
		}
		n = int64(len(o.list))
		o.numbers[i] = n
		o.list = append(o.list, i)
	}
	return n
}

// profilePart reads the value at the position, which is a member of a
// .cpuprofile file.
func (t *tokenizer) profilePart(name string) error {
	var text []byte
	err := t.keep(&text)
	if err == nil && !t.profile.DecodeMember(name, text) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
	}
	return err
}

// profileFile adds the samples of a .cpuprofile file.
func (t *tokenizer) profileFile() error {
	p := &t.profile
	if t.samples != nil && !p.DecodeMember("samples", t.samples) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
	}
	p.Complete()
	key := v8profile.Key{Process: model.None}
	if err := cmp.Or(t.v8.Start(key, p.Start, p.Start), t.v8.Add(key, 0, p)); err != nil {
		return err
	}
	return t.in.Sorter.Flush()
}
