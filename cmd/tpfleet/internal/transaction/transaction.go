// Package transaction repeats transactions of a lake, and finds in a table those whose answer was lost.
package transaction

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/telemetry"
)

// MaxTries is the number of times that a transaction begins again.
const MaxTries = 60

// Repeat calls try until its error is not one of Again, and returns the number of calls.
func Repeat(ctx context.Context, operation string, try func() error) (tries int, err error) {
	begun := time.Now()
	defer func() { telemetry.Commit(ctx, operation, begun, tries, err) }()
	return Read(ctx, operation, try)
}

// Read is Repeat for what changes nothing, and is not measured.
func Read(ctx context.Context, operation string, try func() error) (tries int, err error) {
	for n := 1; ; n++ {
		tried := time.Now()
		err := try()
		var retry retryable
		if err == nil || !errors.As(err, &retry) {
			return n, err
		}
		if n == MaxTries {
			return n, fmt.Errorf("%s, after %d tries: %w", operation, n, retry.error)
		}
		// The more rivals, and the longer their tries, the longer the wait.
		wait := time.Duration(mathrand.Int64N(int64(min(n, 10)) * int64(max(200*time.Millisecond, time.Since(tried)))))
		slog.WarnContext(ctx, "beginning again", "operation", operation, "try", n, "after", wait, "error", err)
		select {
		case <-ctx.Done():
			return n, errors.Join(ctx.Err(), err)
		case <-time.After(wait):
		}
	}
}

type retryable struct{ error }

func (e retryable) Unwrap() error { return e.error }

// Again makes an error one after which the transaction begins again.
func Again(err error) error { return retryable{err} }

// Name names a transaction in the snapshots that it makes.
type Name string

// NewName returns a name that no other transaction has.
func NewName() Name { return Name(rand.Text()) }

const property = "tpfleet.transaction"

// Properties are those of the snapshots that the transaction makes.
func (n Name) Properties() iceberg.Properties { return iceberg.Properties{property: string(n)} }

// IsIn reports whether the transaction is in a table: a try succeeded, although its answer was lost.
func (n Name) IsIn(t *table.Table) bool {
	return slices.ContainsFunc(t.Metadata().Snapshots(), func(s table.Snapshot) bool {
		return s.Summary != nil && s.Summary.Properties[property] == string(n)
	})
}
