package main

import (
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/plan"
)

func newReworkCommand() *cobra.Command {
	var (
		o    lakeOptions
		pick pickOptions
		p    planOptions
		r    runOptions
		only bool
	)
	cmd := &cobra.Command{
		Use:   "rework [TRACE_ID...]",
		Short: "Convert traces again, and replace their rows",
		Long: `Convert traces again, and replace their rows: a commit adds the new rows and removes the old ones of the same traces, in
one transaction. Before that, the tables get the columns that they lack. Traces that could not be read before are tried
again; if a trace cannot be read any more, or its object has changed, its old rows stay.

A commit rewrites each file that also has rows of other traces, so --commit-every is longer than for "run".

` + pickArguments,
		Example: `  tpfleet rework --where "converter_version < 'v1.4.0'"
  tpfleet rework --where "format LIKE '%perf%' AND added_unix_ns < unixepoch('2026-11-01') * 1000000000" --plan >tasks.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.check(); err != nil {
				return err
			}
			picked, err := pick.picked(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			l, stores, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if _, _, err := l.Init(cmd.Context(), false); err != nil {
				return err
			}
			layout, err := l.Layout(cmd.Context())
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
	cmd.Flags().BoolVar(&only, "plan", false, `print the tasks for "work" and "commit" instead`)
	return cmd
}
