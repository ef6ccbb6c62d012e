package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/model/table"
)

func newVersionCommand(ui *console.UI) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of tpconvert and of the dataset's schema",
		Example: "  tpconvert version --json",
		Args:    console.Arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ui.Printer(cmd).Result(versions{console.Version(), table.SchemaVersion})
			return nil
		},
	}
}

type versions struct {
	Version string `json:"version"`
	Schema  int    `json:"schema_version"`
}

func (v versions) String() string {
	return fmt.Sprintf("tpconvert %s, schema %d\n", v.Version, v.Schema)
}

func (v versions) Text(w io.Writer) { fmt.Fprint(w, v) }
