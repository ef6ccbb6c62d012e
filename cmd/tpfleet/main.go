// Tpfleet converts the traces of a fleet into Iceberg tables: it plans tasks, carries them out anywhere, and commits
// their results.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, the same as those of tpconvert.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// usageError is an error in the use of the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	err := newRootCommand().ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "tpfleet: interrupted")
		os.Exit(exitInterrupted)
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "tpfleet:", err)
		os.Exit(exitUsage)
	default:
		fmt.Fprintln(os.Stderr, "tpfleet:", err)
		os.Exit(exitFailure)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "tpfleet",
		Short:         "Convert the traces of a fleet into Iceberg tables",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newInitCommand(), newPlanCommand(), newWorkCommand(), newCommitCommand(), newRunCommand(), newStatusCommand(),
		newForgetCommand(), newReworkCommand(), newWatchCommand(), newCompactCommand(), newExpireCommand(), newGCCommand())
	return root
}

// arguments makes a wrong number of arguments a wrong usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// version returns the version of the module, or "(devel)" if unknown.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
