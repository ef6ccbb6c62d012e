package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpfleet/internal/task"
)

func newLabelCommand() *cobra.Command {
	var (
		o      lakeOptions
		pick   pickOptions
		redact redactOptions
	)
	cmd := &cobra.Command{
		Use:   "label NAME=VALUE...",
		Short: "Give traces of the ledger labels, or take them away",
		Long: `Give traces of the ledger labels. NAME= without a value takes one away. The ledger and the tables of metrics change. "run",
"watch" and "plan" label new traces. Labels are redacted as the traces are: a lake with rules for redaction needs the same rules and the same key.

Traces are picked by --where, in SQLite's SQL over the columns of the ledger, or by trace_id (--list).`,
		Example: `  tpfleet label team=x --where "url LIKE '%/x/%'"
  tpfleet label build= --list ids.txt`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			labels := task.Labels{}
			for _, arg := range args {
				name, value, found := strings.Cut(arg, "=")
				if !found || name == "" {
					return usageError{fmt.Errorf("%q is not a label such as team=x", arg)}
				}
				labels[name] = value
			}
			rules, err := redact.read()
			if err != nil {
				return err
			}
			p, err := pick.picked(nil, cmd.InOrStdin())
			if err != nil {
				return err
			}
			l, _, _, err := o.open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			if _, err := layoutFor(cmd.Context(), l, rules); err != nil {
				return err
			}
			n, err := l.Label(cmd.Context(), p, labels.Redacted(rules))
			if err != nil {
				return pickError(err)
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]int{"entries": n})
		},
	}
	o.register(cmd.Flags())
	pick.register(cmd.Flags())
	redact.register(cmd.Flags())
	return cmd
}
