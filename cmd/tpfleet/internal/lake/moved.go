package lake

import (
	"context"
	"maps"
	"sync"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
)

// states are those of the tables that an operation loaded, the places of their metadata by name.
type states struct {
	mu     sync.Mutex
	tables map[string]string
}

type statesKey struct{}

// note notes the first state of a table that was loaded, for movable.
func note(ctx context.Context, name, metadata string) {
	if s, there := ctx.Value(statesKey{}).(*states); there {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, there := s.tables[name]; !there {
			s.tables[name] = metadata
		}
	}
}

// movable makes a function of one that reads tables, for transaction.Repeat. Others may remove the files of an old state while it
// reads them, and each store has its own error for that: if do fails and a table has changed since do loaded it, do begins again.
func (l *Lake) movable(ctx context.Context, do func(ctx context.Context) error) func() error {
	return func() error {
		s := &states{tables: map[string]string{}}
		err := do(context.WithValue(ctx, statesKey{}, s))
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.mu.Lock()
		loaded := maps.Clone(s.tables)
		s.mu.Unlock()
		for name, before := range loaded {
			if now, failed := l.load(ctx, name); failed == nil && now.MetadataLocation() != before {
				return transaction.Again(err)
			}
		}
		return err
	}
}

// repeat repeats a transaction.
func (l *Lake) repeat(ctx context.Context, operation string, try func(ctx context.Context) error) (tries int, err error) {
	return transaction.Repeat(ctx, operation, l.movable(ctx, try))
}

// read reads tables.
func (l *Lake) read(ctx context.Context, operation string, do func(ctx context.Context) error) error {
	_, err := transaction.Read(ctx, operation, l.movable(ctx, do))
	return err
}
