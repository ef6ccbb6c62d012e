package lake

import (
	"context"
	"maps"
	"sync"

	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/transaction"
)

// states are those of the tables that an operation loaded, the places of their metadata by name.
type states struct {
	mu     sync.Mutex
	tables map[string]string
}

type statesKey struct{}

// note notes the first state of a table that was loaded, for retryIfMoved.
func note(ctx context.Context, name, metadata string) {
	if s, there := ctx.Value(statesKey{}).(*states); there {
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, there := s.tables[name]; !there {
			s.tables[name] = metadata
		}
	}
}

// retryIfMoved makes a function of one that reads tables, for transaction.Repeat. Others may remove the files of an old state while it
// reads them, and each store has its own error for that: if do fails and a table has changed since do loaded it, do begins again.
func (l *Lake) retryIfMoved(do func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
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

// turns is a catalog whose transactions can take turns. Without that, each of many that begin at once begins again as often as
// there are others.
type turns interface {
	// Turn waits for the turn of this one, for some time at most, and returns what ends it.
	Turn(ctx context.Context) (end func())
}

type turnKey struct{}

// repeat repeats a transaction. The transactions in it are part of its turn.
func (l *Lake) repeat(ctx context.Context, operation string, try func(ctx context.Context) error) (tries int, err error) {
	try = l.retryIfMoved(try)
	return transaction.Repeat(ctx, operation, func() error {
		c, there := l.catalog.(turns)
		if !there || ctx.Value(turnKey{}) != nil {
			return try(ctx)
		}
		defer c.Turn(ctx)()
		return try(context.WithValue(ctx, turnKey{}, true))
	})
}

// transact repeats a transaction that begins with the ledger, until it is in the ledger.
func (l *Lake) transact(ctx context.Context, operation string, try func(ctx context.Context, ledger *table.Table, done *progress) error) (tries int, err error) {
	done := newProgress()
	return l.repeat(ctx, operation, func(ctx context.Context) error {
		ledger, err := l.ledger(ctx)
		if err != nil || done.IsIn(ledger) {
			return err
		}
		return try(ctx, ledger, done)
	})
}

// read reads tables.
func (l *Lake) read(ctx context.Context, operation string, do func(ctx context.Context) error) error {
	do = l.retryIfMoved(do)
	_, err := transaction.Read(ctx, operation, func() error { return do(ctx) })
	return err
}
