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
		Short: "Merge small files of the tables and the ledger into large ones",
		Long: `Merge small files of a day, and those of the ledger, into large ones with the same rows, sorted by trace_id. Commits may go
on in the meantime. The old files stay until "expire" and "gc", or the catalog's own tool, remove them.

If results are committed to one table at a time, it first removes rows that the ledger has not named for
--orphans-older-than.`,
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
	cmd.Flags().Int64Var(&target, "target-size", 512, "size of the new files, MiB; files of at least 3/4 of it are left alone")
	cmd.Flags().IntVar(&c.Files, "min-files", 5, "smallest number of files to merge into one, unless they are enough for a file of 3/4 of the target size")
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
		Short: "Remove old snapshots of the tables, and the files that only they name",
		Long: `Remove the tables' snapshots that are older than --older-than, except the last --keep of each table, and the files that
only these snapshots name. The list of files is written down first, so that the next "expire" or "gc" finishes the work if
this one is killed or the store refuses. A reader that still uses such a snapshot fails; tpfleet commands begin again.

A catalog that keeps the history of its tables itself, like Nessie, has its own tool for this; with it, expire fails.`,
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
	cmd.Flags().IntVar(&keep, "keep", 10, "smallest number of snapshots to keep of each table")
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
attempts that were never committed. Results committed later than that are lost: their traces are planned again.

A catalog that keeps the history of its tables itself, like Nessie, has its own tool for this. With --force, gc still
removes the files that are not in the present state of its default branch: older states and other branches become
unreadable.`,
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
