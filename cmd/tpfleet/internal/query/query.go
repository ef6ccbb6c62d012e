// Package query runs PerfettoSQL on each of many traces.
package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/sqlfuncs/dataframe"
	"github.com/tpconvert/tpconvert/sqlfuncs/perfettosql/tables"
	"github.com/tpconvert/tpconvert/sqlfuncs/session"
)

// Query is a text with statements, of which the last one gives rows.
type Query struct {
	SQL     string
	Modules fs.FS // of PerfettoSQL, nil if there are none
	Jobs    int   // traces at a time
}

// Result is what a query gives for a trace.
type Result struct {
	Trace   lake.Selected
	Columns []string
	Rows    [][]any
	Err     error
}

// ErrWrong is wrapped if a query fails without any trace.
var ErrWrong = errors.New("the SQL is wrong")

// Each runs the query on the selected traces, several at a time, and calls do with the result of each, in their order.
func (q *Query) Each(ctx context.Context, s *lake.Selection, do func(Result) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ordered := make(chan chan Result, 2*q.Jobs)
	var group errgroup.Group
	group.SetLimit(q.Jobs)
	go func() {
		defer close(ordered)
		for _, trace := range s.Traces {
			one := make(chan Result, 1)
			select {
			case ordered <- one:
			case <-ctx.Done():
				return
			}
			group.Go(func() error {
				one <- q.on(ctx, trace, s.Rows(trace.ID))
				return nil
			})
		}
	}()
	var err error
	for one := range ordered {
		if r := <-one; err == nil {
			if err = do(r); err != nil {
				cancel()
			}
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// Columns returns the columns of the query, from a trace without rows. The error wraps ErrWrong if it fails there.
func (q *Query) Columns(ctx context.Context) ([]string, error) {
	r := q.on(ctx, lake.Selected{}, func(string, *dataframe.Pool) ([]tables.Rows, error) { return nil, nil })
	if r.Err != nil && ctx.Err() == nil {
		r.Err = fmt.Errorf("%w: %w", ErrWrong, r.Err)
	}
	return r.Columns, r.Err
}

// on runs the query on a trace.
func (q *Query) on(ctx context.Context, trace lake.Selected, open tables.Opener) (r Result) {
	r.Trace = trace
	if r.Err = ctx.Err(); r.Err != nil {
		return r
	}
	s, err := session.On(tables.NewDataset(open), session.Options{Modules: q.Modules})
	if err != nil {
		r.Err = err
		return r
	}
	err = s.Each(ctx, q.SQL, func(rows *session.Query) error {
		if !rows.Last {
			return errSeveral
		}
		for _, c := range rows.Columns {
			r.Columns = append(r.Columns, strings.Clone(c.Name))
		}
		return rows.Each(ctx, func(values []any) error {
			row := slices.Clone(values)
			for i, v := range row { // which end with the session
				switch v := v.(type) {
				case string:
					row[i] = strings.Clone(v)
				case []byte:
					row[i] = slices.Clone(v)
				}
			}
			r.Rows = append(r.Rows, row)
			return nil
		})
	})
	if err == nil && r.Columns == nil {
		err = errNone
	}
	r.Err = errors.Join(err, s.Close())
	return r
}

var (
	errSeveral = errors.New("only the last statement may give rows")
	errNone    = errors.New("the last statement gives no rows")
)
