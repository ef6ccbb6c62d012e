package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/predicate"
)

// pickOptions are the flags that pick traces of the ledger.
type pickOptions struct {
	list, where string
}

// pickArguments explains them.
const pickArguments = `Traces are picked by trace_id, in arguments or in a file (--list), or by --where: SQLite's SQL over the columns of the
ledger. converter_version is compared as a version there: v1.9.0 < v1.10.0.`

func (o *pickOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.list, "list", "", "file with a trace_id per line; - is the standard input")
	flags.StringVar(&o.where, "where", "", "pick the traces for which this is true in the ledger")
}

// picked returns what was picked.
func (o *pickOptions) picked(args []string, stdin io.Reader) (p lake.Picked, err error) {
	p = lake.Picked{IDs: args, Where: o.where}
	if o.list != "" {
		text, err := readFileOr(o.list, stdin)
		if err != nil {
			return p, err
		}
		p.IDs = append(p.IDs, strings.Fields(string(text))...)
	}
	if (len(p.IDs) > 0) == (p.Where != "") {
		return p, usageError{errors.New("either trace ids or a predicate is needed")}
	}
	return p, nil
}

// pickError makes a wrong predicate a wrong usage.
func pickError(err error) error {
	if errors.Is(err, predicate.ErrWrong) {
		return usageError{err}
	}
	return err
}

func newForgetCommand() *cobra.Command {
	var (
		o         lakeOptions
		pick      pickOptions
		older     string
		why       string
		dry, undo bool
		purge     bool
	)
	cmd := &cobra.Command{
		Use:   "forget [TRACE_ID...]",
		Short: "Remove the rows of traces from all tables, in one transaction",
		Long: `Remove the rows of traces from all tables, in one transaction. The ledger keeps their URL and trace_id with the status
"forgotten", the reason and the time, so that the same content is not converted again under any name; --undo takes that
back. The files with the old rows stay until "expire" removes the snapshots that name them. --purge does so at once: it
removes all older snapshots, and the files of attempts that were never committed if they have rows of these traces.

` + pickArguments + `

--older picks by age: from the start of the trace by its clocks if that is between 2000 and the time when it was added, or
else from that time. An age in days is one in whole days, UTC, whose files leave as they are.`,
		Example: `  tpfleet forget t_0123456789abcdef
  tpfleet forget --where "machine_name = 'pixel-7'" --why 'request 1234'
  tpfleet forget --older 90d && tpfleet expire --older-than 0s --keep 1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if older != "" {
				if pick.where != "" {
					return usageError{errors.New("--older and --where exclude each other")}
				}
				var err error
				if pick.where, err = olderThan(older, time.Now()); err != nil {
					return usageError{err}
				}
			}
			p, err := pick.picked(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if purge && (dry || undo) {
				return usageError{errors.New("--purge excludes --dry-run and --undo")}
			}
			if undo {
				n, err := l.Remember(cmd.Context(), p)
				if err != nil {
					return pickError(err)
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]int{"entries": n})
			}
			done, err := l.Forget(cmd.Context(), p, why, dry)
			if err != nil {
				return pickError(err)
			}
			if purge {
				err = l.Purge(cmd.Context(), &done)
			}
			return errors.Join(json.NewEncoder(cmd.OutOrStdout()).Encode(done), err)
		},
	}
	o.register(cmd.Flags())
	pick.register(cmd.Flags())
	cmd.Flags().StringVar(&older, "older", "", "pick the traces of this age, such as 90d or 36h")
	cmd.Flags().StringVar(&why, "why", "", "reason, for the ledger")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only count the traces")
	cmd.Flags().BoolVar(&undo, "undo", false, "let traces that were forgotten be converted again")
	cmd.Flags().BoolVar(&purge, "purge", false, "also delete all older snapshots and each file with their rows, and check that none is left")
	return cmd
}

// olderThan returns the predicate for traces of an age, by the same clocks as task.Day. In days, it is for whole days, whose files leave
// the tables as they are.
func olderThan(age string, now time.Time) (where string, err error) {
	const right = " BETWEEN 946684800000000000 AND coalesce(added_unix_ns, 9223372036854775807)"
	const began = "CASE WHEN start_unix_ns" + right + " THEN start_unix_ns WHEN start_ts" + right + " THEN start_ts ELSE added_unix_ns END"
	if text, inDays := strings.CutSuffix(age, "d"); inDays {
		if n, err := strconv.ParseUint(text, 10, 16); err == nil {
			day := now.UTC().AddDate(0, 0, -int(n)).Format(time.DateOnly)
			return fmt.Sprintf("coalesce(trace_day, date((%s) / 1000000000, 'unixepoch')) < '%s'", began, day), nil
		}
	} else if d, err := time.ParseDuration(age); err == nil && d >= 0 {
		return fmt.Sprintf("%s < %d", began, now.Add(-d).UnixNano()), nil
	}
	return "", fmt.Errorf("%q is no age such as 90d or 36h", age)
}
