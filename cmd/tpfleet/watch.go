package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

func newWatchCommand() *cobra.Command {
	var (
		o             lakeOptions
		p             planOptions
		r             runOptions
		s             specOptions
		every, settle time.Duration
	)
	cmd := &cobra.Command{
		Use:   "watch URL...",
		Short: "Convert and commit new traces as they arrive",
		Long: `Every --every, list the traces, convert the new ones in several processes, and commit them, as "run" does. The ledger
records what is done, so you can stop and start it at any time, and several may watch at once. On SIGTERM it commits what is
finished and drops the rest, with exit code 130. Between two listings there is nothing to drop, and the exit code is 0.

A file is left alone until it is --settle old. A trace that fails, because its worker is killed or the store does not
answer, is tried again after --every, then after twice that, up to a day. Each commit prints a JSON object.

` + traceArguments,
		Example: `  tpfleet watch --lake lake/ traces/
  tpfleet watch --catalog http://catalog:19120/iceberg --warehouse lake --every 15m --max-memory 4096 s3://traces/`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(); err != nil {
				return err
			}
			if every <= 0 || settle < 0 {
				return usageError{errors.New("--every must be positive, and --settle not negative")}
			}
			if err := o.makeFolder(cmd.Context(), r.redact); err != nil {
				return err
			}
			l, stores, urls, err := o.openTraces(cmd, args)
			if err != nil {
				return err
			}
			if _, err := layoutFor(cmd.Context(), l, r.redact); err != nil {
				return err
			}
			if err := s.add(cmd.Context(), l); err != nil {
				return err
			}
			p.jobs, p.redact = r.jobs, r.redact
			waiting := backoff{first: every, until: map[task.Trace]pause{}}
			r.failed = func(o task.Outcome) {
				slog.Warn("failed", "url", o.URL, "error", o.Error)
				waiting.add(o.Trace, time.Now())
			}
			p.accept = func(o store.Object) bool {
				now := time.Now()
				return now.Sub(o.Modified()) >= settle && !waiting.has(task.Trace{URL: r.redact.Path(o.URL), Bytes: o.Bytes, ETag: o.ETag}, now)
			}
			left := 0
			for cmd.Context().Err() == nil {
				account, err := watchOnce(cmd, l, stores, &p, &r, urls)
				left = account.Left
				if err != nil && !errors.Is(err, context.Canceled) {
					slog.Error(err.Error()) // another time it may work
				}
				if account.Tasks > 0 {
					if err := json.NewEncoder(cmd.OutOrStdout()).Encode(account); err != nil {
						return err
					}
				}
				select {
				case <-cmd.Context().Done():
				case <-time.After(every):
				}
			}
			if left > 0 {
				return fmt.Errorf("interrupted: %d traces are left for the next time", left)
			}
			return nil
		},
	}
	o.register(cmd.Flags())
	p.register(cmd.Flags())
	r.register(cmd.Flags())
	s.register(cmd.Flags())
	cmd.Flags().DurationVar(&every, "every", 5*time.Minute, "time between two listings")
	cmd.Flags().DurationVar(&settle, "settle", 10*time.Second, "age from which a file counts as complete")
	return cmd
}

// watchOnce converts what is there, and commits it.
func watchOnce(cmd *cobra.Command, l *lake.Lake, stores *store.Stores, p *planOptions, r *runOptions, urls []string) (lake.Account, error) {
	tasks, _, err := p.make(cmd.Context(), l, stores, urls)
	if err != nil || len(tasks) == 0 {
		return lake.Account{}, err
	}
	return r.carryOut(cmd, l, tasks)
}

// backoff keeps traces that failed from being tried again at once.
type backoff struct {
	first time.Duration
	until map[task.Trace]pause
}

// pause is the time for which a trace waits.
type pause struct {
	end  time.Time
	long time.Duration
}

const longestPause = 24 * time.Hour

func (b *backoff) add(t task.Trace, now time.Time) {
	long := max(b.first, min(2*b.until[t].long, longestPause))
	b.until[t] = pause{now.Add(long), long}
}

func (b *backoff) has(t task.Trace, now time.Time) bool { return now.Before(b.until[t].end) }
