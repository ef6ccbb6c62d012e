package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tpconvert/tpconvert/model/table"
)

func newVersionCommand(ui *uiOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of tpconvert and of the dataset's schema",
		Example: "  tpconvert version --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ui.printer(cmd).Result(versions{version(), table.SchemaVersion})
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

func (v versions) text(w io.Writer) { fmt.Fprint(w, v) }

// release is the version of a distributed build, which the linker sets.
var release string

// version returns the version of the release or the module, or "(devel)" if unknown.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
