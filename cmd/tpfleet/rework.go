package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/inputs"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/plan"
)

func newReworkCommand() *cobra.Command {
	var (
		o    lakeOptions
		pick pickOptions
		p    planOptions
		r    runOptions
		only bool
		s    specOptions
		// metrics alone are computed, from the tables
		metrics bool
	)
	cmd := &cobra.Command{
		Use:   "rework [TRACE_ID...]",
		Short: "Convert traces again, and replace their rows",
		Long: `Convert traces again, and replace their rows: a commit adds the new rows and removes the old ones of the same traces, in
one transaction. Before that, the tables get the columns that they lack. Traces that could not be read before are tried
again; if a trace cannot be read any more, or its object has changed, its old rows stay.

A commit rewrites each file that also has rows of other traces, so --commit-every is longer than for "run".

--metrics-only computes the metrics of specs from the rows in the tables, and reads no trace: for the traces that lack them,
or those of them that are picked.

` + pickArguments,
		Example: `  tpfleet rework --where "converter_version < 'v1.4.0'"
  tpfleet rework --where "format LIKE '%perf%' AND added_unix_ns < unixepoch('2026-11-01') * 1000000000" --plan >tasks.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(); err != nil {
				return err
			}
			if metrics && only {
				return usageError{errors.New("--metrics-only and --plan exclude each other")}
			}
			if metrics && len(args) == 0 && pick.list == "" && pick.where == "" {
				pick.where = "true"
			}
			picked, err := pick.picked(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			l, stores, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			specs, err := s.read()
			if err != nil {
				return err
			}
			if _, _, err := l.Init(cmd.Context(), false, "", specs...); errors.Is(err, lake.ErrSpec) {
				return usageError{err}
			} else if err != nil {
				return err
			}
			if metrics {
				return measure(cmd, l, picked, &r)
			}
			layout, err := layoutFor(cmd.Context(), l, r.redact)
			if err != nil {
				return err
			}
			tried, err := l.Tried(cmd.Context(), picked)
			if err != nil {
				return pickError(err)
			}
			p.Bytes = p.mebibytes << 20
			tasks := plan.Again(tried, layout, stores.Options(), p.Options)
			if only {
				slog.Info("planned", "traces", countTraces(tasks), "tasks", len(tasks))
				return printTasks(cmd.OutOrStdout(), tasks)
			}
			return r.run(cmd, l, tasks, 0)
		},
	}
	o.register(cmd.Flags())
	pick.register(cmd.Flags())
	p.registerSizes(cmd.Flags())
	r.commitEvery = 10 * time.Minute
	r.register(cmd.Flags())
	s.register(cmd.Flags())
	cmd.Flags().BoolVar(&metrics, "metrics-only", false, "compute only the metrics of specs, from the rows in the tables")
	cmd.Flags().BoolVar(&only, "plan", false, `print the tasks for "work" and "commit" instead`)
	return cmd
}

// measure computes the metrics of specs from the tables.
func measure(cmd *cobra.Command, l *lake.Lake, picked lake.Picked, r *runOptions) error {
	done, err := l.Measure(cmd.Context(), picked, inputs.Modules(r.limits.stdlib), r.limits.time, r.jobs)
	if err != nil {
		return pickError(err)
	}
	slog.Info("measured", "traces", done.Traces, "unmeasured", done.Unmeasured, "known", done.Known, "left", done.Left)
	if err := json.NewEncoder(cmd.OutOrStdout()).Encode(done); err != nil {
		return err
	}
	if done.Left > 0 {
		return fmt.Errorf("%d traces are left: the same command tries them again", done.Left)
	}
	return nil
}
