package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
)

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a shell script that completes commands, flags and tables",
		Example:   "  source <(tpconvert completion bash)",
		Args:      console.Arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(out)
			}
		},
	}
}

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write the man pages into a folder",
		Example: "  tpconvert man man/",
		Hidden:  true,
		Args:    console.Arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			escapeMarkup(root)
			return doc.GenManTree(root, &doc.GenManHeader{
				Section: "1", Source: "tpconvert " + console.Version(), Manual: "tpconvert",
			}, args[0])
		},
	}
}

// escapeMarkup escapes words such as <table>, because the generator of man
// pages would drop them as HTML.
func escapeMarkup(cmd *cobra.Command) {
	escape := func(text string) string { return strings.ReplaceAll(text, "<", `\<`) }
	cmd.Short, cmd.Long = escape(cmd.Short), escape(cmd.Long)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
	for _, c := range cmd.Commands() {
		escapeMarkup(c)
	}
}
