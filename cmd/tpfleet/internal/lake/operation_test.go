package lake

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

// slow is a catalog whose client reads an old state of the ledger once: others change it after a load.
type slow struct {
	tables
	change func()
	load   int32 // after which they do, from 1
	loads  atomic.Int32
}

func (s *slow) LoadTable(ctx context.Context, name table.Identifier) (*table.Table, error) {
	t, err := s.tables.LoadTable(ctx, name)
	if name[len(name)-1] == task.Ledger && s.loads.Add(1) == s.load {
		s.change()
	}
	return t, err
}

// Others commit and remove the files of the state that an operation has loaded: it begins again.
func TestRemovedFiles(t *testing.T) {
	ctx := t.Context()
	stores, err := store.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(ctx, Options{Folder: t.TempDir(), Create: true, Namespace: "traces", Stores: stores, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Init(ctx, false, ""); err != nil {
		t.Fatal(err)
	}
	added := 0
	add := func(l *Lake) error {
		added++
		_, err := l.Commit(ctx, []task.Result{result(fmt.Sprint(added), fmt.Sprintf("%d=bad:%d", added, added))})
		return err
	}
	all := Picked{Where: "status = 'bad'"}
	for name, do := range map[string]func(l *Lake) error{
		"commit": add,
		"status": func(l *Lake) error { _, err := l.Status(ctx); return err },
		"plan":   func(l *Lake) error { _, err := l.Ledger(ctx, []task.Trace{{URL: "1"}}); return err },
		"rework": func(l *Lake) error { _, err := l.Tried(ctx, all); return err },
		"forget": func(l *Lake) error { _, err := l.Forget(ctx, all, "a test", false); return err },
		"expire": func(l *Lake) error { _, err := l.Expire(ctx, 0, 1); return err },
		"gc":     func(l *Lake) error { _, err := l.Clean(ctx, 0, false, false, func(string) {}); return err },
		"compact": func(l *Lake) error {
			c, err := l.Compact(ctx, CompactOptions{Target: 1 << 20, Files: 2, Jobs: 1, TempDir: t.TempDir()})
			if c.Removed == 0 {
				t.Error("compact did nothing")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if err := add(l); err != nil {
					t.Fatal(err)
				}
			}
			other := Lake{namespace: l.namespace, stores: l.stores, version: l.version}
			load := int32(1)
			if name == "compact" {
				load = 2 // the first one looks how the lake commits
			}
			other.catalog = &slow{tables: l.catalog, load: load, change: func() {
				// The old manifests and files are replaced, too.
				_, compacted := l.Compact(ctx, CompactOptions{Target: 1 << 20, Files: 2, Jobs: 1, TempDir: t.TempDir()})
				time.Sleep(2 * time.Millisecond)
				if _, err := l.Expire(ctx, 0, 1); err != nil || compacted != nil || add(l) != nil {
					t.Error(compacted, err)
				}
			}}
			if err := do(&other); err != nil {
				t.Error(err)
			}
		})
	}
}
