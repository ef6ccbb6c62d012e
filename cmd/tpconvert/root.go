package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/query"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/serve"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/summarize"
	"github.com/tpconvert/tpconvert/model/table"
)

const rootHelp = `Convert traces into datasets of Parquet or Arrow files with the tables of
Perfetto's Trace Processor.

One TRACE gives OUT/<table>.parquet. Several, or a folder of them, give
OUT/trace_id=<id>/<table>.parquet; --append creates or extends such a dataset
even with one TRACE. TRACE may be "-", the standard input.

OUT is written completely or not at all. If it exists, it is only replaced with
--force. In a dataset of many traces, each trace is written completely or not at
all; a trace whose file or content it already has is not converted again.

Every flag can also be set by an environment variable: --row-group-rows by
TPCONVERT_ROW_GROUP_ROWS, and so on.

Exit codes:

    0    done
    1    failure, or data was lost or damaged and --strict is given
    2    wrong usage
    3    some of several traces could not be converted; the others were. After
         "tpconvert alerts": there is an alert of level error. After "tpconvert
         compare": --fail-if is true
    4    the input is damaged or in an unknown format: trying again will not help
    5    the input ends too early; the dataset has what was read
    130  interrupted; the error says what was finished`

func newRootCommand(ui *console.UI) *cobra.Command {
	root := newConvertCommand(ui)
	root.Version = versions{console.Version(), table.SchemaVersion}.String()
	root.SetVersionTemplate("{{.Version}}")
	root.SuggestionsMinimumDistance = 2
	convert := newConvertCommand(ui)
	convert.Use = "convert [flags] TRACE... OUT"
	root.AddCommand(
		convert,
		newInspectCommand(ui),
		newBundleCommand(ui),
		newCutCommand(ui),
		newRegisterCommand(),
		query.NewCommand(ui),
		newFlamegraphCommand(ui),
		serve.NewCommand(ui),
		newMCPCommand(ui),
		summarize.NewCommand(ui),
		newMetricCommand(ui),
		newCompareCommand(ui),
		newReportCommand(ui),
		newDeriveCommand(ui),
		newAlertsCommand(ui),
		newStdlibCommand(ui),
		newUICommand(ui),
		newTablesCommand(ui),
		newVersionCommand(ui),
		newCompletionCommand(),
		newManCommand(),
	)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceErrors = true
	root.SilenceUsage = true
	ui.Register(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return setFromEnvironment(cmd.Flags()) }
	root.SetFlagErrorFunc(unknownFlag)
	return root
}

// guardComments puts a space before SQL that begins with a comment, because "--" would make it a flag.
func guardComments(args []string) []string {
	guarded := slices.Clone(args)
	for i, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "--") && strings.ContainsAny(name, " \t\n") {
			guarded[i] = " " + arg
		}
	}
	return guarded
}

// environmentName returns the environment variable for a flag.
func environmentName(flag string) string {
	return "TPCONVERT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromEnvironment sets the flags that the command line does not set.
func setFromEnvironment(flags *pflag.FlagSet) (err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := environmentName(f.Name)
		if value := os.Getenv(name); value != "" && !f.Changed && err == nil {
			if bad := flags.Set(f.Name, value); bad != nil {
				err = flagError(fmt.Errorf("%s: %w", name, bad))
			}
		}
	})
	return err
}
