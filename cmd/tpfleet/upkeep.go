package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
)

func newCompactCommand() *cobra.Command {
	var (
		o      lakeOptions
		c      lake.CompactOptions
		target int64
	)
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Replace small files of the tables and of the ledger by large ones",
		Long: `Replace small files of the tables and of the ledger by large ones, with the same rows, sorted by trace_id. Commits may
go on in the meantime. The old files stay until "expire" and "gc", or the catalog's own tool, remove them.

If results are committed to one table at a time, rows that the ledger has not named for --orphans-older-than are removed
before that.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if target < 1 || c.Files < 2 || c.Jobs < 1 || c.Orphans < 0 {
				return usageError{errors.New("--target-size and --jobs must be at least 1, --min-files at least 2, --orphans-older-than not negative")}
			}
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			c.Target = target << 20
			done, err := l.Compact(cmd.Context(), c)
			return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(done), err)
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().Int64Var(&target, "target-size", 512, "size of the new files, MiB; files of 3/4 of it are left alone")
	cmd.Flags().IntVar(&c.Files, "min-files", 5, "least number of files that are replaced by one")
	cmd.Flags().DurationVar(&c.Orphans, "orphans-older-than", 24*time.Hour, "age of rows that the ledger does not name, if it says which rows count")
	cmd.Flags().IntVarP(&c.Jobs, "jobs", "j", runtime.GOMAXPROCS(0), "tables at a time")
	return cmd
}

func newExpireCommand() *cobra.Command {
	var (
		o    lakeOptions
		age  time.Duration
		keep int
	)
	cmd := &cobra.Command{
		Use:   "expire",
		Short: "Remove old snapshots of the tables, and the files that only those name",
		Long: `Remove the snapshots of the tables that are older than --older-than, except for the last --keep ones of each, and the
files that only those name. What is to be deleted is written down first, so that the next "expire" or "gc" completes one
that is killed, or that the store refuses. A reader who is still at such a snapshot fails; commands of tpfleet begin again.

A catalog that keeps the history of its tables itself, as Nessie does, has its own tool for this; with it, expire fails.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if age < 0 || keep < 1 {
				return usageError{errors.New("--older-than must not be negative, and --keep at least 1")}
			}
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			done, err := l.Expire(cmd.Context(), age, keep)
			return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(done), err)
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().DurationVar(&age, "older-than", 7*24*time.Hour, "age of the snapshots")
	cmd.Flags().IntVar(&keep, "keep", 10, "least number of snapshots that are left of each table")
	return cmd
}

func newGCCommand() *cobra.Command {
	var (
		o          lakeOptions
		age        time.Duration
		dry, force bool
	)
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove files in the tables' folders that no snapshot names",
		Long: `Remove the files in the tables' data folders that no snapshot names and that are older than --older-than: those of
attempts that were never committed. Results that are committed later than that are lost: their traces are planned again.

A catalog that keeps the history of its tables itself, as Nessie does, has its own tool for this. With --force, gc removes
the files nevertheless that are not in the present state of its default branch: older states and other branches cannot
be read any more.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if age < 0 {
				return usageError{errors.New("--older-than must not be negative")}
			}
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			done, err := l.Clean(cmd.Context(), age, dry, force, func(url string) {
				if dry {
					fmt.Fprintln(cmd.ErrOrStderr(), url)
				}
			})
			return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(done), err)
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().DurationVar(&age, "older-than", 3*24*time.Hour, "age of the files")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "remove nothing, but print the URLs to stderr")
	cmd.Flags().BoolVar(&force, "force", false, "also if the catalog keeps the history of the tables")
	return cmd
}
