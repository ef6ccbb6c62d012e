package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
)

func newTallyCommand(ui *console.UI) *cobra.Command {
	var by int
	cmd := &cobra.Command{
		Use:     "tally [flags] WORD...",
		Short:   "Count words",
		Example: "  tpconvert tally --by 2 one two",
		Args:    console.Arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ui.Printer(cmd).Result(tally{by * len(args)})
			return nil
		},
	}
	cmd.Flags().IntVar(&by, "by", 1, "what a word counts")
	return cmd
}

type tally struct {
	Words int `json:"words"`
}

func (t tally) Text(w io.Writer) { fmt.Fprintln(w, t.Words) }
