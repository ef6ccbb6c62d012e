package json

import (
	"github.com/tpconvert/tpconvert/ingest/internal/v8profile"
	"github.com/tpconvert/tpconvert/model"
)

// profileEvent reads an event of phase P with an id, which is a chunk of a profile.
func (t *tokenizer) profileEvent(e *event) error {
	key := v8profile.Key{ID: e.id, PID: int64(e.pid)}
	ok := true
	if e.idKind == idText {
		key.ID, ok = hexNumber(t.in.Store.Strings.Get(model.StringID(e.id)))
	}
	var args struct{ Data v8profile.Chunk }
	if !ok || len(e.args) > 0 && !v8profile.Decode(e.args, &args) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
		return nil
	}
	if start := args.Data.Start; start != nil {
		t.v8.Start(key, int64(*start)*1000)
		return nil
	}
	return t.v8.Add(key, e.tid, &args.Data)
}

// profilePart reads the value at the position, which is a member of a
// .cpuprofile file.
func (t *tokenizer) profilePart(to any) error {
	var text []byte
	err := t.keep(&text)
	if err == nil && !v8profile.Decode(text, to) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
	}
	return err
}

// profileFile adds the samples of a .cpuprofile file.
func (t *tokenizer) profileFile() error {
	p := &t.profile
	if t.samples != nil && !v8profile.Decode(t.samples, &p.Profile.Samples) {
		t.in.File.Count(model.StatJSONTokenizerFailure)
	}
	key, start := v8profile.Key{PID: model.None}, 0.0
	if p.Start != nil {
		start = *p.Start
	}
	t.v8.Start(key, int64(start)*1000)
	if err := t.v8.Add(key, 0, p); err != nil {
		return err
	}
	return t.in.Sorter.Flush()
}
