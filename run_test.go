package tpconvert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tpconvert/tpconvert/internal/memory"
	"github.com/tpconvert/tpconvert/model/table"
)

// postpone is a sink that postpones its conversion as soon as it receives rows.
type postpone struct{ end context.CancelCauseFunc }

func (p postpone) Chunk(c *table.Chunk) error {
	p.end(memory.ErrPostponed)
	c.Release()
	return nil
}

// A postponed trace is read again from its beginning, and its bytes count once.
func TestPostponedProgress(t *testing.T) {
	const trace = `[{"ph":"X","pid":1,"tid":2,"ts":3,"dur":4,"name":"a"}]`
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte(trace), 0o666); err != nil {
		t.Fatal(err)
	}
	var r run
	ctx, end := context.WithCancelCause(t.Context())
	if _, err := r.read(ctx, path, postpone{end}); !errors.Is(err, memory.ErrPostponed) {
		t.Fatalf("error %v", err)
	}
	if _, err := r.read(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if p := r.progress(); p.Read != int64(len(trace)) || p.Rows == 0 || p.Delivered > p.Staged {
		t.Errorf("%+v, want %d bytes read", p, len(trace))
	}
}
