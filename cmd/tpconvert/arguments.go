package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	api "github.com/tpconvert/tpconvert"
	"github.com/tpconvert/tpconvert/cmd/tpconvert/console"
)

// convertArguments checks TRACE... OUT. A path that does not exist may be a mistyped
// command, so it must not start a conversion.
func convertArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.Usage(fmt.Errorf("TRACE and OUT are missing; see %s --help", cmd.CommandPath()))
	}
	first := args[0]
	if _, err := os.Stat(first); first != api.StandardInput && errors.Is(err, fs.ErrNotExist) {
		suggestions := cmd.Root().SuggestionsFor(first)
		switch {
		case len(suggestions) > 0:
			return console.Usage(fmt.Errorf("%s is neither a trace, a folder nor a command; did you mean \"tpconvert %s\"?",
				first, strings.Join(suggestions, `" or "tpconvert `)))
		case strings.Contains(first, "://"):
			return console.Usage(fmt.Errorf("%s: URLs are not supported; try: curl -s URL | tpconvert - OUT", first))
		}
		return fmt.Errorf("%s is neither a trace, a folder nor a command: %w", first, fs.ErrNotExist)
	}
	if len(args) == 1 {
		return console.Usage(fmt.Errorf("OUT is missing, the folder for the dataset: %s %s OUT", cmd.CommandPath(), first))
	}
	return nil
}

// suggested returns a question about the names that are most like one that does not exist, each after a prefix, or "".
func suggested(name, prefix string, names []string) string {
	all := cobra.Command{SuggestionsMinimumDistance: 2} // as for commands
	for _, n := range names {
		all.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
	}
	like := all.SuggestionsFor(name)
	if len(like) == 0 {
		return ""
	}
	return ": did you mean " + prefix + strings.Join(like, " or "+prefix) + "?"
}
