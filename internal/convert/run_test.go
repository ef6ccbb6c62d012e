package convert

import (
	"context"
	"errors"
	"log/slog"
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
	c := Conversion{options: Options{Reading: Reading{Log: slog.New(slog.DiscardHandler)}}}
	ctx, end := context.WithCancelCause(t.Context())
	if _, err := c.read(ctx, path, postpone{end}); !errors.Is(err, memory.ErrPostponed) {
		t.Fatalf("error %v", err)
	}
	if _, err := c.read(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	_, _, read := c.Progress()
	if len(read) != 1 {
		t.Fatalf("%d readings, want 1", len(read))
	}
	if n := read[0]; n.Taken.Load() != int64(len(trace)) || n.Rows.Load() == 0 || n.Sorted.Delivered.Load() > n.Sorted.Staged.Load() {
		t.Errorf("%+v, want %d bytes read", n, len(trace))
	}
}
