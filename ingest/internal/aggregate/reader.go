package aggregate

import (
	"github.com/tpconvert/tpconvert/ingest/format"
	"github.com/tpconvert/tpconvert/ingest/internal/jsonlex"
	"github.com/tpconvert/tpconvert/model"
)

// Reader reads a profile in JSON.
type Reader struct {
	jsonlex.Reader
	*Profile
	In        *format.Input
	Converted bool // the JSON is not the input itself, so its offsets say nothing
	damage    model.Stat
}

// NewReader returns a reader that counts damaged parts in a stat.
func NewReader(in *format.Input, damage model.Stat) Reader {
	return Reader{Reader: jsonlex.NewReader(in), Profile: New(in.Store), In: in, damage: damage}
}

// Damaged counts a damaged part at the position.
func (r *Reader) Damaged() { r.log(r.damage, r.Offset()) }

func (r *Reader) log(stat model.Stat, offset int64) {
	if r.Converted {
		r.In.File.Log(stat, model.LogEntry{})
	} else {
		r.In.File.LogAt(stat, offset, nil)
	}
}

// Unread skips the value at the position, which makes no rows, and counts it.
func (r *Reader) Unread(what string) error {
	unread := r.In.File.Unread(model.StatUnreadFact, model.None, what)
	if r.Converted {
		unread.Add(model.LogEntry{})
	} else {
		unread.AddAt(r.Offset())
	}
	return r.Skip()
}

// End returns the error of an input whose reading ended with err. What was read until then counts if something was found.
func (r *Reader) End(err error, found bool) error {
	switch {
	case err == jsonlex.ErrTruncated:
		r.log(model.StatTruncatedInput, r.Base+int64(len(r.Buf)))
	case err == jsonlex.ErrSyntax && !found:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%s, got %s", r.Why, r.Glimpse())
	case err == jsonlex.ErrSyntax, err == jsonlex.ErrTooLarge:
		r.Damaged()
	default:
		return err
	}
	return nil
}
