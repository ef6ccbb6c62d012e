package token

import (
	"math"
	"testing"

	"github.com/tpconvert/tpconvert/model"
)

func TestReadsWhatWasWritten(t *testing.T) {
	store := model.NewStore(model.Options{})
	w := NewWriter(store)
	for range 2 {
		w.Reset()
		w.Uint(math.MaxUint64)
		w.Text([]byte("text"))
		w.Text(nil)
		w.Raw([]byte("raw"))
		w.Int(math.MinInt64)
	}
	r := Reader(w.Bytes())
	if n, text, none, raw, i := r.Uint(), r.Text(), r.Text(), r.Raw(), r.Int(); n != math.MaxUint64 || store.Strings.Get(text) != "text" || none != 0 || string(raw) != "raw" || i != math.MinInt64 || len(r) != 0 {
		t.Errorf("%d, %q, %d, %d and %d bytes", n, store.Strings.Get(text), none, i, len(r))
	}
}
