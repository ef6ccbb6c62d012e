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
	In     *format.Input
	damage model.Stat
}

// NewReader returns a reader that counts damaged parts in a stat.
func NewReader(in *format.Input, damage model.Stat) Reader {
	return Reader{jsonlex.NewReader(in), New(in.Store), in, damage}
}

// Damaged counts a damaged part at the position.
func (r *Reader) Damaged() { r.In.File.LogAt(r.damage, r.Offset(), nil) }

// Unread skips the value at the position, which makes no rows, and counts it.
func (r *Reader) Unread(what string) error {
	r.In.File.Unread(model.StatUnreadFact, model.None, what).AddAt(r.Offset())
	return r.Skip()
}

// End returns the error of an input whose reading ended with err. What was read until then counts if something was found.
func (r *Reader) End(err error, found bool) error {
	switch {
	case err == jsonlex.ErrTruncated:
		r.In.File.LogAt(model.StatTruncatedInput, r.Base+int64(len(r.Buf)), nil)
	case err == jsonlex.ErrSyntax && !found:
		return format.Errorf(format.ErrCorrupt, r.Offset(), "%s, got %s", r.Why, r.Glimpse())
	case err == jsonlex.ErrSyntax, err == jsonlex.ErrTooLarge:
		r.Damaged()
	default:
		return err
	}
	return nil
}
