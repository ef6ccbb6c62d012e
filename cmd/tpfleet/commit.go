package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/lake"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/store"
	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

func newCommitCommand() *cobra.Command {
	var o lakeOptions
	cmd := &cobra.Command{
		Use:   "commit [RESULTS...]",
		Short: "Add the results of tasks to the tables and the ledger",
		Long: `Add the results of tasks to the tables and the ledger, in a transaction for each 10,000 traces. RESULTS are files or URLs as
for "tpfleet plan"; without any, results come from standard input.

Whatever is already in the ledger is left out, so a commit can be repeated, and several may run at once.`,
		Example: `  tpfleet commit <results.jsonl
  tpfleet commit s3://lake/results/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, stores, urls, err := o.open(cmd.Context(), args)
			if err != nil {
				return err
			}
			begun := time.Now()
			account, err := commitAll(cmd.Context(), l, readResults(cmd.Context(), stores, urls, cmd.InOrStdin()))
			if err != nil {
				return err
			}
			slog.Info("committed", "ok", account.OK, "files", account.Files, "tries", account.Tries, "seconds", time.Since(begun).Round(time.Millisecond).Seconds())
			return json.NewEncoder(cmd.OutOrStdout()).Encode(account)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// tracesAtOnce is how many traces a transaction adds, so that few results are in memory.
const tracesAtOnce = 10_000

// commitAll commits results as they come. If one cannot be read, those of earlier transactions are in.
func commitAll(ctx context.Context, l *lake.Lake, results iter.Seq2[task.Result, error]) (total lake.Account, err error) {
	var some []task.Result
	traces := 0
	commit := func() error {
		account, err := l.Commit(ctx, some)
		total.Add(account)
		some, traces = nil, 0
		return err
	}
	for result, err := range results {
		if err != nil {
			return total, err
		}
		some = append(some, result)
		if traces += len(result.Traces); traces >= tracesAtOnce {
			if err := commit(); err != nil {
				return total, err
			}
		}
	}
	return total, commit()
}

// readResults yields the results at URLs, or from stdin if there are none.
func readResults(ctx context.Context, stores *store.Stores, urls []string, stdin io.Reader) iter.Seq2[task.Result, error] {
	return func(yield func(task.Result, error) bool) {
		if len(urls) == 0 {
			decodeResults("the standard input", stdin, yield)
			return
		}
		var all []string
		for _, url := range urls {
			err := stores.List(ctx, url, func(o store.Object) {
				if !o.Unfinished() {
					all = append(all, o.URL)
				}
			})
			if err != nil {
				yield(task.Result{}, err)
				return
			}
		}
		for _, url := range all {
			text, err := stores.Read(ctx, url)
			if err != nil {
				yield(task.Result{}, err)
				return
			}
			if !decodeResults(url, bytes.NewReader(text), yield) {
				return
			}
		}
	}
}

// decodeResults yields the results in a text. It returns false after an error, or if no more are wanted.
func decodeResults(name string, r io.Reader, yield func(task.Result, error) bool) bool {
	decoder := json.NewDecoder(r)
	for n := 1; ; n++ {
		var result task.Result
		err := decoder.Decode(&result)
		if err == io.EOF {
			return true
		}
		if err == nil {
			err = result.Check()
		}
		if err != nil {
			yield(result, fmt.Errorf("%s, result %d: %w", name, n, err))
			return false
		}
		if !yield(result, nil) {
			return false
		}
	}
}

func newStatusCommand() *cobra.Command {
	var (
		o      lakeOptions
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how many traces the ledger has, why some failed, what data is lost, and the tables' rows and files",
		Long: `Show how many traces the ledger has, why some failed, what data is lost, and the tables' rows and files. Failures share a
name if their errors differ only in names and numbers; losses have their names in stats. --json prints one object.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			s, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			return printStatus(cmd.OutOrStdout(), s)
		},
	}
	o.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func printStatus(w io.Writer, s lake.Status) error {
	fmt.Fprintf(w, "%d traces: %d ok, %d copies, %d bad, %d large, %d forgotten, %d superseded\n",
		s.OK+s.Copies+s.Bad+s.Large+s.Forgotten+s.Superseded, s.OK, s.Copies, s.Bad, s.Large, s.Forgotten, s.Superseded)
	fmt.Fprintf(w, "%d bytes of traces became %d rows in %.0f s of conversion\n", s.Bytes, s.Rows, s.Seconds)
	for _, c := range s.Failures {
		fmt.Fprintf(w, "%d not converted: %s\n", c.Traces, c.Name)
	}
	fmt.Fprintf(w, "%d traces lack data, %d end too early\n", s.Lossy, s.Truncated)
	for _, c := range s.Lost {
		where := "recording"
		if c.Source == "analysis" {
			where = "conversion"
		}
		fmt.Fprintf(w, "%d with data %s in %s: %s, %d, such as %s: %s\n", c.Traces, c.Effect, where, c.Name, c.Value, c.Example, c.Meaning)
	}
	_, err := fmt.Fprintf(w, "%-40s %15s %8s %15s\n", "table", "rows", "files", "bytes")
	for _, t := range s.Tables {
		_, err = fmt.Fprintf(w, "%-40s %15d %8d %15d\n", t.Name, t.Rows, t.Files, t.Bytes)
	}
	return err
}
